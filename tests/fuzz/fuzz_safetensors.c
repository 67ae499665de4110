/* fuzz_safetensors.c - whatever the safetensors reader accepts lies within its file. */
#include "tests/fuzz/fuzz.h"
#include "base/order.h"
#include "library/safetensors.h"

#include <string.h>

static void check_inside(const void *at, size_t size, const char *bytes, size_t length) {
    const char *from = at;
    if (from < bytes || size > length || (size_t)(from - bytes) > length - size)
        fuzz_fail("all within the file");
}

/* Tensors lie end to end, so together they are as long as the data. */
static void check_file(const SafeTensors *file, const char *bytes, size_t length) {
    uint64_t header;
    size_t total = 0;
    memcpy(&header, bytes, sizeof header);
    little_endian(&header, sizeof header, sizeof header);
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        check_inside(tensor->name, strlen(tensor->name) + 1, bytes, length);
        check_inside(tensor->data, tensor->bytes, bytes, length);
        if (tensor->rank < 0 || tensor->rank > SAFETENSORS_RANK) fuzz_fail("a rank");
        total += tensor->bytes;
    }
    if (total != length - sizeof header - (size_t)header) fuzz_fail("all data in tensors");
    for (int i = 0; i < file->note_count; i++) {
        const Note *note = &file->notes[i];
        check_inside(note->key, strlen(note->key) + 1, bytes, length);
        check_inside(note->value, note->length, bytes, length);
    }
}

void fuzz_safetensors(const uint8_t *bytes, size_t length) {
    SafeTensors file;
    Error err = {0};
    char *text = fuzz_guarded(bytes, length);
    if (!text) return;
    if (safetensors_read(&file, "file", text, length, &err))
        check_file(&file, text, length);
    else if (strncmp(err.text, "file: ", 6) != 0 || strchr(err.text, '\n'))
        fuzz_fail("one sentence");
    safetensors_free(&file);
}
