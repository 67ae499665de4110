/* matmul.h - the block sizes of the products, for matmul.c, bf16.c and the memory of a thread.
 * Private to model/kernels. */
#ifndef TRIL_MODEL_KERNELS_MATMUL_H
#define TRIL_MODEL_KERNELS_MATMUL_H

enum {
    MATMUL_TERMS = 256,   /* the most terms in a block; with bfloat16 numbers, twice that */
    MATMUL_COLUMNS = 512, /* columns of the right operand that are packed at a time; a multiple of
                             every tile's columns */
    MATMUL_STRIP = 96,    /* rows of a transposed left operand, likewise; a multiple of every tile's
                             rows and of every vector's lanes */
    MATMUL_ROWS = 288     /* the same with bfloat16 numbers, which are packed transposed or not */
};

#endif
