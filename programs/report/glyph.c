#include "programs/report/glyph.h"
#include "base/utf8.h"
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

/* The glyph of a code point or, with `byte`, of a byte value. */
static int write_glyph(uint32_t code, bool byte, char text[GLYPH_SIZE]) {
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

/* The code point or, with `byte`, the byte value of the character text[length]. */
static uint32_t code_of(const char *text, size_t length, bool byte) {
    uint32_t code = (unsigned char)*text;
    if (!byte) utf8_decode(text, length, &code);
    return code;
}

int glyph_of(const TrilTokenizer *tokenizer, int32_t id, char glyph[GLYPH_SIZE]) {
    const bool byte = tril_tokenizer_has_bytes(tokenizer);
    char text[UTF8_MAX];
    size_t length;
    tril_decode(tokenizer, &id, 1, text, sizeof text, &length, NULL);
    return write_glyph(code_of(text, length, byte), byte, glyph);
}

void glyph_padded(const TrilTokenizer *tokenizer, int32_t id, char glyph[GLYPH_SIZE]) {
    bool narrow = glyph_of(tokenizer, id, glyph) < GLYPH_COLUMNS;
    size_t length = strlen(glyph);
    if (narrow) memcpy(glyph + length, " ", 2);
}

int glyph_take(const char *text, size_t length, void *to) {
    GlyphLine *line = to;
    char glyph[GLYPH_SIZE];
    uint32_t code = code_of(text, length, line->bytes);
    line->columns -= write_glyph(code, line->bytes, glyph);
    if (code == ' ') snprintf(glyph, sizeof glyph, " ");
    size_t size = strlen(glyph);
    if (line->columns < 0 || size >= line->size) return 1;
    memcpy(line->text, glyph, size + 1);
    line->text += size;
    line->size -= size;
    return 0;
}

void glyph_line(const TrilTokenizer *tokenizer, const int32_t *ids, int count, int columns,
                char *text, size_t size) {
    GlyphLine line = {text, size, columns, tril_tokenizer_has_bytes(tokenizer)};
    char character[UTF8_MAX];
    size_t length;
    bool room = true;
    *text = 0;
    for (int i = 0; i < count && room; i++) {
        tril_decode(tokenizer, &ids[i], 1, character, sizeof character, &length, NULL);
        room = glyph_take(character, length, &line) == 0;
    }
}
