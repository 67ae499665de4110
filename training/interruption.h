/* interruption.h - Ctrl-C, a polite kill, the end of the session. */
#ifndef TRIL_INTERRUPTION_H
#define TRIL_INTERRUPTION_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are counted: the first one asks for an end in good order, the
 * second for one without evaluations, the third ends the program at once. SIGHUP, and SIGPIPE where
 * nobody reads the output any more, ask for an end in good order, however often they come. What was
 * ignored from the start, as under nohup, stays so. With `say`, standard output has a line at once
 * for each SIGINT, SIGTERM and the first SIGHUP. A file that may grow no further is an error of
 * writing like others. */
void interruption_catch(bool say);

/* From now on such signals do nothing: another process hears of them. */
void interruption_ignore(void);

/* Has there been one? */
bool interrupted(void);

/* Have there been two that count? */
bool interrupted_twice(void);

#endif
