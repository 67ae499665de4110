/* interruption.h - the signals with which a user or the system ends a training run. */
#ifndef TRIL_PROGRAMS_TRAIN_INTERRUPTION_H
#define TRIL_PROGRAMS_TRAIN_INTERRUPTION_H

#include <stdbool.h>

/* Counts SIGINT and SIGTERM from now on: the first asks for an orderly end, the second for an end
 * without evaluations, the third ends the program at once. SIGHUP and SIGPIPE ask for an orderly
 * end, however often they come. Signals that were ignored from the start, as under nohup, stay
 * ignored. With `shows`, a line on standard output answers each SIGINT, each SIGTERM and the first
 * SIGHUP. */
void interruption_catch(bool shows);

bool interrupted(void);       /* an orderly end was asked for */
bool interrupted_twice(void); /* an end without evaluations was asked for */

#endif
