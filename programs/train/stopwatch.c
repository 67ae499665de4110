#include "programs/train/stopwatch.h"
#include "base/clock.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

/* The index of the line of that name; a new one if there is none. */
static int find_line(Stopwatch *watch, const char *name) {
    int i = 0;
    while (i < watch->count && strcmp(watch->lines[i].name, name) != 0) i++;
    assert(i < MAX_LINES);
    if (i == watch->count) watch->lines[watch->count++] = (TrilPart){.name = name};
    return i;
}

void stopwatch_start(Stopwatch *watch, const char *rest, double begun) {
    *watch = (Stopwatch){.begun = begun, .since = begun};
    find_line(watch, rest);
}

/* The time since the last change goes to the line under way. */
static void change(Stopwatch *watch, int line) {
    double now = clock_seconds();
    watch->lines[watch->now].seconds += now - watch->since;
    watch->since = now;
    watch->now = line;
}

void stopwatch_enter(Stopwatch *watch, const char *name) {
    if (watch->count > 0) change(watch, find_line(watch, name));
}

void stopwatch_leave(Stopwatch *watch) {
    if (watch->count > 0) change(watch, 0);
}

void stopwatch_split(Stopwatch *watch, const char *name, const TrilPart *parts, int count) {
    if (watch->count == 0) return;
    int whole = find_line(watch, name);
    for (int i = 0; i < count; i++) {
        TrilPart *line = &watch->lines[find_line(watch, parts[i].name)];
        line->seconds += parts[i].seconds;
        line->operations += parts[i].operations;
        watch->lines[whole].seconds -= parts[i].seconds;
    }
}

static int longer(const void *a, const void *b) {
    double one = ((const TrilPart *)a)->seconds, other = ((const TrilPart *)b)->seconds;
    return (other > one) - (other < one);
}

void stopwatch_stop(Stopwatch *watch) {
    if (watch->count == 0) return;
    change(watch, 0);
    watch->seconds = watch->since - watch->begun;
    qsort(watch->lines, (size_t)watch->count, sizeof *watch->lines, longer);
}
