#define _XOPEN_SOURCE   700 /* wcwidth */
#define _DEFAULT_SOURCE     /* the window's size */
#include "report/screen.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

void screen_prepare(void) {
    setlocale(LC_CTYPE, "");
    if (wcwidth(0x4E00) != 2) setlocale(LC_CTYPE, "C.UTF-8");
}

Screen screen_of(FILE *out) {
    enum { USUAL = 80, MIN_COLUMNS = 20, MAX_COLUMNS = 1000 };
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR"), *term = getenv("TERM");
    bool terminal = isatty(fileno(out));
    struct winsize window;
    long width = columns ? strtol(columns, NULL, 10) : USUAL;
    if (terminal && ioctl(fileno(out), TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        width = window.ws_col;
    if (width < MIN_COLUMNS) width = MIN_COLUMNS;
    if (width > MAX_COLUMNS) width = MAX_COLUMNS;
    bool able = terminal && term && strcmp(term, "dumb") != 0;
    return (Screen){.out = out, .columns = (int)width, .colour = able && !(none && *none)};
}
