#include "programs/glyph.h"
#include "base/utf8.h"
#include "base/terminal.h"

#include <stdio.h>
#include <string.h>

bool glyph_is_format(uint32_t code) {
    return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || (code >= 0xFFF9 && code <= 0xFFFB) ||
           (code >= 0xE0000 && code <= 0xE007F) || code == 0x061C || code == 0xFEFF;
}

/* Returns the glyph of the character text[length]. A byte beyond ASCII is none. */
static Glyph glyph_from(const char *text, size_t length) {
    static const struct {
        uint32_t code;
        const char *sign;
    } blanks[] = {{'\n', "↵"}, {'\t', "⇥"}, {' ', "␣"}, {0xA0, "␣"}, {0x3000, "␣"}};
    Glyph glyph = {"·", 1};
    uint32_t code;
    if (utf8_decode(text, length, &code) <= 0 || glyph_is_format(code)) return glyph;
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (code == blanks[i].code) {
            snprintf(glyph.text, sizeof glyph.text, "%s", blanks[i].sign);
            return glyph;
        }
    const int columns = code >= 0x20 && code < 0x7F ? 1 : width_of(code);
    if (columns < 0 || code == 0) return glyph;
    snprintf(glyph.text, sizeof glyph.text, "%s%.*s", columns == 0 ? "◌" : "", (int)length, text);
    if (columns >= GLYPH_COLUMNS) glyph.columns = GLYPH_COLUMNS;
    return glyph;
}

Glyph glyph_of(const TrilTokenizer *tokenizer, int32_t id) {
    char text[UTF8_MAX];
    size_t length;
    tril_decode(tokenizer, &id, 1, text, sizeof text, &length, &(TrilError){0});
    return glyph_from(text, length);
}

bool glyph_append(const char *text, size_t length, char *line, size_t size) {
    const Glyph glyph = glyph_from(text, length);
    const char *shown = *text == ' ' ? " " : glyph.text;
    const size_t used = strlen(line), added = strlen(shown);
    if (used + added >= size) return false;
    memcpy(line + used, shown, added + 1);
    return true;
}

void glyph_line(const TrilTokenizer *tokenizer, const int32_t *ids, int count, char *line,
                size_t size) {
    char text[UTF8_MAX];
    size_t length;
    *line = 0;
    for (int i = 0; i < count; i++) {
        tril_decode(tokenizer, &ids[i], 1, text, sizeof text, &length, &(TrilError){0});
        if (!glyph_append(text, length, line, size)) break;
    }
}
