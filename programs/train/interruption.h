/* interruption.h - the signals by which a person or the system ends a training. */
#ifndef TRIL_PROGRAMS_TRAIN_INTERRUPTION_H
#define TRIL_PROGRAMS_TRAIN_INTERRUPTION_H

#include <stdbool.h>

/* From now on SIGINT and SIGTERM are counted: the first asks for an orderly end, the second for an
 * end without evaluations, the third ends the program at once. SIGHUP and SIGPIPE ask for an
 * orderly end, however often they come. Signals that were ignored from the start, as under nohup,
 * stay ignored. With `say`, a line on standard output answers each SIGINT, each SIGTERM and the
 * first SIGHUP. A file that has reached its size limit is a normal error of writing (SIGXFSZ). */
void interruption_catch(bool say);

/* From now on these signals do nothing: another process handles them. */
void interruption_ignore(void);

/* Has an end been asked for? */
bool interrupted(void);

/* Has an end without evaluations been asked for? */
bool interrupted_twice(void);

#endif
