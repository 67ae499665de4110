/* scalars.h - vectors.h for a compiler without vectors: of one lane. Macros, because such compilers
 * call even the smallest function. */
#ifndef TRIL_MODEL_KERNELS_ISA_SCALARS_H
#define TRIL_MODEL_KERNELS_ISA_SCALARS_H

#include "model/kernels/products.h"

#include <math.h>
#include <string.h>

#if !defined GNU_C

#if !defined PLAIN_C
#pragma message("plain C, slower than the vectors that gcc 11 and clang 14 have")
#endif

enum { LANES = 1, TILE_ROWS = 4, TILE_VECTORS = 4, TILE_COLUMNS = TILE_VECTORS * LANES, LINE = 16 };

#define PORTABLE
#define INLINE     static inline
#define EACH(i, n) for (size_t i = 0; i < (size_t)(n); i++)

typedef float Vector;
typedef uint32_t Bits, UnalignedBits;
typedef int32_t Integers;
typedef int16_t Halves;

static const float shift = 0x1.8p23f;

static inline Bits bits_of(Vector x) {
    Bits bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline Vector vector_of(Bits bits) {
    Vector x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

#define __builtin_convertvector(x, Type) ((Type)(x))

#define load(x)                 (*(x))
#define load_some(x, n, beyond) ((void)(n), *(x))
#define store(x, of)            (*(x) = (of))
#define store_some(x, n, of)    ((void)(n), *(x) = (of))
#define lane_of(x, i)           (x)
#define all(x)                  (x)
#define swapped(x, half)        (x)
#define transpose_lanes(row)    ((void)(row))
#define lanes_below(n)          ((n) > 0)
#define fused                   fmaf
#define multiply_add            fmaf
#define pick(which, a, b)       ((which) ? (a) : (b))
#define smaller(a, b)           ((a) < (b) ? (a) : (b))
#define larger(a, b)            ((a) > (b) ? (a) : (b))
#define larger_bits(a, b)       (bits_of(a) > bits_of(b) ? (a) : (b))
#define zero_below(a, b, x)     ((a) < (b) ? 0 : (x))

#endif
#endif
