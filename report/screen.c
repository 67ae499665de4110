#define _XOPEN_SOURCE   700 /* wcwidth */
#define _DEFAULT_SOURCE     /* the window's size */
#include "report/screen.h"

#include <locale.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

Screen screen_of(FILE *out) {
    enum { USUAL = 80, LEAST = 20, MOST = 1000 };
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR"), *term = getenv("TERM");
    bool terminal = isatty(fileno(out));
    struct winsize window;
    long width = columns ? strtol(columns, NULL, 10) : USUAL;
    if (terminal && ioctl(fileno(out), TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        width = window.ws_col;
    if (width < LEAST) width = LEAST;
    if (width > MOST) width = MOST;
    if (wcwidth(0x4E00) != 2) setlocale(LC_CTYPE, "C.UTF-8"); /* where the user's knows less */
    bool able = terminal && term && strcmp(term, "dumb") != 0;
    return (Screen){.out = out, .columns = (int)width, .colour = able && !(none && *none)};
}

/* What would turn the rest of the line around, or glue it together. */
static bool is_format(uint32_t code) {
    return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || code == 0xFEFF;
}

void screen_glyph(const Vocab *vocab, int id, char text[GLYPH_ROOM]) {
    static const struct {
        uint32_t code;
        const char *sign;
    } blanks[] = {{'\n', "↵"}, {'\t', "⇥"}, {' ', "␣"}, {0xA0, "␣"}, {0x3000, "␣"}};
    uint32_t code = vocab->codes[id];
    char own[UTF8_MAX + 1] = "";
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (code == blanks[i].code) {
            snprintf(text, GLYPH_ROOM, "%s ", blanks[i].sign);
            return;
        }
    bool plain = code >= 0x20 && code < 0x7F;
    int columns = plain ? 1 : vocab->bytes || is_format(code) ? -1 : wcwidth((wchar_t)code);
    own[vocab_text(vocab, id, own)] = 0;
    if (columns < 0)
        snprintf(text, GLYPH_ROOM, "· ");
    else
        snprintf(text, GLYPH_ROOM, "%s%s%s", columns == 0 ? "◌" : "", own, columns < 2 ? " " : "");
}
