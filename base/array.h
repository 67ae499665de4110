/* array.h - sizes and bounds of arrays. */
#ifndef TRIL_BASE_ARRAY_H
#define TRIL_BASE_ARRAY_H

/* The number of elements. */
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

static inline int min_int(int a, int b) {
    return a < b ? a : b;
}

#endif
