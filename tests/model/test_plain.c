/* test_plain.c - the gradients of the plain ladder, compared with the numerical derivative of its
 * own loss: every number in a long run, every third in a quick one. Sizes are odd where possible.
 */
#include "tests/support.h"
#include "base/random.h"
#include "model/plain/plain.h"

enum { B = 2, T = 5, V = 7, CONTEXT = 6, LAYERS = 2, HEADS = 3 };

/* A model of the rung and its plain version. Noise keeps the weights away from 0 and 1. Rotary
 * positions need an even number of channels in each head. */
static const Model *open_rung(Plain *plain, Config config) {
    if (!model_check(&config, &err)) config.C = 12;
    Model *model = new_model(&config, 5);
    count_letters(model);
    plain_open(plain, model);
    for (size_t i = 0; i < plain->size; i++) plain->weights[i] += 0.3 * random_normal(99, i);
    return model;
}

/* The loss as a function of one weight, and its derivative by fourth-order central differences. */
typedef struct {
    Plain *plain;
    double *weight;
    const int32_t *ids, *targets;
} Function;

static double loss_at(const Function *f, double shift) {
    double kept = *f->weight;
    *f->weight = kept + shift;
    double loss = plain_loss(f->plain, f->ids, f->targets, B, T);
    *f->weight = kept;
    return loss;
}

static double derivative(const Function *f, double step) {
    double near = loss_at(f, step) - loss_at(f, -step);
    double far = loss_at(f, 2 * step) - loss_at(f, -2 * step);
    return (8 * near - far) / (12 * step);
}

/* Each number may differ by 1e-9 of the tensor's largest. Near a kink of the loss, as of ReLU at 0,
 * differences are less precise: a smaller step shows by how much. */
static void check_tensor(const Function *f, const Tensor *tensor) {
    const double *ours = f->plain->gradients + tensor->offset, step = 3e-4, smaller = 3e-5;
    const size_t apart = (size_t)repeats(tensor->shape[1] % 3 == 0 ? 4 : 3, 1);
    double *truth = scrap(tensor->size, sizeof *truth), largest = 0;
    Function of = *f;
    for (size_t j = 0; j < tensor->size; j += apart) {
        of.weight = f->plain->weights + tensor->offset + j;
        truth[j] = derivative(&of, step);
        largest = fmax(largest, fabs(truth[j]));
    }
    assert_true(largest > 1e-3); /* not all zeros */
    for (size_t j = 0; j < tensor->size; j += apart) {
        const double error = fabs(ours[j] - truth[j]);
        of.weight = f->plain->weights + tensor->offset + j;
        if (!(error <= 1e-9 * largest || error <= 3 * fabs(derivative(&of, smaller) - truth[j])))
            fail_msg("%s[%zu] of %s: %.12g, not %.12g", tensor->name, j,
                     f->plain->model->config.model, ours[j], truth[j]);
    }
}

static void check_rung(Config config) {
    Plain plain;
    const Model *model = open_rung(&plain, config);
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    Function f = {.plain = &plain, .ids = ids, .targets = targets};
    plain_gradients(&plain, targets, ids, B, T); /* must not keep anything from another batch */
    plain_gradients(&plain, ids, targets, B, T);
    for (int i = 0; i < model->tensor_count; i++) check_tensor(&f, &model->tensors[i]);
    plain_close(&plain);
}

TEST(gradients) {
    int known = 0;
    Config config = {.V = V, .T = CONTEXT, .L = LAYERS, .NH = HEADS, .C = 9};
    for (int i = 0; model_name(i); i++) {
        if (!plain_knows(model_name(i))) continue;
        snprintf(config.model, sizeof config.model, "%s", model_name(i));
        check_rung(config);
        known++;
    }
    assert_int_equal(known, 8);
}

/* Heads that share keys and values, and an MLP of a width of its own. */
TEST(shared_heads) {
    Config config = {.model = "modern", .V = V, .T = CONTEXT, .L = 1, .NH = 2 * HEADS, .C = 12};
    config.H = 11;
    for (config.NKV = 1; config.NKV <= 2; config.NKV++) check_rung(config);
}
