/* test_gradients.c - the gradient of every tensor of every rung.
 *
 * Every rung, new ones included, is compared with the numerical derivative of its own loss. A rung
 * of the plain ladder is also compared with that: every gradient, the logits and the loss, also at
 * sizes beyond a tile and a token block. Sizes are odd where possible. */
#include "tests/support.h"
#include "base/array.h"
#include "model/plain/plain.h"

enum { B = 5, T = 7, V = 11, LAYERS = 2, HEADS = 3, MAX = 30 };

/* The smallest width that the rung accepts. Rotary positions need an even one. */
static Config config_of(const char *model) {
    Config config = {.V = V, .T = 9, .L = LAYERS, .NH = HEADS, .C = 15};
    snprintf(config.model, sizeof config.model, "%s", model);
    if (!model_check(&config, &err)) config.C = 18;
    assert_ok(model_check(&config, &err), err);
    return config;
}

/* Models whose heads share keys and values, with an MLP of a width of its own: NH heads, NKV of
 * keys and values, C channels. */
static const struct { int NH, NKV, C; } shared[] = {{6, 2, 36}, {3, 1, 18}, {4, 2, 8}};

static Config shared_config(int i) {
    return (Config){.model = "modern",
                    .V = V,
                    .T = 9,
                    .L = LAYERS,
                    .NH = shared[i].NH,
                    .C = shared[i].C,
                    .NKV = shared[i].NKV,
                    .H = 23};
}

/* ---- compared with the plain ladder ---- */

/* Each number may differ by 2e-5 of the tensor's largest. */
static void check_gradient(const Bench *bench, const Plain *plain, int i) {
    const Tensor *tensor = &bench->model.tensors[i];
    const float *ours = run_gradient(bench->run, i);
    const double *truth = plain->gradients + tensor->offset;
    double largest = 0;
    for (size_t j = 0; j < tensor->size; j++) largest = fmax(largest, fabs(truth[j]));
    assert_true(largest > 0);
    for (size_t j = 0; j < tensor->size; j++)
        if (!(fabs((double)ours[j] - truth[j]) <= 2e-5 * largest))
            fail_msg("%s[%zu] of %s: %g, not %g", tensor->name, j, bench->model.config.model,
                     (double)ours[j], truth[j]);
}

static void check_plain(const Config *config, int batch, int length) {
    int N = batch * length;
    Bench *bench = bench_open(config, batch, 2, 5);
    bench_shake(bench);
    Plain plain;
    plain_open(&plain, &bench->model);
    int32_t *ids = random_ids(1, (size_t)N, config->V),
            *targets = random_ids(2, (size_t)N, config->V);
    double *logits = scrap((size_t)(N * config->V), sizeof *logits);

    plain_logits(&plain, ids, batch, length, logits);
    const float *ours = run_forward(bench->run, ids, batch, length, 0);
    for (int i = 0; i < N * config->V; i++)
        assert_near(ours[i], logits[i], 2e-5 * (1 + fabs(logits[i])));
    assert_near(run_loss(bench->run, targets), plain_loss(&plain, ids, targets, batch, length),
                1e-5);

    plain_gradients(&plain, ids, targets, batch, length);
    run_forward_training(bench->run, ids, batch, length);
    run_backward(bench->run, targets);
    for (int i = 0; i < bench->model.tensor_count; i++) check_gradient(bench, &plain, i);
    plain_close(&plain);
}

static void check_small_and_large(Config small, int large_width) {
    Config large = small;
    large.V = 71;
    large.T = 67;
    large.C = large_width;
    check_plain(&small, B, T);
    if (large_width > 0) check_plain(&large, 3, 67);
}

TEST(plain) {
    for (int i = 0; model_name(i); i++)
        if (plain_knows(model_name(i))) /* a quick run has large models of every second rung */
            check_small_and_large(config_of(model_name(i)), repeats(i % 2, 1) ? 54 : 0);
    /* a single token: its second half is empty. (Attention to it alone has no gradient of queries.)
     */
    Config average = config_of("average");
    check_plain(&average, 1, 1);
}

TEST(shared_heads) {
    for (int i = 0; i < COUNT(shared); i++)
        check_small_and_large(shared_config(i), 18 * shared[i].NH);
}

/* ---- compared with the numerical derivative of the loss ---- */

/* The loss as a function of one weight. */
typedef struct {
    Bench *bench;
    float *weight;
    const int32_t *ids, *targets;
} Function;

static double loss_at(void *context, double shift) {
    const Function *f = context;
    float kept = *f->weight;
    *f->weight = (float)((double)kept + shift);
    run_forward(f->bench->run, f->ids, B, T, 0);
    double loss = run_loss(f->bench->run, f->targets);
    *f->weight = kept;
    return loss;
}

static size_t common_divisor(size_t a, size_t b) {
    return b == 0 ? a : common_divisor(b, a % b);
}

/* The stride that checks at most MAX elements of a tensor, spread over its rows and columns. */
static size_t stride_of(const Tensor *tensor) {
    size_t stride = tensor->size / MAX + 1;
    while (common_divisor(stride, (size_t)tensor->shape[1]) > 1) stride++;
    return stride;
}

/* The relative error of a tensor's gradient, if `share` of it were there: |ours - truth| / |truth|,
 * as vectors of the checked elements. */
static double error_of(const float *ours, const double *truth, const Tensor *tensor, double share) {
    double error = 0, length = 0;
    size_t stride = stride_of(tensor);
    for (size_t i = 0; i * stride < tensor->size; i++) {
        error += pow(share * (double)ours[i * stride] - truth[i], 2);
        length += truth[i] * truth[i];
    }
    return sqrt(error / length);
}

/* In float32 a step must be long, or rounding drowns the slope. */
static bool check_tensor(const Function *f, int i) {
    const Model *model = &f->bench->model;
    const Tensor *tensor = &model->tensors[i];
    const float *ours = run_gradient(f->bench->run, i);
    size_t stride = stride_of(tensor);
    double truth[MAX + 1], tolerance = 5e-3;
    for (size_t j = 0; j * stride < tensor->size; j++) {
        Function of = *f;
        of.weight = model->weights + tensor->offset + j * stride;
        truth[j] = derivative(loss_at, &of, 1e-2);
    }
    double error = error_of(ours, truth, tensor, 1);
    if (!(error <= tolerance)) {
        print_error("%s of %s: relative error %g\n", tensor->name, model->config.model, error);
        return false;
    }
    /* a different value would be noticed */
    assert_true(error_of(ours, truth, tensor, 0.9) > tolerance);
    assert_true(error_of(ours, truth, tensor, 1.1) > tolerance);
    return true;
}

static void check_rung(const Config *config) {
    Bench *bench = bench_open(config, B, 1, 5);
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    run_forward_training(bench->run, ids, B, T);
    run_backward(bench->run, targets);
    Function f = {.bench = bench, .ids = ids, .targets = targets};
    bool all = true;
    for (int i = 0; i < bench->model.tensor_count; i++) all = check_tensor(&f, i) && all;
    assert_true(all);
}

TEST(every_rung) {
    for (int i = 0; model_name(i); i++) {
        Config config = config_of(model_name(i));
        check_rung(&config);
    }
    Config grouped = shared_config(0);
    check_rung(&grouped);
}

/* The plain ladder has no dropout. But with a fixed seed and step the loss is still a function of
 * the weights, and its numerical derivative is the truth. In float32 single differences are coarse,
 * so many weights move at once, along the gradient. Returns false if the rung has no dropout. */
static bool check_dropout_gradient(Config config) {
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
        float *w = model->weights + tensor->offset, *kept = scrap(tensor->size, sizeof *kept);
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
    }
    run_forward_training(bench->run, ids, B, T);
    assert_true(run_loss(bench->run, targets) == clean);
    run_forward(bench->run, ids, B, T, 0);
    assert_true(run_loss(bench->run, targets) == whole);
    return drops;
}

TEST(dropout_gradient) {
    int dropping = 0;
    for (int i = 0; model_name(i); i++)
        dropping += check_dropout_gradient(config_of(model_name(i)));
    assert_true(dropping >= 2); /* gpt and modern */
    assert_true(check_dropout_gradient(shared_config(0)));
}
