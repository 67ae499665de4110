#include "extras/web/answer.h"
#include "extras/web/web.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct {
    char *bytes; /* owned, by malloc */
    size_t length;
} said;

int answer_bytes(char *bytes, size_t length) {
    free(said.bytes);
    said.bytes = bytes;
    said.length = length;
    return 1;
}

int answer_refusal(const char *message) {
    char *copy = strdup(message);
    answer_bytes(copy, copy ? strlen(copy) : 0);
    return 0;
}

int answer_json(Buffer *json, const Error *err) {
    if (json->failed) {
        buffer_end(json);
        return answer_refusal(err->text);
    }
    char *copy = malloc(json->length + 1);
    size_t length = copy ? json->length : 0;
    if (copy) memcpy(copy, json->bytes, length);
    buffer_end(json);
    return answer_bytes(copy, length);
}

const char *web_answer(void) {
    return said.bytes;
}

size_t web_answer_length(void) {
    return said.length;
}

void answer_number(Buffer *json, const char *key, double number) {
    if (isfinite(number))
        buffer_printf(json, ",\"%s\":%.9g", key, number);
    else
        buffer_printf(json, ",\"%s\":null", key);
}

void answer_text(Buffer *json, const char *key, const char *text) {
    buffer_printf(json, ",\"%s\":", key);
    json_quote(json, text, strlen(text));
}

int answer_written(bool (*write)(FILE *out, const void *what, Error *err), const void *what) {
    Error err = {0};
    char *bytes = NULL;
    size_t length;
    FILE *out = open_memstream(&bytes, &length);
    bool ok = out ? write(out, what, &err) : fail(&err, "not enough memory for the answer");
    if (out) fclose(out);
    if (ok) return answer_bytes(bytes, length);
    free(bytes);
    return answer_refusal(err.text);
}
