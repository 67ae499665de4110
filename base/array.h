/* array.h - sizes, bounds and indices of arrays. */
#ifndef TRIL_BASE_ARRAY_H
#define TRIL_BASE_ARRAY_H

/* The number of elements. */
#define COUNT(array) (int)(sizeof(array) / sizeof *(array))

/* In place of the id of a character or token: none. */
enum { NO_ID = -1 };

static inline int min_int(int a, int b) {
    return a < b ? a : b;
}

#endif
