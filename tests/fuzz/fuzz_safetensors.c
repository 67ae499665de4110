/* fuzz_safetensors.c - whatever the safetensors reader accepts lies within its file. */
#include "tests/fuzz/fuzz.h"
#include "tests/support.h"
#include "library/safetensors.h"

#include <string.h>

static void check_inside(const void *at, size_t size, const char *bytes, size_t length) {
    const char *from = at;
    if (from < bytes || size > length || (size_t)(from - bytes) > length - size)
        fuzz_fail("all within the file");
}

/* Tensors lie end to end, so together they are as long as the data. */
static void check_file(const SafeTensors *file, const char *bytes, size_t length) {
    uint64_t prefix;
    memcpy(&prefix, bytes, sizeof prefix);
    const size_t header = (size_t)prefix, data = length - sizeof prefix - header;
    size_t total = 0;
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        check_inside(tensor->name, strlen(tensor->name) + 1, file->header, header);
        check_inside(tensor->data, tensor->bytes, file->data, data);
        if (tensor->rank < 0 || tensor->rank > SAFETENSORS_RANK) fuzz_fail("a rank");
        total += tensor->bytes;
    }
    if (total != data) fuzz_fail("all data in tensors");
    for (int i = 0; i < file->metadata_count; i++) {
        const Metadata *note = &file->metadata[i];
        check_inside(note->key, strlen(note->key) + 1, file->header, header);
        check_inside(note->value, note->length, file->header, header);
    }
}

void fuzz_safetensors(const uint8_t *bytes, size_t length) {
    SafeTensors file;
    err = (Error){0};
    File from = {.path = "file", .descriptor = -1, .bytes = guarded(bytes, length)};
    if (!from.bytes) return;
    from.length = length;
    if (safetensors_open(&file, &from, &err) && safetensors_fetch(&file, &from, &err))
        check_file(&file, from.bytes, length);
    else if (strncmp(err.text, "file: ", 6) != 0 || strchr(err.text, '\n'))
        fuzz_fail("one sentence");
    safetensors_free(&file);
}
