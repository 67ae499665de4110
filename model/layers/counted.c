/* counted.c - the probabilities of the counted model, which the network reads and corrects.
 *
 *     counted:  p[n] = the counted model's probabilities after token n (model/ngram.h), as their
 *               square roots, a vector of length 1, and as their logarithms
 *     trusted:  y[n,v] = x[n,v] + weight (1 + trust[n]) z[n,v]
 *               dx = dy, dtrust[n] = sum_v dy[n,v] z[n,v]
 *               weight: 1 in training (run_weigh_counts)
 *
 * Counts have no gradient: they are never trained. */
#include "model/layers/tape.h"
#include "base/elementary.h"

#include <math.h>

/* Returns the fold that the prediction after token n of the pass leaves out. */
static int fold_of(const Pass *pass, size_t n) {
    const TextOrigin *source = pass->source;
    if (!source || !source->counted) return ALL_FOLDS;
    size_t place = source->starts[n / source->window] + n % source->window;
    return ngram_fold(pass->ngram, place + 1);
}

/* Sets p to the counted probabilities after token n of the pass. Counting sees what attention sees:
 * the token and those before it in its sequence. */
static void expect(const Pass *pass, size_t n, double *p, size_t V) {
    const int32_t *last = pass->sequences ? pass->sequences[n].last : pass->ids + n;
    if (pass->ngram)
        ngram_predict(pass->ngram, last, position_of(pass, n) + 1, fold_of(pass, n), p);
    else
        for (size_t v = 0; v < V; v++) p[v] = 1.0 / (double)V;
}

static void count(const Call *c) {
    const size_t V = c->out_row[0];
    double *p = (double *)(void *)c->thread->scratch;
    for (size_t n = 0; n < (size_t)c->N; n++) {
        float *roots = c->out[0] + n * V, *logarithms = c->out[1] + n * V;
        expect(c->pass, c->first + n, p, V);
        for (size_t v = 0; v < V; v++) {
            roots[v] = (float)sqrt(p[v]);
            logarithms[v] = (float)natural_logarithm(p[v]);
        }
    }
}

static size_t scratch(const Instruction *at, const Isa *isa, const Products *products, int T) {
    (void)isa, (void)products, (void)T;
    return (size_t)at->outputs[0].width * (sizeof(double) / sizeof(float));
}

static void trust_forward(const Call *c) {
    const size_t V = c->out_row[0];
    for (size_t n = 0; n < (size_t)c->N; n++) {
        const float *x = c->in[0] + n * V, *z = c->in[2] + n * V;
        const float share = c->pass->counts_weight * (1 + c->in[1][n]);
        float *y = c->out[0] + n * V;
        for (size_t v = 0; v < V; v++) y[v] = x[v] + share * z[v];
    }
}

static void trust_gradient(const Call *c) {
    const size_t V = c->in_row[0];
    for (size_t n = 0; n < (size_t)c->N; n++) {
        const float *dy = c->in[0] + n * V, *z = c->in[1] + n * V;
        double sum = 0;
        for (size_t v = 0; v < V; v++) sum += (double)dy[v] * (double)z[v];
        c->out[0][n] = (float)sum;
    }
}

static const Operation counted_operation = {
    .name = "counted",
    .title = "Counting: how often each character followed these in the training text",
    .equation = "p = smoothed counts, as sqrt(p) and ln p",
    .compute = count,
    .scratch = scratch};
static const Operation trusted_operation = {
    .name = "trusted",
    .title = "The logits of counting, scaled by the network's trust, are added",
    .equation = "y = x + (1 + trust) ln p",
    .compute = trust_forward,
    .reused = 1};
static const Operation trusted_backward_operation = {.name = "trusted_backward",
                                                     .compute = trust_gradient};

void counted(Tape *p, Array *roots, Array *logarithms) {
    *roots = tape_array(p, p->model->config.V, PER_TOKEN);
    *logarithms = tape_array(p, p->model->config.V, PER_TOKEN);
    tape_add(p, (Instruction){.operation = &counted_operation, .outputs = {*roots, *logarithms}});
}

Array trusted(Tape *p, Array x, Array trust, Array z) {
    tape_expect_width(p, "trusted", NO_TENSOR, "the trust", trust, 1);
    tape_expect_width(p, "trusted", NO_TENSOR, "z", z, x.width);
    Instruction rest = {.inputs = {[1] = trust, z}};
    return tape_map(p, &trusted_operation, x, x.width, rest);
}

Array trusted_backward(Tape *p, Array dy, Array z) {
    tape_expect_width(p, "trusted_backward", NO_TENSOR, "z", z, dy.width);
    return tape_map(p, &trusted_backward_operation, dy, 1, (Instruction){.inputs = {[1] = z}});
}
