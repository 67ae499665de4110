/* sequence.h - attention of one head over one short sequence.
 *
 * Lanes are queries: a vector has the scores of LANES queries for one key. So the maximum and the
 * sum of a softmax are those of whole vectors, heads of few channels fill the registers, and keys
 * that none of the queries sees are not computed. Each sum has the order that it has in the
 * products and in softmax: the bits are the same. Gradients of keys and values are sums over
 * queries; there, lanes are channels. */
#ifndef TRIL_MODEL_KERNELS_ISA_SEQUENCE_H
#define TRIL_MODEL_KERNELS_ISA_SEQUENCE_H

#include "model/kernels/isa/exponentials.h"

#if defined GNU_C

/* Keys whose scores, or gradients, are computed together: as many chains of sums. */
enum { KEYS = LANES < 8 ? 4 : 8 };

/* Columns of four rows of channels: vector c has channel c of LANES tokens. */
typedef struct {
    Vector channel[4];
} Quad;

/* Loads four channels of `count` tokens, with zeros in the lanes beyond. */
INLINE Quad load_tokens(const float *x, size_t row, size_t count) {
    Quad of;
    float padded[4 * LANES];
    if (count < LANES) {
        memset(padded, 0, sizeof padded);
        for (size_t i = 0; i < count; i++) memcpy(padded + 4 * i, x + i * row, 4 * sizeof *x);
        x = padded;
        row = 4;
    }
    EACH(i, 4) of.channel[i] = load_fours(x + i * row, 4 * row);
    transpose_fours(of.channel);
    return of;
}

/* Stores four channels of `count` tokens. */
INLINE void store_tokens(float *x, size_t row, size_t count, Quad of) {
    float padded[4 * LANES], *to = count < LANES ? padded : x;
    size_t to_row = count < LANES ? 4 : row;
    transpose_fours(of.channel);
    EACH(i, 4) store_fours(to + i * to_row, 4 * to_row, of.channel[i]);
    for (size_t i = 0; to != x && i < count; i++)
        memcpy(x + i * row, padded + 4 * i, 4 * sizeof *x);
}

/* Loads all channels of some tokens. */
static inline void load_columns(Vector *columns, const float *x, size_t row, size_t count,
                                int channels) {
    for (int c = 0; c < channels; c += 4) {
        Quad of = load_tokens(x + c, row, count);
        EACH(i, 4) columns[c + (int)i] = of.channel[i];
    }
}

/* Writes some channels of the means of n rows of v with these weights, a vector for each row: sum_s
 * weights_s v_s for each of the `count` lanes. */
INLINE void means_of_quads(const int quads, float *out, size_t out_row, size_t count,
                           const Vector *weights, const float *v, size_t v_row, int n) {
    Quad mean[KEYS / 4] = {0};
    for (int s = 0; s < n; s++, v += v_row) EACH(i, 4 * quads) {
            Vector *sum = &mean[i / 4].channel[i % 4];
            *sum = multiply_add(weights[s], all(v[i]), *sum);
        }
    EACH(i, quads) store_tokens(out + 4 * i, out_row, count, mean[i]);
}

/* Does the same for all channels. */
static inline void store_means(float *out, size_t out_row, size_t count, const Vector *weights,
                               const float *v, size_t v_row, int n, int channels) {
    int c = 0;
    for (; c + KEYS <= channels; c += KEYS)
        means_of_quads(KEYS / 4, out + c, out_row, count, weights, v + c, v_row, n);
    for (; c < channels; c += 4)
        means_of_quads(1, out + c, out_row, count, weights, v + c, v_row, n);
}

/* Sets dots[s] = x_s . the columns, for `keys` rows of x. */
INLINE void dots_of(const int keys, Vector *dots, const float *x, size_t row, const Vector *columns,
                    int channels) {
    Vector sum[KEYS] = {0};
    for (int c = 0; c < channels; c++) {
        Vector column = columns[c];
        EACH(i, keys) sum[i] = multiply_add(all(x[i * row + (size_t)c]), column, sum[i]);
    }
    EACH(i, keys) dots[i] = sum[i];
}

/* Does the same for n rows. */
static inline void dots(Vector *to, const float *x, size_t row, int n, const Vector *columns,
                        int channels) {
    int s = 0;
    for (; s + KEYS <= n; s += KEYS)
        dots_of(KEYS, to + s, x + (size_t)s * row, row, columns, channels);
    for (; s < n; s++) dots_of(1, to + s, x + (size_t)s * row, row, columns, channels);
}

/* Returns the sum of n <= WIDE vectors, in the order of sum_lanes. Overwrites them. */
INLINE Vector sum_vectors(Vector *of, int n) {
#pragma GCC unroll 4
    for (int half = WIDE / 2; half > 0; half /= 2)
        for (int i = half; i < 2 * half && i < n; i++) of[i - half] += of[i];
    return of[0];
}

/* The scores of queries from t on: k_s . q, or -infinity where a query does not see key s. */
static inline void score_queries(Vector *scores, const Attention *a, int t, int n, size_t count) {
    Vector queries[SEQUENCE_CHANNELS];
    load_columns(queries, a->q + (size_t)t * a->q_row, a->q_row, count, a->hs);
    dots(scores, a->k, a->k_row, n, queries, a->hs);
    for (int s = t + 1; s < n; s++) scores[s] = pick(lanes_below(s - t), all(-INFINITY), scores[s]);
}

/* Prefetches rows of the next sequence to the L2 cache: they lie far apart, and the hardware does
 * not prefetch such rows. Takes a few at a time, so that they need not wait for each other. */
static inline void prefetch_tokens(const float *x, size_t row, int t, size_t count, int channels) {
    for (size_t i = 0; i < count; i++)
        for (int c = 0; c < channels; c += LINE)
            __builtin_prefetch(x + ((size_t)t + i) * row + c, 0, 2);
}

static void attend(const Attention *a, const Attention *next) {
    Vector weights[SEQUENCE_TOKENS], sums[WIDE];
    for (int t = 0; t < a->T; t += LANES) {
        int n = t + LANES < a->T ? t + LANES : a->T;
        size_t count = (size_t)(n - t);
        Vector most = all(-INFINITY);
        float max[LANES], total[LANES];
        size_t ahead = next == a ? 0 : count;
        prefetch_tokens(next->q, a->q_row, t, ahead, a->hs);
        score_queries(weights, a, t, n, count);
        prefetch_tokens(next->k, a->k_row, t, ahead, a->hs);
        for (int s = 0; s < n; s++) most = larger(weights[s], most);
        most *= a->scale; /* scale > 0 */
        for (int s = 0; s < n; s++) {
            weights[s] = exponential(multiply_add(weights[s], all(a->scale), -most));
            sums[s % WIDE] = s < WIDE ? weights[s] : sums[s % WIDE] + weights[s];
        }
        prefetch_tokens(next->v, a->v_row, t, ahead, a->vs);
        Vector sum = sum_vectors(sums, n < WIDE ? n : WIDE), inverse = 1.0f / sum;
        for (int s = 0; s < n; s++) weights[s] *= inverse;
        store_means(a->out + (size_t)t * a->out_row, a->out_row, count, weights, a->v, a->v_row, n,
                    a->vs);
        prefetch_tokens(next->out, a->out_row, t, ahead, a->vs);
        store(max, most);
        store(total, sum);
#pragma omp simd
        for (int i = 0; i < LANES; i++) max[i] += (float)natural_logarithm((double)total[i]);
        store_some(a->lse + t, count, load(max));
    }
}

/* d_s += sum_i weights[s][lane + i] x_i for the keys or values from s on and n queries, in order.
 * Begins from 0 unless `adds`. */
INLINE void sum_queries(const int keys, float *d, size_t d_row, const float weights[][WIDE],
                        int lane, const float *x, size_t x_row, int n, int channels, bool adds) {
    for (int c = 0; c < channels; c += LANES) {
        size_t left = (size_t)(channels - c);
        Vector sum[KEYS] = {0};
        if (adds) EACH(i, keys) sum[i] = load_some(d + i * d_row + c, left, 0);
        for (int t = 0; t < n; t++) {
            Vector of_x = load_some(x + (size_t)t * x_row + c, left, 0);
            EACH(i, keys) sum[i] = multiply_add(all(weights[i][lane + t]), of_x, sum[i]);
        }
        EACH(i, keys) store_some(d + i * d_row + c, left, sum[i]);
    }
}

/* Does the same for the queries t <= i < n and the keys or values that they see. Queries before a
 * key have no weight for it. Keys from `begun` on have no sum yet. */
static inline void sum_all_queries(float *d, size_t d_row, const float weights[][WIDE],
                                   const float *x, size_t x_row, int t, int n, int begun,
                                   int channels) {
    for (int s = 0, keys; s < n; s += keys) {
        int first = s > t ? s : t;
        float *to = d + (size_t)s * d_row;
        const float *from = x + (size_t)first * x_row;
        keys = n - s < KEYS ? 1 : KEYS;
        if (keys == 1)
            sum_queries(1, to, d_row, weights + s, first - t, from, x_row, n - first, channels,
                        s < begun);
        else
            sum_queries(KEYS, to, d_row, weights + s, first - t, from, x_row, n - first, channels,
                        s < begun);
    }
}

/* Recomputes the weights from lse. Sums over WIDE queries at a time. */
static void attend_backward(const Attention *a, const Attention *next) {
    float weights[SEQUENCE_TOKENS][WIDE], dscores[SEQUENCE_TOKENS][WIDE]; /* [keys][queries] */
    Vector scores[SEQUENCE_TOKENS], gradients[SEQUENCE_TOKENS], columns[SEQUENCE_CHANNELS];
    for (int t = 0; t < a->T; t += LANES) {
        int n = t + LANES < a->T ? t + LANES : a->T, begin = t - t % WIDE;
        size_t count = (size_t)(n - t), of_out = (size_t)t * a->out_row;
        size_t ahead = next == a ? 0 : count;
        Vector products[WIDE];
        prefetch_tokens(next->q, a->q_row, t, ahead, a->hs);
        score_queries(scores, a, t, n, count);
        prefetch_tokens(next->k, a->k_row, t, ahead, a->hs);
        load_columns(columns, a->dout + of_out, a->out_row, count, a->vs);
        dots(gradients, a->v, a->v_row, n, columns, a->vs);
        prefetch_tokens(next->v, a->v_row, t, ahead, a->vs);
        /* sum_s weight dweight = dout . out, which has fewer terms */
        for (int c = 0; c < a->vs; c += 4) {
            Quad out = load_tokens(a->out + of_out + c, a->out_row, count);
            EACH(i, 4) {
                Vector *sum = &products[(c + (int)i) % WIDE], before = c < WIDE ? all(0) : *sum;
                *sum = multiply_add(columns[c + (int)i], out.channel[i], before);
            }
        }
        prefetch_tokens(next->dout, a->out_row, t, ahead, a->vs);
        Vector mean = sum_vectors(products, a->vs < WIDE ? a->vs : WIDE);
        Vector below = -load_some(a->lse + t, count, 0);
        for (int s = 0; s < n; s++) {
            Vector weight = exponential(multiply_add(scores[s], all(a->scale), below));
            gradients[s] = weight * (gradients[s] - mean) * a->scale;
            store(weights[s] + (t - begin), weight);
            store(dscores[s] + (t - begin), gradients[s]);
        }
        prefetch_tokens(next->out, a->out_row, t, ahead, a->vs);
        store_means(a->dq + (size_t)t * a->q_row, a->q_row, count, gradients, a->k, a->k_row, n,
                    a->hs);
        prefetch_tokens(next->dq, a->q_row, t, ahead, a->hs);
        prefetch_tokens(next->dk, a->k_row, t, ahead, a->hs);
        prefetch_tokens(next->dv, a->v_row, t, ahead, a->vs);
        if (n < a->T && n % WIDE != 0) continue;
        int begun = a->adds ? n : begin;
        sum_all_queries(a->dk, a->k_row, dscores, a->q, a->q_row, begin, n, begun, a->hs);
        sum_all_queries(a->dv, a->v_row, weights, a->dout, a->out_row, begin, n, begun, a->vs);
    }
}

#endif
#endif
