/* test_gradients.c - every rung against the naive reference: logits, loss, and the gradient of
 * every tensor against the reference's numerical derivative. All sizes are odd on purpose. */
#include "tests/support.h"
#include "tests/reference.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { B = 3, T = 7, V = 11 };

static Config config_of(const char *model) {
    Config config = {.V = V, .T = 9, .L = 2, .NH = 3, .C = 15};
    strcpy(config.model, model);
    if (strcmp(model, "modern") == 0) config.C = 18; /* pairs of channels are turned */
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

/* The derivative by central differences, in the direction of one weight. */
static double numerical(Reference *reference, size_t weight, const int32_t *ids,
                        const int32_t *targets) {
    const double step = 1e-5;
    double *w = &reference->weights[weight], kept = *w;
    *w = kept + step;
    double above = reference_loss(reference, ids, targets, B, T);
    *w = kept - step;
    double below = reference_loss(reference, ids, targets, B, T);
    *w = kept;
    return (above - below) / (2 * step);
}

/* Relative error of a whole tensor's gradient: |ours - truth| / |truth|, both as vectors. Of a
 * large tensor a spread of elements is looked at. */
static void check_tensor(const Bench *bench, Reference *reference, int i, const int32_t *ids,
                         const int32_t *targets) {
    const Tensor *tensor = &bench->model.tensors[i];
    const float *ours = run_gradient(bench->run, i);
    size_t every = tensor->size / 150 + 1;
    double error = 0, length = 0;
    for (size_t j = 0; j < tensor->size; j += every) {
        double truth = numerical(reference, tensor->offset + j, ids, targets);
        error += pow((double)ours[j] - truth, 2);
        length += truth * truth;
    }
    if (!(sqrt(error) <= 1e-4 * sqrt(length) && length > 0))
        fail_msg("%s of %s: relative error %g", tensor->name, bench->model.config.model,
                 sqrt(error / length));
}

static void check_rung(const char *name) {
    Config config = config_of(name);
    Bench *bench = bench_open(&config, B, 2, 5);
    Reference reference;
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    reference_open(&reference, &bench->model);
    check_forward(bench, &reference, ids, targets);
    run_forward_training(bench->run, ids, B, T);
    run_backward(bench->run, targets);
    for (int i = 0; i < bench->model.tensor_count; i++)
        check_tensor(bench, &reference, i, ids, targets);
    reference_close(&reference);
    bench_close(bench);
    free(ids);
    free(targets);
}

static void test_bigram(void **state) {
    (void)state;
    check_rung("bigram");
}

static void test_average(void **state) {
    (void)state;
    check_rung("average");
}

static void test_head(void **state) {
    (void)state;
    check_rung("head");
}

static void test_multihead(void **state) {
    (void)state;
    check_rung("multihead");
}

static void test_gpt(void **state) {
    (void)state;
    check_rung("gpt");
}

static void test_modern(void **state) {
    (void)state;
    check_rung("modern");
}

/* With dropout the reference cannot follow; but the loss is a function of the weights all the same
 * while seed and step stand still, and its own differences are the truth. In float32 they are
 * coarse: a direction of many weights at once, along the gradient, makes them large enough. */
static void check_dropout_gradient(const char *name) {
    Config config = config_of(name);
    config.dropout = 0.3;
    Bench *bench = bench_open(&config, B, 1, 5);
    Model *model = &bench->model;
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    run_forward_training(bench->run, ids, B, T);
    double clean = run_loss(bench->run, targets);
    run_backward(bench->run, targets);
    for (int i = 0; i < model->tensor_count; i++) {
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
    assert_true(run_loss(bench->run, targets) != clean); /* nothing is dropped when it counts */
    bench_close(bench);
    free(ids);
    free(targets);
}

static void test_dropout_gradient(void **state) {
    (void)state;
    check_dropout_gradient("gpt");
    check_dropout_gradient("modern");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bigram),
        cmocka_unit_test(test_average),
        cmocka_unit_test(test_head),
        cmocka_unit_test(test_multihead),
        cmocka_unit_test(test_gpt),
        cmocka_unit_test(test_modern),
        cmocka_unit_test(test_dropout_gradient),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
