/* screen.h - the terminal that something is shown on. */
#ifndef TRIL_REPORT_SCREEN_H
#define TRIL_REPORT_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    int columns;
    bool colour;
} Screen;

/* To be called once, first: how wide characters are is asked of the user's language or, where that
 * knows only few of them, of UTF-8. */
void screen_prepare(void);

/* What `out` is: as wide as its window, else as COLUMNS says, else 80; in colour if it is a
 * terminal that is not dumb, and NO_COLOR is not set (no-color.org). */
Screen screen_of(FILE *out);

#endif
