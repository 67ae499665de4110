#include "extras/page/json.h"
#include "base/number.h"
#include "base/utf8.h"
#include "programs/glyph.h"

#include <math.h>
#include <string.h>

static void put_text(FILE *out, const char *text) {
    const size_t length = strlen(text);
    putc('"', out);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        const int bytes = utf8_decode(text + i, length - i, &code);
        const bool control = (code < 0x20 && code != '\n' && code != '\t') ||
                             (code >= 0x7F && code < 0xA0) || code == 0xFFFE || code == 0xFFFF;
        if (bytes <= 0 || control || glyph_is_format(code))
            fputs("\uFFFD", out);
        else if (code < 0x80 && strchr("\"\\<>&\n\t", (int)code))
            fprintf(out, "\\u%04x", (unsigned)code);
        else
            fwrite(text + i, 1, (size_t)bytes, out);
        i += bytes > 0 ? (size_t)bytes : 1;
    }
    putc('"', out);
}

/* Writes the comma and the key before a value. */
static void begin(Json *json, const char *key) {
    if (json->comma) fputs(key ? ",\n" : ",", json->out);
    if (key) {
        put_text(json->out, key);
        putc(':', json->out);
    }
    json->comma = true;
}

void json_open(Json *json, const char *key, char bracket) {
    begin(json, key);
    putc(bracket, json->out);
    json->comma = false;
}

void json_close(Json *json, char bracket) {
    putc(bracket, json->out);
    json->comma = true;
}

void json_text(Json *json, const char *key, const char *text) {
    begin(json, key);
    put_text(json->out, text);
}

void json_number(Json *json, const char *key, double number) {
    enum { DIGITS = 12 }; /* enough for the characters of any text */
    char text[NUMBER_SIZE] = "null";
    begin(json, key);
    if (isfinite(number)) number_write(text, sizeof text, 'g', DIGITS, number);
    fputs(text, json->out);
}

void json_numbers(Json *json, const double *numbers, int count) {
    json_open(json, NULL, '[');
    for (int i = 0; i < count; i++) json_number(json, NULL, numbers[i]);
    json_close(json, ']');
}
