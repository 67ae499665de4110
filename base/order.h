/* order.h - numbers are little-endian in files and in digests, whatever they are in memory. */
#ifndef TRIL_BASE_ORDER_H
#define TRIL_BASE_ORDER_H

#include <stddef.h>

#define BIG_ENDIAN_MEMORY (*(const char *)&(const int){1} == 0)

/* Converts numbers of `width` bytes each, `length` bytes in all, to little-endian ones, or back. */
static inline void little_endian(void *numbers, size_t length, size_t width) {
    for (size_t at = 0; BIG_ENDIAN_MEMORY && at < length; at += width)
        for (size_t i = 0; i < width / 2; i++) {
            char *number = (char *)numbers + at, byte = number[i];
            number[i] = number[width - 1 - i];
            number[width - 1 - i] = byte;
        }
}

#endif
