/* muon.h - Muon, an optimizer for matrices (Jordan et al., "Muon: An optimizer for hidden layers in
 * neural networks", 2024). Private to model/.
 *
 * A step goes along the orthogonal matrix nearest to the momentum: all its directions have the same
 * weight, however rare they are. An iteration finds it in a few steps. Each applies an odd
 * polynomial to the singular values, and is computed with products of symmetric matrices. */
#ifndef TRIL_MODEL_ENGINE_MUON_H
#define TRIL_MODEL_ENGINE_MUON_H

#include "model/kernels/products.h"

typedef struct {
    float rate, momentum, decay;
} Muon;

/* Returns the scratch of muon_step in a thread for a matrix of rows x columns, in floats. */
size_t muon_scratch(const Isa *isa, const Products *products, int rows, int columns);

/* Returns the work of a step, in multiply-adds. */
double muon_work(const Products *products, int rows, int columns);

/* Takes one step for w[rows,columns], by the calling thread alone, whose scratch has muon_scratch
 * floats; m, the momentum, and g, the gradient, have the same shape. With o the orthogonal matrix
 * nearest to momentum m' + (1 - momentum) g (Nesterov's momentum):
 *     m' = momentum m + (1 - momentum) g
 *     w' = (1 - rate decay) w - rate s o,   s = sqrt(rows / columns) if rows > columns, else 1
 * g is used as scratch: its numbers are lost. */
void muon_step(const Thread *thread, float *w, float *m, float *g, int rows, int columns,
               Muon muon);

#endif
