#include "tests/support.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { TESTS_MAX = 64 };

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX], test_count;
const char *current_test = "set_up";

void add_test(struct CMUnitTest test, int line) {
    assert_true(test_count < TESTS_MAX);
    int i = test_count++;
    for (; i > 0 && lines[i - 1] > line; i--) {
        tests[i] = tests[i - 1];
        lines[i] = lines[i - 1];
    }
    tests[i] = test;
    lines[i] = line;
}

static int (*before_all)(void **state), (*after_all)(void **state);

void add_fixture(int (*set_up)(void **state), int (*tear_down)(void **state)) {
    before_all = set_up;
    after_all = tear_down;
}

int run_all_tests(void) {
    return _cmocka_run_group_tests("tests", tests, (size_t)test_count, before_all, after_all);
}

/* Appends to the file that TRIL_MESSAGES names: the test, the subject without control characters,
 * the message. */
static void keep_message(const char *subject, const char *message) {
    const char *path = getenv("TRIL_MESSAGES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\t", current_test);
    for (const char *c = subject; *c; c++) putc((unsigned char)*c < ' ' ? '?' : *c, file);
    fprintf(file, "%s%s\n", *subject ? "\t" : "", message);
    fclose(file);
}

void expect_message(const char *message, size_t size, const char *subject,
                    const char *const texts[], int count) {
    size_t length = strlen(message);
    if (length == 0 || length >= size || strchr(message, '\n'))
        fail_msg("not one line of a message: '%s'", message);
    for (int i = 0; i < count; i++)
        if (!strstr(message, texts[i])) fail_msg("no '%s' in: %s", texts[i], message);
    if (subject) keep_message(subject, message);
}

char *stream_text(FILE *file, size_t *length) {
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *length = (size_t)ftell(file);
    char *text = calloc(*length + 1, 1);
    assert_non_null(text);
    rewind(file);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}

void assert_near_at(double a, double b, double tolerance, const char *file, int line) {
    if (fabs(a - b) <= tolerance) return; /* false for NaN */
    print_error("%.9g is not within %g of %.9g\n", a, tolerance, b);
    _fail(file, line);
}

double derivative(double (*f)(void *context, double shift), void *context, double step) {
    double near = f(context, step) - f(context, -step);
    double far = f(context, 2 * step) - f(context, -2 * step);
    return (8 * near - far) / (12 * step);
}

float *random_floats(uint64_t seed, size_t count) {
    float *numbers = malloc(count * sizeof *numbers);
    assert_non_null(numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)random_normal(seed, i);
    return numbers;
}

int32_t *random_ids(uint64_t seed, size_t count, int V) {
    int32_t *ids = malloc(count * sizeof *ids);
    assert_non_null(ids);
    for (size_t i = 0; i < count; i++) ids[i] = (int32_t)(random_uniform(seed, i) * V);
    return ids;
}

static const char shared_heads[] = "shared heads";

const char *kind_name(int i) {
    return i > 0 && model_name(i - 1) && !model_name(i) ? shared_heads : model_name(i);
}

void kind_set(Config *config, const char *kind) {
    bool shared = strcmp(kind, shared_heads) == 0;
    snprintf(config->model, sizeof config->model, "%s", shared ? "modern" : kind);
    if (!shared) return;
    config->NKV = config->NH % 2 == 0 ? config->NH / 2 : 1;
    config->H = config->C + 7;
}

Run *open_run(Model *model, const RunOptions *options) {
    Error err;
    Run *run;
    assert_ok(run_open(&run, model, options, &err), err);
    return run;
}

Bench *bench_open(const Config *config, int batch, int threads, uint64_t seed) {
    Error err;
    Bench *bench = malloc(sizeof *bench);
    assert_non_null(bench);
    RunOptions options = {
        .batch = batch, .length = config->T, .training = true, .threads = threads, .seed = seed};
    assert_ok(model_build(&bench->model, config, seed, &err), err);
    bench->run = open_run(&bench->model, &options);
    return bench;
}

void bench_close(Bench *bench) {
    run_close(bench->run);
    model_free(&bench->model);
    free(bench);
}

void bench_shake(Bench *bench) {
    const Model *model = &bench->model;
    float *noise = random_floats(99, model->weights_size);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        for (size_t j = 0; j < tensor->size; j++)
            model->weights[tensor->offset + j] += 0.3f * noise[tensor->offset + j];
    }
    free(noise);
}

double bench_train(Bench *bench, const int32_t *inputs, const int32_t *targets, int B, int T,
                   int steps, double learning_rate) {
    Optimizer adamw = {.learning_rate = learning_rate,
                       .beta1 = 0.9,
                       .beta2 = 0.99,
                       .epsilon = 1e-8,
                       .matrix_rate = learning_rate,
                       .momentum = 0.9,
                       .clip = 1};
    double loss = 0;
    for (int step = 0; step < steps; step++) {
        run_forward_training(bench->run, inputs, B, T);
        loss = run_loss(bench->run, targets);
        run_backward(bench->run, targets);
        run_update(bench->run, &adamw);
    }
    return loss;
}

int repeats(int quick, int all) {
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
    (void)all;
    return quick;
#else
    return getenv("TRIL_ALL") ? all : quick;
#endif
}

bool corpus_load(Corpus *corpus, const char *path, bool bytes, double held_out, const Vocab *known,
                 Error *err) {
    char *text;
    size_t length;
    Vocab own = {0};
    *corpus = (Corpus){0};
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = (known || vocab_build(&own, text, length, bytes, err)) &&
              corpus_make(corpus, known ? known : &own, text, length, held_out, err);
    vocab_free(&own);
    memory_free(text);
    return ok;
}
