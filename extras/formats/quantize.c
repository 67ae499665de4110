#include "extras/formats/quantize.h"
#include "base/order.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

uint16_t half_of(float x) {
    enum { INFINITE = 0x7C00, QUIET = 0x200, BIAS_STEP = 127 - 15 };
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    uint32_t sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
    int exponent = (int)(rest >> 23) - BIAS_STEP;
    if (rest > 0x7F800000) return (uint16_t)(sign | INFINITE | QUIET);
    if (exponent >= 31) return (uint16_t)(sign | INFINITE);
    uint32_t mantissa = rest & 0x7FFFFF;
    int dropped = 13; /* bits of the mantissa that are lost */
    if (exponent <= 0) {
        mantissa |= 0x800000; /* too small for a half's exponent: the leading 1 becomes visible */
        dropped += 1 - exponent;
        exponent = 0;
        if (dropped > 24) return (uint16_t)sign;
    }
    uint32_t kept = (uint32_t)exponent << 10 | mantissa >> dropped;
    uint32_t lost = mantissa & ((1u << dropped) - 1), middle = 1u << (dropped - 1);
    if (lost > middle || (lost == middle && kept & 1)) kept++; /* may carry into the exponent */
    return (uint16_t)(sign | kept);
}

float half_value(uint16_t half) {
    enum { SPECIAL = 31, MANTISSA = 10, LEAST = -24 }; /* the least number is 2^-24 */
    int exponent = half >> MANTISSA & SPECIAL, mantissa = half & ((1 << MANTISSA) - 1);
    float sign = half & 0x8000 ? -1 : 1;
    if (exponent == SPECIAL) return mantissa ? NAN : sign * INFINITY;
    if (exponent == 0) return sign * ldexpf((float)mantissa, LEAST);
    return sign * ldexpf((float)(mantissa + (1 << MANTISSA)), LEAST - 1 + exponent);
}

float bfloat_value(uint16_t upper) {
    uint32_t bits = (uint32_t)upper << 16;
    float value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

void quantize_q8(Q8Block *blocks, const float *numbers, size_t count) {
    const float largest = 127;
    for (size_t b = 0; b < count / Q8_NUMBERS; b++, numbers += Q8_NUMBERS) {
        float max = 0;
        for (int i = 0; i < Q8_NUMBERS; i++) max = fmaxf(max, fabsf(numbers[i]));
        float scale = max / largest;
        blocks[b].scale = half_of(scale);
        little_endian(&blocks[b].scale, sizeof blocks[b].scale, sizeof blocks[b].scale);
        bool zero = blocks[b].scale == 0; /* the quotients may then exceed an int8_t */
        for (int i = 0; i < Q8_NUMBERS; i++)
            blocks[b].multiples[i] = (int8_t)(zero ? 0 : roundf(numbers[i] / scale));
    }
}
