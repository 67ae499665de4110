/* isa.c - the loops that want vector registers; compiled once for each instruction set.
 *
 * The Makefile compiles this file with ISA=base (SSE2 or NEON), avx2 and avx512, each with the
 * compiler flags of that set. Apart from the register tile, which is written in vector types, the
 * loops are plain C that the compiler turns into vectors: what makes that possible is an
 * exponential without branches or library calls. */
#include "model/kernels/kernels.h"

#include <math.h>
#include <string.h>

#define PASTE(a, b)     a##b
#define TABLE_NAME(isa) PASTE(isa_, isa)
#define STRING(text)    #text
#define NAME_OF(isa)    STRING(isa)

/* ---- the register tile ---- */

/* As many rows of accumulators as registers allow beside two vectors of b and a broadcast of a:
 * of 32 registers 24 accumulate, of 16 either 12 or, without fused multiply-add, 8. */
#if defined __AVX512F__
enum { LANES = 16, TILE_ROWS = 12 };
#elif defined __AVX2__
enum { LANES = 8, TILE_ROWS = 6 };
#elif defined __aarch64__
enum { LANES = 4, TILE_ROWS = 12 };
#else
enum { LANES = 4, TILE_ROWS = 4 };
#endif
enum { TILE_VECTORS = 2, TILE_COLUMNS = TILE_VECTORS * LANES };

typedef float Vector __attribute__((vector_size(LANES * sizeof(float))));
/* The same in memory, at any address. */
typedef float Unaligned __attribute__((vector_size(LANES * sizeof(float)), aligned(4), may_alias));

/* Inlined with `rows` a constant, so that the accumulators live in registers. */
static inline __attribute__((always_inline)) void
tile_of(const int rows, float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
        const float *b, int K, int columns, const float *bias, bool accumulate) {
    Vector sum[TILE_ROWS][TILE_VECTORS];
    float edge[TILE_COLUMNS];
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
        for (int j = 0; j < TILE_VECTORS; j++) sum[i][j] = (Vector){0};
    for (int p = 0; p < K; p++) {
        Vector b0 = *(const Unaligned *)b;
        Vector b1 = *(const Unaligned *)(b + LANES);
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++) {
            float value = a[(size_t)i * a_row];
            sum[i][0] += value * b0;
            sum[i][1] += value * b1;
        }
        a += a_column;
        b += TILE_COLUMNS;
    }
    const float *start = bias; /* what the sums are added to */
    if (bias && columns < TILE_COLUMNS) {
        memset(edge, 0, sizeof edge);
        memcpy(edge, bias, (size_t)columns * sizeof *edge);
        start = edge;
    }
    if (start && !accumulate)
#pragma GCC unroll 16
        for (int i = 0; i < rows; i++)
#pragma GCC unroll 2
            for (int j = 0; j < TILE_VECTORS; j++)
                sum[i][j] += *(const Unaligned *)(start + j * LANES);
#pragma GCC unroll 16
    for (int i = 0; i < rows; i++) {
        float *row = c + (size_t)i * c_row;
        if (columns == TILE_COLUMNS) {
#pragma GCC unroll 2
            for (int j = 0; j < TILE_VECTORS; j++) {
                Unaligned *to = (Unaligned *)(row + j * LANES);
                Vector total = sum[i][j];
                if (accumulate) total += *to;
                *to = total;
            }
        } else {
            memcpy(edge, sum[i], sizeof edge);
            for (int j = 0; j < columns; j++) row[j] = accumulate ? row[j] + edge[j] : edge[j];
        }
    }
}

static void tile(float *c, size_t c_row, const float *a, size_t a_row, size_t a_column,
                 const float *b, int K, int rows, int columns, const float *bias, bool accumulate) {
    /* clang-format off */
#define ROWS(n) case n: tile_of(n, c, c_row, a, a_row, a_column, b, K, columns, bias, accumulate); break;
    switch (rows) {
        ROWS(1) ROWS(2) ROWS(3) ROWS(4)
#if defined __AVX2__ || defined __aarch64__
        ROWS(5) ROWS(6)
#endif
#if defined __AVX512F__ || defined __aarch64__
        ROWS(7) ROWS(8) ROWS(9) ROWS(10) ROWS(11) ROWS(12)
#endif
    }
    /* clang-format on */
#undef ROWS
}

/* ---- rows ---- */

static float dot(const float *a, const float *b, size_t n) {
    float sum = 0;
#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; i++) sum += a[i] * b[i];
    return sum;
}

static void dots(float *y, const float *x, const float *w, size_t stride, int n, int K) {
    for (int j = 0; j < n; j++) y[j] = dot(x, w + (size_t)j * stride, (size_t)K);
}

static void combine(float *y, const float *p, const float *w, size_t stride, int n, int K) {
    memset(y, 0, (size_t)K * sizeof *y);
    for (int j = 0; j < n; j++) {
        const float *row = w + (size_t)j * stride;
        float weight = p[j];
#pragma omp simd
        for (int i = 0; i < K; i++) y[i] += weight * row[i];
    }
}

static void outer(float *w, size_t stride, const float *p, const float *x, int n, int K) {
    for (int j = 0; j < n; j++) {
        float *row = w + (size_t)j * stride;
        float weight = p[j];
#pragma omp simd
        for (int i = 0; i < K; i++) row[i] += weight * x[i];
    }
}

static void add(float *y, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] += x[i];
}

static void sum(float *y, const float *a, const float *b, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

/* ---- exponentials ---- */

/* e^x with a relative error below 2e-7 from -87 to 88; 0 below that range, e^88 above it, NaN for
 * NaN. x = n ln 2 + r with |r| <= ln 2 / 2; the polynomial for e^r is that of Moshier's Cephes
 * library (expf, 1992). Adding 1.5 * 2^23 rounds to a whole n and leaves it in the low bits, which
 * become the exponent. */
static inline float exponential(float x) {
    const float shift = 0x1.8p23f, log2e = 1.44269504f;
    const float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    float clamped = x < -87.0f ? -87.0f : x;
    clamped = clamped > 88.0f ? 88.0f : clamped;
    float shifted = clamped * log2e + shift;
    float n = shifted - shift;
    float r = clamped - n * ln2_high - n * ln2_low;
    float poly = 1.9875691500e-4f;
    poly = poly * r + 1.3981999507e-3f;
    poly = poly * r + 8.3334519073e-3f;
    poly = poly * r + 4.1665795894e-2f;
    poly = poly * r + 1.6666665459e-1f;
    poly = poly * r + 5.0000001201e-1f;
    poly = poly * r * r + r + 1.0f;
    uint32_t bits;
    float scale;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 127) << 23;
    memcpy(&scale, &bits, sizeof scale);
    return x < -87.0f ? 0.0f : poly * scale;
}

/* In lanes by hand: with NaNs in the world, compilers do not reorder a maximum by themselves. */
static float largest(const float *x, int n) {
    enum { WIDE = 16 };
    float lane[WIDE], most = x[0];
    for (int i = 0; i < WIDE; i++) lane[i] = x[0];
    int j = 0;
    for (; j + WIDE <= n; j += WIDE)
#pragma omp simd
        for (int i = 0; i < WIDE; i++) lane[i] = x[j + i] > lane[i] ? x[j + i] : lane[i];
    for (; j < n; j++) most = x[j] > most ? x[j] : most;
    for (int i = 0; i < WIDE; i++) most = lane[i] > most ? lane[i] : most;
    return most;
}

static float softmax(float *p, const float *x, float scale, int n) {
    float most = largest(x, n) * scale; /* scale > 0 */
    float total = 0;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < n; j++) {
        float e = exponential(x[j] * scale - most);
        p[j] = e;
        total += e;
    }
    float inverse = 1.0f / total;
#pragma omp simd
    for (int j = 0; j < n; j++) p[j] *= inverse;
    return most + logf(total);
}

static float log_sum_exp(const float *x, int n) {
    float most = largest(x, n), total = 0;
#pragma omp simd reduction(+ : total)
    for (int j = 0; j < n; j++) total += exponential(x[j] - most);
    return most + logf(total);
}

static void exponentials(float *p, const float *x, float scale, float lse, int n) {
#pragma omp simd
    for (int j = 0; j < n; j++) p[j] = exponential(x[j] * scale - lse);
}

static void softmax_backward(float *x, const float *p, float mean, float scale, int n) {
#pragma omp simd
    for (int j = 0; j < n; j++) x[j] = p[j] * (x[j] - mean) * scale;
}

/* ---- GELU ---- */

/* y = x (1 + tanh(u)) / 2 = x s(2u) with s the logistic function and u below. */
static const float gelu_linear = 0.7978845608f; /* sqrt(2 / pi) */
static const float gelu_cubic = 0.7978845608f * 0.044715f;

static void gelu(float *y, const float *x, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float u = x[i] * (gelu_linear + gelu_cubic * x[i] * x[i]);
        y[i] = x[i] / (1.0f + exponential(-2.0f * u));
    }
}

/* dy/dx = s + x s (1 - s) 2 du/dx */
static void gelu_backward(float *dx, const float *x, const float *dy, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float square = x[i] * x[i];
        float s = 1.0f / (1.0f + exponential(-2.0f * x[i] * (gelu_linear + gelu_cubic * square)));
        float slope = 2.0f * (gelu_linear + 3.0f * gelu_cubic * square);
        dx[i] = dy[i] * (s + x[i] * s * (1.0f - s) * slope);
    }
}

/* ---- LayerNorm ---- */

static void normalize(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int n) {
    float total = 0, squares = 0;
#pragma omp simd reduction(+ : total)
    for (int i = 0; i < n; i++) total += x[i];
    float mu = total / (float)n;
#pragma omp simd reduction(+ : squares)
    for (int i = 0; i < n; i++) squares += (x[i] - mu) * (x[i] - mu);
    float scale = 1.0f / sqrtf(squares / (float)n + 1e-5f);
#pragma omp simd
    for (int i = 0; i < n; i++) y[i] = (x[i] - mu) * scale * w[i] + b[i];
    *mean = mu;
    *rstd = scale;
}

/* With xhat = (x - mean) rstd and g = dy w: dx = rstd (g - mean(g) - xhat mean(g xhat)). */
static void normalize_backward(float *dx, const float *dy, const float *x, float mean, float rstd,
                               const float *w, int n) {
    float g_sum = 0, gx_sum = 0;
#pragma omp simd reduction(+ : g_sum, gx_sum)
    for (int i = 0; i < n; i++) {
        float g = dy[i] * w[i];
        g_sum += g;
        gx_sum += g * (x[i] - mean) * rstd;
    }
    float g_mean = g_sum / (float)n, gx_mean = gx_sum / (float)n;
#pragma omp simd
    for (int i = 0; i < n; i++)
        dx[i] = rstd * (dy[i] * w[i] - g_mean - (x[i] - mean) * rstd * gx_mean);
}

static void normalize_gradients(float *dw, float *db, const float *dy, const float *x, float mean,
                                float rstd, int n) {
#pragma omp simd
    for (int i = 0; i < n; i++) {
        dw[i] += dy[i] * (x[i] - mean) * rstd;
        db[i] += dy[i];
    }
}

/* ---- dropout ---- */

/* 32 well-mixed bits (the constants are from Wellons, "Prospecting for Hash Functions", 2018). */
static inline uint32_t mix32(uint32_t x) {
    x = (x ^ x >> 16) * 0x7FEB352Du;
    x = (x ^ x >> 15) * 0x846CA68Bu;
    return x ^ x >> 16;
}

static void dropout(float *y, const float *x, DropoutRow mask, int n) {
    uint32_t low = (uint32_t)mask.key, high = (uint32_t)(mask.key >> 32);
#pragma omp simd
    for (int i = 0; i < n; i++) {
        uint32_t bits = mix32(mix32((uint32_t)i ^ low) ^ high);
        y[i] = bits < mask.threshold ? x[i] * mask.scale : 0.0f;
    }
}

/* ---- the optimizer ---- */

static void adamw(float *w, float *m, float *v, const float *dw, AdamW step, size_t n) {
    float rate = step.learning_rate / step.correction1;
    float root = 1.0f / sqrtf(step.correction2);
    float shrink = 1.0f - step.learning_rate * step.decay;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = dw[i] * step.gradient_scale;
        m[i] = step.beta1 * m[i] + (1.0f - step.beta1) * g;
        v[i] = step.beta2 * v[i] + (1.0f - step.beta2) * g * g;
        w[i] = shrink * w[i] - rate * m[i] / (sqrtf(v[i]) * root + step.epsilon);
    }
}

extern const Isa TABLE_NAME(ISA);
const Isa TABLE_NAME(ISA) = {
    .name = NAME_OF(ISA),
    .tile_rows = TILE_ROWS,
    .tile_columns = TILE_COLUMNS,
    .tile = tile,
    .dots = dots,
    .combine = combine,
    .outer = outer,
    .softmax = softmax,
    .log_sum_exp = log_sum_exp,
    .exponentials = exponentials,
    .softmax_backward = softmax_backward,
    .gelu = gelu,
    .gelu_backward = gelu_backward,
    .normalize = normalize,
    .normalize_backward = normalize_backward,
    .normalize_gradients = normalize_gradients,
    .add = add,
    .sum = sum,
    .dropout = dropout,
    .dot = dot,
    .adamw = adamw,
};
