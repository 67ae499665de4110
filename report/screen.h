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

/* Call it once, first. The width of characters comes from the user's locale or, if that knows only
 * a few characters, from a UTF-8 locale. */
void screen_prepare(void);

/* The screen behind `out`. It is as wide as its window, else as COLUMNS says, else 80 columns. It
 * has colour if it is a terminal that is not dumb and NO_COLOR is not set (no-color.org). */
Screen screen_of(FILE *out);

#endif
