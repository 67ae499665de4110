/* matmul.h - the block sizes of the products, for whoever makes room for them. */
#ifndef TRIL_MATMUL_H
#define TRIL_MATMUL_H

enum {
    MATMUL_TERMS = 256,   /* the most terms in a block; of bfloat16 numbers twice as many */
    MATMUL_COLUMNS = 512, /* columns of the right operand that are packed at a time; a multiple of
                             every tile's */
    MATMUL_STRIP = 96,    /* rows of a turned left operand, likewise; a multiple of every tile's
                             and of every vector's lanes */
    MATMUL_ROWS = 288     /* the same of bfloat16 numbers, which are packed whatever way they lie */
};

#endif
