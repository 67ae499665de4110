/* clocked.c - replaces base/clock.c in `train`: a clock that the test controls.
 *
 * The environment variable TRIL_CLOCK gives the seconds between two readings of the clock. So a
 * test can simulate a fast or a slow machine, and every run is the same. After that number may come
 * signals, NUMBER@SECONDS each: "0.01 2@3.5 9@7". The program sends itself each signal at the first
 * reading after that time. The file that TRIL_LOOKS names, if any, gets the seconds passed at the
 * end. */
#include "tests/system.h"
#include "base/clock.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>

enum { MAX_SIGNALS = 8 };

static struct {
    bool set;
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
    simulated.set = true;
    simulated.tick = text ? strtod(text, &at) : 0;
    while (at && *at == ' ' && simulated.count < MAX_SIGNALS) {
        int i = simulated.count++;
        simulated.numbers[i] = (int)strtol(at + 1, &at, 10);
        simulated.times[i] = *at == '@' ? strtod(at + 1, &at) : 0;
    }
    atexit(tell);
}

/* A kill is a sudden end where programs have no signals. */
static void send(int number) {
    if (raise(number) != 0) _Exit(KILL_STATUS);
}

/* Only the main thread reads the clock. */
double clock_seconds(void) {
    if (!simulated.set) read_environment();
    simulated.now += simulated.tick;
    while (simulated.sent < simulated.count && simulated.now >= simulated.times[simulated.sent])
        send(simulated.numbers[simulated.sent++]);
    return simulated.now;
}

/* The simulated program has the processor to itself. */
double clock_worked(void) {
    return simulated.now;
}
