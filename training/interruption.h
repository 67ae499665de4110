/* interruption.h - Ctrl-C, a polite kill, the end of the session. */
#ifndef TRIL_INTERRUPTION_H
#define TRIL_INTERRUPTION_H

#include <stdbool.h>

/* From now on the first such signal is remembered, and a second one ends the program at once. What
 * was ignored from the start, as under nohup, stays so. A file that may grow no further is an error
 * of writing like others. */
void interruption_catch(void);

/* From now on such signals do nothing: another process hears of them. */
void interruption_ignore(void);

/* Has there been one? */
bool interrupted(void);

#endif
