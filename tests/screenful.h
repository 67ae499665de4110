/* screenful.h - helpers for tests of drawings: output in memory, and its width. */
#ifndef TRIL_SCREENFUL_H
#define TRIL_SCREENFUL_H

#include "tests/objects.h"
#include "programs/report/sheet.h"

#include <locale.h>

/* Characters have the widths of a usual terminal. */
__attribute__((constructor)) static void know_characters(void) {
    setlocale(LC_CTYPE, "C.UTF-8");
}

/* Output to a temporary file, read back. */
typedef struct {
    char *text; /* owned */
    size_t length;
    Sheet sheet;
} Output;

static inline Output output_open(int columns, bool color) {
    Output output = {0};
    output.sheet = screen_of(stdout);
    output.sheet.columns = columns;
    output.sheet.color = color;
    output.sheet.out = tmpfile();
    assert_non_null(output.sheet.out);
    return output;
}

static inline void output_end(Output *output) {
    output->text = stream_text(output->sheet.out, &output->length);
}

/* Counts the columns of a line: two for wide characters, none for accents and color codes. */
static inline int columns_of(const char *line, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code;
        int bytes = utf8_decode(line + i, length - i, &code);
        assert_true(bytes > 0);
        if (code == '\033') {
            i += strcspn(line + i, "m") + 1;
            continue;
        }
        assert_true(code >= 0x20 && code != 0x7F);
        columns += code == 0x301 ? 0 : code >= 0x4E00 && code < 0xA000 ? 2 : 1;
        i += (size_t)bytes;
    }
    return columns;
}

static inline void check_width(const char *text, int max) {
    for (const char *line = text; *line;) {
        size_t length = strcspn(line, "\n");
        int columns = columns_of(line, length);
        if (columns > max) fail_msg("%d columns: %.*s", columns, (int)length, line);
        line += length + (line[length] == '\n');
    }
}

#endif
