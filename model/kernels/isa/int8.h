/* int8.h - some rows times weights of 8 bits. */
#ifndef TRIL_MODEL_KERNELS_ISA_INT8_H
#define TRIL_MODEL_KERNELS_ISA_INT8_H

#include "model/kernels/isa/vectors.h"

/* The distance of prefetches: half a page of 4 KiB, beyond which the hardware does not prefetch. */
enum { BYTES_AHEAD = 2048 };

typedef int32_t Together __attribute__((aligned(2), may_alias)); /* two int16_t, or four bytes */

/* Returns sum + x0 w0 + x1 w1 in each lane. `both` is x0 and x1; w has w0 and w1 of each lane. */
INLINE Integers add_pairs(Integers sum, int32_t both, const int8_t *w) {
#if defined PORTABLE || !(defined __x86_64__ || defined __aarch64__)
    int16_t x[2];
    memcpy(x, &both, sizeof x);
    for (int i = 0; i < LANES; i++) lane_of(sum, i) += x[0] * w[2 * i] + x[1] * w[2 * i + 1];
    return sum;
#elif defined __AVX512BW__
    __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)w));
    return sum + (Integers)_mm512_madd_epi16(wide, _mm512_set1_epi32(both));
#elif defined __AVX2__
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)w));
    return sum + (Integers)_mm256_madd_epi16(wide, _mm256_set1_epi32(both));
#elif defined __x86_64__
    __m128i twice = _mm_loadl_epi64((const void *)w);
    __m128i wide = _mm_srai_epi16(_mm_unpacklo_epi8(twice, twice), 8);
    return sum + (Integers)_mm_madd_epi16(wide, _mm_set1_epi32(both));
#else
    int16x8_t wide = vmovl_s8(vld1_s8(w)), x = vreinterpretq_s16_s32(vdupq_n_s32(both));
    int32x4_t low = vmull_s16(vget_low_s16(wide), vget_low_s16(x));
    return sum + (Integers)vpaddq_s32(low, vmull_high_s16(wide, x));
#endif
}

/* Returns sum + x0 w0 + ... + x3 w3 in each lane. `four` is x0 to x3, unsigned bytes; w has w0 to
 * w3 of each lane. VNNI's instruction, for which isa.c is not compiled. */
INLINE Integers add_fours(Integers sum, int32_t four, Integers w) {
#if defined INTRINSIC && defined __AVX512F__
    __asm__("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(_mm512_set1_epi32(four)), "v"(w));
#elif defined INTRINSIC
    __asm__("%{vex%} vpdpbusd %2, %1, %0" : "+x"(sum) : "x"(_mm256_set1_epi32(four)), "x"(w));
#endif
    (void)four, (void)w;
    return sum;
}

/* Multiplies `rows` rows of x by a panel of weights, from `column` on. With VNNI, x + 2^15 is an
 * upper byte and a lower one, which have sums of their own. The upper one begins at -128 times the
 * sum of the weights: that takes away the 2^15. */
INLINE void int8_tile(const bool vnni, const int rows, const int vectors, float *y, size_t y_row,
                      const int16_t *x, size_t x_row, const float *scale, const int8_t *panel,
                      int column, const float *scales, int K, int columns, const float *start,
                      size_t start_row) {
    Integers sum[TILE_ROWS][INT8_PANEL / LANES], upper[TILE_ROWS][INT8_PANEL / LANES];
    const int8_t *sums = panel + 4 * column, *w = panel + 4 * INT8_PANEL;
    EACH(i, rows) EACH(j, vectors) {
        sum[i][j] = (Integers){0};
        upper[i][j] = (Integers) * (const UnalignedBits *)(const void *)(sums + 4 * j * LANES);
    }
    w += column * (vnni ? 4 : 2);
    if (vnni) {
#pragma GCC unroll 4
        for (int p = 0; p < K; p += 4, w += 4 * INT8_PANEL) {
            Integers of_w[INT8_PANEL / LANES];
            EACH(j, vectors) {
                of_w[j] = (Integers) * (const UnalignedBits *)(const void *)(w + 4 * j * LANES);
                if (rows == 1) __builtin_prefetch(w + 4 * j * LANES + BYTES_AHEAD);
            }
            EACH(i, rows) {
                const Together *of_x = (const Together *)(x + i * x_row + p);
                EACH(j, vectors) upper[i][j] = add_fours(upper[i][j], of_x[0], of_w[j]);
                EACH(j, vectors) sum[i][j] = add_fours(sum[i][j], of_x[1], of_w[j]);
            }
        }
    } else {
#pragma GCC unroll 4
        for (int p = 0; p < K; p += 2, w += 2 * INT8_PANEL) {
            EACH(i, rows) {
                int32_t both = *(const Together *)(x + i * x_row + p);
                EACH(j, vectors) sum[i][j] = add_pairs(sum[i][j], both, w + 2 * j * LANES);
            }
        }
    }
    EACH(i, rows) EACH(j, vectors) {
        const size_t at = j * LANES, left = (size_t)columns - at;
        Vector both_scales = load(scales + at) * all(scale[i]);
        if (vnni) sum[i][j] += upper[i][j] * 256;
        Vector of = __builtin_convertvector(sum[i][j], Vector) * both_scales;
        if (start) of = load_some(start + i * start_row + at, left, 0) + of;
        store_some(y + i * y_row + at, left, of);
    }
}

/* The most vectors of columns at a time, a power of two; near the end, half as many or fewer. One
 * row takes as many as registers allow, because few sums would wait for each other. Several rows
 * share each read of the weights. */
INLINE int int8_vectors(const bool vnni, const int rows) {
    enum { WHOLE = INT8_PANEL / LANES };
    if (rows > 1) return vnni ? TILE_VECTORS / 2 : TILE_VECTORS;
    return vnni ? 4 : WHOLE < 8 ? WHOLE : 8;
}

static void int8_rows(bool vnni, float *y, size_t y_row, const int16_t *x, size_t x_row,
                      const float *scale, int rows, const int8_t *w, const float *scales, int K,
                      int columns, const float *start, size_t start_row) {
#if !defined INTRINSIC
    vnni = false;
#endif
    int most = int8_vectors(vnni, rows);
    for (int first = 0, vectors; first < columns; first += vectors * LANES) {
        const int8_t *panel = w + (size_t)(first / INT8_PANEL) * int8_panel_size(K);
        const float *begin = start ? start + first : NULL;
        for (vectors = most; (vectors - 1) * LANES >= columns - first;) vectors /= 2;
            /* clang-format off */
#define INT8(bytes, m, n) case (bytes) * 64 + (m) * 8 + (n) - 1: \
            if (m <= TILE_ROWS && n <= int8_vectors(bytes, m)) \
                int8_tile(bytes, m, n, y + first, y_row, x, x_row, scale, panel, \
                          first % INT8_PANEL, scales + first, K, columns - first, begin, \
                          start_row); \
            break;
#define INT8_TILES(m) INT8(0, m, 1) INT8(0, m, 2) INT8(0, m, 4) INT8(1, m, 1) INT8(1, m, 2)
        switch (vnni * 64 + rows * 8 + vectors - 1) {
            INT8_TILES(1) INT8_TILES(2) INT8_TILES(4) INT8_TILES(6)
            INT8(0, 1, 8) INT8(1, 1, 4)
        }
        /* clang-format on */
    }
}

/* For each four numbers returns the upper bytes, then the lower bytes, of x + 2^15. */
INLINE Halves bytes_of(Halves x) {
#if defined INTRINSIC
#if defined __AVX512F__
#define SHUFFLE(x, order) _mm256_shuffle_epi8((__m256i)(x), _mm256_broadcastsi128_si256(order))
#else
#define SHUFFLE(x, order) _mm_shuffle_epi8((__m128i)(x), order)
#endif
    const __m128i order = _mm_set_epi8(14, 12, 10, 8, 15, 13, 11, 9, 6, 4, 2, 0, 7, 5, 3, 1);
    return (Halves)SHUFFLE(x ^ INT16_MIN, order);
#endif
    return x;
}

/* Compares magnitudes as integers: the order is the same, and a NaN is greater than all. */
static float round_to_16(bool vnni, int16_t *y, const float *x, int limit, int n) {
    const float tiny = 0x1p-100f;
    Vector most = all(0);
    for (int i = 0; i < n; i += LANES)
        most =
            larger_bits(vector_of(bits_of(load_some(x + i, (size_t)(n - i), 0)) & INT32_MAX), most);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2) most = larger_bits(swapped(most, half), most);
    float largest = lane_of(most, 0), times = largest < tiny ? 0 : (float)limit / largest;
    for (int i = 0; i < n; i += LANES) {
        Vector of = load_some(x + i, (size_t)(n - i), 0);
        Halves whole = __builtin_convertvector((Integers)bits_of(of * times + shift), Halves);
        if (vnni) whole = bytes_of(whole);
        memcpy(y + i, &whole, sizeof whole);
    }
    return largest < tiny ? 0 : largest / (float)limit;
}

#endif
