/* test_gradients.c - the gradient of every tensor of every rung of the ladder, whoever added it:
 * against the numerical derivative of its own loss and, of the rungs that the naive reference
 * knows, of the reference's, whose logits and loss are compared, too. Sizes are odd where they can
 * be. */
#include "tests/support.h"
#include "tests/reference.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { B = 5, T = 7, V = 11, LAYERS = 2, HEADS = 3, MOST = 50 };

/* The first width that the rung takes: one that turns pairs of channels wants an even one. */
static Config config_of(const char *model) {
    Error err;
    Config config = {.V = V, .T = 9, .L = LAYERS, .NH = HEADS, .C = 15};
    snprintf(config.model, sizeof config.model, "%s", model);
    if (!model_check(&config, &err)) config.C = 18;
    assert_ok(model_check(&config, &err), err);
    return config;
}

static void check_forward(Bench *bench, const Reference *reference, const int32_t *ids,
                          const int32_t *targets) {
    double logits[B * T * V];
    reference_logits(reference, ids, B, T, logits);
    const float *ours = run_forward(bench->run, ids, B, T, 0);
    for (int i = 0; i < B * T * V; i++)
        assert_near(ours[i], logits[i], 2e-5 * (1 + fabs(logits[i])));
    assert_near(run_loss(bench->run, targets), reference_loss(reference, ids, targets, B, T), 1e-5);
}

/* ---- a tensor's gradient, held against numerical derivatives ---- */

/* A loss as a function of one weight. */
typedef struct {
    Bench *bench;
    Reference *reference; /* NULL: of the run itself */
    const int32_t *ids, *targets;
} Function;

static double loss_at(const Function *f, size_t weight, double to) {
    double loss;
    if (f->reference) {
        double *w = &f->reference->weights[weight], kept = *w;
        *w = kept + to;
        loss = reference_loss(f->reference, f->ids, f->targets, B, T);
        *w = kept;
    } else {
        float *w = &f->bench->model.weights[weight], kept = *w;
        *w = (float)((double)kept + to);
        run_forward(f->bench->run, f->ids, B, T, 0);
        loss = run_loss(f->bench->run, f->targets);
        *w = kept;
    }
    return loss;
}

/* By differences of fourth order: in float32 a step must be long, or rounding drowns the slope. */
static double slope_at(const Function *f, size_t weight, double step) {
    double near = loss_at(f, weight, step) - loss_at(f, weight, -step);
    double far = loss_at(f, weight, 2 * step) - loss_at(f, weight, -2 * step);
    return (8 * near - far) / (12 * step);
}

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

/* At most MOST places of a tensor are looked at, spread over its rows and columns alike. */
static size_t stride_of(const Tensor *tensor) {
    size_t stride = tensor->size / MOST + 1;
    while (common_divisor(stride, (size_t)tensor->shape[1]) > 1) stride++;
    return stride;
}

/* The relative error of a tensor's gradient, if `share` of it were there: |ours - truth| / |truth|,
 * both as vectors of the places that are looked at. */
static double error_of(const float *ours, const double *truth, const Tensor *tensor, double share) {
    double error = 0, length = 0;
    size_t stride = stride_of(tensor);
    for (size_t i = 0; i * stride < tensor->size; i++) {
        error += pow(share * (double)ours[i * stride] - truth[i], 2);
        length += truth[i] * truth[i];
    }
    return sqrt(error / length);
}

static void check_tensor(const Function *f, int i, double step, double tolerance) {
    const Model *model = &f->bench->model;
    const Tensor *tensor = &model->tensors[i];
    const float *ours = run_gradient(f->bench->run, i);
    size_t stride = stride_of(tensor);
    double truth[MOST + 1];
    for (size_t j = 0; j * stride < tensor->size; j++)
        truth[j] = slope_at(f, tensor->offset + j * stride, step);
    double error = error_of(ours, truth, tensor, 1);
    if (!(error <= tolerance))
        fail_msg("%s of %s: relative error %g", tensor->name, model->config.model, error);
    /* would it be seen if it were another? */
    assert_true(error_of(ours, truth, tensor, 0.9) > tolerance);
    assert_true(error_of(ours, truth, tensor, 1.1) > tolerance);
}

static void check_tensors(const Function *f, double step, double tolerance) {
    for (int i = 0; i < f->bench->model.tensor_count; i++) check_tensor(f, i, step, tolerance);
}

static void check_rung(const char *name) {
    Config config = config_of(name);
    Bench *bench = bench_open(&config, B, 2, 5);
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    run_forward_training(bench->run, ids, B, T);
    run_backward(bench->run, targets);
    Function own = {bench, NULL, ids, targets};
    check_tensors(&own, 1e-2, 5e-3);
    if (reference_knows(name)) {
        Reference reference;
        reference_open(&reference, &bench->model);
        check_forward(bench, &reference, ids, targets);
        check_tensors(&(Function){bench, &reference, ids, targets}, 1e-3, 1e-4);
        reference_close(&reference);
    }
    bench_close(bench);
    free(ids);
    free(targets);
}

static void test_every_rung(void **state) {
    (void)state;
    for (int i = 0; model_name(i); i++) check_rung(model_name(i));
}

/* With dropout the reference cannot follow; but the loss is a function of the weights all the same
 * while seed and step stand still, and its own differences are the truth. In float32 they are
 * coarse: a direction of many weights at once, along the gradient, makes them large enough. False
 * if the rung drops nothing. */
static bool check_dropout_gradient(const char *name) {
    Config config = config_of(name);
    config.dropout = 0.3;
    Bench *bench = bench_open(&config, B, 1, 5);
    Model *model = &bench->model;
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    run_forward(bench->run, ids, B, T, 0);
    double whole = run_loss(bench->run, targets);
    run_forward_training(bench->run, ids, B, T);
    double clean = run_loss(bench->run, targets);
    bool drops = clean != whole;
    run_backward(bench->run, targets);
    for (int i = 0; i < model->tensor_count && drops; i++) {
        const Tensor *tensor = &model->tensors[i];
        const float *gradient = run_gradient(bench->run, i);
        float *w = model->weights + tensor->offset, *kept = malloc(tensor->size * sizeof *kept);
        double length = 0, side[2];
        memcpy(kept, w, tensor->size * sizeof *kept);
        for (size_t j = 0; j < tensor->size; j++) length += pow((double)gradient[j], 2);
        double step = 4e-3 / sqrt(length);
        for (int sign = 0; sign < 2; sign++) {
            for (size_t j = 0; j < tensor->size; j++)
                w[j] = (float)((double)kept[j] + (sign ? step : -step) * (double)gradient[j]);
            run_forward_training(bench->run, ids, B, T);
            side[sign] = run_loss(bench->run, targets);
        }
        memcpy(w, kept, tensor->size * sizeof *kept);
        double slope = (side[1] - side[0]) / (2 * step);
        if (!(fabs(slope - length) <= 5e-3 * length))
            fail_msg("%s: slope %g along a gradient of square %g", tensor->name, slope, length);
        free(kept);
    }
    run_forward_training(bench->run, ids, B, T);
    assert_true(run_loss(bench->run, targets) == clean);
    run_forward(bench->run, ids, B, T, 0);
    assert_true(run_loss(bench->run, targets) == whole);
    bench_close(bench);
    free(ids);
    free(targets);
    return drops;
}

static void test_dropout_gradient(void **state) {
    (void)state;
    int dropping = 0;
    for (int i = 0; model_name(i); i++) dropping += check_dropout_gradient(model_name(i));
    assert_true(dropping >= 2); /* gpt and modern */
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_rung),
        cmocka_unit_test(test_dropout_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
