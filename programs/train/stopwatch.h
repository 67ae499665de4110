/* stopwatch.h - where the time of a training goes. All of the time, from its start to its stop, is
 * on one of its lines. */
#ifndef TRIL_PROGRAMS_TRAIN_STOPWATCH_H
#define TRIL_PROGRAMS_TRAIN_STOPWATCH_H

#include "library/tril.h"

enum { MAX_LINES = 96 };

/* One that is {0} was never started, and measures nothing. */
typedef struct {
    TrilPart lines[MAX_LINES]; /* the first one: what has no line of its own */
    int count;
    int now;               /* the line under way */
    double since;          /* clock_seconds() when that began */
    double begun, seconds; /* of all lines together: since when; how long, once it is stopped */
} Stopwatch;

/* Starts it at `begun`, a value of clock_seconds(). Time goes to the line `rest` until
 * stopwatch_enter. Names are constants. */
void stopwatch_start(Stopwatch *watch, const char *rest, double begun);

/* From now on time goes to the line `name`, until stopwatch_leave. */
void stopwatch_enter(Stopwatch *watch, const char *name);
void stopwatch_leave(Stopwatch *watch);

/* Puts `parts` of the time of line `name` on lines of their own. The line keeps the time that no
 * part took. */
void stopwatch_split(Stopwatch *watch, const char *name, const TrilPart *parts, int count);

/* Stops it, and sorts the lines: the longest first. */
void stopwatch_stop(Stopwatch *watch);

#endif
