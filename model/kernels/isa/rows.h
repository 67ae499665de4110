/* rows.h - loops over channels: normalization, rotation, convolution, dropout; and AdamW. */
#ifndef TRIL_MODEL_KERNELS_ISA_ROWS_H
#define TRIL_MODEL_KERNELS_ISA_ROWS_H

#include "model/kernels/isa/copies.h"
#include "model/kernels/isa/sums.h"

#include <float.h>
#include <math.h>

/* ---- LayerNorm and RMSNorm ---- */

/* Returns 1 / sqrt(square + epsilon), or NaN for a mean square that overflowed: its inverse would
 * be 0, and large numbers would silently become 0. */
static float inverse_root(float square, float epsilon) {
    return square <= FLT_MAX ? 1.0f / sqrtf(square + epsilon) : NAN;
}

/* y = (x - mean) rstd w + b for at most LANES rows, or, if not `centers`, y = x rstd w. Each lane
 * of the statistics is a row. For a single row only one lane is divided, because dividing a whole
 * vector takes longer. */
INLINE void normalize_some(const bool centers, float *y, float *mean, float *rstd, const float *x,
                           const float *w, const float *b, int rows, int n) {
    Lanes sums[LANES];
    float of_mean[LANES] = {0}, of_rstd[LANES];
    const int lanes = rows == 1 ? 1 : LANES;
    if (centers) {
        for (int r = 0; r < rows; r++) {
            Lanes sum = {0};
            add_lanes(&sum, x + r * n, n);
            sums[r] = sum;
        }
        store(of_mean, sum_rows(sums, rows));
#pragma omp simd
        for (int r = 0; r < lanes; r++) of_mean[r] /= (float)n;
    }
    for (int r = 0; r < rows; r++) {
        const float *from = x + r * n;
        float *to = y + r * n;
        Lanes sum = {0};
        for (int i = 0; i < n; i += WIDE) {
            size_t left = (size_t)(n - i);
            Lanes of = next_lanes(from + i, left);
            if (centers) {
                EACH(j, PARTS) of.part[j] -= all(of_mean[r]);
                store_lanes(to + i, left, of);
                if (left < WIDE) of = next_lanes(to + i, left);
            }
            sum = multiply_add_lanes(of, of, sum);
        }
        sums[r] = sum;
    }
    store(of_rstd, sum_rows(sums, rows));
#pragma omp simd
    for (int r = 0; r < lanes; r++)
        of_rstd[r] = inverse_root(of_rstd[r] / (float)n, centers ? 1e-5f : 1e-6f);
    for (int r = 0; r < rows; r++) {
        const float *from = (centers ? y : x) + r * n;
        for (int i = 0; i < n; i += LANES) {
            size_t left = (size_t)(n - i);
            Vector of = load_some(from + i, left, 0) * of_rstd[r], of_w = load_some(w + i, left, 0);
            Vector result = centers ? multiply_add(of, of_w, load_some(b + i, left, 0)) : of * of_w;
            store_some(y + r * n + i, left, result);
        }
    }
    if (centers) store_some(mean, (size_t)rows, load(of_mean));
    store_some(rstd, (size_t)rows, load(of_rstd));
}

static void normalize(float *y, float *mean, float *rstd, const float *x, const float *w,
                      const float *b, int rows, int n) {
    for (int r = 0, some; r < rows; r += some, y += some * n, x += some * n) {
        some = rows - r < LANES ? rows - r : LANES;
        if (b && some == 1)
            normalize_some(true, y, mean + r, rstd + r, x, w, b, 1, n);
        else if (b)
            normalize_some(true, y, mean + r, rstd + r, x, w, b, some, n);
        else if (some == 1)
            normalize_some(false, y, NULL, rstd + r, x, w, NULL, 1, n);
        else
            normalize_some(false, y, NULL, rstd + r, x, w, NULL, some, n);
    }
}

/* With xhat = x rstd and g = dy w: dx += rstd (g - xhat mean(g xhat)). */
INLINE void rmsnorm_backward(float *dx, float *dw, const float *dy, const float *x, float rstd,
                             const float *w, int n) {
    Lanes sum = {0};
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        Lanes of_x = next_lanes(x + i, left), of_w = next_lanes(w + i, left);
        Lanes up = next_lanes(dy + i, left), of_dw = next_lanes(dw + i, left);
        EACH(j, PARTS) {
            Vector both = up.part[j] * of_x.part[j] * all(rstd);
            sum.part[j] = multiply_add(both, of_w.part[j], sum.part[j]);
            of_dw.part[j] += both;
        }
        store_lanes(dw + i, left, of_dw);
    }
    float mean = sum_lanes(sum) / (float)n;
#pragma omp simd
    for (int j = 0; j < n; j++)
        dx[j] = fused(rstd, fused(dy[j], w[j], -(x[j] * rstd) * mean), dx[j]);
}

/* With xhat = (x - mean) rstd and g = dy w: dx += rstd (g - mean(g) - xhat mean(g xhat)). */
INLINE void layernorm_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                               float mean, float rstd, const float *w, int n) {
    Lanes g_sum = {0}, gx_sum = {0};
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        Lanes of_x = next_lanes(x + i, left), of_w = next_lanes(w + i, left);
        Lanes up = next_lanes(dy + i, left);
        Lanes of_dw = next_lanes(dw + i, left), of_db = next_lanes(db + i, left);
        EACH(j, PARTS) {
            Vector g = up.part[j] * of_w.part[j], hat = (of_x.part[j] - all(mean)) * all(rstd);
            g_sum.part[j] += g;
            gx_sum.part[j] = multiply_add(g, hat, gx_sum.part[j]);
            of_dw.part[j] = multiply_add(up.part[j], hat, of_dw.part[j]);
            of_db.part[j] += up.part[j];
        }
        store_lanes(dw + i, left, of_dw);
        store_lanes(db + i, left, of_db);
    }
    float g_mean = sum_lanes(g_sum) / (float)n, gx_mean = sum_lanes(gx_sum) / (float)n;
#pragma omp simd
    for (int j = 0; j < n; j++) {
        float hat = (x[j] - mean) * rstd;
        dx[j] = fused(rstd, fused(-hat, gx_mean, fused(dy[j], w[j], -g_mean)), dx[j]);
    }
}

static void normalize_backward(float *dx, float *dw, float *db, const float *dy, const float *x,
                               const float *mean, const float *rstd, const float *w, int rows,
                               int n) {
    for (int r = 0; r < rows; r++, dx += n, dy += n, x += n)
        if (db)
            layernorm_backward(dx, dw, db, dy, x, mean[r], rstd[r], w, n);
        else
            rmsnorm_backward(dx, dw, dy, x, rstd[r], w, n);
}

/* ---- rotary positions ---- */

static void rotate(float *y, const float *x, const float *cosine, const float *sine, float way,
                   int half) {
#pragma omp simd
    for (int i = 0; i < half; i++) {
        float a = x[i], b = x[i + half], s = sine[i] * way;
        y[i] = fused(a, cosine[i], -(b * s));
        y[i + half] = fused(b, cosine[i], a * s);
    }
}

/* ---- causal convolution ---- */

static void convolve(float *y, const float *x, ptrdiff_t next, const float *taps, size_t row, int K,
                     int n) {
    for (int i = 0; i < n; i += WIDE) {
        size_t left = (size_t)(n - i);
        const float *from = x + i, *tap = taps + i;
        Lanes sum = next_lanes(from, left);
        for (int k = 0; k < K; k++, from += next, tap += row)
            sum = multiply_add_lanes(next_lanes(tap, left), next_lanes(from, left), sum);
        store_lanes(y + i, left, sum);
    }
}

enum { CHAINS = 4 /* sums at a time, to hide the latency of a multiply-add */ };

/* For 16 channels, or the last ones, of some taps: as many chains of sums as taps. */
INLINE void convolve_gradients_of(const int taps, float *dtaps, const float *dy, const float *x,
                                  size_t row, int tokens, size_t left) {
    Lanes sum[CHAINS];
    EACH(k, taps) sum[k] = next_lanes(dtaps + k * row, left);
    for (int t = 0; t < tokens; t++, dy += row, x += row) {
        Lanes of_dy = next_lanes(dy, left);
        __builtin_prefetch(dy + ROWS_AHEAD * row); /* they often come from memory */
        __builtin_prefetch(x + ROWS_AHEAD * row);
        EACH(k, taps)
        sum[k] = multiply_add_lanes(of_dy, next_lanes(x - k * row, left), sum[k]);
    }
    EACH(k, taps) store_lanes(dtaps + k * row, left, sum[k]);
}

static void convolve_gradients(float *dtaps, const float *dy, const float *x, size_t row,
                               int tokens, int K, int n) {
    for (int i = 0; i < n; i += WIDE)
        for (int k = 0, taps; k < K; k += taps) {
            taps = K - k < CHAINS ? 1 : CHAINS;
            float *to = dtaps + (size_t)k * row + i;
            const float *from = x - (size_t)k * row + i;
            size_t left = (size_t)(n - i);
            if (taps == CHAINS)
                convolve_gradients_of(CHAINS, to, dy + i, from, row, tokens, left);
            else
                convolve_gradients_of(1, to, dy + i, from, row, tokens, left);
        }
}

/* ---- dropout ---- */

/* Returns 32 well-mixed bits (constants from Wellons, "Prospecting for Hash Functions", 2018). */
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

/* ---- AdamW ---- */

static void adamw(float *w, float *m, float *v, const float *dw, AdamW step, size_t n) {
    float rate = step.learning_rate / step.correction1;
    float root = 1.0f / sqrtf(step.correction2);
    float shrink = 1.0f - step.learning_rate * step.decay;
#pragma omp simd
    for (size_t i = 0; i < n; i++) {
        float g = dw[i] * step.gradient_scale;
        float first = fused(step.beta1, m[i], (1.0f - step.beta1) * g);
        float second = fused(step.beta2, v[i], (1.0f - step.beta2) * g * g);
        float move = rate * first / fused(sqrtf(second), root, step.epsilon);
        w[i] = fused(shrink, w[i], -move);
        m[i] = first;
        v[i] = second;
    }
}

#endif
