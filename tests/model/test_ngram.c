/* test_ngram.c - the counted model beside one that reads the whole text for each probability, and
 * the counts that a training run leaves out. */
#include "library/handles.h"
#include "tests/command.h"
#include "base/memory.h"
#include "model/counts.h"

/* A text, and a fold whose places predict nothing; they stay part of contexts. */
typedef struct {
    const int32_t *ids;
    size_t count, fresh;
    int V, order, fold;
} Text;

static int32_t before(const Text *t, size_t place, int back) {
    return place >= (size_t)back ? t->ids[place - (size_t)back] : t->V;
}

static bool predicts(const Text *t, size_t place) {
    if (t->fold == ALL_FOLDS || place < t->fresh) return true;
    return (int)((place - t->fresh) * FOLDS / (t->count - t->fresh)) != t->fold;
}

/* How many of the tokens before both places are the same, the nearest first, at most the order. */
static int common(const Text *t, size_t a, size_t b) {
    int same = 0;
    while (same < t->order && before(t, a, same + 1) == before(t, b, same + 1)) same++;
    return same;
}

/* The count of this place's token after the k tokens before the place. */
static int count_at(const Text *t, size_t place, int k) {
    int count = 0;
    for (size_t i = 0; i < t->count; i++) {
        bool new = predicts(t, i) && t->ids[i] == t->ids[place] && common(t, i, place) >= k;
        for (size_t j = 0; j < i && new &&k < t->order - 1; j++)
            new = !(predicts(t, j) && t->ids[j] == t->ids[i] && common(t, j, i) >= k + 1);
        count += new;
    }
    return count;
}

/* Is it the first place of its token after these k tokens? */
static bool is_first(const Text *t, size_t place, int k) {
    for (size_t i = 0; i < place; i++)
        if (t->ids[i] == t->ids[place] && common(t, i, place) >= k) return false;
    return true;
}

/* D[c] of contexts of k tokens: of the whole text, without a fold. */
static void find_discounts(const Text *t, int k, double D[4]) {
    double N[5] = {0};
    const Text whole = {t->ids, t->count, t->fresh, t->V, t->order, ALL_FOLDS};
    for (size_t i = 0; i < t->count; i++) {
        int c = is_first(t, i, k) ? count_at(&whole, i, k) : 0;
        if (c <= 4) N[c]++;
    }
    double Y = N[1] / (N[1] + 2 * N[2]);
    D[0] = 0;
    for (int c = 1; c <= 3; c++) {
        D[c] = c - (c + 1) * Y * N[c + 1] / N[c];
        if (!(D[c] > 0 && D[c] <= c)) D[c] = 0.5 * c;
    }
}

/* Sets p[V] as ngram_predict. Returns the length of the longest context that the text has. */
static int predict(const Text *t, double D[][4], const int32_t *last, size_t known, double *p) {
    int longest = 0;
    for (int v = 0; v < t->V; v++) p[v] = 1.0 / t->V;
    for (int k = 0; k < t->order && (size_t)k <= known; k++) {
        double total = 0, left = 0, *own = scrap((size_t)t->V, sizeof *own);
        for (size_t i = 0; i < t->count; i++) {
            bool here = true;
            for (int back = 1; back <= k; back++)
                here = here && before(t, i, back) == last[1 - back];
            if (here) longest = k;
            if (!here || !predicts(t, i) || own[t->ids[i]] > 0) continue;
            int c = count_at(t, i, k);
            total += c;
            left += D[k][c < 3 ? c : 3];
            own[t->ids[i]] = c - D[k][c < 3 ? c : 3];
            if (own[t->ids[i]] <= 0) own[t->ids[i]] = 1e-300; /* is counted */
        }
        for (int v = 0; v < t->V && total > 0; v++) p[v] = (own[v] + left * p[v]) / total;
    }
    return longest;
}

RELEASE(ngram, ngram_free)

/* Counts a text, until the end of the test. */
static Ngram *counted(const int32_t *ids, size_t count, size_t fresh, int order, int V) {
    Ngram *ngram;
    assert_ok(ngram_count(&ngram, ids, count, fresh, order, V, &err), err);
    at_end(release_ngram, ngram);
    return ngram;
}

/* Random, periodic, of few words, or of one token. */
static int32_t *make_text(int kind, uint64_t seed, size_t count, int V) {
    int32_t *ids = random_ids(seed, count, V);
    for (size_t i = 0; i < count; i++) {
        if (kind == 1 && i >= 7) ids[i] = ids[i - 7];
        if (kind == 2) ids[i] = (int32_t)((i % 5 + 5 * (random_bits(seed, i / 5) % 4)) % (size_t)V);
        if (kind == 3) ids[i] = V - 1;
    }
    return ids;
}

static void check_predictions(const Ngram *ngram, Text *t, uint64_t seed) {
    double D[MAX_ORDER][4], *p = scrap((size_t)t->V, sizeof *p),
                            *q = scrap((size_t)t->V, sizeof *q);
    for (int k = 0; k < t->order; k++) find_discounts(t, k, D[k]);
    for (uint64_t i = 0; i < 12; i++) {
        size_t place = (size_t)(random_uniform(seed, 2 * i) * (double)t->count);
        size_t known = i == 0 ? 0 : place + 1; /* the last token, and those before it */
        int32_t *last = scrap(place + 1, sizeof *last);
        memcpy(last, t->ids, (place + 1) * sizeof *last);
        if (i % 4 == 3) last[place / 2] = 0; /* perhaps not in the text */
        t->fold = (int)(i % 12) - 1;
        if (t->fold == FOLDS) t->fold = ngram_fold(ngram, place + 1 - t->fresh);
        int length = ngram_predict(ngram, last + place, known, t->fold, p);
        assert_int_equal(predict(t, D, last + place, known, q), length);
        double sum = 0;
        for (int v = 0; v < t->V; v++) {
            if (!(fabs(p[v] - q[v]) <= 1e-12 && p[v] > 0))
                fail_msg("token %d, fold %d, %zu of %d: %.15g, not %.15g", v, t->fold, t->count,
                         t->V, p[v], q[v]);
            sum += p[v];
        }
        assert_near(sum, 1, 1e-12);
    }
}

/* The order, at most this one, whose tables take no more than 40 bytes a token: 16 for each
 * context, and 12 for each that is one token longer, or in the longest for each token that
 * followed. A context that occurs once has no longer ones. */
static int order_that_fits(Text t, int most) {
    size_t contexts[MAX_ORDER + 1] = {0};
    double bytes = 0;
    int order = 0;
    t.order = most - 1;
    for (size_t i = 0; i < t.count; i++) {
        int before = -1, any = 0;
        bool new = true;
        for (size_t j = 0; j < t.count; j++) {
            const int same = common(&t, i, j);
            if (j != i && same > any) any = same;
            if (j < i && same > before) before = same;
            if (j < i && same == t.order) new = new &&t.ids[j] != t.ids[i];
        }
        for (int k = before + 1; k <= min_int(any + 1, t.order); k++) contexts[k]++;
        contexts[most] += any == t.order && new;
    }
    for (; order < most; order++) {
        bytes += 16.0 * (double)contexts[order] + 12.0 * (double)contexts[order + 1];
        if (order >= 3 && bytes > 40.0 * (double)t.count) break;
    }
    return order;
}

TEST(probabilities) {
    static const int sizes[] = {1, 2, 3, 7, 65, 300};
    static const size_t lengths[] = {1, 2, 3, 9, 10, 11, 60, 150, 400};
    int highest = 0;
    for (int i = 0; i < repeats(108, 432); i++) {
        const size_t count = lengths[i % 9];
        int kind = i / 9 % 4, order = 3 + (i * 5 + i / 7) % 7, V = sizes[i * 7 % 11 % 6];
        Text t = {.count = count, .V = V, .ids = make_text(kind, (uint64_t)i, count, V)};
        t.fresh = i % 3 == 0 ? 0 : i % 3 == 1 ? count / 3 : count;
        const Ngram *ngram = counted(t.ids, count, t.fresh, order, V);
        t.order = ngram_facts(ngram).order;
        assert_int_equal(t.order, order_that_fits(t, order));
        if (t.order > highest) highest = t.order;
        check_predictions(ngram, &t, (uint64_t)i + 1000);
    }
    assert_int_equal(highest, MAX_ORDER);
}

/* As many places as possible are in each fold. */
TEST(folds) {
    for (size_t count = 1; count <= 45; count++) {
        const size_t fresh = count / 4, length = count - fresh;
        const Ngram *ngram = counted(random_ids(count, count, 3), count, fresh, 4, 3);
        assert_int_equal(ngram_facts(ngram).fresh, fresh);
        for (size_t i = 0; i < length; i++)
            assert_int_equal(ngram_fold(ngram, i), i * FOLDS / length);
        assert_int_equal(ngram_fold(ngram, length), ALL_FOLDS);
    }
}

/* A training run counts the part to train on, and nothing that is held out. An evaluation of that
 * part leaves out the fold that is read, and changes no model. */
TEST(trainings) {
    size_t length;
    double nats[2];
    char *play = slurp("data/sample.txt", &length);
    TrilOptions options = sized("ngram", 1, 1, 8, 8);
    options.batch = 4;
    options.steps = 2;
    const TrilTokenizer *tokenizer = tokenizer_of(play);
    const TrilText *text = text_of(tokenizer, play, 8000, 0.1),
                   *other = text_of(tokenizer, play + 9000, 8000, 0.1);
    TrilModel *model = model_of(tokenizer, &options);
    TrilTraining *training = begin_on(model, text, &options);
    const NgramFacts facts = ngram_facts(model->model.ngram);
    assert_int_equal(facts.count, text->trained_on);
    assert_memory_equal(facts.ids, text->ids, facts.count * sizeof *facts.ids);
    assert_int_equal(ngram_fold(model->model.ngram, facts.count - 1), FOLDS - 1);
    must(take_steps(training));
    uint64_t digest = tril_model_digest(model);
    for (int i = 0; i < 2; i++)
        must(tril_text_evaluate(i ? other : text, model, 1, 0, 4, 1, NULL, NULL, &nats[i], &error));
    assert_near(nats[0], nats[1], 0.3); /* 0.4 is the loss with all that was counted */
    assert_int_equal(tril_model_digest(model), digest);
}

/* The same text counts once, also if one is the beginning of the other; another text is added. */
TEST(again) {
    enum { V = 10, COUNT = 300, LESS = 200 };
    static const struct {
        int text;
        size_t count, all, fresh; /* counted in all, and not in a fold */
    } steps[] = {
        {0, COUNT, COUNT, 0}, {0, COUNT, COUNT, 0},           {0, LESS, LESS, 0},
        {0, COUNT, COUNT, 0}, {1, LESS, COUNT + LESS, COUNT}, {1, LESS, COUNT + LESS, COUNT}};
    const int32_t *texts[] = {random_ids(1, COUNT, V), random_ids(2, COUNT, V)};
    Ngram *folded;
    Config config = {.model = "ngram", .V = V, .T = 4, .L = 1, .NH = 1, .C = 4};
    Model *model = new_model(&config, 1);
    assert_ok(model_fold(model, texts[0], COUNT, &folded, &err), err);
    assert_null(folded);
    for (int i = 0; i < COUNT(steps); i++) {
        const int32_t *text = texts[steps[i].text];
        assert_ok(model_count(model, text, steps[i].count, i % 2 == 0, &err), err);
        const NgramFacts facts = ngram_facts(model->ngram);
        assert_memory_equal(facts.ids + steps[i].fresh, text, steps[i].count * sizeof *text);
        assert_int_equal(facts.count, steps[i].all);
        assert_int_equal(facts.fresh, i % 2 == 0 ? steps[i].fresh : facts.count);
        assert_ok(model_fold(model, text, steps[i].count, &folded, &err), err);
        assert_int_equal(ngram_facts(folded).fresh, steps[i].fresh);
        ngram_free(folded);
    }
}

/* Each prediction of a counted text leaves out the fold of the character that it predicts. With
 * weights of 0 a model's loss is that of its counts. */
TEST(own_folds) {
    enum { V = 30, COUNT = 101, WINDOW = 20, WINDOWS = (COUNT - 1) / WINDOW };
    const Config config = {.model = "ngram", .V = V, .T = WINDOW, .L = 1, .NH = 1, .C = 8};
    const RunOptions options = {.batch = WINDOWS, .length = WINDOW, .training = true, .threads = 1};
    const int32_t *text = random_ids(5, COUNT, 3);
    size_t starts[WINDOWS];
    Model *model = new_model(&config, 1);
    Run *run = open_run(model, &options);
    NgramLoss found;
    double p[V], loss = 0;
    for (size_t b = 0; b < WINDOWS; b++) starts[b] = b * WINDOW;
    assert_ok(model_count(model, text, COUNT, true, &err), err);
    memset(model->weights, 0, model->weights_size * sizeof *model->weights);
    for (size_t i = 1; i < COUNT; i++) {
        const int fold = ngram_fold(model->ngram, i);
        ngram_predict(model->ngram, text + i - 1, 1 + (i - 1) % WINDOW, fold, p);
        loss -= log(p[text[i]]) / (COUNT - 1);
    }
    assert_ok(ngram_loss(model->ngram, text, COUNT, WINDOW, 1, true, &found, &err), err);
    assert_near(found.windows, loss, 1e-12);
    assert_true(found.running != found.windows);
    const TextOrigin source = {starts, WINDOW, .counted = true};
    run_forward_training(run, text, WINDOWS, WINDOW, &source);
    assert_near(run_backward(run, text + 1), loss, 1e-6);
    const Windows whole = {text, COUNT, 1, true};
    assert_near(run_evaluate(run, whole, NULL, NULL), loss, 1e-6);
}

/* extras/bench/peers/ngram.py computes the same loss. */
TEST(sample) {
    Corpus corpus;
    TrilCounts counts;
    assert_ok(corpus_load(&corpus, "data/sample.txt", false, 0.1, NULL), err);
    const int V = corpus.vocab.size;
    const size_t n = corpus.trained_on;
    assert_ok(
        count_losses(corpus.ids, n, corpus.ids + n, corpus.characters - n, V, 32, &counts, &err),
        err);
    assert_int_equal(counts.order, 8);
    assert_near(counts.ngram, 1.5652991, 1e-7);
    assert_near(counts.running, 1.4908434, 1e-7);
    for (int folds = 0; folds < 2; folds++) {
        const Ngram *ngram = counted(corpus.ids, n, folds ? 0 : n, MAX_ORDER, V);
        assert_int_equal(ngram_facts(ngram).order, 8);
        double bytes = (double)ngram_facts(ngram).bytes - 88.0 * V;
        assert_in_range(bytes / (double)n, 35, folds ? 50 : 44); /* the tables, and the ids */
    }
    corpus_free(&corpus);
}

/* More than the memory can count is refused before it is read. */
TEST(memory) {
    const size_t most = 2000000000;
    const int32_t id = 0;
    Ngram *ngram;
    if (memory_installed() > 100 * most || sizeof most == 4) skip();
    assert_false(ngram_count(&ngram, &id, most, 0, 3, 1, &err));
    assert_true(err.status == TRIL_NO_MEMORY);
    expect_error(err, " GiB");
}
