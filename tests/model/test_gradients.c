/* test_gradients.c - the gradient of every tensor of every rung.
 *
 * Every rung, new ones included, is compared with the slopes of its own loss, with dropout and
 * without. A rung of the plain ladder is also compared with that: every gradient, the logits and
 * the loss, also at sizes beyond a tile and a token block. The gradients of the plain ladder are
 * compared with the numerical derivatives of its own loss. Sizes are odd where possible. */
#include "tests/support.h"
#include "base/random.h"
#include "model/plain/plain.h"

enum { B = 5, T = 7, V = 11, LAYERS = 2, HEADS = 3 };

/* The smallest width that the rung accepts. Rotary positions need an even one. */
static Config config_of(const char *model) {
    Config config = {.V = V, .T = 9, .L = LAYERS, .NH = HEADS, .C = 15};
    snprintf(config.model, sizeof config.model, "%s", model);
    if (!model_check(&config, &err)) config.C = 18;
    assert_ok(model_check(&config, &err), err);
    return config;
}

/* Models whose heads share keys and values, with an MLP of a width of its own. */
static const Config shared[] = {{"modern", V, 9, LAYERS, 6, 36, .NKV = 2, .H = 23},
                                {"modern", V, 9, LAYERS, 3, 18, .NKV = 1, .H = 23},
                                {"modern", V, 9, LAYERS, 4, 8, .NKV = 2, .H = 23}};

/* Names a tensor whose gradient is wrong. The rung's others are checked, too; then it fails. */
#define say_wrong(...) (wrong++, print_error("wrong gradient of " __VA_ARGS__))
static int wrong;

static void fail_if_wrong(const char *rung) {
    const int count = wrong;
    wrong = 0;
    if (count > 0) fail_msg("%s has %d wrong gradient%s", rung, count, count == 1 ? "" : "s");
}

/* ---- compared with the plain ladder ---- */

/* Each number may differ by 2e-5 of the tensor's largest. */
static void check_gradient(const Bench *bench, const Plain *plain, int i) {
    const Tensor *tensor = &bench->model->tensors[i];
    const float *ours = run_gradient(bench->run, i);
    const double *truth = plain->gradients + tensor->offset;
    double largest = 0;
    for (size_t j = 0; j < tensor->size; j++) largest = fmax(largest, fabs(truth[j]));
    assert_true(largest > 0);
    for (size_t j = 0; j < tensor->size; j++)
        if (!(fabs((double)ours[j] - truth[j]) <= 2e-5 * largest)) {
            say_wrong("%s: number %zu is %g, not %g\n", tensor->name, j, (double)ours[j], truth[j]);
            return;
        }
}

static void check_logits(const Bench *bench, Plain *plain, const int32_t *ids, int batch,
                         int length) {
    const int numbers = batch * length * bench->model->config.V;
    double *logits = scrap((size_t)numbers, sizeof *logits);
    plain_logits(plain, ids, batch, length, logits);
    const float *ours = run_forward(bench->run, ids, batch, length);
    for (int i = 0; i < numbers; i++)
        assert_near(ours[i], logits[i], 2e-5 * (1 + fabs((double)ours[i])));
}

/* A batch in a run for `sequences` of the whole context. */
static void check_plain(const Config *config, int sequences, int batch, int length) {
    int N = batch * length;
    Bench *bench = bench_open(config, sequences, 2, 5);
    bench_shake(bench);
    Plain plain;
    plain_open(&plain, bench->model);
    int32_t *ids = random_ids(1, (size_t)N, config->V),
            *targets = random_ids(2, (size_t)N, config->V);

    check_logits(bench, &plain, ids, batch, length);
    run_forward_training(bench->run, ids, batch, length, NULL);
    double loss = run_backward(bench->run, targets);
    assert_near(loss, plain_loss(&plain, ids, targets, batch, length), 1e-5);
    plain_gradients(&plain, ids, targets, batch, length);
    for (int i = 0; i < bench->model->tensor_count; i++) check_gradient(bench, &plain, i);
    fail_if_wrong(config->model);
    plain_close(&plain);
}

static void check_small_and_large(Config small, int large_width) {
    Config large = small;
    large.V = 71;
    large.T = 67;
    large.C = large_width;
    check_plain(&small, B, B, T);
    check_plain(&small, B, 3 * B, 3); /* cut into pieces, as windows that grow are */
    if (large_width > 0) check_plain(&large, 3, 3, 67);
}

TEST(plain) {
    for (int i = 0; model_name(i); i++)
        if (plain_knows(model_name(i))) /* a quick run has large models of every second rung */
            check_small_and_large(config_of(model_name(i)), repeats(i % 2, 1) ? 54 : 0);
    /* a single token: its second half is empty. (Attention to it has no gradient of queries.) */
    Config average = config_of("average");
    check_plain(&average, 1, 1, 1);
}

/* Before anything is counted, each character is as likely. */
TEST(uncounted) {
    const Config config = config_of("ngram");
    const RunOptions options = {.batch = 1, .length = T, .training = true, .threads = 1};
    Bench bench = {.model = new_model(&config, 5)};
    Plain plain;
    bench.run = open_run(bench.model, &options);
    bench_shake(&bench);
    plain_open(&plain, bench.model);
    check_logits(&bench, &plain, random_ids(1, T, V), 1, T);
    plain_close(&plain);
}

TEST(shared_heads) {
    for (int i = 0; i < COUNT(shared); i++) check_small_and_large(shared[i], 18 * shared[i].NH);
}

/* ---- the plain ladder, compared with numerical derivatives ---- */

enum { FEW = 2 }; /* sequences */

/* The loss as a function of one weight, and its derivative by fourth-order central differences. */
typedef struct {
    Plain *plain;
    double *weight;
    const int32_t *ids, *targets;
} Function;

static double loss_at(const Function *f, double shift) {
    double kept = *f->weight;
    *f->weight = kept + shift;
    double loss = plain_loss(f->plain, f->ids, f->targets, FEW, T);
    *f->weight = kept;
    return loss;
}

static double derivative(const Function *f, double step) {
    double near = loss_at(f, step) - loss_at(f, -step);
    double far = loss_at(f, 2 * step) - loss_at(f, -2 * step);
    return (8 * near - far) / (12 * step);
}

/* Each number, or every third in a quick run, may differ by 1e-9 of the tensor's largest. Near a
 * kink of the loss, as of ReLU at 0, differences are less precise: a smaller step shows by how
 * much. */
static void check_derivatives(const Function *f, const Tensor *tensor) {
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

/* Noise keeps the weights away from 0 and 1. */
static void check_plain_rung(Config config) {
    Plain plain;
    Model *model = new_model(&config, 5);
    int32_t *ids = random_ids(1, FEW * T, V), *targets = random_ids(2, FEW * T, V);
    Function f = {.plain = &plain, .ids = ids, .targets = targets};
    count_letters(model);
    plain_open(&plain, model);
    for (size_t i = 0; i < model->weights_size; i++) plain.weights[i] += 0.3 * random_normal(99, i);
    plain_gradients(&plain, targets, ids, FEW, T); /* must not keep anything from another batch */
    plain_gradients(&plain, ids, targets, FEW, T);
    for (int i = 0; i < model->tensor_count; i++) check_derivatives(&f, &model->tensors[i]);
    plain_close(&plain);
}

TEST(derivatives) {
    int known = 0;
    if (SANITIZED) skip(); /* the naive loops would take minutes */
    for (int i = 0; model_name(i); i++)
        if (plain_knows(model_name(i))) known++, check_plain_rung(config_of(model_name(i)));
    assert_int_equal(known, 8);
    for (int i = 1; i < COUNT(shared); i++) check_plain_rung(shared[i]);
}

/* ---- compared with slopes of the loss ---- */

static double training_loss(Bench *bench, const int32_t *ids, const int32_t *targets) {
    run_forward_training(bench->run, ids, B, T, NULL);
    return run_backward(bench->run, targets);
}

/* The training loss with the tensor's weights w moved along the gradients of one of two halves. */
static double loss_along(Bench *bench, const int32_t *ids, const int32_t *targets,
                         const Tensor *tensor, const float *gradient, int half, double step) {
    float *w = bench->model->weights + tensor->offset, *kept = scrap(tensor->size, sizeof *kept);
    memcpy(kept, w, tensor->size * sizeof *kept);
    for (size_t j = 0; j < tensor->size; j++)
        if ((int)(random_bits(8, j) % 2) == half)
            w[j] = (float)((double)w[j] + step * (double)gradient[j]);
    double loss = training_loss(bench, ids, targets);
    memcpy(w, kept, tensor->size * sizeof *kept);
    return loss;
}

/* With a fixed seed and step the loss is a function of the weights, also with dropout, which the
 * plain ladder does not have. In float32 single differences are coarse, so a random half of a
 * tensor moves at once along its gradient, and then the other: the slope is the square of the half.
 */
static void check_slopes(Bench *bench, const int32_t *ids, const int32_t *targets,
                         const Tensor *tensor, const float *gradient) {
    for (int half = 0; half < 2; half++) {
        double square = 0, side[2];
        for (size_t j = 0; j < tensor->size; j++)
            if ((int)(random_bits(8, j) % 2) == half) square += pow((double)gradient[j], 2);
        double step = 4e-3 / sqrt(square);
        for (int i = 0; i < 2; i++)
            side[i] = loss_along(bench, ids, targets, tensor, gradient, half, i ? step : -step);
        double slope = (side[1] - side[0]) / (2 * step);
        if (!(fabs(slope - square) <= 5e-3 * square)) {
            say_wrong("%s: slope %g along a gradient of square %g\n", tensor->name, slope, square);
            return;
        }
    }
}

/* Without dropout the loss of a training pass has the bits of an evaluation's. */
static void check_evaluation(Bench *bench) {
    const size_t whole = (size_t)bench->model->config.T, count = (size_t)B * whole + 1;
    size_t starts[B];
    int32_t *text = random_ids(3, count, V);
    for (size_t b = 0; b < B; b++) starts[b] = b * whole;
    run_forward_training(bench->run, text, B, bench->model->config.T,
                         &(TextOrigin){starts, .window = whole});
    const double loss = run_backward(bench->run, text + 1);
    assert_true(loss == run_evaluate(bench->run, (Windows){text, count, 1, false}, NULL, NULL));
}

/* The kinds of training losses: the usual one, and one for each option that changes it. */
static const RunOptions losses[] = {{.dropout = 0}, {.dropout = 0.3}};

/* Returns the loss. */
static double check_rung(Config config, int kind) {
    RunOptions options = losses[kind];
    options.training = true;
    options.batch = B;
    options.length = config.T;
    options.threads = 1;
    options.seed = 5;
    Bench *bench = bench_of(&config, &options);
    int32_t *ids = random_ids(1, B * T, V), *targets = random_ids(2, B * T, V);
    bench_shake(bench);
    Model *model = bench->model;
    float *gradients = scrap(model->weights_size, sizeof *gradients);
    const double loss = training_loss(bench, ids, targets);
    for (int i = 0; i < model->tensor_count; i++)
        memcpy(gradients + model->tensors[i].offset, run_gradient(bench->run, i),
               model->tensors[i].size * sizeof *gradients);
    for (int i = 0; i < model->tensor_count; i++)
        check_slopes(bench, ids, targets, &model->tensors[i], gradients + model->tensors[i].offset);
    fail_if_wrong(model->config.model);
    assert_true(training_loss(bench, ids, targets) == loss);
    if (kind == 0) check_evaluation(bench);
    return loss;
}

TEST(slopes) {
    int differing[COUNT(losses)] = {0};
    for (int i = 0; model_name(i); i++) {
        const double usual = check_rung(config_of(model_name(i)), 0);
        for (int kind = 1; kind < COUNT(losses); kind++)
            differing[kind] += check_rung(config_of(model_name(i)), kind) != usual;
    }
    for (int kind = 1; kind < COUNT(losses); kind++) {
        assert_true(differing[kind] >= 2); /* gpt and modern have dropout */
        check_rung(shared[0], kind);
    }
}
