/* layers.c - written to be read: every sum is a loop. The formulas are in layers.h.
 *
 * Exponentials need no shift: a double overflows only beyond e^709. */
#include "model/plain/layers.h"

#include <math.h>

/* ---- embedding ---- */

double *plain_embedding(Plain *p, const int32_t *ids, Weights table, int T) {
    int C = table.columns;
    double *y = plain_zeros(p, T, C);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) y[t * C + c] = table.w[ids[t] * C + c];
    return y;
}

void plain_embedding_backward(const double *dy, const int32_t *ids, Weights table, int T) {
    int C = table.columns;
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) table.dw[ids[t] * C + c] += dy[t * C + c];
}

double *plain_positions(Plain *p, Weights table, int T) {
    int C = table.columns;
    double *y = plain_zeros(p, T, C);
    for (int i = 0; i < T * C; i++) y[i] = table.w[i];
    return y;
}

void plain_positions_backward(const double *dy, Weights table, int T) {
    int C = table.columns;
    for (int i = 0; i < T * C; i++) table.dw[i] += dy[i];
}

/* ---- linear ---- */

double *plain_linear(Plain *p, const double *x, Weights layer, int N) {
    int OC = layer.rows, C = layer.columns;
    double *y = plain_zeros(p, N, OC);
    for (int n = 0; n < N; n++)
        for (int o = 0; o < OC; o++) {
            double sum = layer.b ? layer.b[o] : 0;
            for (int c = 0; c < C; c++) sum += x[n * C + c] * layer.w[o * C + c];
            y[n * OC + o] = sum;
        }
    return y;
}

void plain_linear_backward(double *dx, const double *dy, const double *x, Weights layer, int N) {
    int OC = layer.rows, C = layer.columns;
    for (int n = 0; n < N; n++)
        for (int o = 0; o < OC; o++) {
            double d = dy[n * OC + o];
            if (layer.db) layer.db[o] += d;
            for (int c = 0; c < C; c++) {
                dx[n * C + c] += d * layer.w[o * C + c];
                layer.dw[o * C + c] += d * x[n * C + c];
            }
        }
}

/* ---- residual ---- */

double *plain_add(Plain *p, const double *a, const double *b, int n) {
    double *y = plain_zeros(p, 1, n);
    for (int i = 0; i < n; i++) y[i] = a[i] + b[i];
    return y;
}

void plain_add_backward(double *da, double *db, const double *dy, int n) {
    for (int i = 0; i < n; i++) {
        da[i] += dy[i];
        db[i] += dy[i];
    }
}

/* ---- columns ---- */

double *plain_columns(Plain *p, const double *x, int first, int C, int T, int width) {
    double *y = plain_zeros(p, T, C);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) y[t * C + c] = x[t * width + first + c];
    return y;
}

void plain_columns_backward(double *dx, const double *dy, int first, int C, int T, int width) {
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) dx[t * width + first + c] += dy[t * C + c];
}

/* ---- attention ---- */

double *plain_attention(Plain *p, const double *q, const double *k, int T, int C, int NH) {
    int hs = C / NH;
    double *att = plain_zeros(p, NH * T, T);
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++) {
            double *row = att + (h * T + t) * T, sum = 0;
            for (int s = 0; s <= t; s++) {
                double score = 0;
                for (int c = h * hs; c < (h + 1) * hs; c++) score += q[t * C + c] * k[s * C + c];
                row[s] = exp(score / sqrt(hs));
                sum += row[s];
            }
            for (int s = 0; s <= t; s++) row[s] /= sum;
        }
    return att;
}

void plain_attention_backward(double *dq, double *dk, const double *datt, const double *att,
                              const double *q, const double *k, int T, int C, int NH) {
    int hs = C / NH;
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++) {
            const double *row = att + (h * T + t) * T, *drow = datt + (h * T + t) * T;
            double mean = 0;
            for (int s = 0; s <= t; s++) mean += row[s] * drow[s];
            for (int s = 0; s <= t; s++) {
                double dscore = row[s] * (drow[s] - mean) / sqrt(hs);
                for (int c = h * hs; c < (h + 1) * hs; c++) {
                    dq[t * C + c] += dscore * k[s * C + c];
                    dk[s * C + c] += dscore * q[t * C + c];
                }
            }
        }
}

double *plain_weighted_mean(Plain *p, const double *att, const double *v, int T, int C, int NH) {
    int hs = C / NH;
    double *y = plain_zeros(p, T, C);
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s <= t; s++) {
                double weight = att[(h * T + t) * T + s];
                for (int c = h * hs; c < (h + 1) * hs; c++) y[t * C + c] += weight * v[s * C + c];
            }
    return y;
}

void plain_weighted_mean_backward(double *datt, double *dv, const double *dy, const double *att,
                                  const double *v, int T, int C, int NH) {
    int hs = C / NH;
    for (int h = 0; h < NH; h++)
        for (int t = 0; t < T; t++)
            for (int s = 0; s <= t; s++) {
                double weight = att[(h * T + t) * T + s], dweight = 0;
                for (int c = h * hs; c < (h + 1) * hs; c++) {
                    dv[s * C + c] += weight * dy[t * C + c];
                    dweight += v[s * C + c] * dy[t * C + c];
                }
                if (datt) datt[(h * T + t) * T + s] += dweight;
            }
}

/* ---- shared heads ---- */

double *plain_shared(Plain *p, const double *x, int T, int hs, int NH, int NKV) {
    double *y = plain_zeros(p, T, NH * hs);
    for (int t = 0; t < T; t++)
        for (int h = 0; h < NH; h++) {
            const double *from = x + (t * NKV + h / (NH / NKV)) * hs;
            for (int c = 0; c < hs; c++) y[(t * NH + h) * hs + c] = from[c];
        }
    return y;
}

void plain_shared_backward(double *dx, const double *dy, int T, int hs, int NH, int NKV) {
    for (int t = 0; t < T; t++)
        for (int h = 0; h < NH; h++) {
            double *from = dx + (t * NKV + h / (NH / NKV)) * hs;
            for (int c = 0; c < hs; c++) from[c] += dy[(t * NH + h) * hs + c];
        }
}

/* ---- mean of the past ---- */

double *plain_mean_of_past(Plain *p, int T) {
    double *att = plain_zeros(p, T, T);
    for (int t = 0; t < T; t++)
        for (int s = 0; s <= t; s++) att[t * T + s] = 1.0 / (t + 1);
    return att;
}

/* ---- causal convolution ---- */

double *plain_convolution(Plain *p, const double *x, Weights taps, int T) {
    int C = taps.columns;
    double *y = plain_zeros(p, T, C);
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) {
            y[t * C + c] = x[t * C + c];
            for (int k = 0; k < taps.rows && k <= t; k++)
                y[t * C + c] += taps.w[k * C + c] * x[(t - k) * C + c];
        }
    return y;
}

void plain_convolution_backward(double *dx, const double *dy, const double *x, Weights taps,
                                int T) {
    int C = taps.columns;
    for (int t = 0; t < T; t++)
        for (int c = 0; c < C; c++) {
            dx[t * C + c] += dy[t * C + c];
            for (int k = 0; k < taps.rows && k <= t; k++) {
                dx[(t - k) * C + c] += taps.w[k * C + c] * dy[t * C + c];
                taps.dw[k * C + c] += dy[t * C + c] * x[(t - k) * C + c];
            }
        }
}

/* ---- layer normalisation ---- */

/* The mean of a row x[C]. */
static double row_mean(const double *x, int C) {
    double mean = 0;
    for (int c = 0; c < C; c++) mean += x[c] / C;
    return mean;
}

/* 1 / the deviation of a row from `mean`. */
static double row_rstd(const double *x, double mean, double epsilon, int C) {
    double variance = 0;
    for (int c = 0; c < C; c++) variance += (x[c] - mean) * (x[c] - mean) / C;
    return 1 / sqrt(variance + epsilon);
}

double *plain_layernorm(Plain *p, const double *x, Weights norm, int N) {
    int C = norm.rows;
    double *y = plain_zeros(p, N, C);
    for (int n = 0; n < N; n++) {
        double mean = row_mean(x + n * C, C), rstd = row_rstd(x + n * C, mean, 1e-5, C);
        for (int c = 0; c < C; c++)
            y[n * C + c] = (x[n * C + c] - mean) * rstd * norm.w[c] + norm.b[c];
    }
    return y;
}

void plain_layernorm_backward(double *dx, const double *dy, const double *x, Weights norm, int N) {
    int C = norm.rows;
    for (int n = 0; n < N; n++) {
        double mean = row_mean(x + n * C, C), rstd = row_rstd(x + n * C, mean, 1e-5, C);
        double dz_mean = 0, dz_z_mean = 0;
        for (int c = 0; c < C; c++) {
            double z = (x[n * C + c] - mean) * rstd, d = dy[n * C + c];
            norm.dw[c] += d * z;
            norm.db[c] += d;
            dz_mean += d * norm.w[c] / C;
            dz_z_mean += d * norm.w[c] * z / C;
        }
        for (int c = 0; c < C; c++) {
            double z = (x[n * C + c] - mean) * rstd, dz = dy[n * C + c] * norm.w[c];
            dx[n * C + c] += rstd * (dz - dz_mean - z * dz_z_mean);
        }
    }
}

/* ---- root-mean-square normalisation: the same without the mean ---- */

double *plain_rmsnorm(Plain *p, const double *x, Weights norm, int N) {
    int C = norm.rows;
    double *y = plain_zeros(p, N, C);
    for (int n = 0; n < N; n++) {
        double rstd = row_rstd(x + n * C, 0, 1e-6, C);
        for (int c = 0; c < C; c++) y[n * C + c] = x[n * C + c] * rstd * norm.w[c];
    }
    return y;
}

void plain_rmsnorm_backward(double *dx, const double *dy, const double *x, Weights norm, int N) {
    int C = norm.rows;
    for (int n = 0; n < N; n++) {
        double rstd = row_rstd(x + n * C, 0, 1e-6, C), dz_z_mean = 0;
        for (int c = 0; c < C; c++) {
            double z = x[n * C + c] * rstd, d = dy[n * C + c];
            norm.dw[c] += d * z;
            dz_z_mean += d * norm.w[c] * z / C;
        }
        for (int c = 0; c < C; c++) {
            double z = x[n * C + c] * rstd, dz = dy[n * C + c] * norm.w[c];
            dx[n * C + c] += rstd * (dz - z * dz_z_mean);
        }
    }
}

/* ---- rotary positions ---- */

/* y += x, rotated; direction is 1, or -1 to rotate back. */
static void add_turned(double *y, const double *x, int direction, int T, int C, int NH) {
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

double *plain_rotary(Plain *p, const double *x, int T, int C, int NH) {
    double *y = plain_zeros(p, T, C);
    add_turned(y, x, 1, T, C, NH);
    return y;
}

void plain_rotary_backward(double *dx, const double *dy, int T, int C, int NH) {
    add_turned(dx, dy, -1, T, C, NH);
}

/* ---- GELU ---- */

static const double root = 0.79788456080286535588; /* sqrt(2/pi) */

double *plain_gelu(Plain *p, const double *x, int n) {
    double *y = plain_zeros(p, 1, n);
    for (int i = 0; i < n; i++)
        y[i] = x[i] * (1 + tanh(root * (x[i] + 0.044715 * x[i] * x[i] * x[i]))) / 2;
    return y;
}

void plain_gelu_backward(double *dx, const double *dy, const double *x, int n) {
    for (int i = 0; i < n; i++) {
        double tanh_u = tanh(root * (x[i] + 0.044715 * x[i] * x[i] * x[i]));
        double du = root * (1 + 3 * 0.044715 * x[i] * x[i]);
        dx[i] += dy[i] * (1 + tanh_u + x[i] * (1 - tanh_u * tanh_u) * du) / 2;
    }
}

/* ---- SwiGLU ---- */

static double sigmoid(double x) {
    return 1 / (1 + exp(-x));
}

double *plain_swiglu(Plain *p, const double *gate, const double *up, int n) {
    double *y = plain_zeros(p, 1, n);
    for (int i = 0; i < n; i++) y[i] = gate[i] * sigmoid(gate[i]) * up[i];
    return y;
}

void plain_swiglu_backward(double *dgate, double *dup, const double *dy, const double *gate,
                           const double *up, int n) {
    for (int i = 0; i < n; i++) {
        double s = sigmoid(gate[i]);
        dgate[i] += dy[i] * up[i] * s * (1 + gate[i] * (1 - s));
        dup[i] += dy[i] * gate[i] * s;
    }
}

/* ---- cross-entropy ---- */

/* The denominator of the softmax of logits[V]. */
static double exponential_sum(const double *logits, int V) {
    double sum = 0;
    for (int v = 0; v < V; v++) sum += exp(logits[v]);
    return sum;
}

double plain_cross_entropy(const double *logits, const int32_t *targets, int T, int V) {
    double loss = 0;
    for (int t = 0; t < T; t++) /* -ln(e^logit / sum) */
        loss += (log(exponential_sum(logits + t * V, V)) - logits[t * V + targets[t]]) / T;
    return loss;
}

void plain_cross_entropy_backward(double *dlogits, const double *logits, const int32_t *targets,
                                  int T, int V) {
    for (int t = 0; t < T; t++) {
        double sum = exponential_sum(logits + t * V, V);
        for (int v = 0; v < V; v++) {
            double probability = exp(logits[t * V + v]) / sum;
            dlogits[t * V + v] += (probability - (v == targets[t] ? 1 : 0)) / T;
        }
    }
}
