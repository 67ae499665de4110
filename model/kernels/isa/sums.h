/* sums.h - sums of rows, and one query of attention.
 *
 * The sum of a row is the sum of 16 lanes at any register width: element i is added to lane i % 16,
 * then the lanes are added in pairs. */
#ifndef TRIL_MODEL_KERNELS_ISA_SUMS_H
#define TRIL_MODEL_KERNELS_ISA_SUMS_H

#include "model/kernels/isa/vectors.h"

enum { WIDE = 16, PARTS = WIDE / LANES };

typedef struct {
    Vector part[PARTS];
} Lanes;

/* Loads the next 16 of n > 0 numbers, with zeros beyond the last. */
static inline Lanes next_lanes(const float *x, size_t n) {
    Lanes lanes = {0};
    EACH(i, PARTS) {
        if (n >= WIDE)
            lanes.part[i] = load(x + i * LANES);
        else if (i * LANES < n)
            lanes.part[i] = load_some(x + i * LANES, n - i * LANES, 0);
    }
    return lanes;
}

/* Stores the next 16 of n > 0 numbers. */
static inline void store_lanes(float *x, size_t n, Lanes lanes) {
    float padded[WIDE], *to = n < WIDE ? padded : x;
    EACH(i, PARTS) store(to + i * LANES, lanes.part[i]);
    if (n < WIDE) memcpy(x, padded, n * sizeof *x);
}

static inline Lanes multiply_add_lanes(Lanes a, Lanes b, Lanes c) {
    EACH(j, PARTS) c.part[j] = multiply_add(a.part[j], b.part[j], c.part[j]);
    return c;
}

/* Returns the lanes' sum: adds one half to the other until one lane is left. */
static inline float sum_lanes(Lanes lanes) {
#pragma GCC unroll 4
    for (size_t half = PARTS / 2; half > 0; half /= 2)
        EACH(i, half) lanes.part[i] += lanes.part[i + half];
#pragma GCC unroll 4
    for (int half = LANES / 2; half > 0; half /= 2) lanes.part[0] += swapped(lanes.part[0], half);
    return lane_of(lanes.part[0], 0);
}

/* Returns the sums of `rows` <= LANES rows, one in each lane, in the order of sum_lanes. */
static inline Vector sum_rows(const Lanes *of, int rows) {
    Vector column[LANES];
    if (rows == 1) return (Vector){sum_lanes(of[0])};
    EACH(r, LANES) {
        Lanes lanes = {0};
        if ((int)r < rows) lanes = of[r];
#pragma GCC unroll 4
        for (size_t half = PARTS / 2; half > 0; half /= 2)
            EACH(i, half) lanes.part[i] += lanes.part[i + half];
        column[r] = lanes.part[0];
    }
    transpose_lanes(column);
#pragma GCC unroll 4
    for (size_t half = LANES / 2; half > 0; half /= 2) EACH(i, half) column[i] += column[i + half];
    return column[0];
}

static inline void add_lanes(Lanes *sum, const float *x, int n) {
    for (int i = 0; i < n; i += WIDE) {
        Lanes of_x = next_lanes(x + i, (size_t)(n - i));
        EACH(j, PARTS) sum->part[j] += of_x.part[j];
    }
}

static float dot(const float *a, const float *b, size_t n) {
    Lanes sum = {0};
    for (size_t i = 0; i < n; i += WIDE)
        sum = multiply_add_lanes(next_lanes(a + i, n - i), next_lanes(b + i, n - i), sum);
    return sum_lanes(sum);
}

static void sum(float *y, const float *a, const float *b, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = a[i] + b[i];
}

static void axpby(float *y, float b, const float *x, float a, size_t n) {
#pragma omp simd
    for (size_t i = 0; i < n; i++) y[i] = fused(b, y[i], a * x[i]);
}

/* ---- one query of attention ----
 * Each result is one chain of multiply-adds, as in the tile: so a token alone has the bits that it
 * has among others. A multiply-add waits for the one before; SUMS chains fill that time. */

enum {
    GROUP_VECTORS = KEY_GROUP / LANES,
    SUMS = 8,
    SCORES = SUMS > GROUP_VECTORS ? SUMS : GROUP_VECTORS /* sums of scores: a whole group */
};

/* Computes `heads` heads together, which share each load of a key. */
INLINE void scores_of(const int heads, const int groups, float *y, size_t y_row, const float *q,
                      const float *keys, size_t stride, int K) {
    Vector sum[SCORES] = {0};
    const size_t vectors = (size_t)groups * GROUP_VECTORS;
    for (size_t c = 0; c < (size_t)K; c++) EACH(i, vectors) {
            const size_t of_group = i / GROUP_VECTORS * stride,
                         of_lanes = i % GROUP_VECTORS * LANES;
            Vector key = load(keys + of_group + c * KEY_GROUP + of_lanes);
            EACH(h, heads) {
                Vector *to = &sum[h * vectors + i];
                *to = multiply_add(all(q[h * (size_t)K + c]), key, *to);
            }
        }
    EACH(h, heads) EACH(i, vectors) {
        store(y + h * y_row + i * LANES, sum[h * vectors + i]);
    }
}

static void scores(float *y, size_t y_row, const float *q, const float *keys, size_t stride,
                   int groups, int K, int heads) {
    enum { MOST = SCORES / GROUP_VECTORS };
    for (int h = 0, some; h < heads; h += some) {
        for (some = MOST; some > heads - h;) some /= 2;
        for (int done = 0, together = MOST / some; done < groups; done += together) {
            const int left = groups - done;
            float *to = y + (size_t)h * y_row + done * KEY_GROUP;
            const float *from = keys + (size_t)done * stride, *of_q = q + h * K;
            /* clang-format off */
#define SOME(m, n) case (m) * 16 + (n): \
                if ((m) * (n) <= MOST) \
                    scores_of(m, n, to, y_row, of_q, from, stride, K); \
                break;
            switch (some * 16 + (left < together ? left : together)) {
                SOME(1, 1) SOME(1, 2) SOME(1, 3) SOME(1, 4) SOME(1, 5) SOME(1, 6)
                SOME(1, 7) SOME(1, 8) SOME(2, 1) SOME(2, 2) SOME(2, 3) SOME(2, 4)
                SOME(4, 1) SOME(4, 2) SOME(8, 1)
            }
#undef SOME
            /* clang-format on */
        }
    }
}

/* Adds to `vectors` vectors of channels of `heads` heads together; `left` channels remain. If
 * `same`, all heads read the same columns of v, and share each load. */
INLINE void means_of(const int heads, const int vectors, const bool same, float *y, const float *p,
                     size_t p_row, const float *const *v, size_t v_row, int n, int K, size_t left) {
    Vector sum[SUMS];
    const size_t width = vectors > 1 ? LANES : left;
#define OF_SUM(i) (y + (i) / (size_t)vectors * (size_t)K + (i) % (size_t)vectors * LANES)
    EACH(i, heads * vectors) sum[i] = load_some(OF_SUM(i), width, 0);
    for (size_t s = 0; s < (size_t)n; s++) EACH(i, vectors) {
            Vector first = load_some(v[0] + s * v_row + i * LANES, width, 0);
            EACH(h, heads) {
                Vector of =
                    h == 0 || same ? first : load_some(v[h] + s * v_row + i * LANES, width, 0);
                Vector *to = &sum[h * (size_t)vectors + i];
                *to = multiply_add(all(p[h * p_row + s]), of, *to);
            }
        }
    EACH(i, heads * vectors) store_some(OF_SUM(i), width, sum[i]);
#undef OF_SUM
}

/* Computes as many channels of a head together as whole vectors allow: 8, 4, 2 or 1 vectors, and
 * SUMS vectors over several heads; then the last channels. Of heads that read the same columns of
 * v, as many as 4 come together, so each load of v is used that often; not with four lanes, because
 * the page in a browser tab must be small. */
static void means(float *y, const float *p, size_t p_row, const float *v, size_t v_row, int n,
                  int K, int heads, int group) {
    const float *from[SUMS];
    const int most = SUMS / (group > 3 ? 4 : group > 1 ? 2 : 1);
    for (int k = 0, vectors = most; k < K; k += vectors * LANES) {
        while (vectors > 1 && k + vectors * LANES > K) vectors /= 2;
        for (int h = 0, some; h < heads; h += some) {
            for (some = SUMS / vectors; some > heads - h;) some /= 2;
            for (int i = 0; i < some; i++) from[i] = v + (h + i) / group * K + k;
            const bool same = LANES > 4 && some > 1 && from[0] == from[some - 1];
            /* clang-format off */
#define MEANS(m, w, s) case ((s) * 16 + (m)) * 16 + (w): \
                means_of(m, w, s, y + h * K + k, p + (size_t)h * p_row, p_row, from, v_row, n, K, \
                         (size_t)(K - k)); \
                break;
#define BOTH(m, w) MEANS(m, w, false) MEANS(m, w, true)
            switch ((same * 16 + some) * 16 + vectors) {
                MEANS(1, 8, false) MEANS(1, 4, false) MEANS(1, 2, false) MEANS(1, 1, false)
                BOTH(2, 4) BOTH(2, 2) BOTH(2, 1) BOTH(4, 2) BOTH(4, 1) BOTH(8, 1)
            }
            /* clang-format on */
        }
    }
}

#endif
