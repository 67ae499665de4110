/* clock.c - linked into `train` in place of base/clock.c: a clock that the test drives.
 *
 * The environment variable TRIL_CLOCK says how many seconds pass between two looks at the clock, so
 * that a machine is as slow or as fast as a test wants, and every run of it goes the same way.
 * Behind that number may follow signals, NUMBER@SECONDS each, which the program sends itself when
 * it looks at the clock for the first time after so many seconds: "0.01 2@3.5 9@7". The file that
 * TRIL_LOOKS names, if any, tells in the end how many seconds have passed. */
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SIGNALS = 8 };

static struct {
    double now, tick;
    int count, sent;
    int numbers[MAX_SIGNALS];
    double times[MAX_SIGNALS];
} simulated;

static void tell(void) {
    const char *path = getenv("TRIL_LOOKS");
    FILE *out = path ? fopen(path, "w") : NULL;
    if (!out) return;
    fprintf(out, "%.9g\n", simulated.now);
    fclose(out);
}

static void read_environment(void) {
    const char *text = getenv("TRIL_CLOCK");
    char *at = NULL;
    simulated.tick = text ? strtod(text, &at) : 1e-6;
    while (at && *at == ' ' && simulated.count < MAX_SIGNALS) {
        int i = simulated.count++;
        simulated.numbers[i] = (int)strtol(at + 1, &at, 10);
        simulated.times[i] = *at == '@' ? strtod(at + 1, &at) : 0;
    }
    atexit(tell);
}

/* Only the first thread of the program looks at the clock. */
double clock_seconds(void) {
    if (simulated.tick <= 0) read_environment();
    simulated.now += simulated.tick;
    while (simulated.sent < simulated.count && simulated.now >= simulated.times[simulated.sent])
        raise(simulated.numbers[simulated.sent++]);
    return simulated.now;
}

/* What the program works, it works alone. */
double clock_worked(void) {
    return simulated.now;
}
