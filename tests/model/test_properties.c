/* test_properties.c - properties of every rung, whatever its weights. */
#include "tests/support.h"
#include "base/array.h"
#include "model/counts.h"
#include "model/engine/inside.h"

static Config config_of(const char *model, int V, int T, int C) {
    Config config = {.V = V, .T = T, .L = 2, .NH = 4, .C = C};
    kind_set(&config, model);
    return config;
}

static const float *logits_of(Run *run, const int32_t *ids, int B, int T,
                              const TextOrigin *source) {
    run_forward_training(run, ids, B, T, source);
    return layout_array(run, run->tape.logits);
}

/* Two stretches of a text in windows of `window` tokens, as in training. A token changes the
 * predictions after it in its own window, and no other. */
static void check_windows(Bench *bench, int T, int window, int V) {
    const size_t starts[] = {5, 5 + (size_t)T}, all = 2 * (size_t)(T * V);
    const TextOrigin source = {starts, .window = (size_t)T, .counted = true};
    int32_t *ids = random_ids(1, 2 * (size_t)T, V);
    float *before = scrap(all, sizeof *before);
    for (int changed = 0; changed < 2 * T; changed++) {
        const size_t here = (size_t)(changed * V), row = (size_t)V * sizeof *before;
        const size_t end = (size_t)((changed / window + 1) * window * V);
        const int B = 2 * T / window;
        memcpy(before, logits_of(bench->run, ids, B, window, &source), all * sizeof *before);
        ids[changed] = (ids[changed] + 1) % V;
        const float *after = logits_of(bench->run, ids, B, window, &source);
        assert_memory_equal(before, after, here * sizeof *before);
        assert_memory_not_equal(before + here, after + here, row);
        assert_memory_equal(before + end, after + end, (all - end) * sizeof *before);
    }
}

TEST_OF_EACH(kind_name, causality) {
    enum { T = 12, V = 3 }; /* few letters: counting has seen what follows several */
    Config config = config_of(name, V, T, 16);
    Bench *bench = bench_open(&config, 2, 2, 3);
    bench_shake(bench);
    for (int window = T; window >= T / 4; window /= 2) check_windows(bench, T, window, V);
}

/* The loss of the counted model in 12 windows of 64 characters. */
static double counted_loss(const Ngram *ngram, const int32_t *ids) {
    double p[65], sum = 0;
    for (size_t i = 0; i < 12 * 64; i++) {
        ngram_predict(ngram, ids + i, i % 64 + 1, ALL_FOLDS, p);
        sum -= log(p[ids[i + 1]]);
    }
    return sum / (12 * 64);
}

TEST_OF_EACH(kind_name, first_loss) {
    Config config = config_of(name, 65, 64, 128);
    config.L = 4;
    Bench *bench = bench_open(&config, 12, 2, 1337);
    int32_t *ids = random_ids(1, 12 * 64 + 1, 65);
    run_forward_training(bench->run, ids, 12, 64, NULL);
    const Ngram *ngram = bench->model->ngram;
    double expected = ngram ? counted_loss(ngram, ids) : log(65);
    assert_near(run_backward(bench->run, ids + 1), expected, 0.02 * expected);
}

/* Returns true if the first token changes the logits of the second. */
static bool looks_back(Run *run, int V) {
    const int32_t one[2] = {0, 1}, other[2] = {2, 1};
    size_t bytes = (size_t)V * sizeof(float);
    float *logits = scrap(bytes, 1);
    memcpy(logits, run_forward(run, one, 1, 2) + V, bytes);
    bool differs = memcmp(logits, run_forward(run, other, 1, 2) + V, bytes) != 0;
    return differs;
}

TEST_OF_EACH(kind_name, overfit) {
    enum { B = 2, T = 16, V = 12 };
    if (SANITIZED) skip(); /* 600 steps access the memory of one */
    Config config = config_of(name, V, T, 32);
    Bench *bench = bench_open(&config, B, 1, 3);
    int32_t *ids = random_ids(1, B * T + 1, V);
    TrilCounts counts;
    double loss = bench_train(bench, ids, ids + 1, B, T, 600, 0.02);
    assert_ok(count_losses(ids, B * T + 1, ids, 2, V, T, &counts, &err), err);
    /* A rung that does not look back cannot go below its pairs; the others learn all by heart. */
    double floor = looks_back(bench->run, V) ? 0 : counts.own_bigram;
    double capacity = floor > 0 ? 0.02 : 0.1;
    if (!(loss < floor + capacity && loss > floor - 1e-6))
        fail_msg("%s: one batch is learnt to %g, not to %g", name, loss, floor + capacity);
}

/* The weights after some steps with dropout and clipping, at a size that is worth all threads. With
 * 17 threads there are more than blocks, or than many a machine has processors. */
static float *weights_after(const char *name, Precision precision, int threads, uint64_t seed,
                            size_t *capacity) {
    enum { B = 9, T = 33, V = 70 };
    Config config = config_of(name, V, T, 56);
    RunOptions options = {.batch = B,
                          .length = T,
                          .training = true,
                          .threads = threads,
                          .precision = precision,
                          .dropout = 0.2,
                          .seed = seed};
    Bench *bench = bench_of(&config, &options);
    int32_t *ids = random_ids(seed, B * T + 1, V);
    bench_train(bench, ids, ids + 1, B, T, SANITIZED ? 2 : 5, 0.01);
    *capacity = bench->model->weights_size;
    return bench->model->weights;
}

static void check_bits_in(const char *name, Precision precision) {
    size_t capacity;
    float *one = weights_after(name, precision, 1, 7, &capacity);
    const int threads[] = {2, 3, 7, 17, run_max_threads() + 1}; /* one that has no processor */
    for (int i = 0; i < COUNT(threads); i++) {
        float *more = weights_after(name, precision, threads[i], 7, &capacity);
        assert_memory_equal(one, more, capacity * sizeof *one);
    }
    float *other = weights_after(name, precision, 1, 8, &capacity);
    assert_memory_not_equal(one, other, capacity * sizeof *one);
}

TEST_OF_EACH(kind_name, bits) {
    check_bits_in(name, FLOAT32);
    if (run_default_precision() == BFLOAT16) check_bits_in(name, BFLOAT16);
}
