/* instructions.h - the instruction sets of this processor that the system lets programs use.
 * Compilers have __builtin_cpu_supports for it, which is false for all in a program that zig links.
 */
#ifndef TRIL_BASE_INSTRUCTIONS_H
#define TRIL_BASE_INSTRUCTIONS_H

#include <stdbool.h>

/* AVX2 and fused multiply-add. False on other processors than x86-64. */
bool instructions_avx2(void);

/* AVX-512 with the parts F, DQ, BW and VL, beside AVX2. */
bool instructions_avx512(void);

#endif
