#include "programs/report/screen.h"
#include "base/terminal.h"

#include <stdlib.h>

Screen screen_of(FILE *out) {
    enum { USUAL = 80, MIN_COLUMNS = 20, MAX_COLUMNS = 1000 };
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR");
    int window = terminal_is(out) ? terminal_columns(out) : 0;
    long width = columns ? strtol(columns, NULL, 10) : USUAL;
    if (window > 0) width = window;
    if (width < MIN_COLUMNS) width = MIN_COLUMNS;
    if (width > MAX_COLUMNS) width = MAX_COLUMNS;
    bool colour = terminal_has_colours(out) && !(none && *none);
    return (Screen){.out = out, .columns = (int)width, .colour = colour};
}
