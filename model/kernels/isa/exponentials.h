/* exponentials.h - the loops with exponentials: softmax, GELU, SwiGLU. */
#ifndef TRIL_MODEL_KERNELS_ISA_EXPONENTIALS_H
#define TRIL_MODEL_KERNELS_ISA_EXPONENTIALS_H

#include "model/kernels/isa/sums.h"
#include "base/elementary.h"

#include <math.h>

static const float log2e = 1.44269504f;

/* (...(first r + series[0]) r + ...) r + series[4] */
static inline Vector polynomial(float first, const float series[5], Vector r) {
    Vector poly = all(first);
    EACH(i, 5) poly = multiply_add(poly, r, all(series[i]));
    return poly;
}

/* e^x with a relative error below 2e-7 from -87 to 88; 0 below that range, e^88 above it, NaN for
 * NaN. x = n ln 2 + r with |r| <= ln 2 / 2. The polynomial for e^r is from Moshier's Cephes library
 * (expf, 1992). The integer n becomes the exponent. Below -87 the result is 0. */
static inline Vector exponential(Vector x) {
    const float ln2_high = 0.693359375f, ln2_low = -2.12194440e-4f;
    static const float series[] = {1.3981999507e-3f, 8.3334519073e-3f, 4.1665795894e-2f,
                                   1.6666665459e-1f, 5.0000001201e-1f};
    Vector clamped = smaller(all(88.0f), x);
    Vector shifted = multiply_add(clamped, all(log2e), all(shift));
    Vector n = shifted - shift;
    Vector r = multiply_add(n, all(-ln2_low), multiply_add(n, all(-ln2_high), clamped));
    Vector poly = multiply_add(polynomial(1.9875691500e-4f, series, r), r * r, r) + 1.0f;
    Vector scale = vector_of((bits_of(shifted) + 127) << 23);
    return zero_below(x, all(-87.0f), poly * scale);
}

static float largest(const float *x, int n) {
    Vector most = all(-INFINITY);
    for (int j = 0; j < n; j += LANES)
        most = larger(load_some(x + j, (size_t)(n - j), -INFINITY), most);
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2) most = larger(swapped(most, half), most);
    return lane_of(most, 0);
}

/* y = exp(scale x - above); returns its sum. */
static inline float exponentials(float *y, const float *x, float scale, float above, int n) {
    Lanes sum = {0};
    for (int first = 0; first < n; first += WIDE) EACH(i, PARTS) {
            int j = first + (int)i * LANES;
            if (j >= n) break;
            Vector of = load_some(x + j, (size_t)(n - j), -INFINITY);
            Vector result = exponential(multiply_add(of, all(scale), all(-above)));
            store_some(y + j, (size_t)(n - j), result);
            sum.part[i] += result;
        }
    return sum_lanes(sum);
}

/* Each step is done for several rows, so that the long chain of operations of one row overlaps with
 * the others. */
static void softmax(float *p, size_t row, float *lse, const float *x, float scale, int rows,
                    int n) {
    enum { ROWS = 16 };
    float max[ROWS] = {0}, total[ROWS] = {0}, logs[ROWS];
    for (int first = 0; first < rows; first += ROWS, p += ROWS * row, x += ROWS * row) {
        int some = rows - first < ROWS ? rows - first : ROWS;
        for (int i = 0; i < some; i++)
            max[i] = largest(x + (size_t)i * row, n) * scale; /* scale > 0 */
        for (int i = 0; i < some; i++)
            total[i] = exponentials(p + (size_t)i * row, x + (size_t)i * row, scale, max[i], n);
        for (int i = 0; i < some; i++) {
            float *y = p + (size_t)i * row, inverse = 1.0f / total[i];
            for (int j = 0; j < n; j += LANES) {
                size_t left = (size_t)(n - j);
                store_some(y + j, left, load_some(y + j, left, 0) * inverse);
            }
        }
        if (!lse) continue;
#pragma omp simd
        for (int i = 0; i < ROWS; i++)
            logs[i] = max[i] + (float)natural_logarithm((double)total[i]);
        memcpy(lse + first, logs, (size_t)some * sizeof *lse);
    }
}

/* The last vector is whole, too: it also computes some of the numbers before it again. */
static double numerators(double *p, const float *x, double temperature, int n) {
    enum { SOME = LANES < 8 ? 8 : LANES };
    const double most = (double)largest(x, n);
    double total = 0;
    for (int i = 0; i < n && n < SOME; i++)
        p[i] = natural_exponential(((double)x[i] - most) / temperature);
    for (int i = 0; i < n && n >= SOME; i += SOME) {
        int first = i + SOME <= n ? i : n - SOME;
        const float *from = x + first;
        double *to = p + first;
#pragma omp simd
        for (int j = 0; j < SOME; j++)
            to[j] = natural_exponential(((double)from[j] - most) / temperature);
    }
    for (int i = 0; i < n; i++) total += p[i];
    return total;
}

static float near_numerators(float *p, const float *x, float times, int n) {
    const float most = largest(x, n);
#pragma omp simd
    for (int i = 0; i < n; i++) p[i] = x[i] - most;
    return exponentials(p, p, times, 0, n);
}

static void softmax_backward(float *x, float *p, size_t row, const float *lse, const float *mean,
                             float scale, int rows, int n) {
    for (int i = 0; i < rows; i++, x += row, p += row) {
        Vector below = all(-lse[i]), middle = all(mean[i]);
        for (int j = 0; j < n; j += LANES) {
            size_t left = (size_t)(n - j);
            Vector score = load_some(p + j, left, 0), of = load_some(x + j, left, 0);
            Vector weight = exponential(multiply_add(score, all(scale), below));
            store_some(p + j, left, weight);
            store_some(x + j, left, weight * (of - middle) * scale);
        }
    }
}

static void mask(float *x, size_t row, int rows, int n, int columns) {
    for (int i = 0; i < rows; i++, x += row, n++)
        for (int j = n / LANES * LANES; j < columns; j += LANES)
            store(x + j, pick(lanes_below(n - j), load(x + j), all(-INFINITY)));
}

/* ---- GELU and SwiGLU ---- */

/* 1 + 2^x, whose inverse is the logistic function of -x ln 2. 2^x has a relative error below 2e-7
 * from -125 to 125; beyond, it is 2^-125 or 2^125. x = n + r with |r| <= 1/2. Of all polynomials of
 * this degree that are 1 at 0, this one has the smallest maximal relative error of 2^r; linear
 * programming found it. The integer n is added to the exponent. For NaN the result is any number.
 * Callers still get NaN, because they divide NaN by it or multiply NaN by its inverse. */
static inline Vector one_and_power_of_two(Vector x) {
    static const float series[] = {0.00967151113f, 0.0555073395f, 0.240222424f, 0.693147004f, 1};
    Vector clamped = larger(all(-125.0f), smaller(all(125.0f), x));
    Vector shifted = clamped + shift;
    Vector r = clamped - (shifted - shift);
    Bits power = bits_of(polynomial(0.00132646528f, series, r)) + (bits_of(shifted) << 23);
    return vector_of(power) + 1.0f;
}

/* y = x (1 + tanh(u)) / 2 = x s(2u) with s the logistic function and u = sqrt(2 / pi) (x + 0.044715
 * x^3). 2u is `linear` x + `cubic` x^3; e^(-2u) is 2^(x power) below. */
static const float gelu_linear = 2 * 0.7978845608f, gelu_cubic = 2 * 0.7978845608f * 0.044715f;

static inline Vector gelu_power(Vector square) {
    return multiply_add(all(-log2e * gelu_cubic), square, all(-log2e * gelu_linear));
}

static void gelu(float *y, const float *x, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        Vector of = load_some(x + i, n - i, 0);
        store_some(y + i, n - i, of / one_and_power_of_two(of * gelu_power(of * of)));
    }
}

/* The distance of prefetches of numbers that the forward pass left in memory, and of results: a
 * gradient itself was written just before. */
enum { NUMBERS_AHEAD = 512 };

/* dy/dx = s + x s (1 - s) d(2u)/dx */
static void gelu_backward(float *dx, float *y, const float *x, const float *dy, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        __builtin_prefetch(x + i + NUMBERS_AHEAD);
        __builtin_prefetch(y + i + NUMBERS_AHEAD, 1);
        Vector of = load_some(x + i, n - i, 0), up = load_some(dy + i, n - i, 0), square = of * of;
        Vector s = 1.0f / one_and_power_of_two(of * gelu_power(square)), out = of * s;
        Vector slope = multiply_add(all(3.0f * gelu_cubic), square, all(gelu_linear));
        store_some(y + i, n - i, out);
        store_some(dx + i, n - i, up * multiply_add(out * (1.0f - s), slope, s));
    }
}

static void swiglu(float *y, const float *gate, const float *up, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        Vector g = load_some(gate + i, n - i, 0), open = g / one_and_power_of_two(g * -log2e);
        store_some(y + i, n - i, open * load_some(up + i, n - i, 0));
    }
}

/* With s the logistic function of the gate: dup = dy gate s, dgate = dy up s (1 + gate (1 - s)). */
static void swiglu_backward(float *dgate, float *dup, float *y, const float *gate, const float *up,
                            const float *dy, size_t n) {
    for (size_t i = 0; i < n; i += LANES) {
        __builtin_prefetch(gate + i + NUMBERS_AHEAD);
        __builtin_prefetch(up + i + NUMBERS_AHEAD);
        __builtin_prefetch(y + i + NUMBERS_AHEAD, 1);
        __builtin_prefetch(dup + i + NUMBERS_AHEAD, 1);
        Vector g = load_some(gate + i, n - i, 0), u = load_some(up + i, n - i, 0);
        Vector d = load_some(dy + i, n - i, 0), s = 1.0f / one_and_power_of_two(g * -log2e);
        Vector open = g * s;
        store_some(y + i, n - i, open * u);
        store_some(dup + i, n - i, d * open);
        store_some(dgate + i, n - i, d * u * s * multiply_add(g, 1.0f - s, all(1.0f)));
    }
}

#endif
