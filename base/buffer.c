#include "base/buffer.h"
#include "base/memory.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

Buffer buffer_begin(const char *name, Error *err) {
    return (Buffer){.name = name, .err = err};
}

bool buffer_reserve(Buffer *buffer, size_t more) {
    enum { FIRST = 4096 };
    if (buffer->failed || buffer->capacity - buffer->length > more) return !buffer->failed;
    size_t capacity = buffer->capacity > 0 ? 2 * buffer->capacity : FIRST;
    while (capacity - buffer->length <= more) capacity *= 2;
    buffer->failed =
        !memory_resize(&buffer->bytes, buffer->length, capacity, 1, buffer->name, buffer->err);
    if (!buffer->failed) buffer->capacity = capacity;
    return !buffer->failed;
}

void buffer_printf(Buffer *buffer, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (!buffer_reserve(buffer, (size_t)length)) return;
    va_start(arguments, format);
    vsnprintf(buffer->bytes + buffer->length, (size_t)length + 1, format, arguments);
    va_end(arguments);
    buffer->length += (size_t)length;
}

void buffer_put(Buffer *buffer, const void *bytes, size_t count) {
    if (count == 0 || !buffer_reserve(buffer, count)) return;
    memcpy(buffer->bytes + buffer->length, bytes, count);
    buffer->length += count;
}

void buffer_end(Buffer *buffer) {
    memory_free(buffer->bytes);
    *buffer = (Buffer){0};
}
