/* memory.h - the memory of the plain rungs: weights, by name, and arrays. */
#ifndef TRIL_MODEL_PLAIN_MEMORY_H
#define TRIL_MODEL_PLAIN_MEMORY_H

#include "model/plain/plain.h"

/* The weights of one layer and, with a d in front, their gradients. They belong to the Plain. */
typedef struct {
    const double *w, *b; /* (rows, columns) and (rows); b is NULL if the layer has no bias */
    double *dw, *db;
    int rows, columns; /* a vector has columns = 1 */
} Weights;

/* Returns the weights whose tensors are NAME.weight and, if the model has it, NAME.bias. The name
 * is `format` with its arguments, as in printf. */
Weights plain_weights(const Plain *p, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* Numbers (rows, columns) and, with a d in front, their gradients. */
typedef struct {
    double *x, *dx;
    int rows, columns;
} Array;

/* Returns a new array of zeros. It belongs to the Plain, until plain_release. */
Array plain_zeros(Plain *p, int rows, int columns);

/* Frees all arrays, at the end of a sequence. */
void plain_release(Plain *p);

#endif
