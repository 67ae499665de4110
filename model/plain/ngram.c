/* ngram.c - the counted model: it reads the whole text for each prediction.
 *
 * A context is the last k tokens. With c(x) = how much token x followed it, c = sum_x c(x), and
 * D(n) = the discount of a count of n, which is higher the fewer counts are to be trusted,
 *
 *     p(x | k tokens) = (c(x) - D(c(x))) / c + (sum_x D(c(x))) / c p(x | k - 1 tokens)
 *
 * and without any token, p(x) = 1 / V below that. See model/ngram.c for c(x) and D (Chen and
 * Goodman, 1999). */
#include "model/plain/layers.h"

#include <math.h>

typedef struct {
    const int32_t *ids;
    size_t count;
    int V, order;
    double discounts[MAX_ORDER]
                    [4]; /* by length of the context; of counts of 0, 1, 2, and 3 or more */
} Text;

/* The token `back` before a place; V before the text. */
static int32_t before(const Text *text, size_t place, int back) {
    return place >= (size_t)back ? text->ids[place - (size_t)back] : text->V;
}

/* Is token x at this place, after the context[k], the nearest token first? */
static bool occurs(const Text *text, size_t place, const int32_t *context, int k, int32_t x) {
    if (text->ids[place] != x) return false;
    for (int back = 1; back <= k; back++)
        if (before(text, place, back) != context[back - 1]) return false;
    return true;
}

/* c(x): in the longest contexts how often x follows; in others after how many different tokens
 * before the context. */
static int count(const Text *text, const int32_t *context, int k, int32_t x) {
    int total = 0;
    for (size_t i = 0; i < text->count; i++) {
        bool is_new = occurs(text, i, context, k, x);
        for (size_t j = 0; j < i && is_new && k < text->order - 1; j++)
            is_new = !(occurs(text, j, context, k, x) &&
                       before(text, j, k + 1) == before(text, i, k + 1));
        total += is_new;
    }
    return total;
}

static double discount(const Text *text, int k, int c) {
    return text->discounts[k][c < 3 ? c : 3];
}

/* From how many tokens, in all contexts of k tokens, have a count of 1, 2, 3 and 4. */
static void find_discounts(Text *text, int k) {
    double N[5] = {0}, *D = text->discounts[k];
    for (size_t i = 0; i < text->count; i++) {
        int32_t context[MAX_ORDER] = {0};
        bool first = true; /* of the places where this token follows this context */
        for (int back = 1; back <= k; back++) context[back - 1] = before(text, i, back);
        for (size_t j = 0; j < i; j++) first = first && !occurs(text, j, context, k, text->ids[i]);
        int c = first ? count(text, context, k, text->ids[i]) : 0;
        if (c <= 4) N[c]++;
    }
    double Y = N[1] / (N[1] + 2 * N[2]);
    for (int c = 1; c <= 3; c++) {
        D[c] = c - (c + 1) * Y * N[c + 1] / N[c];
        if (!(D[c] > 0 && D[c] <= c)) D[c] = 0.5 * c; /* too few counts for that */
    }
}

/* From no context to the one of `length` tokens. */
static double probability(const Text *text, const int32_t *context, int length, int32_t x) {
    double p = 1.0 / text->V;
    for (int k = 0; k <= length; k++) {
        double total = 0, left = 0;
        for (int v = 0; v < text->V; v++) {
            int c = count(text, context, k, v);
            total += c;
            left += discount(text, k, c);
        }
        int c = count(text, context, k, x);
        if (total > 0) p = (c - discount(text, k, c)) / total + left / total * p;
    }
    return p;
}

void plain_counted(Plain *p, const int32_t *ids, int T, Array *roots, Array *logarithms) {
    const Ngram *ngram = p->model->ngram;
    Text text = {.V = p->model->config.V, .order = ngram ? ngram_order(ngram) : 0};
    if (ngram) text.ids = ngram_text(ngram, &text.count);
    for (int k = 0; k < text.order; k++) find_discounts(&text, k);
    *roots = plain_array(p, T, text.V, (Step){0});
    *logarithms = plain_array(p, T, text.V, (Step){0});
    for (int t = 0; t < T; t++) {
        int32_t context[MAX_ORDER] = {0};
        int k = 0;
        while (k < text.order - 1 && k <= t) {
            context[k] = ids[t - k];
            k++;
        }
        for (int v = 0; v < text.V; v++) {
            double known = probability(&text, context, ngram ? k : -1, v);
            roots->x[t * text.V + v] = sqrt(known);
            logarithms->x[t * text.V + v] = log(known);
        }
    }
}

static void trusted_backward(const Step *step) {
    Array y = step->y, x = step->in[0], trust = step->in[1], z = step->in[2];
    for (int t = 0; t < y.rows; t++)
        for (int v = 0; v < y.columns; v++) {
            int i = t * y.columns + v;
            x.dx[i] += y.dx[i];
            trust.dx[t] += y.dx[i] * z.x[i];
        }
}

Array plain_trusted(Plain *p, Array x, Array trust, Array z) {
    Array y = plain_array(p, x.rows, x.columns, (Step){trusted_backward, .in = {x, trust, z}});
    for (int t = 0; t < y.rows; t++)
        for (int v = 0; v < y.columns; v++) {
            int i = t * y.columns + v;
            y.x[i] = x.x[i] + (1 + trust.x[t]) * z.x[i];
        }
    return y;
}
