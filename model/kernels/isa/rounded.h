/* rounded.h - one row times weights of 16 or 8 bits. */
#ifndef TRIL_MODEL_KERNELS_ISA_ROUNDED_H
#define TRIL_MODEL_KERNELS_ISA_ROUNDED_H

#include "model/kernels/isa/vectors.h"

/* The distance of prefetches: a page of 4 KiB, beyond which the hardware does not prefetch. */
enum { PAIRS_AHEAD = 1024 };

/* A bfloat16 is the upper half of a float. rounded_weights.c rounds the upper number of a pair with
 * the lower one's bits below it. */
INLINE void bf16_gemv_of(const int vectors, float *y, const float *x, const uint32_t *pairs, int K,
                         int columns, const float *bias) {
    Vector even[TILE_VECTORS] = {0}, odd[TILE_VECTORS] = {0};
    float sums[TILE_COLUMNS] = {0};
    for (int p = 0; p < K; p += 2, pairs += vectors * LANES) {
        float first = x[p], second = p + 1 < K ? x[p + 1] : 0;
        EACH(j, vectors) {
            __builtin_prefetch(pairs + j * LANES + PAIRS_AHEAD);
            Bits both = *(const UnalignedBits *)(pairs + j * LANES);
            even[j] = multiply_add(all(first), (Vector)(both << 16), even[j]);
            odd[j] = multiply_add(all(second), (Vector)both, odd[j]);
        }
    }
    EACH(j, vectors) store(sums + j * LANES, even[j] + odd[j]);
    for (int j = 0; j < columns; j++) y[j] = bias ? bias[j] + sums[j] : sums[j];
}

static void bf16_gemv(float *y, const float *x, const uint32_t *pairs, int K, int columns,
                      const float *bias) {
    /* clang-format off */
#define GEMV(n) case n: if (n <= TILE_VECTORS) bf16_gemv_of(n, y, x, pairs, K, columns, bias); break;
    switch ((columns + LANES - 1) / LANES) { GEMV(1) GEMV(2) GEMV(3) GEMV(4) }
    /* clang-format on */
}

typedef int32_t Pairs __attribute__((aligned(2), may_alias)); /* two int16_t */

/* Returns sum + x0 w0 + x1 w1 in each lane. `both` is x0 and x1; w has w0 and w1 of each lane. */
INLINE Integers add_pairs(const bool vnni, Integers sum, int32_t both, const int8_t *w) {
    (void)vnni;
#if defined PORTABLE || !(defined __x86_64__ || defined __aarch64__)
    int16_t x[2];
    memcpy(x, &both, sizeof x);
    for (int i = 0; i < LANES; i++) sum[i] += x[0] * w[2 * i] + x[1] * w[2 * i + 1];
    return sum;
#elif defined __AVX512BW__
    __m512i wide = _mm512_cvtepi8_epi16(_mm256_loadu_si256((const void *)w));
    __m512i twice = _mm512_set1_epi32(both);
    if (!vnni) return sum + (Integers)_mm512_madd_epi16(wide, twice);
    __asm__("vpdpwssd %2, %1, %0" : "+v"(sum) : "v"(wide), "v"(twice)); /* not compiled for it */
    return sum;
#elif defined __AVX2__
    __m256i wide = _mm256_cvtepi8_epi16(_mm_loadu_si128((const void *)w));
    __m256i twice = _mm256_set1_epi32(both);
    if (!vnni) return sum + (Integers)_mm256_madd_epi16(wide, twice);
    __asm__("%{vex%} vpdpwssd %2, %1, %0" : "+x"(sum) : "x"(wide), "x"(twice));
    return sum;
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

/* Multiplies `rows` rows of x by one panel of weights, from vector `from` on. */
INLINE void int8_tile(const bool vnni, const int rows, const int vectors, float *y, size_t y_row,
                      const int16_t *x, size_t x_row, const float *scale, const int8_t *w,
                      const float *scales, int K, int columns, const float *start,
                      size_t start_row) {
    Integers sum[TILE_ROWS][INT8_PANEL / LANES];
    EACH(i, rows) EACH(j, vectors) sum[i][j] = (Integers){0};
#pragma GCC unroll 4
    for (int p = 0; p < K; p += 2, w += 2 * INT8_PANEL) {
        EACH(i, rows) {
            int32_t both = *(const Pairs *)(x + i * x_row + p);
            EACH(j, vectors) sum[i][j] = add_pairs(vnni, sum[i][j], both, w + 2 * j * LANES);
        }
    }
    EACH(i, rows) EACH(j, vectors) {
        const size_t at = j * LANES, left = (size_t)columns - at;
        Vector both_scales = load(scales + at) * all(scale[i]);
        Vector of = __builtin_convertvector(sum[i][j], Vector) * both_scales;
        if (start) of = load_some(start + i * start_row + at, left, 0) + of;
        store_some(y + i * y_row + at, left, of);
    }
}

/* One row takes a whole panel at a time, because its few sums would wait for each other. Several
 * rows share each read of the weights. */
static void int8_rows(bool vnni, float *y, size_t y_row, const int16_t *x, size_t x_row,
                      const float *scale, int rows, const int8_t *w, const float *scales, int K,
                      int columns, const float *start, size_t start_row) {
    enum { WHOLE = INT8_PANEL / LANES };
    enum { SHORT_SUM = 64 }; /* a sum waits longer for products of pairs than for additions */
#if defined INTRINSIC
    vnni = vnni && K > SHORT_SUM;
#else
    vnni = false;
#endif
    const size_t panel = (size_t)((K + 1) / 2 * 2) * INT8_PANEL;
    for (int first = 0, vectors; first < columns; first += vectors * LANES) {
        const int8_t *from = w + (size_t)(first / INT8_PANEL) * panel + first % INT8_PANEL * 2;
        const float *begin = start ? start + first : NULL;
        vectors = (columns - first + LANES - 1) / LANES;
        if (rows == 1 && vectors >= WHOLE && first % INT8_PANEL == 0)
            vectors = WHOLE;
        else if (vectors > TILE_VECTORS)
            vectors = TILE_VECTORS;
            /* clang-format off */
#define INT8_OF(vnni, m, n) \
            int8_tile(vnni, m, n, y + first, y_row, x, x_row, scale, from, scales + first, K, \
                      columns - first, begin, start_row);
#define INT8(m, n) case (m) * 32 + (n): \
            if (m <= TILE_ROWS && n <= WHOLE && vnni) INT8_OF(true, m, n) \
            else if (m <= TILE_ROWS && n <= WHOLE) INT8_OF(false, m, n) \
            break;
#define INT8_TILES(m) INT8(m, 1) INT8(m, 2) INT8(m, 3) INT8(m, 4)
        switch (rows * 32 + vectors) {
            INT8_TILES(1) INT8_TILES(2) INT8_TILES(3) INT8_TILES(4) INT8_TILES(5) INT8_TILES(6)
            INT8(1, 8) INT8(1, 16)
        }
        /* clang-format on */
    }
}

/* Compares magnitudes as integers: the order is the same, and a NaN is greater than all. */
static float round_to_16(int16_t *y, const float *x, int limit, int n) {
    typedef int16_t Halves __attribute__((vector_size(LANES * sizeof(int16_t))));
    const float tiny = 0x1p-100f;
    Integers most = {0};
    for (int i = 0; i < n; i += LANES)
        most = larger_integers((Integers)load_some(x + i, (size_t)(n - i), 0) & INT32_MAX, most);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2)
        most = larger_integers((Integers)swapped((Vector)most, half), most);
    float largest = ((Vector)most)[0], times = largest < tiny ? 0 : (float)limit / largest;
    for (int i = 0; i < n; i += LANES) {
        Vector of = load_some(x + i, (size_t)(n - i), 0);
        Halves whole = __builtin_convertvector((Integers)(of * times + shift), Halves);
        memcpy(y + i, &whole, sizeof whole);
    }
    return largest < tiny ? 0 : largest / (float)limit;
}

#endif
