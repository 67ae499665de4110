/* screen.h - the terminal: its properties, and explanations and maps on it. No line is wider than
 * the terminal. */
#ifndef TRIL_PROGRAMS_REPORT_SCREEN_H
#define TRIL_PROGRAMS_REPORT_SCREEN_H

#include "programs/report/sheet.h"

typedef struct {
    FILE *out;
    int columns;
    bool colour;
} Screen;

/* Returns the terminal behind `out`. Its width is the window's, else COLUMNS, else 80. It has
 * colour if it is a terminal, not dumb, and NO_COLOR is not set (no-color.org). */
Screen screen_of(FILE *out);

/* Returns a sheet for a terminal of at least 20 columns. */
Sheet screen_sheet(const Screen *screen);

/* Draws maps of the sheet's tokens, with their glyphs on both axes, side by side where the screen
 * is wide enough; leaves the middle out of a map that is too wide. In colour, lighter is more.
 * Without colour, digits are tenths: . is less than 0.05, 9 is 0.85 or more. Returns the number of
 * tokens shown. */
int screen_maps(Sheet *sheet, const HeadMap *maps, int count);

#endif
