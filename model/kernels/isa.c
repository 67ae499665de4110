/* isa.c - the loops that use vector registers, compiled once for each instruction set.
 *
 * The Makefile compiles this file with ISA=base (SSE2 or NEON), avx2 and avx512, each with the
 * compiler flags of that set; for the tests also with ISA=portable, sixteen lanes in plain C. Most
 * loops are written in vector types. Rotary positions, dropout, AdamW, sum and axpby are plain C
 * that the compiler vectorizes. */
#include "model/kernels/isa/copies.h"
#include "model/kernels/isa/exponentials.h"
#include "model/kernels/isa/int8.h"
#include "model/kernels/isa/rows.h"
#include "model/kernels/isa/sequence.h"
#include "model/kernels/isa/sums.h"
#include "model/kernels/isa/tile.h"

#define PASTE(a, b)     a##b
#define TABLE_NAME(isa) PASTE(isa_, isa)
#define STRING(text)    #text
#define NAME_OF(isa)    STRING(isa)
#define LOOP(name)      .name = name,

extern const Isa TABLE_NAME(ISA);
/* clang-format off */
const Isa TABLE_NAME(ISA) = {
    .name = NAME_OF(ISA),
    .lanes = LANES,
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .block_terms = BLOCK_TERMS,
    LOOP(panel)
    LOOP(transpose) LOOP(copy) LOOP(add_rows) LOOP(copy_panels)
    LOOP(scores) LOOP(means)
    LOOP(int8_rows) LOOP(round_to_16)
    LOOP(softmax) LOOP(numerators) LOOP(near_numerators) LOOP(softmax_backward) LOOP(mask)
#if defined GNU_C
    LOOP(attend) LOOP(attend_backward)
#endif
    LOOP(gelu) LOOP(gelu_backward) LOOP(swiglu) LOOP(swiglu_backward)
    LOOP(normalize) LOOP(normalize_backward)
    LOOP(rotate) LOOP(convolve) LOOP(convolve_gradients) LOOP(dropout)
    LOOP(sum) LOOP(axpby) LOOP(dot) LOOP(adamw)
};
