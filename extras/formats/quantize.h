/* quantize.h - weights in fewer bits than float32, as other programs store them. */
#ifndef TRIL_EXTRAS_FORMATS_QUANTIZE_H
#define TRIL_EXTRAS_FORMATS_QUANTIZE_H

#include <stddef.h>
#include <stdint.h>

/* Returns the nearest number of 16 bits (IEEE 754 binary16), ties to even; infinity beyond
 * 65,519. */
uint16_t half_of(float x);

/* Returns the value of such a number. */
float half_value(uint16_t half);

/* Returns the value of a bfloat16, the upper half of a float. */
float bfloat_value(uint16_t upper);

/* Q8_0: each 32 numbers share a scale. The nearest multiple of the scale, at most 127 times it,
 * replaces each number. */
enum { Q8_NUMBERS = 32 };
typedef struct {
    uint16_t scale; /* a half, little-endian */
    int8_t multiples[Q8_NUMBERS];
} Q8Block;

/* Fills blocks[count / Q8_NUMBERS] from numbers[count], which need no alignment. */
void quantize_q8(Q8Block *blocks, const float *numbers, size_t count);

#endif
