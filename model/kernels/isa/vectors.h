/* vectors.h - the vector registers of the instruction set for which isa.c is compiled.
 *
 * Every set with a fused multiply-add gives the same bits. So the compiler fuses nothing by itself
 * (-ffp-contract=off): only the functions `fused` and `multiply_add` do. SSE2 has no fused
 * multiply-add; its bits differ. */
#ifndef TRIL_MODEL_KERNELS_ISA_VECTORS_H
#define TRIL_MODEL_KERNELS_ISA_VECTORS_H

#include "model/kernels/isa/scalars.h"

#if defined GNU_C

#if !__has_builtin(__builtin_shufflevector) /* gcc 11 shuffles as many lanes as it returns */
#define __builtin_shufflevector(a, b, ...) __builtin_shuffle(a, b, (Integers){__VA_ARGS__})
#define SAME_LANES
#endif

#if defined __x86_64__
#include <immintrin.h>
#elif defined __aarch64__
#include <arm_neon.h>
#elif defined __wasm_relaxed_simd__
#include <wasm_simd128.h>
#endif

/* TILE_ROWS x TILE_VECTORS are the most accumulators that leave registers for a row of b and a
 * broadcast of a: 24 of 32 registers; of 16 registers 12 or, without fused multiply-add, 8. */
#if defined PORTABLE || defined __AVX512F__
enum { LANES = 16, ZIP_LANES = 16, TILE_ROWS = 6, TILE_VECTORS = 4 };
#define ZIP_LOW          0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23
#define ZIP_HIGH         8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31
#define ZIP_LOW_OF_FOUR  0, 16, 1, 17, 4, 20, 5, 21, 8, 24, 9, 25, 12, 28, 13, 29
#define ZIP_HIGH_OF_FOUR 2, 18, 3, 19, 6, 22, 7, 23, 10, 26, 11, 27, 14, 30, 15, 31
#if !defined PORTABLE
#define INTRINSIC(name) _mm512_##name
#endif
#elif defined __AVX2__
enum { LANES = 8, ZIP_LANES = 4, TILE_ROWS = 6, TILE_VECTORS = 2 };
#define ZIP_LOW         0, 8, 1, 9, 4, 12, 5, 13
#define ZIP_HIGH        2, 10, 3, 11, 6, 14, 7, 15
#define INTRINSIC(name) _mm256_##name
#else
#define ZIP_LOW  0, 4, 1, 5
#define ZIP_HIGH 2, 6, 3, 7
#if defined __aarch64__
enum { LANES = 4, ZIP_LANES = 4, TILE_ROWS = 6, TILE_VECTORS = 4 };
#elif defined __wasm__ /* the browser assigns registers; sizes found by trial */
enum { LANES = 4, ZIP_LANES = 4, TILE_ROWS = 2, TILE_VECTORS = 4 };
#else
enum { LANES = 4, ZIP_LANES = 4, TILE_ROWS = 4, TILE_VECTORS = 2 };
#endif
#endif
#if !defined ZIP_LOW_OF_FOUR
#define ZIP_LOW_OF_FOUR  ZIP_LOW
#define ZIP_HIGH_OF_FOUR ZIP_HIGH
#endif
enum { TILE_COLUMNS = TILE_VECTORS * LANES, LINE = 16 /* floats in a cache line */ };

/* For functions whose const parameters are constants once inlined: vectors stay in registers. */
#define INLINE static inline __attribute__((always_inline))

/* for (i = 0; i < n; i++), unrolled; n is a constant. */
#define EACH(i, n) _Pragma("GCC unroll 32") for (size_t i = 0; i < (size_t)(n); i++)

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
typedef uint32_t Bits __attribute__((vector_size(LANES * sizeof(float))));
typedef int32_t Integers __attribute__((vector_size(LANES * sizeof(float))));
/* In memory, unaligned. */
#define IN_MEMORY vector_size(LANES * sizeof(float)), aligned(4), may_alias
typedef float Unaligned __attribute__((IN_MEMORY));
typedef uint32_t UnalignedBits __attribute__((IN_MEMORY));
typedef int16_t Halves __attribute__((vector_size(LANES * sizeof(int16_t))));

/* The same bits as numbers of another type. */
#define bits_of(x)   ((Bits)(x))
#define vector_of(x) ((Vector)(x))

#define lane_of(x, i) (x)[i]

static inline Vector load(const float *x) {
    return *(const Unaligned *)x;
}

static inline void store(float *x, Vector of) {
    *(Unaligned *)x = of;
}

/* A float plus this is rounded to an integer, which is in the low bits of the sum. */
static const float shift = 0x1.8p23f;

/* Returns x in every lane. It subtracts 0 because -0 + 0 would be 0. */
static inline Vector all(float x) {
    return x - (Vector){0};
}

/* a b + c, rounded once where the set has an instruction for that. The relaxed SIMD of WebAssembly
 * rounds once if the processor does, and has no such instruction for a single number. */
static inline float fused(float a, float b, float c) {
#if defined __FMA__ || defined __aarch64__ || defined __FP_FAST_FMAF
    return __builtin_fmaf(a, b, c);
#elif defined __wasm_relaxed_simd__
    return wasm_f32x4_extract_lane(
        wasm_f32x4_relaxed_madd(wasm_f32x4_splat(a), wasm_f32x4_splat(b), wasm_f32x4_splat(c)), 0);
#else
    return a * b + c;
#endif
}

static inline Vector multiply_add(Vector a, Vector b, Vector c) {
#if defined INTRINSIC
    return INTRINSIC(fmadd_ps)(a, b, c);
#elif defined __aarch64__ && !defined PORTABLE
    return vfmaq_f32(c, a, b);
#elif defined PORTABLE || defined __FP_FAST_FMAF
    for (int i = 0; i < LANES; i++) c[i] = fused(a[i], b[i], c[i]);
    return c;
#elif defined __wasm_relaxed_simd__
    return (Vector)wasm_f32x4_relaxed_madd((v128_t)a, (v128_t)b, (v128_t)c);
#else
    return a * b + c;
#endif
}

/* a in the lanes whose bits are set in `which`, else b. */
static inline Vector pick(Bits which, Vector a, Vector b) {
    return (Vector)(((Bits)a & which) | ((Bits)b & ~which));
}

/* a < b ? a : b; b if one of them is NaN. */
static inline Vector smaller(Vector a, Vector b) {
#if defined INTRINSIC
    return INTRINSIC(min_ps)(a, b);
#else
    return pick((Bits)(a < b), a, b);
#endif
}

/* a > b ? a : b, likewise. */
static inline Vector larger(Vector a, Vector b) {
#if defined INTRINSIC
    return INTRINSIC(max_ps)(a, b);
#else
    return pick((Bits)(a > b), a, b);
#endif
}

/* The one whose bits are the larger integer. */
static inline Vector larger_bits(Vector a, Vector b) {
#if defined INTRINSIC
    typedef long long Longs __attribute__((vector_size(LANES * sizeof(float))));
    return (Vector)INTRINSIC(max_epi32)((Longs)a, (Longs)b);
#else
    return pick((Bits)((Integers)a > (Integers)b), a, b);
#endif
}

/* a < b ? 0 : x */
static inline Vector zero_below(Vector a, Vector b, Vector x) {
#if defined __AVX512F__
    return _mm512_maskz_mov_ps(_mm512_cmp_ps_mask(a, b, _CMP_NLT_US), x);
#else
    return (Vector)((Bits)x & ~(Bits)(a < b));
#endif
}

/* All bits of the lanes below n. */
static inline Bits lanes_below(int n) {
    static const int32_t numbers[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
    Integers number;
    memcpy(&number, numbers, sizeof number);
    return (Bits)(number < n);
}

/* Loads up to LANES of n > 0 numbers, and `beyond` in the lanes after the last. Calls no function,
 * so that constants stay in registers. */
static inline Vector load_some(const float *x, size_t n, float beyond) {
    if (n >= LANES) return load(x);
#if defined __AVX512F__
    return _mm512_mask_loadu_ps(all(beyond), (__mmask16)((1u << n) - 1), x);
#elif defined INTRINSIC
    Bits some = lanes_below((int)n);
    return _mm256_blendv_ps(all(beyond), _mm256_maskload_ps(x, (__m256i)some), (Vector)some);
#else
    float padded[LANES];
    store(padded, all(beyond));
    memcpy(padded, x, n * sizeof *x);
    return load(padded);
#endif
}

/* Stores up to LANES of n > 0 numbers. */
static inline void store_some(float *x, size_t n, Vector of) {
    if (n >= LANES) {
        store(x, of);
        return;
    }
#if defined __AVX512F__
    _mm512_mask_storeu_ps(x, (__mmask16)((1u << n) - 1), of);
#elif defined INTRINSIC
    /* in parts: on AMD's processors a store with a mask takes 18 to 42 micro-operations */
    __m128 part = _mm256_castps256_ps128(of);
    if (n & 4) {
        _mm_storeu_ps(x, part);
        part = _mm256_extractf128_ps(of, 1);
    }
    if (n & 2) {
        _mm_storel_pi((__m64 *)(void *)(x + (n & 4)), part);
        part = _mm_movehl_ps(part, part);
    }
    if (n & 1) _mm_store_ss(x + (n & 6), part);
#else
    float padded[LANES];
    store(padded, of);
    memcpy(x, padded, n * sizeof *x);
#endif
}

/* The lanes i ^ half of x, where `half` is a power of two below LANES. */
INLINE Vector swapped(Vector x, const int half) {
#define LANE(i, h)    ((i) ^ (h)) % LANES
#define LANES_4(i, h) LANE(i, h), LANE(i + 1, h), LANE(i + 2, h), LANE(i + 3, h)
#if defined PORTABLE || defined __AVX512F__
#define SWAPPED(h) LANES_4(0, h), LANES_4(4, h), LANES_4(8, h), LANES_4(12, h)
#elif defined __AVX2__
#define SWAPPED(h) LANES_4(0, h), LANES_4(4, h)
#else
#define SWAPPED(h) LANES_4(0, h)
#endif
    return half == 8   ? __builtin_shufflevector(x, x, SWAPPED(8))
           : half == 4 ? __builtin_shufflevector(x, x, SWAPPED(4))
           : half == 2 ? __builtin_shufflevector(x, x, SWAPPED(2))
                       : __builtin_shufflevector(x, x, SWAPPED(1));
}

/* ---- groups of four lanes ---- */

#define IN_FOUR vector_size(4 * sizeof(float)), aligned(4), may_alias
typedef float Four __attribute__((IN_FOUR));
enum { FOUR_GROUPS = LANES / 4 };

/* The vector of FOUR_GROUPS groups of four numbers, `next` floats apart. */
static inline Vector load_fours(const float *x, size_t next) {
#define FOUR(i) (*(const Four *)(x + (i)*next))
#if defined SAME_LANES
    Vector fours;
    EACH(i, FOUR_GROUPS) memcpy((float *)&fours + 4 * i, x + i * next, sizeof(Four));
    return fours;
#elif defined PORTABLE || defined __AVX512F__
    return __builtin_shufflevector(
        __builtin_shufflevector(FOUR(0), FOUR(1), 0, 1, 2, 3, 4, 5, 6, 7),
        __builtin_shufflevector(FOUR(2), FOUR(3), 0, 1, 2, 3, 4, 5, 6, 7), 0, 1, 2, 3, 4, 5, 6, 7,
        8, 9, 10, 11, 12, 13, 14, 15);
#elif defined __AVX2__
    return __builtin_shufflevector(FOUR(0), FOUR(1), 0, 1, 2, 3, 4, 5, 6, 7);
#else
    (void)next;
    return FOUR(0);
#endif
#undef FOUR
}

/* Stores the groups of four numbers, `next` floats apart. */
static inline void store_fours(float *x, size_t next, Vector of) {
#if defined SAME_LANES
    EACH(i, FOUR_GROUPS) memcpy(x + i * next, (float *)&of + 4 * i, sizeof(Four));
#else
#define FOUR(i)               \
    *(Four *)(x + (i)*next) = \
        __builtin_shufflevector(of, of, 4 * (i), 4 * (i) + 1, 4 * (i) + 2, 4 * (i) + 3)
    FOUR(0);
#if defined PORTABLE || defined __AVX512F__ || defined __AVX2__
    FOUR(1);
#endif
#if defined PORTABLE || defined __AVX512F__
    FOUR(2);
    FOUR(3);
#endif
    (void)next;
#undef FOUR
#endif
}

/* Transposes the squares of 4 x 4 in each group of lanes, by two rounds of zips (below). */
INLINE void transpose_fours(Vector row[4]) {
    for (int round = 0; round < 2; round++) {
        Vector a = row[0], b = row[1], c = row[2], d = row[3];
        row[0] = __builtin_shufflevector(a, c, ZIP_LOW_OF_FOUR);
        row[1] = __builtin_shufflevector(a, c, ZIP_HIGH_OF_FOUR);
        row[2] = __builtin_shufflevector(b, d, ZIP_LOW_OF_FOUR);
        row[3] = __builtin_shufflevector(b, d, ZIP_HIGH_OF_FOUR);
    }
}

/* Transposes a square of LANES x LANES, or the squares of ZIP_LANES in each half of it: zips row i
 * with row i + ZIP_LANES/2, log2(ZIP_LANES) times. Each round is a perfect shuffle, which rotates
 * the bits of an element's index (row, column) by one; together they exchange row and column.
 * With AVX2, zips across the halves of a vector take three instructions. So its halves are
 * exchanged first: those that belong to other rows. */
INLINE void transpose_lanes(Vector row[LANES]) {
    enum { HALF = ZIP_LANES / 2 };
    Vector zipped[LANES];
#if defined INTRINSIC && !defined __AVX512F__
    EACH(i, 4) {
        Vector first = row[i], second = row[i + 4];
        row[i] = __builtin_shufflevector(first, second, 0, 1, 2, 3, 8, 9, 10, 11);
        row[i + 4] = __builtin_shufflevector(first, second, 4, 5, 6, 7, 12, 13, 14, 15);
    }
#endif
#pragma GCC unroll 4
    for (int round = 1; round < ZIP_LANES; round *= 2) {
        EACH(i, LANES / 2) {
            size_t first = i / HALF * ZIP_LANES + i % HALF, second = first + HALF;
            zipped[2 * i] = __builtin_shufflevector(row[first], row[second], ZIP_LOW);
            zipped[2 * i + 1] = __builtin_shufflevector(row[first], row[second], ZIP_HIGH);
        }
        EACH(i, LANES) row[i] = zipped[i];
    }
}

#endif
#endif
