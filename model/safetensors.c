/* safetensors.c - a strict reader and a plain writer of one small format. */
#include "model/safetensors.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors are little-endian, and so must the machine be"
#endif

enum { PREFIX = 8, MAX_HEADER = 64 << 20, MAX_ENTRIES = 1 << 16 };

/* ---- a reader of JSON, as far as the header needs it ---- */

typedef struct {
    const char *name; /* of the file */
    char *start, *at, *end;
    Error *err;
} Json;

static bool refuse(Json *json, const char *what) {
    return fail(json->err, "%s: not a valid checkpoint: %s at byte %zu of its header", json->name,
                what, (size_t)(json->at - json->start));
}

static void skip_space(Json *json) {
    while (json->at < json->end && strchr(" \t\r\n", *json->at) && *json->at) json->at++;
}

/* Takes the character if it comes next, after white space. */
static bool take(Json *json, char c) {
    skip_space(json);
    if (json->at == json->end || *json->at != c) return false;
    json->at++;
    return true;
}

static bool expect(Json *json, char c) {
    if (take(json, c)) return true;
    char what[] = "no '?'";
    what[4] = c;
    return refuse(json, what);
}

static int hex_digit(char c) {
    if (c >= '0' && c <= '9') return c - '0';
    if (c >= 'a' && c <= 'f') return c - 'a' + 10;
    if (c >= 'A' && c <= 'F') return c - 'A' + 10;
    return -1;
}

/* The four digits of \uXXXX; -1 if they are not there. */
static int32_t hex_four(Json *json) {
    if (json->end - json->at < 4) return -1;
    int32_t value = 0;
    for (int i = 0; i < 4; i++) {
        int digit = hex_digit(*json->at++);
        if (digit < 0) return -1;
        value = value << 4 | digit;
    }
    return value;
}

/* After "\u": a code point, of which those above U+FFFF are written as two surrogates. */
static bool escaped_code(Json *json, uint32_t *code) {
    int32_t first = hex_four(json);
    if (first < 0 || (first >= 0xDC00 && first <= 0xDFFF)) return refuse(json, "a bad \\u");
    *code = (uint32_t)first;
    if (first < 0xD800 || first > 0xDFFF) return true;
    if (json->end - json->at < 2 || *json->at++ != '\\' || *json->at++ != 'u')
        return refuse(json, "half a surrogate pair");
    int32_t second = hex_four(json);
    if (second < 0xDC00 || second > 0xDFFF) return refuse(json, "half a surrogate pair");
    *code = 0x10000 + (((uint32_t)first & 0x3FF) << 10 | ((uint32_t)second & 0x3FF));
    return true;
}

/* A string, decoded where it stands (no escape is shorter than what it means) and closed by a zero
 * byte; it may hold others. */
static bool read_string(Json *json, char **text, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!expect(json, '"')) return false;
    char *to = *text = json->at;
    for (;;) {
        if (json->at == json->end) return refuse(json, "an unclosed string");
        uint32_t code;
        int taken = utf8_decode(json->at, (size_t)(json->end - json->at), &code);
        if (taken <= 0) return refuse(json, "invalid UTF-8");
        if (code < 0x20) return refuse(json, "a control character in a string");
        json->at += taken;
        if (code == '"') break;
        if (code == '\\') {
            if (json->at == json->end) return refuse(json, "an unclosed string");
            char c = *json->at++;
            const char *escape = strchr(escapes, c);
            if (c == 'u') {
                if (!escaped_code(json, &code)) return false;
            } else if (c && escape) {
                code = (uint32_t)(unsigned char)meanings[escape - escapes];
            } else {
                return refuse(json, "an unknown escape");
            }
        }
        to += utf8_encode(code, to);
    }
    *length = (size_t)(to - *text);
    *to = 0;
    return true;
}

/* A name: a string without zero bytes, so that its length need not be kept. */
static bool read_name(Json *json, const char **name) {
    char *text;
    size_t length;
    *name = "";
    if (!read_string(json, &text, &length)) return false;
    if (strlen(text) != length) return refuse(json, "a zero byte in a name");
    *name = text;
    return true;
}

static bool read_size(Json *json, size_t *size) {
    skip_space(json);
    char *digits = json->at;
    size_t value = 0;
    while (json->at < json->end && *json->at >= '0' && *json->at <= '9') {
        size_t digit = (size_t)(*json->at - '0');
        if (value > (SIZE_MAX - digit) / 10) return refuse(json, "a number too large");
        value = 10 * value + digit;
        json->at++;
    }
    if (json->at == digits || (*digits == '0' && json->at - digits > 1))
        return refuse(json, "no whole number");
    *size = value;
    return true;
}

/* [a, b, ...] of at most `room` numbers. */
static bool read_sizes(Json *json, size_t *sizes, int room, int *count) {
    *count = 0;
    if (!expect(json, '[')) return false;
    if (take(json, ']')) return true;
    do {
        if (*count == room) return refuse(json, "too many numbers");
        if (!read_size(json, &sizes[(*count)++])) return false;
    } while (take(json, ','));
    return expect(json, ']');
}

/* ---- the header ---- */

static size_t bytes_of_type(const char *type) {
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                 {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                 {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0) return types[i].bytes;
    return 0;
}

/* The bytes that a tensor must have by its type and shape; false if there is no such number. */
static bool expected_bytes(const SafeTensor *tensor, size_t *bytes) {
    *bytes = bytes_of_type(tensor->type);
    if (*bytes == 0) return false;
    for (int i = 0; i < tensor->rank; i++) {
        size_t side = tensor->shape[i];
        if (side > 0 && *bytes > SIZE_MAX / side) return false;
        *bytes *= side;
    }
    return true;
}

/* {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}, in any order, each once. `data` is
 * what follows the header. */
static bool read_tensor(Json *json, SafeTensor *tensor, const char *data, size_t data_bytes) {
    size_t offsets[2];
    int offset_count = -1;
    tensor->rank = -1;
    if (!expect(json, '{')) return false;
    do {
        const char *key;
        if (!read_name(json, &key) || !expect(json, ':')) return false;
        if (strcmp(key, "dtype") == 0 && !tensor->type) {
            if (!read_name(json, &tensor->type)) return false;
        } else if (strcmp(key, "shape") == 0 && tensor->rank < 0) {
            if (!read_sizes(json, tensor->shape, SAFETENSORS_RANK, &tensor->rank)) return false;
        } else if (strcmp(key, "data_offsets") == 0 && offset_count < 0) {
            if (!read_sizes(json, offsets, 2, &offset_count)) return false;
        } else {
            return refuse(json, "an unexpected key");
        }
    } while (take(json, ','));
    if (!expect(json, '}')) return false;
    if (!tensor->type || tensor->rank < 0 || offset_count != 2)
        return refuse(json, "a tensor without type, shape or place");
    if (offsets[0] > offsets[1] || offsets[1] > data_bytes)
        return refuse(json, "a tensor that lies outside of the file");
    size_t bytes;
    tensor->data = data + offsets[0];
    tensor->bytes = offsets[1] - offsets[0];
    if (!expected_bytes(tensor, &bytes) || bytes != tensor->bytes)
        return refuse(json, "a tensor whose type and shape do not give its size");
    return true;
}

/* Makes room for one more element of `size` bytes: doubles the block at powers of two. */
static bool make_room(void *block, int count, size_t size, Json *json) {
    if (count == MAX_ENTRIES) return refuse(json, "too many entries");
    if (count & (count - 1)) return true;
    void *old, *wider;
    memcpy(&old, block, sizeof old);
    size_t room = count == 0 ? 1 : 2 * (size_t)count;
    if (!memory_alloc(&wider, room, size, json->name, json->err)) return false;
    if (old) memcpy(wider, old, (size_t)count * size);
    memory_free(old);
    memcpy(block, &wider, sizeof wider);
    return true;
}

static bool read_notes(Json *json, SafeTensors *file) {
    if (!expect(json, '{')) return false;
    if (take(json, '}')) return true;
    do {
        if (!make_room(&file->notes, file->note_count, sizeof *file->notes, json)) return false;
        Note *note = &file->notes[file->note_count++];
        char *value;
        if (!read_name(json, &note->key) || !expect(json, ':') ||
            !read_string(json, &value, &note->length))
            return false;
        note->value = value;
    } while (take(json, ','));
    return expect(json, '}');
}

static bool read_header(Json *json, SafeTensors *file, const char *data, size_t data_bytes) {
    bool noted = false;
    if (!expect(json, '{')) return false;
    if (!take(json, '}')) {
        do {
            const char *name;
            if (!read_name(json, &name) || !expect(json, ':')) return false;
            if (strcmp(name, "__metadata__") == 0) {
                if (noted) return refuse(json, "metadata twice");
                noted = true;
                if (!read_notes(json, file)) return false;
                continue;
            }
            if (!make_room(&file->tensors, file->tensor_count, sizeof *file->tensors, json))
                return false;
            SafeTensor *tensor = &file->tensors[file->tensor_count++];
            *tensor = (SafeTensor){.name = name};
            if (!read_tensor(json, tensor, data, data_bytes)) return false;
        } while (take(json, ','));
        if (!expect(json, '}')) return false;
    }
    skip_space(json);
    return json->at == json->end || refuse(json, "something after the end");
}

static int compare_places(const void *a, const void *b) {
    const SafeTensor *x = *(const SafeTensor *const *)a, *y = *(const SafeTensor *const *)b;
    if (x->data != y->data) return x->data < y->data ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty ones first */
}

static int compare_names(const void *a, const void *b) {
    const SafeTensor *x = *(const SafeTensor *const *)a, *y = *(const SafeTensor *const *)b;
    return strcmp(x->name, y->name);
}

/* The tensors must fill the data end to end, and no two may have one name. */
static bool check_tensors(const SafeTensors *file, const char *name, const char *data,
                          size_t data_bytes, Error *err) {
    const SafeTensor **sorted;
    size_t count = (size_t)file->tensor_count;
    if (!memory_alloc(&sorted, count, sizeof *sorted, name, err)) return false;
    for (size_t i = 0; i < count; i++) sorted[i] = &file->tensors[i];
    bool ok = true;
    const char *next = data;
    qsort(sorted, count, sizeof *sorted, compare_places);
    for (size_t i = 0; i < count && ok; i++) {
        if ((const char *)sorted[i]->data != next)
            ok = fail(err,
                      "%s: not a valid checkpoint: tensor %s does not begin where the last ends",
                      name, sorted[i]->name);
        next += sorted[i]->bytes;
    }
    if (ok && next != data + data_bytes)
        ok = fail(err, "%s: not a valid checkpoint: its last %zu bytes belong to no tensor", name,
                  (size_t)(data + data_bytes - next));
    qsort(sorted, count, sizeof *sorted, compare_names);
    for (size_t i = 1; i < count && ok; i++)
        if (strcmp(sorted[i]->name, sorted[i - 1]->name) == 0)
            ok = fail(err, "%s: not a valid checkpoint: there are two tensors %s", name,
                      sorted[i]->name);
    memory_free(sorted);
    return ok;
}

static int compare_keys(const void *a, const void *b) {
    const Note *x = *(const Note *const *)a, *y = *(const Note *const *)b;
    return strcmp(x->key, y->key);
}

/* No two notes may have one key. */
static bool check_notes(const SafeTensors *file, const char *name, Error *err) {
    const Note **sorted;
    size_t count = (size_t)file->note_count;
    if (!memory_alloc(&sorted, count, sizeof *sorted, name, err)) return false;
    for (size_t i = 0; i < count; i++) sorted[i] = &file->notes[i];
    bool ok = true;
    qsort(sorted, count, sizeof *sorted, compare_keys);
    for (size_t i = 1; i < count && ok; i++)
        if (strcmp(sorted[i]->key, sorted[i - 1]->key) == 0)
            ok = fail(err, "%s: not a valid checkpoint: there are two notes '%s'", name,
                      sorted[i]->key);
    memory_free(sorted);
    return ok;
}

bool safetensors_read(SafeTensors *file, const char *name, char *bytes, size_t length, Error *err) {
    *file = (SafeTensors){0};
    uint64_t header;
    if (length < PREFIX)
        return fail(err, "%s: not a valid checkpoint: it has only %zu bytes", name, length);
    memcpy(&header, bytes, PREFIX);
    if (header > length - PREFIX || header > MAX_HEADER)
        return fail(err,
                    "%s: not a valid checkpoint: a header of %" PRIu64 " bytes in a file of %zu",
                    name, header, length);
    char *start = bytes + PREFIX, *data = start + header;
    Json json = {name, start, start, data, err};
    size_t data_bytes = length - PREFIX - (size_t)header;
    if (read_header(&json, file, data, data_bytes) &&
        check_tensors(file, name, data, data_bytes, err) && check_notes(file, name, err))
        return true;
    safetensors_free(file);
    return false;
}

void safetensors_free(SafeTensors *file) {
    memory_free(file->tensors);
    memory_free(file->notes);
    *file = (SafeTensors){0};
}

/* ---- the writer ---- */

/* A text that grows, and is counted beyond its room. */
typedef struct {
    char *at; /* NULL: it is only counted */
    size_t length, room;
} Text;

__attribute__((format(printf, 2, 3))) static void write_text(Text *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    size_t left = out->room - out->length;
    int length =
        vsnprintf(out->at ? out->at + out->length : NULL, out->at ? left : 0, format, arguments);
    va_end(arguments);
    out->length += (size_t)length;
}

static void write_byte(Text *out, char byte) {
    if (out->at) out->at[out->length] = byte;
    out->length++;
}

static void write_string(Text *out, const char *text, size_t length) {
    write_byte(out, '"');
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\') write_byte(out, '\\');
        if (c < 0x20 || c == 0x7F)
            write_text(out, "\\u%04x", c);
        else
            write_byte(out, (char)c);
    }
    write_byte(out, '"');
}

static void write_header(Text *out, const SafeTensors *file) {
    write_text(out, "{\"__metadata__\":{");
    for (int i = 0; i < file->note_count; i++) {
        if (i) write_byte(out, ',');
        write_string(out, file->notes[i].key, strlen(file->notes[i].key));
        write_byte(out, ':');
        write_string(out, file->notes[i].value, file->notes[i].length);
    }
    write_byte(out, '}');
    size_t offset = 0;
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        write_byte(out, ',');
        write_string(out, tensor->name, strlen(tensor->name));
        write_text(out, ":{\"dtype\":\"%s\",\"shape\":[", tensor->type);
        for (int j = 0; j < tensor->rank; j++)
            write_text(out, "%s%zu", j ? "," : "", tensor->shape[j]);
        write_text(out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor->bytes);
        offset += tensor->bytes;
    }
    write_byte(out, '}');
    while ((out->length + PREFIX) % 64) write_byte(out, ' '); /* the data can be mapped aligned */
}

bool safetensors_write(const SafeTensors *file, const char *path, Error *err) {
    Text header = {0};
    FilePart *parts = NULL;
    size_t count = 2 + (size_t)file->tensor_count;
    write_header(&header, file);
    header.room = header.length + 1; /* printf ends with a zero byte */
    header.length = 0;
    bool ok = memory_alloc(&header.at, header.room, 1, path, err) &&
              memory_alloc(&parts, count, sizeof *parts, path, err);
    if (ok) {
        write_header(&header, file);
        uint64_t prefix = header.length;
        parts[0] = (FilePart){&prefix, PREFIX};
        parts[1] = (FilePart){header.at, header.length};
        for (int i = 0; i < file->tensor_count; i++)
            parts[2 + i] = (FilePart){file->tensors[i].data, file->tensors[i].bytes};
        ok = file_write(path, parts, count, err);
    }
    memory_free(header.at);
    memory_free(parts);
    return ok;
}
