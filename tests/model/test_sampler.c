/* test_sampler.c - from logits to text: which ids are drawn and how often, a text that grows beyond
 * the context compared with passes without a cache, and closed-form counts. */
#include "tests/support.h"
#include "base/array.h"
#include "base/random.h"
#include "model/counts.h"
#include "model/engine/inside.h"
#include "model/generation.h"

#include <float.h>

/* ---- choosing ids ---- */

enum { MAX = 24 }; /* the largest vocabulary in these tests */

static int pick(Sampler sampler, const float *logits, int V, uint64_t stream, uint64_t place) {
    double scratch[SAMPLER_SCRATCH * MAX + 2], *last = &scratch[SAMPLER_SCRATCH * V + 1];
    sampler.isa = &isa_base;
    for (int i = 0; i < COUNT(scratch); i++) scratch[i] = -7; /* also around its own */
    int id = sampler_pick(&sampler, logits, V, stream, place, scratch + 1);
    assert_true(scratch[0] == -7 && *last == -7);
    assert_in_range(id, 0, V - 1);
    return id;
}

/* Computes each id's probability in a simple way: the k likeliest (of equal ones those with smaller
 * ids), and of these the likeliest until they reach the share p. Returns their number. */
static int expect(const Sampler *sampler, const float *logits, int V, double *probability) {
    double weight[MAX] = {0}, everything = 0, total = 0, largest = -INFINITY;
    int order[MAX], k = sampler->top_k == 0 || sampler->top_k > V ? V : sampler->top_k, kept = 0;
    if (sampler->temperature == 0) k = 1;
    for (int v = 0; v < V; v++) largest = fmax(largest, (double)logits[v]);
    for (int i = 0; i < k; i++) {
        int best = -1;
        for (int v = 0; v < V; v++)
            if (weight[v] == 0 && (best < 0 || logits[v] > logits[best])) best = v;
        order[i] = best;
        weight[best] = k == 1 ? 1 : exp(((double)logits[best] - largest) / sampler->temperature);
        everything += weight[best];
    }
    for (int v = 0; v < V; v++) probability[v] = 0;
    while (kept < k && (kept == 0 || sampler->top_p >= 1 || total < sampler->top_p * everything)) {
        probability[order[kept]] = weight[order[kept]];
        total += weight[order[kept++]];
    }
    for (int v = 0; v < V; v++) probability[v] /= total;
    return kept;
}

/* The probabilities of all ids; and draws often, along positions and along streams. The sum of
 * squared deviations, each divided by its expectation, exceeds n + 2 sqrt(n x) + 2 x for n degrees
 * of freedom with probability at most e^-x (Laurent and Massart, 2000, lemma 1). With x = 16 that
 * is one in nine million. */
static void check_frequencies(Sampler sampler, const float *logits, int V) {
    const int DRAWS = repeats(8000, 20000);
    double probability[MAX], own[MAX], scratch[SAMPLER_SCRATCH * MAX], deviation = 0;
    int counts[MAX] = {0}, free = expect(&sampler, logits, V, probability) - 1;
    sampler.isa = &isa_base;
    sampler_probabilities(&sampler, logits, V, own, scratch);
    for (int v = 0; v < V; v++) assert_near(own[v], probability[v], 1e-12 * probability[v]);
    for (uint64_t i = 0; i < (uint64_t)DRAWS; i++)
        counts[pick(sampler, logits, V, i % 2 ? 3 : i, i % 2 ? i : 5)]++;
    for (int v = 0; v < V; v++) {
        double expected = probability[v] * DRAWS;
        if (probability[v] > 0)
            deviation += pow(counts[v] - expected, 2) / expected;
        else
            assert_int_equal(counts[v], 0);
    }
    if (!(deviation <= free + 2 * sqrt(16.0 * free) + 32))
        fail_msg("temperature %g, top-k %d, top-p %g: chi-square %g of %d degrees",
                 sampler.temperature, sampler.top_k, sampler.top_p, deviation, free);
}

/* Some ids have equal logits, in the second list also the likeliest, and at the limit of k: of
 * equal ids, the smaller stays. A share that rounding may never reach ends, with any number of ids.
 */
TEST(frequencies) {
    static const float few[] = {0.3f, -1, 1, 0.1f, -0.5f, 2, -2, 1, 0, 1, 0.7f};
    float *many = random_floats(4, MAX);
    const double temperatures[] = {0, 1, 0.5, 3,
                                   0.02}; /* of the last, most shares are lost in a sum */
    const double shares[] = {1, 1 - DBL_EPSILON / 2, 1e-9, 0.3, 0.5, 0.8, 0.99};
    const int tops[] = {0, 1, 2, 3, 4, 7, 10, 11, 12, 1000};
    for (int v = 0; v < MAX; v++) many[v] = fminf(roundf(2 * many[v]), 2);
    for (int i = 0; i < 2 * COUNT(temperatures) * COUNT(tops) * COUNT(shares); i++) {
        const int t = i / 2 % COUNT(temperatures), k = i / 2 / COUNT(temperatures) % COUNT(tops);
        const double share = shares[i / 2 / COUNT(temperatures) / COUNT(tops)];
        const Sampler sampler = {temperatures[t], tops[k], share, (uint64_t)i, NULL};
        check_frequencies(sampler, i % 2 ? many : few, i % 2 ? MAX : COUNT(few));
    }
    many = random_floats(4, 200 * MAX);
    for (int i = 0; i < 200; i++, many += MAX)
        pick((Sampler){1, 1000, 1 - DBL_EPSILON / 2, 1, NULL}, many, 1 + i % MAX, 0, 0);
}

/* A draw depends only on the seed, the stream and the position. */
TEST(draws_repeat) {
    enum { V = 20, DRAWS = 200 };
    const float logits[V] = {0};
    const Sampler one = {1, 0, 1, 1, NULL}, two = {1, 0, 1, 2, NULL};
    int ids[DRAWS], others[3] = {0};
    for (uint64_t i = 0; i < (uint64_t)DRAWS; i++) ids[i] = pick(one, logits, V, 6, i);
    for (uint64_t i = DRAWS; i-- > 0;) {
        double u = random_uniform(random_key(1, RANDOM_SAMPLES, 6), i);
        const float edge[] = {(float)log(1 / u - 1), 0}; /* too near for an approximation */
        assert_int_equal(pick(one, edge, 2, 6, i),
                         pick((Sampler){1, 2, 1, 1, NULL}, edge, 2, 6, i));
        assert_int_equal(pick(one, logits, V, 6, i), ids[i]);
        others[0] += pick(two, logits, V, 6, i) == ids[i];
        others[1] += pick(one, logits, V, 7, i) == ids[i];
        others[2] += pick(one, logits, V, 6, i + 1) == ids[i];
    }
    for (int i = 0; i < 3; i++) assert_in_range(others[i], 0, DRAWS / V * 3);
}

/* The ids that are ever drawn, as bits. */
static unsigned drawn(Sampler sampler, const float *logits, int V) {
    unsigned ids = 0;
    for (uint64_t i = 0; i < 2000; i++) ids |= 1u << pick(sampler, logits, V, 0, i);
    return ids;
}

TEST(extremes) {
    const float inf = INFINITY, huge[] = {-1e30f, 1e30f, 0, -1e30f};
    const float max[] = {-FLT_MAX, 0, FLT_MAX}, masked[] = {-inf, 0, -inf, 1, -inf};
    const float alone[] = {-inf, -inf, -5, -inf}, single[] = {-7};
    /* the inverse of the second overflows double */
    const double temperatures[] = {0, 1e-310, DBL_MIN, 1e-300, 1e-3, 1, 100};
    for (int t = 0; t < COUNT(temperatures); t++)
        for (int k = 0; k < 4; k++)
            for (int p = 0; p < 2; p++) {
                Sampler sampler = {temperatures[t], k, p ? 0.9 : 1, 3, NULL};
                unsigned ids = drawn(sampler, masked, 5);
                assert_int_equal(drawn(sampler, huge, 4), 1 << 1);
                assert_int_equal(drawn(sampler, max, 3), 1 << 2);
                assert_int_equal(drawn(sampler, alone, 4), 1 << 2);
                assert_int_equal(drawn(sampler, single, 1), 1);
                assert_int_equal(ids, temperatures[t] < 1 || k == 1 ? 8 : 10);
            }
}

/* ---- a text that grows ---- */

/* A model of a kind with weights of ordinary size, without zeros, with which rungs also start. */
static Model *build_small(const char *kind, int T) {
    Config config = {.V = 13, .T = T, .L = 2, .NH = 3, .C = 12};
    kind_set(&config, kind);
    Model *model = new_model(&config, 3);
    const float *normal = random_floats(9, model->weights_size);
    for (size_t i = 0; i < model->weights_size; i++) model->weights[i] += 0.2f * normal[i];
    count_letters(model);
    return model;
}

RELEASE(generator, generator_close)

/* A generator of one text, until the end of the test. */
static Generator *generate(Model *model, int threads, Precision precision) {
    Generator *generator = scrap(1, sizeof *generator);
    assert_ok(generator_open(generator, model, 1, threads, precision, NULL, &err), err);
    at_end(release_generator, generator);
    return generator;
}

static const float *feed(Generator *generator, const int32_t *ids, size_t count) {
    generator_append(generator, 0, ids, count);
    while (!generator_logits(generator, 0)) generator_read(generator);
    return generator_logits(generator, 0);
}

static Run *plain_run(Model *model, int batch) {
    return open_run(model, &(RunOptions){.batch = batch, .length = model->config.T, .threads = 1});
}

/* The logits must be those after the whole window in one pass, to the last bit. */
static void check_logits(Run *run, const float *logits, const int32_t *window, int length, int V) {
    const float *row = run_forward(run, window, 1, length) + (length - 1) * V;
    assert_memory_equal(logits, row, (size_t)V * sizeof *row);
}

/* Feeds `count` ids in steps of 1 to `step`, and tracks the window: all ids while they fit; then
 * the last eighth of the context, or what fits beside the new ids. */
static void check_feeding(Model *model, Generator *generator, Run *run, const int32_t *ids,
                          size_t count, size_t step) {
    int T = model->config.T;
    size_t first = 0; /* of the window */
    generator_begin(generator, 0);
    for (size_t at = 0, more = 1; at < count; at += more, more = more % step + 1) {
        if (more > count - at) more = count - at;
        const float *logits = feed(generator, ids + at, more);
        size_t end = at + more, capacity = (size_t)T;
        if (end - first > capacity) {
            if (more > capacity) more = capacity, at = end - more;
            size_t kept = capacity / 8;
            first = at - (kept < capacity - more ? kept : capacity - more);
        }
        assert_int_equal(generator->texts[0].length, end - first);
        check_logits(run, logits, ids + first, (int)(end - first), model->config.V);
    }
}

TEST_OF_EACH(kind_name, growth) {
    static const int contexts[] = {1, 2, 5, 8, 31};
    int32_t *ids = random_ids(1, 128, 13);
    for (int c = 0; c < COUNT(contexts); c++) {
        size_t T = (size_t)contexts[c];
        Model *model = build_small(name, contexts[c]);
        Run *run = plain_run(model, 1);
        Generator *generator = generate(model, 1, FLOAT32);
        check_feeding(model, generator, run, ids, 3 * T + 2, 1); /* one by one */
        check_feeding(model, generator, run, ids, T, T);
        check_feeding(model, generator, run, ids, 64, T + 3); /* some longer than fits */
    }
}

/* The loss of each window, and of all of them end to end or one batch in two, follows from the
 * probabilities with which the model writes the text. The last window is short. */
TEST_OF_EACH(kind_name, scored_as_written) {
    enum { T = 7, V = 13, N = 6 * T + 5, BATCH = 2 };
    const Sampler plain = {.temperature = 1, .top_p = 1, .isa = &isa_base};
    Model *model = build_small(name, T);
    Run *run = plain_run(model, 1), *batches = plain_run(model, BATCH);
    Generator *generator = generate(model, 1, FLOAT32);
    int32_t *ids = random_ids(11, N, V);
    double p[V], scratch[SAMPLER_SCRATCH * V], all = 0, some = 0;
    for (size_t begin = 0, end; begin + 1 < N; begin = end) {
        end = min_size(begin + T, N - 1);
        const Windows one = {ids + begin, end + 1 - begin, 1, false};
        double nats = 0;
        generator_begin(generator, 0);
        for (size_t i = begin; i < end; i++) {
            sampler_probabilities(&plain, feed(generator, ids + i, 1), V, p, scratch);
            nats -= log(p[ids[i + 1]]) / (double)(end - begin);
        }
        assert_near(run_evaluate(run, one, NULL, NULL), nats, 1e-5);
        all += nats * (double)(end - begin) / (N - 1);
        if (begin / T / BATCH % 2 == 0) some += nats * (double)(end - begin);
    }
    assert_near(run_evaluate(run, (Windows){ids, N, 1, false}, NULL, NULL), all, 1e-5);
    assert_near(run_evaluate(batches, (Windows){ids, N, 1, false}, NULL, NULL), all, 1e-5);
    assert_near(run_evaluate(batches, (Windows){ids, N, 2, false}, NULL, NULL), some / (4 * T),
                1e-5);
}

/* Texts that grow together, each with a prompt of its own length, give the bits of a generator for
 * each alone; so do texts that follow others in a slot. */
static void check_group(const char *kind, Precision precision, int T) {
    enum { V = 13, SLOTS = 5, LENGTH = 60 };
    Generator group;
    Generator *alone[SLOTS];
    const float *expected[SLOTS];
    int32_t *ids = random_ids(5, SLOTS * LENGTH + 2 * (size_t)T, V);
    double scratch[SAMPLER_SCRATCH * V];
    Model *model = build_small(kind, T);
    const Generator *first = generate(model, 1, precision);
    assert_ok(generator_open(&group, model, SLOTS, 1, precision, first->run, &err), err);
    for (int i = 0; i < SLOTS; i++) alone[i] = generate(model, 1, precision);
    int drawn = 0;
    for (int turn = 0; turn < LENGTH; turn++) {
        for (int i = SLOTS; i-- > 0;) {
            size_t prompt = (size_t)(1 + (i * 7 + turn) % (2 * T));
            if (turn % 23 == 4 * i) { /* begins another text */
                const int32_t *text = ids + i * LENGTH;
                generator_begin(alone[i], 0);
                expected[i] = feed(alone[i], text, prompt);
                generator_begin(&group, i);
                generator_append(&group, i, text, prompt);
            }
        }
        generator_read(&group);
        for (int i = 0; i < SLOTS; i++) {
            const float *logits = generator_logits(&group, i);
            if (!logits) continue;
            if (memcmp(logits, expected[i], V * sizeof(float)) != 0)
                fail_msg("%s: a text that grows beside others is not what it is alone", kind);
            int32_t id = sampler_pick(&(Sampler){1, 0, 1, 3, &isa_base}, logits, V, (uint64_t)i,
                                      (uint64_t)turn, scratch);
            generator_append(&group, i, &id, 1);
            expected[i] = feed(alone[i], &id, 1);
            drawn++;
        }
    }
    assert_true(drawn > LENGTH / 3);
    generator_close(&group);
}

TEST_OF_EACH(kind_name, groups) {
    static const int contexts[] = {1, 2, 5, 17, 70}; /* the last has prompts of several passes */
    for (int c = 0; c < COUNT(contexts); c++) {
        check_group(name, FLOAT32, contexts[c]);
        check_group(name, INT8_WEIGHTS, contexts[c]);
    }
}

/* Threads are used if each has more work than the cost of waiting for the others. */
TEST(worth) {
    const double wait = 1 << 15;
    assert_int_equal(useful_threads(0, 1, 8), 1);
    assert_int_equal(useful_threads(1.9 * 10 * wait, 10, 8), 1);
    assert_int_equal(useful_threads(2 * 10 * wait, 10, 8), 2);
    assert_int_equal(useful_threads(2 * 10 * wait, 20, 8), 1);
    assert_int_equal(useful_threads(7.9 * 10 * wait, 10, 8), 7);
    assert_int_equal(useful_threads(1e18, 10, 8), 8);
    assert_int_equal(useful_threads(1e18, 1, 1), 1);
}

/* A pass of the usual size has one thread if it is short, all if it is long; a decoding run has
 * one.
 */
TEST(shared_work) {
    static const struct {
        int L, C, tokens, threads;
    } cases[] = {{4, 128, 1, 1},  {4, 128, 16, 1},  {4, 128, 23, 2},
                 {4, 128, 48, 3}, {4, 128, 128, 4}, {2, 512, 2, 1} /* too few tokens for two */};
    for (size_t i = 0; i < COUNT(cases); i++) {
        Config config = {
            .model = "modern", .V = 65, .T = 128, .L = cases[i].L, .NH = 4, .C = cases[i].C};
        RunOptions options = {.batch = 1, .length = 128, .threads = 4, .precision = INT8_WEIGHTS};
        int32_t ids[128] = {0};
        Model *model = new_model(&config, 1);
        Run *run = open_run(model, &options);
        run_forward(run, ids, 1, cases[i].tokens);
        assert_int_equal(run->threads, cases[i].threads);
        Generator *generator = generate(model, 4, INT8_WEIGHTS);
        feed(generator, ids, (size_t)cases[i].tokens);
        assert_int_equal(generator->run->threads, 1);
    }
}

/* Rounded weights hardly change the score of a text. */
TEST(narrow) {
    enum { V = 65, N = 500 };
    const Config config = {.model = "gpt", .V = V, .T = 32, .L = 3, .NH = 4, .C = 100};
    Model *model = new_model(&config, 1);
    for (size_t i = 0; i < model->weights_size; i++) model->weights[i] *= 2;
    int32_t *ids = random_ids(1, N, V);
    static const Precision precisions[] = {FLOAT32, INT8_WEIGHTS};
    double losses[2];
    for (int i = 0; i < 2; i++) {
        RunOptions options = {.batch = 4, .length = 32, .threads = 2};
        options.precision = precisions[i];
        losses[i] =
            run_evaluate(open_run(model, &options), (Windows){ids, N, 1, false}, NULL, NULL);
    }
    assert_near(losses[1], losses[0], 1e-3);
    assert_true(losses[1] != losses[0]); /* they were rounded */
}

/* ---- counting ---- */

static TrilCounts count(const int32_t *train, size_t length, const int32_t *held_out, size_t more,
                        int V) {
    TrilCounts counts;
    assert_ok(count_losses(train, length, held_out, more, V, 8, &counts, &err), err);
    return counts;
}

/* Compared with counting in a table, whether a character and a pair occur or not. */
TEST(counts_of_a_text) {
    enum { N = 400, SEEN = 7, V = 9 };
    int32_t *train = random_ids(6, N, SEEN);
    const int32_t *held_out = random_ids(7, N, V);
    double singles[V] = {0}, pairs[V][V] = {{0}}, unigram = 0, bigram = 0, mean[2] = {0};
    for (int i = 0; i < N; i++)
        if (i % 3 == 0) train[i] /= 2; /* unequal frequencies */
    for (int i = 0; i < N; i++) singles[train[i]]++;
    for (int i = 1; i < N; i++) pairs[train[i - 1]][train[i]]++;
    for (int i = 0; i < N; i++) unigram -= log(singles[train[i]] / N) / N;
    for (int i = 1; i < N; i++) {
        double after = singles[train[i - 1]] - (train[i - 1] == train[N - 1]);
        bigram -= log(pairs[train[i - 1]][train[i]] / after) / (N - 1);
    }
    for (int32_t a = 0; a < V; a++) {
        double kinds = 0, after = 0;
        for (int32_t b = 0; b < V; b++) {
            after += pairs[a][b];
            kinds += pairs[a][b] > 0;
        }
        for (int32_t b = 0; b < V; b++) {
            TrilCounts counts = count(train, N, (int32_t[]){a, b}, 2, V);
            double p = (singles[b] + 1) / (N + V);
            assert_near(counts.own_unigram, unigram, 1e-12);
            assert_near(counts.own_bigram, bigram, 1e-12);
            assert_near(counts.unigram, -log(p), 1e-12);
            if (kinds > 0) p = (pairs[a][b] + kinds * p) / (after + kinds);
            assert_near(counts.bigram, -log(p), 1e-12);
            for (int i = 1; i < N; i++)
                if (held_out[i - 1] == a && held_out[i] == b) {
                    mean[0] += counts.unigram / (N - 1);
                    mean[1] += counts.bigram / (N - 1);
                }
        }
    }
    const TrilCounts all = count(train, N, held_out, N, V);
    assert_near(all.uniform, log(V), 1e-12);
    assert_int_equal(count(random_ids(8, 9999, 2), 9999, held_out, 2, V).order, 7);
    assert_near(all.unigram, mean[0], 1e-12);
    assert_near(all.bigram, mean[1], 1e-12);
}
