/* matmul.h - the block sizes of matmul.c, for whoever makes room for them. */
#ifndef TRIL_MATMUL_H
#define TRIL_MATMUL_H

enum {
    MATMUL_TERMS = 256,   /* the most terms in a block */
    MATMUL_COLUMNS = 512, /* columns of the right operand that are packed at a time; a multiple of
                             every tile_columns */
    MATMUL_STRIP = 48     /* rows of a turned left operand, likewise; a multiple of every tile_rows
                             and of every vector's lanes */
};

#endif
