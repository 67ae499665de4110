/* safetensors.c - a strict reader and a simple writer of safetensors. */
#include "library/safetensors.h"
#include "base/array.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined __BYTE_ORDER__
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers in files are little-endian");
#endif

enum { PREFIX = 8, MAX_HEADER = 64 << 20 };

/* ---- metadata ---- */

bool notes_put(Notes *notes, const char *key, const char *value, size_t length, Error *err) {
    char *copy; /* the key, then the value */
    const size_t place = strlen(key) + 1;
    int i = 0;
    while (i < notes->count && strcmp(notes->list[i].key, key) != 0) i++;
    if (i == MAX_NOTES) return fail(err, "more than %d entries of metadata", (int)MAX_NOTES);
    if (!memory_alloc(&copy, place + length + 1, 1, "the metadata", err)) return false;
    memcpy(copy, key, place);
    memcpy(copy + place, value, length);
    if (i == notes->count) notes->count++;
    memory_free((char *)notes->list[i].key);
    notes->list[i] = (Note){copy, copy + place, length};
    return true;
}

bool notes_print(Notes *notes, const char *key, Error *err, const char *format, ...) {
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return notes_put(notes, key, text, strlen(text), err);
}

void notes_free(Notes *notes) {
    for (int i = 0; i < notes->count; i++) memory_free((char *)notes->list[i].key);
    notes->count = 0;
}

/* ---- the header ---- */

/* Reads [a, b, ...] of at most `capacity` numbers. */
static bool read_sizes(const JsonValue *list, size_t *sizes, int capacity, int *count) {
    *count = 0;
    if (list->kind != JSON_ARRAY) return false;
    json_each(size, list)
        if (*count == capacity || !json_size(size, &sizes[(*count)++])) return false;
    return true;
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

/* Reads {"dtype": ..., "shape": [...], "data_offsets": [begin, end]}. Returns any fault. */
static const char *read_tensor(SafeTensor *tensor, const JsonValue *entry, size_t data_bytes) {
    const JsonValue *type = json_member(entry, "dtype"), *shape = json_member(entry, "shape");
    const JsonValue *place = json_member(entry, "data_offsets");
    size_t offsets[2], bytes;
    int members = 0, count;
    json_each(member, entry) members++;
    if (!type || !shape || !place) return "lacks its dtype, shape or data_offsets";
    if (members > 3) return "has an unexpected key";
    if (!json_name(type, &tensor->type)) return "has a dtype that is not a name";
    if (!read_sizes(shape, tensor->shape, SAFETENSORS_RANK, &tensor->rank))
        return "has a shape that is not a list of at most 8 whole numbers";
    if (!read_sizes(place, offsets, 2, &count) || count != 2)
        return "has data_offsets that are not a list of 2 whole numbers";
    if (offsets[0] > offsets[1] || offsets[1] > data_bytes) return "lies outside of the file";
    tensor->offset = offsets[0];
    tensor->bytes = offsets[1] - offsets[0];
    return expected_bytes(tensor, &bytes) && bytes == tensor->bytes
               ? NULL
               : "has a size that contradicts its dtype and shape";
}

/* Reads the entries of the header. Returns the fault, with *at set to its key, or NULL. */
static const char *read_entries(SafeTensors *file, const JsonValue *root, size_t data_bytes,
                                const char **at) {
    json_each(entry, root) {
        *at = entry->key;
        if (strlen(entry->key) != entry->key_length) return "has a zero byte in its name";
        if (strcmp(entry->key, "__metadata__") != 0) {
            SafeTensor *tensor = &file->tensors[file->tensor_count++];
            tensor->name = entry->key;
            const char *wrong = read_tensor(tensor, entry, data_bytes);
            if (wrong) return wrong;
            continue;
        }
        if (entry->kind != JSON_OBJECT) return "is not an object";
        json_each(note, entry) {
            if (note->kind != JSON_STRING) return "has a value that is not a string";
            if (strlen(note->key) != note->key_length) return "has a zero byte in a key";
            file->notes[file->note_count++] = (Note){note->key, note->text, note->length};
        }
    }
    return NULL;
}

static int compare_places(const void *a, const void *b) {
    const SafeTensor *x = a, *y = b;
    if (x->offset != y->offset) return x->offset < y->offset ? -1 : 1;
    return (x->bytes > y->bytes) - (x->bytes < y->bytes); /* empty tensors first */
}

/* Sorts the tensors by their places, and checks that they fill the data end to end. */
static bool sort_places(SafeTensors *file, const char *name, size_t data_bytes, Error *err) {
    size_t next = 0;
    qsort(file->tensors, (size_t)file->tensor_count, sizeof *file->tensors, compare_places);
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        if (tensor->offset != next)
            return fail(
                err,
                "%s: not a valid checkpoint: tensor %s does not begin where the one before it ends",
                name, tensor->name);
        next += tensor->bytes;
    }
    return next == data_bytes ||
           fail(err, "%s: not a valid checkpoint: its last %zu bytes belong to no tensor", name,
                data_bytes - next);
}

/* Reads the header's length from the first bytes of a file of `length` bytes. */
static bool check_prefix(const char *bytes, size_t length, const char *name, size_t *header,
                         Error *err) {
    uint64_t prefix;
    if (length < PREFIX)
        return fail(err, "%s: not a valid checkpoint: it has only %zu bytes", name, length);
    memcpy(&prefix, bytes, PREFIX);
    *header = (size_t)prefix;
    if (prefix > MAX_HEADER)
        return memchr(bytes, 0, PREFIX)
                   ? fail(err,
                          "%s: not a checkpoint: its first 8 bytes state a header of %" PRIu64
                          " bytes",
                          name, prefix)
                   : fail(err, "%s: not a checkpoint, but perhaps a text", name);
    return prefix <= length - PREFIX ||
           fail(err,
                "%s: not a valid checkpoint: its first 8 bytes state a header of %" PRIu64
                " bytes in a file of %zu",
                name, prefix, length);
}

static bool read_header(SafeTensors *file, const char *name, char *start, size_t header,
                        size_t data_bytes, Error *err) {
    JsonValue *root;
    size_t tensors = 0, notes = 0;
    const char *at = "header", *wrong = "is not an object";
    if (!json_read(&root, name, "not a valid checkpoint: in its header", start, header, err))
        return false;
    json_each(entry, root) tensors++;
    json_each(note, json_member(root, "__metadata__")) notes++;
    bool ok = memory_alloc(&file->tensors, tensors, sizeof *file->tensors, name, err) &&
              memory_alloc(&file->notes, notes, sizeof *file->notes, name, err);
    if (ok && root->kind == JSON_OBJECT) wrong = read_entries(file, root, data_bytes, &at);
    memory_free(root);
    if (ok && wrong)
        return fail(err, "%s: not a valid checkpoint: in its header: '%.64s' %s", name, at, wrong);
    return ok && sort_places(file, name, data_bytes, err);
}

bool safetensors_open(SafeTensors *file, File *from, Error *err) {
    char prefix[PREFIX] = {0};
    size_t header;
    *file = (SafeTensors){0};
    if ((from->length < PREFIX || file_take(from, prefix, PREFIX, err)) &&
        check_prefix(prefix, from->length, from->path, &header, err) &&
        memory_alloc(&file->header, header, 1, from->path, err) &&
        file_take(from, file->header, header, err) &&
        read_header(file, from->path, file->header, header, from->length - PREFIX - header, err))
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

/* A number is not finite if all bits of its exponent are set. The loop has no branch, so that
 * compilers can vectorize it. */
bool safetensors_finite(const void *data, size_t size) {
    const uint32_t exponent = 0x7F800000;
    uint32_t bad = 0;
    for (size_t i = 0; i < size / sizeof(float); i++) {
        uint32_t bits;
        memcpy(&bits, (const char *)data + i * sizeof bits, sizeof bits);
        bad |= (bits & exponent) == exponent;
    }
    return !bad;
}

void safetensors_free(SafeTensors *file) {
    memory_free(file->tensors);
    memory_free(file->notes);
    memory_free(file->header);
    memory_free(file->data);
    *file = (SafeTensors){0};
}

const SafeTensor *safetensors_tensor(const SafeTensors *file, const char *name) {
    for (int i = 0; i < file->tensor_count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

const Note *safetensors_note(const SafeTensors *file, const char *key) {
    for (int i = 0; i < file->note_count; i++)
        if (strcmp(file->notes[i].key, key) == 0) return &file->notes[i];
    return NULL;
}

const char *safetensors_value(const SafeTensors *file, const char *key) {
    const Note *note = safetensors_note(file, key);
    return note ? note->value : NULL;
}

/* ---- the writer ---- */

static void write_header(Buffer *out, const SafeTensors *file) {
    size_t offset = 0;
    buffer_printf(out, "{\"__metadata__\":{");
    for (int i = 0; i < file->note_count; i++) {
        const Note *note = &file->notes[i];
        if (i > 0) buffer_printf(out, ",");
        json_quote(out, note->key, strlen(note->key));
        buffer_printf(out, ":");
        json_quote(out, note->value, note->length);
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
