/* matmul.h - the block sizes of matmul.c, for whoever makes room for them. */
#ifndef TRIL_MATMUL_H
#define TRIL_MATMUL_H

enum {
    BLOCK_K = 256,  /* a packed panel, BLOCK_K x tile_columns, stays in the first cache */
    BLOCK_N = 2048, /* a multiple of every tile_columns */
    BLOCK_M = 192,  /* a multiple of every tile_rows; rows of the left operand, BLOCK_M x BLOCK_K,
                       stay in the second */
    MATMUL_PACKED = BLOCK_K * BLOCK_N /* floats of packing space */
};

#endif
