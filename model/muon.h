/* muon.h - the optimizer of matrices. Private to model/.
 *
 * Muon (Jordan et al., "Muon: An optimizer for hidden layers in neural networks", 2024) steps along
 * the orthogonal matrix nearest to a gradient's momentum: all its directions weigh the same,
 * however rare they were. It is found by five steps of a Newton-Schulz iteration, which are
 * products of matrices. */
#ifndef TRIL_MUON_H
#define TRIL_MUON_H

#include "model/kernels/kernels.h"

typedef struct {
    float rate, momentum, decay;
} Muon;

/* The scratch, in floats, that muon_step needs of a thread for a matrix of rows x columns. */
size_t muon_room(const Isa *isa, const Products *products, int rows, int columns);

/* How much work a step is, in multiply-adds. */
double muon_work(int rows, int columns);

/* One step of w[rows,columns], by the calling thread alone: m = momentum m + (1 - momentum) g, and
 * w takes `rate` of the orthogonal matrix of momentum m + (1 - momentum) g (Nesterov's), times
 * sqrt(rows / columns) where there are more rows. g is left as it is. */
void muon_step(const Kernels *k, float *w, float *m, const float *g, int rows, int columns,
               Muon muon);

#endif
