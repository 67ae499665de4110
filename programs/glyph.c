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

size_t glyph_fitting(const char *text, size_t length, int max, int *columns) {
    size_t taken = 0;
    *columns = 0;
    while (taken < length) {
        uint32_t code;
        int bytes = utf8_decode(text + taken, length - taken, &code), width = width_of(code);
        if (width < 0) width = 1;
        if (*columns + width > max && taken > 0) break;
        *columns += width;
        taken += bytes > 0 ? (size_t)bytes : 1;
    }
    return taken;
}

/* Returns the glyph of the character text[length] or, with `byte`, of a byte; sets *code to its
 * number. */
static Glyph glyph_from(const char *text, size_t length, bool byte, uint32_t *code) {
    static const struct {
        uint32_t code;
        const char *sign;
    } blanks[] = {{'\n', "↵"}, {'\t', "⇥"}, {' ', "␣"}, {0xA0, "␣"}, {0x3000, "␣"}};
    Glyph glyph = {.columns = 1};
    *code = (unsigned char)*text;
    if (!byte) utf8_decode(text, length, code);
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (*code == blanks[i].code && !(byte && *code > 0x7F)) {
            snprintf(glyph.text, sizeof glyph.text, "%s", blanks[i].sign);
            return glyph;
        }
    bool plain = *code >= 0x20 && *code < 0x7F;
    int columns = plain ? 1 : byte || glyph_is_format(*code) ? -1 : width_of(*code);
    if (columns < 0) {
        snprintf(glyph.text, sizeof glyph.text, "·");
        return glyph;
    }
    if (columns == 0) snprintf(glyph.text, sizeof glyph.text, "◌");
    utf8_encode(*code, glyph.text + strlen(glyph.text)); /* the rest of the text is zero bytes */
    if (columns >= GLYPH_COLUMNS) glyph.columns = GLYPH_COLUMNS;
    return glyph;
}

Glyph glyph_of(const TrilTokenizer *tokenizer, int32_t id) {
    char text[UTF8_MAX];
    size_t length;
    uint32_t code;
    tril_decode(tokenizer, &id, 1, text, sizeof text, &length, &(TrilError){0});
    return glyph_from(text, length, tokenizer->bytes, &code);
}

Glyph glyph_padded(const TrilTokenizer *tokenizer, int32_t id) {
    Glyph glyph = glyph_of(tokenizer, id);
    if (glyph.columns < GLYPH_COLUMNS) glyph.text[strlen(glyph.text)] = ' ';
    return glyph;
}

bool glyph_take(const char *text, size_t length, GlyphLine *line) {
    uint32_t code;
    Glyph glyph = glyph_from(text, length, line->bytes, &code);
    if (code == ' ') strcpy(glyph.text, " ");
    line->columns -= glyph.columns;
    size_t size = strlen(glyph.text);
    if (line->columns < 0 || size >= line->size) return false;
    memcpy(line->text, glyph.text, size + 1);
    line->text += size;
    line->size -= size;
    return true;
}

void glyph_line(const TrilTokenizer *tokenizer, const int32_t *ids, int count, int columns,
                char *text, size_t size) {
    GlyphLine line = {text, size, columns, tokenizer->bytes};
    char character[UTF8_MAX];
    size_t length;
    bool room = true;
    *text = 0;
    for (int i = 0; i < count && room; i++) {
        tril_decode(tokenizer, &ids[i], 1, character, sizeof character, &length, &(TrilError){0});
        room = glyph_take(character, length, &line);
    }
}
