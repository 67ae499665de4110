/* safetensors.c - a strict reader and a simple writer of safetensors. */
#include "library/safetensors.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/memory.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __BYTE_ORDER__
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers in files are little-endian");
#endif

enum { PREFIX = 8, MAX_HEADER = 64 << 20 };

/* ---- metadata ---- */

bool metadata_put(MetadataList *metadata, const char *key, const char *value, size_t length,
                  Error *err) {
    char *copy; /* the key, then the value */
    const size_t place = strlen(key) + 1;
    for (int i = 0; i < metadata->count; i++)
        if (strcmp(metadata->list[i].key, key) == 0)
            return fail(err, "the metadata has the key '%.64s' twice", key);
    if (metadata->count == MAX_METADATA)
        return fail(err, "more than %d entries of metadata", (int)MAX_METADATA);
    if (!memory_alloc(&copy, place + length + 1, 1, "the metadata", err)) return false;
    memcpy(copy, key, place);
    memcpy(copy + place, value, length);
    metadata->list[metadata->count++] = (Metadata){copy, copy + place, length};
    return true;
}

bool metadata_text(MetadataList *metadata, const char *key, const char *text, Error *err) {
    return metadata_put(metadata, key, text, strlen(text), err);
}

void metadata_free(MetadataList *metadata) {
    for (int i = 0; i < metadata->count; i++) memory_free((char *)metadata->list[i].key);
    metadata->count = 0;
}

/* ---- the header ---- */

/* A header that is being read: JSON (RFC 8259), of which it needs only objects, strings and lists
 * of whole numbers. Strings are decoded in place. */
typedef struct {
    SafeTensors *file;
    const char *path;
    char *at, *end;
    size_t data_bytes, placed; /* of all data; of the tensors so far */
    bool described;            /* the metadata are read */
    Error *err;
} Header;

/* Fails with the place in the header. */
static bool fail_at(const Header *h, const char *what) {
    return fail(h->err, "%s: not a valid checkpoint: in its header: %s at byte %zu", h->path, what,
                (size_t)(h->at - h->file->header));
}

/* Fails because of the entry of this name. */
static bool fail_entry(const Header *h, const char *name, const char *fault) {
    return fail(h->err, "%s: not a valid checkpoint: in its header: '%.64s' %s", h->path, name,
                fault);
}

/* Skips up to `most` characters of the set. Returns their number. */
static size_t skip(Header *h, const char *set, size_t most) {
    size_t count = 0;
    for (; count < most && h->at < h->end && *h->at && strchr(set, *h->at); count++) h->at++;
    return count;
}

static void skip_space(Header *h) {
    skip(h, " \t\r\n", SIZE_MAX);
}

/* Skips white space and then this character, if it is next. */
static bool take(Header *h, char c) {
    skip_space(h);
    const bool there = h->at < h->end && *h->at == c;
    h->at += there;
    return there;
}

static bool expect(Header *h, char c) {
    char what[] = "expected '?'";
    what[10] = c;
    return take(h, c) || fail_at(h, what);
}

/* Reads the four digits of \uXXXX. */
static bool read_unit(Header *h, uint32_t *unit) {
    char digits[5] = "";
    if (skip(h, "0123456789abcdefABCDEF", 4) < 4) return fail_at(h, "a bad \\u");
    memcpy(digits, h->at - 4, 4);
    *unit = (uint32_t)strtoul(digits, NULL, 16);
    return true;
}

/* Reads a code point after "\u". Code points above U+FFFF are two surrogates. */
static bool read_code(Header *h, uint32_t *code) {
    uint32_t low;
    if (!read_unit(h, code)) return false;
    if (*code < 0xD800 || *code > 0xDFFF) return true;
    if (*code > 0xDBFF || !skip(h, "\\", 1) || !skip(h, "u", 1) || !read_unit(h, &low) ||
        low < 0xDC00 || low > 0xDFFF)
        return fail_at(h, "half a surrogate pair");
    *code = 0x10000 + ((*code & 0x3FF) << 10 | (low & 0x3FF));
    return true;
}

/* Decodes a string in place, ended by a zero byte: no escape is shorter than its character. */
static bool read_string(Header *h, const char **text, size_t *length) {
    static const char escapes[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
    if (!expect(h, '"')) return false;
    char *to = h->at;
    *text = to;
    for (;;) {
        uint32_t code;
        const int taken = utf8_decode(h->at, (size_t)(h->end - h->at), &code);
        if (taken <= 0) return fail_at(h, h->at < h->end ? "invalid UTF-8" : "an unclosed string");
        if (code < 0x20) return fail_at(h, "a control character in a string");
        h->at += taken;
        if (code == '"') break;
        if (code == '\\' && skip(h, "u", 1)) {
            if (!read_code(h, &code)) return false;
        } else if (code == '\\') {
            if (!skip(h, escapes, 1)) return fail_at(h, "an unknown escape");
            code = (uint32_t)meanings[strchr(escapes, h->at[-1]) - escapes];
        }
        to += utf8_encode(code, to);
    }
    *length = (size_t)(to - *text);
    *to = 0;
    return true;
}

/* Reads a string that is a name. */
static bool read_name(Header *h, const char **name) {
    size_t length;
    if (!read_string(h, name, &length)) return false;
    return strlen(*name) == length || fail_at(h, "a zero byte in a name");
}

/* Reads an object: calls `read` for the value of each member. */
static bool read_object(Header *h, bool (*read)(Header *h, const char *key)) {
    const char *key;
    if (!expect(h, '{')) return false;
    if (take(h, '}')) return true;
    do
        if (!read_name(h, &key) || !expect(h, ':') || !read(h, key)) return false;
    while (take(h, ','));
    return expect(h, '}');
}

/* Reads a list of at most `capacity` whole numbers. */
static bool read_sizes(Header *h, size_t *sizes, int capacity, int *count) {
    *count = 0;
    if (!expect(h, '[')) return false;
    if (take(h, ']')) return true;
    do {
        size_t size = 0, digits = 0;
        skip_space(h);
        for (; h->at < h->end && *h->at >= '0' && *h->at <= '9'; h->at++, digits++) {
            const size_t digit = (size_t)(*h->at - '0');
            if (size > (SIZE_MAX - digit) / 10) return fail_at(h, "too large a number");
            if (size == 0 && digits > 0) return fail_at(h, "a number that begins with 0");
            size = 10 * size + digit;
        }
        if (digits == 0) return fail_at(h, "expected a whole number");
        if (*count == capacity) return fail_at(h, "too long a list");
        sizes[(*count)++] = size;
    } while (take(h, ','));
    return expect(h, ']');
}

size_t safetensors_width(const char *type) {
    static const struct {
        const char *name;
        size_t bytes;
    } types[] = {{"BOOL", 1}, {"U8", 1},  {"I8", 1},  {"F8_E5M2", 1}, {"F8_E4M3", 1},
                 {"I16", 2},  {"U16", 2}, {"F16", 2}, {"BF16", 2},    {"I32", 4},
                 {"U32", 4},  {"F32", 4}, {"F64", 8}, {"I64", 8},     {"U64", 8}};
    for (int i = 0; i < COUNT(types); i++)
        if (strcmp(types[i].name, type) == 0) return types[i].bytes;
    return 0;
}

/* Sets *bytes to the size of a tensor. Fails if its type is unknown or the size overflows. */
static bool expected_bytes(const SafeTensor *tensor, size_t *bytes) {
    *bytes = safetensors_width(tensor->type);
    if (*bytes == 0) return false;
    for (int i = 0; i < tensor->rank; i++) {
        size_t side = tensor->shape[i];
        if (side > 0 && *bytes > SIZE_MAX / side) return false;
        *bytes *= side;
    }
    return true;
}

/* Reads a member of a tensor: "dtype": ..., "shape": [...], "data_offsets": [begin, end]. Those
 * that are read no longer have the values of read_entry. */
static bool read_property(Header *h, const char *key) {
    SafeTensor *tensor = &h->file->tensors[h->file->tensor_count];
    if (strcmp(key, "dtype") == 0 && !tensor->type) return read_name(h, &tensor->type);
    if (strcmp(key, "shape") == 0 && tensor->rank < 0)
        return read_sizes(h, tensor->shape, SAFETENSORS_RANK, &tensor->rank);
    if (strcmp(key, "data_offsets") == 0 && tensor->offset == SIZE_MAX) {
        size_t place[2];
        int count;
        if (!read_sizes(h, place, 2, &count)) return false;
        if (count != 2) return fail_at(h, "expected two numbers");
        if (place[0] > place[1] || place[1] > h->data_bytes)
            return fail_entry(h, tensor->name, "lies outside of the file");
        tensor->offset = place[0];
        tensor->bytes = place[1] - place[0];
        return true;
    }
    return fail_entry(h, tensor->name, "has an unexpected key, or one twice");
}

/* Makes room for one more element in a list of `count`, whose capacity is a power of two. */
static bool make_room(const Header *h, void *list, int count, size_t size) {
    const size_t capacity = count > 0 ? 2 * (size_t)count : 1;
    return (count & (count - 1)) != 0 ||
           memory_resize(list, (size_t)count, capacity, size, h->path, h->err);
}

static bool read_metadata(Header *h, const char *key) {
    SafeTensors *file = h->file;
    if (!make_room(h, &file->metadata, file->metadata_count, sizeof *file->metadata)) return false;
    Metadata *entry = &file->metadata[file->metadata_count++];
    entry->key = key;
    return read_string(h, &entry->value, &entry->length);
}

/* Reads the metadata or a tensor. */
static bool read_entry(Header *h, const char *key) {
    SafeTensors *file = h->file;
    size_t bytes;
    if (strcmp(key, "__metadata__") == 0) {
        if (h->described) return fail_entry(h, key, "appears twice");
        h->described = true;
        return read_object(h, read_metadata);
    }
    if (!make_room(h, &file->tensors, file->tensor_count, sizeof *file->tensors)) return false;
    SafeTensor *tensor = &file->tensors[file->tensor_count];
    *tensor = (SafeTensor){.name = key, .rank = -1, .offset = SIZE_MAX};
    if (!read_object(h, read_property)) return false;
    file->tensor_count++;
    if (!tensor->type || tensor->rank < 0 || tensor->offset == SIZE_MAX)
        return fail_entry(h, key, "lacks its dtype, shape or data_offsets");
    if (!expected_bytes(tensor, &bytes) || bytes != tensor->bytes)
        return fail_entry(h, key, "has a size that contradicts its dtype and shape");
    if (tensor->offset != h->placed)
        return fail_entry(h, key, "does not begin where the tensor before it ends");
    h->placed += bytes;
    return true;
}

static int compare_names(const void *a, const void *b) {
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Checks that the elements of a list, of `size` bytes each, begin with distinct names. */
static bool check_names(const Header *h, const void *list, int count, size_t size) {
    const char **names;
    bool ok = memory_alloc(&names, (size_t)count, sizeof *names, h->path, h->err);
    for (int i = 0; ok && i < count; i++)
        memcpy(&names[i], (const char *)list + (size_t)i * size, sizeof *names);
    if (ok) qsort(names, (size_t)count, sizeof *names, compare_names);
    for (int i = 1; ok && i < count; i++)
        ok = strcmp(names[i - 1], names[i]) != 0 || fail_entry(h, names[i], "appears twice");
    memory_free(names);
    return ok;
}

static bool read_header(SafeTensors *file, const char *path, size_t length, size_t data_bytes,
                        Error *err) {
    Header h = {.file = file,
                .path = path,
                .at = file->header,
                .end = file->header + length,
                .data_bytes = data_bytes,
                .err = err};
    if (!read_object(&h, read_entry)) return false;
    skip_space(&h);
    if (h.at < h.end) return fail_at(&h, "unexpected text after the end");
    return check_names(&h, file->tensors, file->tensor_count, sizeof *file->tensors) &&
           check_names(&h, file->metadata, file->metadata_count, sizeof *file->metadata) &&
           (h.placed == data_bytes ||
            fail(err, "%s: not a valid checkpoint: bytes after its last tensor: %zu", path,
                 data_bytes - h.placed));
}

/* Reads the header's length from the first bytes of a file of `length` bytes. */
static bool check_prefix(const char *bytes, size_t length, const char *name, size_t *header,
                         Error *err) {
    uint64_t prefix;
    if (length < PREFIX)
        return fail(err, "%s: not a valid checkpoint: it has only %zu bytes", name, length);
    memcpy(&prefix, bytes, PREFIX);
    *header = (size_t)prefix;
    if (prefix > MAX_HEADER && !memchr(bytes, 0, PREFIX))
        return fail(err,
                    "%s: is not a model; it looks like a text: ./train FILE trains a model on it, "
                    "./sample --prompt-file FILE continues it",
                    name);
    return (prefix <= MAX_HEADER && prefix <= length - PREFIX) ||
           fail(err,
                "%s: not a valid checkpoint: its first 8 bytes state a header of %" PRIu64
                " bytes, which is too long",
                name, prefix);
}

bool safetensors_open(SafeTensors *file, File *from, Error *err) {
    char prefix[PREFIX] = {0};
    size_t header;
    *file = (SafeTensors){0};
    if ((from->length < PREFIX || file_take(from, prefix, PREFIX, err)) &&
        check_prefix(prefix, from->length, from->path, &header, err) &&
        memory_alloc(&file->header, header, 1, from->path, err) &&
        file_take(from, file->header, header, err) &&
        read_header(file, from->path, header, from->length - PREFIX - header, err))
        return true;
    safetensors_free(file);
    return false;
}

bool safetensors_fetch(SafeTensors *file, File *from, Error *err) {
    size_t own = 0;
    for (int i = 0; i < file->tensor_count; i++)
        if (!file->tensors[i].data) own += file->tensors[i].bytes;
    if (!memory_alloc(&file->data, own, 1, from->path, err)) return false;
    char *next = file->data;
    for (int i = 0; i < file->tensor_count; i++) {
        SafeTensor *tensor = &file->tensors[i];
        if (!tensor->data) {
            tensor->data = next;
            next += tensor->bytes;
        }
        if (!file_take(from, (void *)tensor->data, tensor->bytes, err)) return false;
    }
    return true;
}

void safetensors_free(SafeTensors *file) {
    memory_free(file->tensors);
    memory_free(file->metadata);
    memory_free(file->header);
    memory_free(file->data);
    *file = (SafeTensors){0};
}

SafeTensor *safetensors_tensor(const SafeTensors *file, const char *name) {
    for (int i = 0; i < file->tensor_count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const Metadata *safetensors_metadata(const SafeTensors *file, const char *key) {
    for (int i = 0; i < file->metadata_count; i++)
        if (strcmp(file->metadata[i].key, key) == 0) return &file->metadata[i];
    return NULL;
}

const char *safetensors_value(const SafeTensors *file, const char *key) {
    const Metadata *entry = safetensors_metadata(file, key);
    return entry ? entry->value : NULL;
}

/* ---- the writer ---- */

/* Appends a text in quotes, escaped. It is UTF-8, whose other bytes need no escapes. */
static void quote(Buffer *out, const char *text, size_t length) {
    buffer_put(out, "\"", 1);
    for (const char *at = text; at < text + length; at++) {
        const unsigned char byte = (unsigned char)*at;
        if (byte < 0x20 || byte == 0x7F) {
            buffer_printf(out, "\\u%04x", (unsigned)byte);
        } else {
            if (byte == '"' || byte == '\\') buffer_put(out, "\\", 1);
            buffer_put(out, at, 1);
        }
    }
    buffer_put(out, "\"", 1);
}

static void write_header(Buffer *out, const SafeTensors *file) {
    size_t offset = 0;
    buffer_printf(out, "{\"__metadata__\":{");
    for (int i = 0; i < file->metadata_count; i++) {
        const Metadata *entry = &file->metadata[i];
        if (i > 0) buffer_printf(out, ",");
        quote(out, entry->key, strlen(entry->key));
        buffer_printf(out, ":");
        quote(out, entry->value, entry->length);
    }
    buffer_printf(out, "}");
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        buffer_printf(out, ",\"%s\":{\"dtype\":\"%s\",\"shape\":[", tensor->name, tensor->type);
        for (int j = 0; j < tensor->rank; j++)
            buffer_printf(out, "%s%zu", j ? "," : "", tensor->shape[j]);
        buffer_printf(out, "],\"data_offsets\":[%zu,%zu]}", offset, offset + tensor->bytes);
        offset += tensor->bytes;
    }
    buffer_printf(out, "}");
    while (!out->failed && (out->length + PREFIX) % 64)
        buffer_printf(out, " "); /* aligns the data, so that they can be mapped */
}

bool safetensors_write(const SafeTensors *file, const char *path, Error *err) {
    Buffer header = buffer_begin(path, err);
    FilePart *parts = NULL;
    size_t count = 2 + (size_t)file->tensor_count;
    write_header(&header, file);
    bool ok = !header.failed && memory_alloc(&parts, count, sizeof *parts, path, err);
    if (ok) {
        uint64_t prefix = header.length;
        parts[0] = (FilePart){&prefix, PREFIX};
        parts[1] = (FilePart){header.bytes, header.length};
        for (int i = 0; i < file->tensor_count; i++) {
            const SafeTensor *tensor = &file->tensors[i];
            parts[2 + i] = (FilePart){tensor->data, tensor->bytes};
        }
        ok = file_write(path, parts, count, err);
    }
    buffer_end(&header);
    memory_free(parts);
    return ok;
}
