/* screen.h - the properties of a terminal. */
#ifndef TRIL_PROGRAMS_REPORT_SCREEN_H
#define TRIL_PROGRAMS_REPORT_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    int columns;
    bool colour;
} Screen;

/* The terminal behind `out`. Its width is the window's, else COLUMNS, else 80. It has colour if it
 * is a terminal, not dumb, and NO_COLOR is not set (no-color.org). */
Screen screen_of(FILE *out);

#endif
