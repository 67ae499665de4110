/* plain_layers.c - written to be read: every sum is a loop. The formulas are in plain_layers.h.
 *
 * Exponentials need no shift: a double overflows only beyond e^709. */
#include "model/plain/plain_layers.h"

#include <math.h>

typedef void Backward(const Call *call);
static Backward embedding_backward, positions_backward, linear_backward, add_backward,
    columns_backward, attention_backward, weighted_mean_backward, shared_backward,
    convolution_backward, norm_backward, rotary_backward, gelu_backward, swiglu_backward,
    trusted_backward;

/* ---- embedding ---- */

Array plain_embedding(Plain *p, const int32_t *ids, Weights table, int T) {
    int C = table.columns;
    Array y = plain_array(p, T, C, (Call){embedding_backward, .w = table, .ids = ids});
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) y.x[t * C + c] = table.w[ids[t] * C + c];
    return y;
}

static void embedding_backward(const Call *call) {
    Array y = call->y;
    Weights table = call->w;
    int C = table.columns;
    for (int t = 0; t < y.rows; t++)
        for (int c = 0; c < C; c++) table.dw[call->ids[t] * C + c] += y.dx[t * C + c];
}

Array plain_positions(Plain *p, Weights table, int T) {
    Array y = plain_array(p, T, table.columns, (Call){positions_backward, .w = table});
    for (int i = 0; i < T * y.columns; i++) y.x[i] = table.w[i];
    return y;
}

static void positions_backward(const Call *call) {
    for (int i = 0; i < call->y.rows * call->y.columns; i++) call->w.dw[i] += call->y.dx[i];
}

/* ---- linear ---- */

Array plain_linear(Plain *p, Array x, Weights layer) {
    int OC = layer.rows, C = layer.columns;
    Array y = plain_array(p, x.rows, OC, (Call){linear_backward, .in = {x}, .w = layer});
    for (int t = 0; t < x.rows; t++)
        for (int o = 0; o < OC; o++) {
            double sum = layer.b ? layer.b[o] : 0;
            for (int c = 0; c < C; c++) sum += x.x[t * C + c] * layer.w[o * C + c];
            y.x[t * OC + o] = sum;
        }
    return y;
}

static void linear_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    Weights layer = call->w;
    int OC = layer.rows, C = layer.columns;
    for (int t = 0; t < y.rows; t++)
        for (int o = 0; o < OC; o++) {
            double d = y.dx[t * OC + o];
            if (layer.db) layer.db[o] += d;
            for (int c = 0; c < C; c++) {
                x.dx[t * C + c] += d * layer.w[o * C + c];
                layer.dw[o * C + c] += d * x.x[t * C + c];
            }
        }
}

/* ---- residual ---- */

Array plain_add(Plain *p, Array a, Array b) {
    Array y = plain_array(p, a.rows, a.columns, (Call){add_backward, .in = {a, b}});
    for (int i = 0; i < y.rows * y.columns; i++) y.x[i] = a.x[i] + b.x[i];
    return y;
}

static void add_backward(const Call *call) {
    Array y = call->y, a = call->in[0], b = call->in[1];
    for (int i = 0; i < y.rows * y.columns; i++) {
        a.dx[i] += y.dx[i];
        b.dx[i] += y.dx[i];
    }
}

/* ---- columns ---- */

Array plain_columns(Plain *p, Array x, int first, int C) {
    Array y = plain_array(p, x.rows, C, (Call){columns_backward, .in = {x}, .count = first});
    for (int t = 0; t < x.rows; t++)
        for (int c = 0; c < C; c++) y.x[t * C + c] = x.x[t * x.columns + first + c];
    return y;
}

static void columns_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    int C = y.columns, first = call->count;
    for (int t = 0; t < x.rows; t++)
        for (int c = 0; c < C; c++) x.dx[t * x.columns + first + c] += y.dx[t * C + c];
}

/* ---- attention ---- */

Array plain_attention(Plain *p, Array q, Array k, int NH) {
    int T = q.rows, C = q.columns, hs = C / NH;
    Array att = plain_array(p, NH * T, T, (Call){attention_backward, .in = {q, k}});
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++) {
            double *row = att.x + (h * T + t) * T, sum = 0;
            for (int s = 0; s <= t; s++) {
                double score = 0;
                for (int c = h * hs; c < (h + 1) * hs; c++)
                    score += q.x[t * C + c] * k.x[s * C + c];
                row[s] = exp(score / sqrt(hs));
                sum += row[s];
            }
            for (int s = 0; s <= t; s++) row[s] /= sum;
        }
    return att;
}

static void attention_backward(const Call *call) {
    Array att = call->y, q = call->in[0], k = call->in[1];
    int T = q.rows, C = q.columns, NH = att.rows / T, hs = C / NH;
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++) {
            const double *row = att.x + (h * T + t) * T, *drow = att.dx + (h * T + t) * T;
            double mean = 0;
            for (int s = 0; s <= t; s++) mean += row[s] * drow[s];
            for (int s = 0; s <= t; s++) {
                double dscore = row[s] * (drow[s] - mean) / sqrt(hs);
                for (int c = h * hs; c < (h + 1) * hs; c++) {
                    q.dx[t * C + c] += dscore * k.x[s * C + c];
                    k.dx[s * C + c] += dscore * q.x[t * C + c];
                }
            }
        }
}

Array plain_weighted_mean(Plain *p, Array att, Array v) {
    int T = v.rows, C = v.columns, NH = att.rows / T, hs = C / NH;
    Array y = plain_array(p, T, C, (Call){weighted_mean_backward, .in = {att, v}});
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s <= t; s++) {
                double weight = att.x[(h * T + t) * T + s];
                for (int c = h * hs; c < (h + 1) * hs; c++)
                    y.x[t * C + c] += weight * v.x[s * C + c];
            }
    return y;
}

static void weighted_mean_backward(const Call *call) {
    Array y = call->y, att = call->in[0], v = call->in[1];
    int T = v.rows, C = v.columns, NH = att.rows / T, hs = C / NH;
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s <= t; s++) {
                int at = (h * T + t) * T + s;
                for (int c = h * hs; c < (h + 1) * hs; c++) {
                    v.dx[s * C + c] += att.x[at] * y.dx[t * C + c];
                    att.dx[at] += v.x[s * C + c] * y.dx[t * C + c];
                }
            }
}

/* ---- shared heads ---- */

Array plain_shared(Plain *p, Array x, int NH, int NKV) {
    int hs = x.columns / NKV;
    Array y = plain_array(p, x.rows, NH * hs, (Call){shared_backward, .in = {x}, .count = NKV});
    for (int t = 0; t < x.rows; t++)
        for (int h = 0; h < NH; h++) {
            const double *from = x.x + (t * NKV + h / (NH / NKV)) * hs;
            for (int c = 0; c < hs; c++) y.x[(t * NH + h) * hs + c] = from[c];
        }
    return y;
}

static void shared_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    int NKV = call->count, hs = x.columns / NKV, NH = y.columns / hs;
    for (int t = 0; t < x.rows; t++)
        for (int h = 0; h < NH; h++) {
            double *dfrom = x.dx + (t * NKV + h / (NH / NKV)) * hs;
            for (int c = 0; c < hs; c++) dfrom[c] += y.dx[(t * NH + h) * hs + c];
        }
}

/* ---- mean of the past ---- */

Array plain_mean_of_past(Plain *p, int T) {
    Array att = plain_array(p, T, T, (Call){0});
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++) att.x[t * T + s] = 1.0 / (t + 1);
    return att;
}

/* ---- causal convolution ---- */

Array plain_convolution(Plain *p, Array x, Weights taps) {
    int T = x.rows, C = x.columns;
    Array y = plain_array(p, T, C, (Call){convolution_backward, .in = {x}, .w = taps});
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) {
            y.x[t * C + c] = x.x[t * C + c];
            for (int k = 0; k < taps.rows && k <= t; k++)
                y.x[t * C + c] += taps.w[k * C + c] * x.x[(t - k) * C + c];
        }
    return y;
}

static void convolution_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    Weights taps = call->w;
    int T = x.rows, C = x.columns;
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) {
            x.dx[t * C + c] += y.dx[t * C + c];
            for (int k = 0; k < taps.rows && k <= t; k++) {
                x.dx[(t - k) * C + c] += taps.w[k * C + c] * y.dx[t * C + c];
                taps.dw[k * C + c] += y.dx[t * C + c] * x.x[(t - k) * C + c];
            }
        }
}

/* ---- layer normalization; root-mean-square normalization is the same without mean and bias ----
 */

/* Sets the mean of a row x[C], which counts as 0 for a norm without a bias, and returns 1 / the
 * deviation from it. */
static double statistics(const double *x, Weights norm, double *mean) {
    double variance = 0;
    int C = norm.rows;
    *mean = 0;
    for (int c = 0; norm.b && c < C; c++) *mean += x[c] / C;
    for (int c = 0; c < C; c++) variance += (x[c] - *mean) * (x[c] - *mean) / C;
    return 1 / sqrt(variance + (norm.b ? 1e-5 : 1e-6));
}

Array plain_norm(Plain *p, Array x, Weights norm) {
    int C = norm.rows, rows = x.rows * x.columns / C;
    Array y = plain_array(p, x.rows, x.columns, (Call){norm_backward, .in = {x}, .w = norm});
    for (int n = 0; n < rows; n++) {
        double mean, rstd = statistics(x.x + n * C, norm, &mean);
        for (int c = 0; c < C; c++) {
            double z = (x.x[n * C + c] - mean) * rstd;
            y.x[n * C + c] = z * norm.w[c] + (norm.b ? norm.b[c] : 0);
        }
    }
    return y;
}

static void norm_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    Weights norm = call->w;
    int C = norm.rows, rows = x.rows * x.columns / C;
    for (int n = 0; n < rows; n++) {
        double mean, rstd = statistics(x.x + n * C, norm, &mean), dz_mean = 0, dz_z_mean = 0;
        for (int c = 0; c < C; c++) {
            double z = (x.x[n * C + c] - mean) * rstd, d = y.dx[n * C + c];
            norm.dw[c] += d * z;
            if (norm.b) norm.db[c] += d;
            if (norm.b) dz_mean += d * norm.w[c] / C;
            dz_z_mean += d * norm.w[c] * z / C;
        }
        for (int c = 0; c < C; c++) {
            double z = (x.x[n * C + c] - mean) * rstd, dz = y.dx[n * C + c] * norm.w[c];
            x.dx[n * C + c] += rstd * (dz - dz_mean - z * dz_z_mean);
        }
    }
}

/* ---- rotary positions ---- */

/* y += x, rotated, for x (T, C) of NH heads; direction is 1, or -1 to rotate back. */
static void add_rotated(double *y, const double *x, int direction, int T, int C, int NH) {
    int hs = C / NH;
    for (int t = 0; t < T; t++)
        for (int h = 0; h < NH; h++)
            for (int i = 0; i < hs / 2; i++) {
                int a = t * C + h * hs + i, b = a + hs / 2;
                double angle = direction * t / pow(10000, 2.0 * i / hs);
                y[a] += x[a] * cos(angle) - x[b] * sin(angle);
                y[b] += x[b] * cos(angle) + x[a] * sin(angle);
            }
}

Array plain_rotary(Plain *p, Array x, int NH) {
    Array y = plain_array(p, x.rows, x.columns, (Call){rotary_backward, .in = {x}, .count = NH});
    add_rotated(y.x, x.x, 1, x.rows, x.columns, NH);
    return y;
}

static void rotary_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    add_rotated(x.dx, y.dx, -1, x.rows, x.columns, call->count);
}

/* ---- GELU ---- */

static const double root = 0.79788456080286535588; /* sqrt(2/pi) */

Array plain_gelu(Plain *p, Array x) {
    Array y = plain_array(p, x.rows, x.columns, (Call){gelu_backward, .in = {x}});
    for (int i = 0; i < x.rows * x.columns; i++) {
        double cube = x.x[i] * x.x[i] * x.x[i];
        y.x[i] = x.x[i] * (1 + tanh(root * (x.x[i] + 0.044715 * cube))) / 2;
    }
    return y;
}

static void gelu_backward(const Call *call) {
    Array y = call->y, x = call->in[0];
    for (int i = 0; i < x.rows * x.columns; i++) {
        double square = x.x[i] * x.x[i];
        double tanh_u = tanh(root * (x.x[i] + 0.044715 * square * x.x[i]));
        double du = root * (1 + 3 * 0.044715 * square);
        x.dx[i] += y.dx[i] * (1 + tanh_u + x.x[i] * (1 - tanh_u * tanh_u) * du) / 2;
    }
}

/* ---- SwiGLU ---- */

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

Array plain_swiglu(Plain *p, Array gate, Array up) {
    Array y = plain_array(p, gate.rows, gate.columns, (Call){swiglu_backward, .in = {gate, up}});
    for (int i = 0; i < y.rows * y.columns; i++) y.x[i] = gate.x[i] * sigmoid(gate.x[i]) * up.x[i];
    return y;
}

static void swiglu_backward(const Call *call) {
    Array y = call->y, gate = call->in[0], up = call->in[1];
    for (int i = 0; i < y.rows * y.columns; i++) {
        double open = sigmoid(gate.x[i]);
        gate.dx[i] += y.dx[i] * up.x[i] * open * (1 + gate.x[i] * (1 - open));
        up.dx[i] += y.dx[i] * gate.x[i] * open;
    }
}

/* ---- counting ---- */

void plain_counted(Plain *p, const int32_t *ids, int T, Array *roots, Array *logarithms) {
    const Ngram *ngram = p->model->ngram;
    int V = p->model->config.V;
    *roots = plain_array(p, T, V, (Call){0});
    *logarithms = plain_array(p, T, V, (Call){0});
    for (int t = 0; t < T; t++) {
        double *known = roots->x + t * V; /* as probabilities at first */
        for (int v = 0; v < V; v++) known[v] = 1.0 / V;
        if (ngram) ngram_predict(ngram, ids + t, (size_t)t + 1, ALL_FOLDS, known);
        for (int v = 0; v < V; v++) {
            logarithms->x[t * V + v] = log(known[v]);
            known[v] = sqrt(known[v]);
        }
    }
}

Array plain_trusted(Plain *p, Array x, Array trust, Array z) {
    Array y = plain_array(p, x.rows, x.columns, (Call){trusted_backward, .in = {x, trust, z}});
    for (int t = 0; t < y.rows; t++)
        for (int v = 0; v < y.columns; v++) {
            int i = t * y.columns + v;
            y.x[i] = x.x[i] + (1 + trust.x[t]) * z.x[i];
        }
    return y;
}

static void trusted_backward(const Call *call) {
    Array y = call->y, x = call->in[0], trust = call->in[1], z = call->in[2];
    for (int t = 0; t < y.rows; t++)
        for (int v = 0; v < y.columns; v++) {
            int i = t * y.columns + v;
            x.dx[i] += y.dx[i];
            trust.dx[t] += y.dx[i] * z.x[i];
        }
}

/* ---- cross-entropy ---- */

/* Returns the denominator of the softmax of logits[V]. */
static double exponential_sum(const double *logits, int V) {
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp(logits[v]);
    return sum;
}

double plain_cross_entropy(Array logits, const int32_t *targets) {
    int T = logits.rows, V = logits.columns;
    double loss = 0;
    for (int t = 0; t < T; t++) /* -ln(e^logit / sum) */
        loss += (log(exponential_sum(logits.x + t * V, V)) - logits.x[t * V + targets[t]]) / T;
    return loss;
}

void plain_cross_entropy_backward(Array logits, const int32_t *targets) {
    int T = logits.rows, V = logits.columns;
    for (int t = 0; t < T; t++) {
        double sum = exponential_sum(logits.x + t * V, V);
        for (int v = 0; v < V; v++) {
            double probability = exp(logits.x[t * V + v]) / sum;
            logits.dx[t * V + v] += (probability - (v == targets[t] ? 1 : 0)) / T;
        }
    }
}
