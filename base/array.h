/* array.h - sizes, bounds and indices of arrays. */
#ifndef TRIL_BASE_ARRAY_H
#define TRIL_BASE_ARRAY_H

#include <stddef.h>

/* The number of elements. */
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* In place of the id of a character or token: none. */
enum { NO_ID = -1 };

static inline int min_int(int a, int b) {
    return a < b ? a : b;
}

static inline size_t min_size(size_t a, size_t b) {
    return a < b ? a : b;
}

/* Return the quotient, rounded up. */
static inline int ceil_div_int(int a, int b) {
    return (a + b - 1) / b;
}

static inline size_t ceil_div(size_t a, size_t b) {
    return (a + b - 1) / b;
}

#endif
