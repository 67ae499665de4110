#include "report/glyph.h"
#include "base/width.h"

#include <stdio.h>
#include <string.h>

bool glyph_is_format(uint32_t code) {
    return (code >= 0x200B && code <= 0x200F) || (code >= 0x202A && code <= 0x202E) ||
           (code >= 0x2060 && code <= 0x206F) || (code >= 0xFFF9 && code <= 0xFFFB) ||
           (code >= 0xE0000 && code <= 0xE007F) || code == 0x061C || code == 0xFEFF;
}

int glyph_columns(uint32_t code) {
    int columns = width_of(code);
    return columns < 0 ? 1 : columns;
}

int glyph_of_code(uint32_t code, bool byte, char text[GLYPH_SIZE]) {
    static const struct {
        uint32_t code;
        const char *sign;
    } blanks[] = {{'\n', "↵"}, {'\t', "⇥"}, {' ', "␣"}, {0xA0, "␣"}, {0x3000, "␣"}};
    for (size_t i = 0; i < sizeof blanks / sizeof *blanks; i++)
        if (code == blanks[i].code && !(byte && code > 0x7F)) {
            snprintf(text, GLYPH_SIZE, "%s", blanks[i].sign);
            return 1;
        }
    bool plain = code >= 0x20 && code < 0x7F;
    int columns = plain ? 1 : byte || glyph_is_format(code) ? -1 : width_of(code);
    if (columns < 0) {
        snprintf(text, GLYPH_SIZE, "·");
        return 1;
    }
    char own[UTF8_MAX + 1] = "";
    own[utf8_encode(code, own)] = 0;
    snprintf(text, GLYPH_SIZE, "%s%s", columns == 0 ? "◌" : "", own);
    return columns < GLYPH_COLUMNS ? 1 : GLYPH_COLUMNS;
}

uint32_t glyph_code(const char *text, size_t length, bool byte) {
    uint32_t code = (unsigned char)*text;
    if (!byte) utf8_decode(text, length, &code);
    return code;
}

int glyph_of(const Vocab *vocab, int id, char text[GLYPH_SIZE]) {
    return glyph_of_code(vocab->codes[id], vocab->bytes, text);
}

void glyph_padded(const Vocab *vocab, int id, char text[GLYPH_SIZE]) {
    bool narrow = glyph_of(vocab, id, text) < GLYPH_COLUMNS;
    size_t length = strlen(text);
    if (narrow) memcpy(text + length, " ", 2);
}

bool glyph_append(GlyphLine *line, uint32_t code, bool byte) {
    char glyph[GLYPH_SIZE];
    line->columns -= glyph_of_code(code, byte, glyph);
    if (code == ' ') snprintf(glyph, sizeof glyph, " ");
    size_t length = strlen(glyph);
    if (line->columns < 0 || length >= line->size) return false;
    memcpy(line->text, glyph, length + 1);
    line->text += length;
    line->size -= length;
    return true;
}

void glyph_line(const Vocab *vocab, const int32_t *ids, int count, int columns, char *text,
                size_t size) {
    GlyphLine line = {text, size, columns};
    *text = 0;
    for (int i = 0; i < count && glyph_append(&line, vocab->codes[ids[i]], vocab->bytes);) i++;
}
