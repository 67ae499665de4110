/* test_library.c - tril as a library (library/tril.h): it trains, scores and writes like the
 * programs, to the bit; every failure is a value and a sentence; models in different threads do not
 * interfere. */
#include "library/handles.h" /* before the error of the tests, which it would shadow */
#include "tests/command.h"
#include "tests/decimal.h"
#include "base/digest.h"
#include "base/memory.h"

#include <limits.h>
#include <pthread.h>

enum { STEPS = 30 };

/* ---- failing memory ---- */

/* The number of the request for memory that fails, from 1, or 0. */
static int fails_at;
static atomic_int requests;

void *aligned_alloc(size_t alignment, size_t size) {
    return atomic_fetch_add(&requests, 1) + 1 == fails_at ? NULL : request_memory(alignment, size);
}

/* ---- small models ---- */

static const char *const precisions[] = {"int8", "f32"};
static char *play;
static size_t play_length;
static TrilTokenizer *letters; /* of the play */
static TrilText *whole_play;

SET_UP {
    play = slurp(ACT, &play_length);
    letters = tokenizer_of(play);
    whole_play = text_of(letters, play, play_length, 0.1);
}

/* Checks the status, and that its one sentence contains `name`. */
static void expect(TrilStatus status, TrilStatus expected, const char *name) {
    if (status != expected)
        fail_msg("status %d instead of %d: '%s'", (int)status, (int)expected, error.text);
    assert_int_equal(error.status, status);
    expect_error(error, name);
    *error.text = 0;
}

static double usual_rate(const char *rung) {
    const TrilOptions unset = tril_options_empty();
    return tril_rung_rate(rung, &unset);
}

static TrilOptions small(const char *rung) {
    return sized(rung, 1, 2, 16, 16);
}
#define FEW "-j 1 -c 16 -b 4 --precision f32 --patience 1 --eval-every 15 "

static TrilOptions few(int steps, int threads) {
    TrilOptions options = tril_options();
    options.steps = steps;
    options.batch = 4;
    options.threads = threads;
    options.precision = "f32";
    return options;
}

static TrilModel *make(TrilOptions sizes, uint64_t seed) {
    sizes.seed = seed;
    return model_of(letters, &sizes);
}

static TrilTraining *begin(TrilModel *model, const TrilOptions *options) {
    return begin_on(model, whole_play, options);
}

static TrilModel *state_of(const char *name, TrilState *state) {
    TrilModel *model;
    must(tril_state_load(&model, state, scratch(name), &error));
    at_end(release_model, model);
    return model;
}

static TrilStatus resume(TrilTraining **training, TrilModel **model, const char *name,
                         const TrilText *text) {
    TrilState state;
    *model = state_of(name, &state);
    TrilStatus status = tril_training_open(training, *model, text, &state.options, &error);
    if (status == TRIL_OK) at_end(release_training, *training);
    return status;
}

static TrilStatus loss_on(const TrilModel *model, const char *text, size_t length, double *nats) {
    TrilScore found;
    TrilStatus status = tril_score(model, text, length, "f32", 0, &found, &error);
    *nats = found.nats;
    return status;
}

static TrilModel *load(const char *name) {
    return load_model(scratch(name));
}

static uint64_t digest_of(const char *name) {
    return tril_model_digest(load(name));
}

/* A small model that was trained for STEPS steps. */
static TrilModel *train(const char *rung, int threads) {
    TrilOptions options = few(STEPS, threads);
    TrilModel *model = make(small(rung), options.seed);
    TrilTraining *training;
    must(tril_training_open(&training, model, whole_play, &options, &error));
    must(take_steps(training));
    tril_training_close(training);
    return model;
}

/* ---- the same as the programs ---- */

/* The last weights, in the state, are the same; so is the whole file of the best ones, which here
 * are the last, if it has the program's notes. */
TEST(same_weights) {
    for (int i = 0; tril_rung(i); i++) {
        must_run("train -q -m %s %s " FEW "--seed 7 -s %d -o @program " ACT, tril_rung(i),
                 used_by(tril_rung(i), "--layers=1 --heads=2 --width=32"), STEPS);
        const TrilModel *program = load("program/model.safetensors");
        for (int threads = 1; threads <= 2; threads++) { /* each has 16 channels of a norm */
            TrilOptions sizes = sized(tril_rung(i), 1, 2, 32, 16);
            TrilOptions options = few(STEPS, threads);
            options.seed = 7;
            options.dropout = threads == 1 ? 0 : 1e-300; /* drops nothing */
            TrilModel *model = make(sizes, options.seed);
            bool other = tril_model_digest(model) != tril_model_digest(make(sizes, 8));
            assert_int_equal(other, i > 0); /* a bigram begins with zeros */
            double nats;
            TrilTraining *training = begin(model, &options);
            must(take_steps(training));
            must(tril_training_evaluate(training, 0, NULL, NULL, &nats, &error));
            TrilMetadata notes[] = {{"text_name", NULL}, {"command", NULL}, {NULL, NULL}};
            for (int note = 0; note < 2; note++) {
                notes[note].text = tril_model_metadata(program, notes[note].key);
                assert_non_null(notes[note].text);
            }
            must(tril_model_save(model, scratch("library.safetensors"), notes, &error));
            assert_int_equal(tril_model_digest(model), digest_of("program/state.safetensors"));
            if (threads == 1)
                scratch_expect_same("program/model.safetensors", "library.safetensors");
        }
    }
}

typedef struct {
    char text[4096];
    size_t length;
} Written;

static void write_down(const char *text, size_t length, Written *written) {
    assert_true(written->length + length < sizeof written->text);
    memcpy(written->text + written->length, text, length);
    written->length += length;
}

/* Takes a single text. */
static int write_one(size_t number, const char *text, size_t length, bool ended, void *written) {
    (void)ended;
    assert_int_equal(number, 0);
    write_down(text, length, written);
    return 0;
}

/* The texts that tril_generate has passed on. */
typedef struct {
    Written texts[400];
    size_t ended;
    int parts, most; /* stops at part `most` */
} Several;

static int write_several(size_t number, const char *text, size_t length, bool ended, void *user) {
    Several *several = user;
    assert_int_equal(number, several->ended);
    write_down(text, length, &several->texts[number]);
    several->ended += ended;
    return ++several->parts == several->most;
}

/* Sets the texts to those that a model writes together, up to a stop text. */
static void write_texts(Several *several, const TrilModel *model, TrilSampling sampling,
                        size_t count, const char *prompt, const char *stop) {
    *several = (Several){.ended = 0};
    sampling.stop = stop;
    must(tril_generate(model, prompt, strlen(prompt), &sampling, count, write_several, several,
                       &error));
    assert_int_equal(several->ended, count);
}

/* Texts that end with a stop text, and so beside others at other times, and with another number of
 * threads, are the beginnings of those that do not. (test_sampler has generators for one text.) */
static void check_texts(const TrilModel *model, TrilSampling sampling, size_t count,
                        const char *prompt, const char *stop) {
    static Several whole, stopped;
    write_texts(&whole, model, sampling, count, prompt, "");
    sampling.threads = 3 - sampling.threads;
    write_texts(&stopped, model, sampling, count, prompt, stop);
    for (size_t i = 0; i < count; i++) {
        const Written *all = &whole.texts[i], *one = &stopped.texts[i];
        const char *end = *stop ? strstr(all->text, stop) : NULL;
        const size_t length = end ? (size_t)(end - all->text) + strlen(stop) : all->length;
        assert_int_equal(one->length, length);
        assert_memory_equal(one->text, all->text, length);
        if (i > 0 && sampling.temperature > 0)
            assert_string_not_equal(all->text, whole.texts->text);
    }
    Written first = {.length = 0};
    TrilWriter *writer = write_with(model, &sampling);
    must(tril_writer_append(writer, prompt, strlen(prompt), &error));
    for (char text[4]; first.length < whole.texts->length;)
        write_down(text, (size_t)tril_writer_write(writer, text), &first);
    assert_memory_equal(first.text, whole.texts->text, first.length);
}

TEST(texts_together) {
    for (int i = 0; tril_rung(i); i++) {
        TrilModel *model = train(tril_rung(i), 1);
        TrilSampling sampling = tril_sampling();
        sampling.precision = precisions[i % 2];
        sampling.length = 70; /* beyond the context */
        sampling.threads = 1 + i % 2;
        check_texts(model, sampling, 400, "", "e"); /* more than are in memory */
        check_texts(model, sampling, 3, "THE ", "");
        sampling.temperature = 0;
        check_texts(model, sampling, 2, "A", "th");
    }
}

/* A stop text may begin within what looked like another one. */
TEST(stop_texts) {
    static const char *const stops[] = {"aab", "abab", "aabaab", "bbbb"};
    const TrilOptions sizes = small("gpt");
    TrilTokenizer *two;
    TrilModel *model;
    TrilSampling sampling = tril_sampling();
    sampling.length = 90;
    sampling.temperature = 10;
    sampling.threads = 1;
    must(tril_tokenizer_make(&two, "ab", 2, &error));
    must(tril_model_make(&model, two, &sizes, &error));
    tril_tokenizer_free(two);
    at_end(release_model, model);
    for (int i = 0; i < COUNT(stops); i++) check_texts(model, sampling, 40, "aa", stops[i]);
    sampling.stop = "aa"; /* a text that goes on stops again after two more of them */
    TrilWriter *writer = write_with(model, &sampling);
    for (int i = 0, run = 0; i < 200; i++) {
        char text[4];
        assert_int_equal(tril_writer_write(writer, text), 1);
        run = *text == 'a' ? run % 2 + 1 : 0;
        assert_int_equal(tril_writer_stopped(writer), run == 2);
    }
}

/* Text that a writer reads in between is treated as if it had written it. */
TEST(reading_in_between) {
    enum { LENGTH = 60, FROM = 20, TO = 30 };
    TrilOptions sizes = small("multihead");
    sizes.context = LENGTH; /* a full context forgets by the length of the parts that are read */
    TrilSampling sampling = tril_sampling();
    TrilModel *model = make(sizes, 1);
    TrilTensor tensor;
    Written whole = {.length = 0};
    char text[4];
    /* large weights: each choice, always of the likeliest, depends on all that stands before */
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++)
        for (int j = 0; j < tensor.rows * tensor.columns; j++) tensor.data[j] *= 8;
    sampling.temperature = 0;
    TrilWriter *writer = write_with(model, &sampling);
    for (int i = 0; i < LENGTH; i++) {
        const int length = tril_writer_write(writer, text);
        write_down(text, (size_t)length, &whole);
    }
    assert_int_equal(whole.length, LENGTH); /* each character is a byte */
    writer = write_with(model, &sampling);
    for (int i = 0; i < LENGTH; i++) {
        if (i == FROM) must(tril_writer_append(writer, whole.text + FROM, TO - FROM, &error));
        if (i < FROM || i >= TO) {
            assert_int_equal(tril_writer_write(writer, text), 1);
            assert_int_equal(*text, whole.text[i]);
        }
    }
}

/* Counts weigh as they should: each choice is the likeliest of own logits and weighed counts. */
TEST(counts) {
    static const double weights[] = {0, 0.5, 1};
    enum { PROMPTS = 40, LENGTH = 12 };
    TrilModel *model = train("ngram", 1);
    const int V = letters->size;
    int differ = 0;
    for (int i = 0; i < PROMPTS; i++) {
        const char *prompt = play + 100 * i;
        const TrilReading *reading = read_with(model, prompt, LENGTH, 1, 1);
        TrilLine line;
        for (int at = 0; tril_reading_line(reading, at, &line);) at++;
        assert_string_equal(line.operation, "trusted");
        const float *row[3];
        for (int j = 0; j < 3; j++)
            row[j] = line.inputs[j].data + (LENGTH - 1) * line.inputs[j].row;
        int32_t picks[3];
        TrilSampling sampling = tril_sampling();
        sampling.temperature = 0;
        sampling.precision = "f32";
        for (int w = 0; w < 3; w++) {
            char text[4];
            size_t count;
            int best = 0;
            float most = -INFINITY;
            for (int v = 0; v < V; v++) {
                const float y = row[0][v] + (float)weights[w] * (1 + *row[1]) * row[2][v];
                if (y > most) best = v;
                if (y > most) most = y;
            }
            sampling.counts = weights[0];
            TrilWriter *writer = write_with(model, &sampling);
            sampling.counts = weights[w];
            if (w > 0) must(tril_writer_set(writer, &sampling, &error));
            must(tril_writer_append(writer, prompt, LENGTH, &error));
            const size_t length = (size_t)tril_writer_write(writer, text);
            must(tril_encode(letters, text, length, &picks[w], 1, &count, &error));
            assert_int_equal(picks[w], best);
        }
        differ += picks[0] != picks[2];
    }
    assert_true(differ > PROMPTS / 2);
}

/* A byte order mark is no character, CR LF one newline, wherever the library reads a text. */
TEST(line_ends) {
    static const char plain[] = "THE\nFOREST\n", other[] = "\xEF\xBB\xBFTHE\r\nFOREST\r\n";
    const char *const texts[] = {plain, other};
    TrilModel *model = train("gpt", 1), *extended;
    TrilSampling sampling = tril_sampling();
    Written written[2] = {{.length = 0}};
    double nats[2];
    int32_t ids[32];
    size_t count;
    for (int i = 0; i < 2; i++) {
        must(loss_on(model, texts[i], strlen(texts[i]), &nats[i]));
        must(tril_encode(letters, texts[i], strlen(texts[i]), ids, 32, &count, &error));
        assert_int_equal(count, 11);
        must(tril_model_extend(&extended, model, texts[i], strlen(texts[i]), 1, &error));
        at_end(release_model, extended);
        assert_int_equal(tril_model_digest(extended), tril_model_digest(model));
    }
    assert_true(nats[0] == nats[1]);
    assert_false(text_of(letters, play, play_length, 0.1)->returns);
    assert_true(text_of(letters, other, strlen(other), 0.5)->returns);
    const char *const prompts[] = {"", "\xEF\xBB\xBF"};
    for (int i = 0; i < 2; i++)
        must(tril_generate(model, prompts[i], strlen(prompts[i]), &sampling, 1, write_one,
                           &written[i], &error));
    TrilReading *reading;
    must(tril_reading_open(&reading, model, prompts[1], 3, false, 1, &error));
    assert_int_equal(reading->tokens, 1); /* the id before a text */
    tril_reading_close(reading);
    assert_int_equal(written[0].length, written[1].length);
    assert_memory_equal(written[0].text, written[1].text, written[0].length);
}

TEST(unknown_characters) {
    static const char text[] = "THE § FOREST ÖÖ";
    TrilModel *model = train("gpt", 1);
    TrilScore score;
    double known;
    must(loss_on(model, "THE  FOREST ", 12, &known));
    must(tril_score(model, text, strlen(text), "f32", 0, &score, &error));
    assert_true(score.nats == known && score.unknown == 3 && score.characters == 15);
    must(tril_score(model, "Ö§THE  FOREST ", 16, "f32", 0, &score, &error));
    assert_true(score.nats == known && score.unknown == 2);
    assert_int_equal(tril_score(model, "Ö", 2, "f32", 0, &score, &error), TRIL_TEXT);
}

/* ---- states ---- */

static uint64_t end_of(TrilTraining *training, TrilModel *model) {
    must(take_steps(training));
    return tril_model_digest(model);
}

/* A training run that was stopped, saved and continued ends with the same bits. A program may plan
 * other steps, and the state, which names its text and options, keeps them; an unset learning rate
 * is the rung's. */
TEST(states) {
    TrilOptions options = few(STEPS, 1);
    TrilState saved;
    options.dropout = 0.1;
    TrilModel *model = make(small("modern"), options.seed);
    const uint64_t whole = end_of(begin(model, &options), model);

    options.steps = STEPS / 3;
    model = make(small("modern"), options.seed);
    TrilTraining *training = begin(model, &options);
    must(tril_training_set_steps(training, STEPS, &error));
    for (int i = 1; i <= STEPS / 2; i++) {
        must(tril_training_step(training, &error));
        const TrilProgress p = tril_training_progress(training);
        assert_true(p.step == i && p.steps == STEPS);
        assert_true(p.loss > 0 && p.norm > 0 && p.learning_rate > 0);
    }
    const char *less = formatted("%d is less than the %d", STEPS / 2 - 1, STEPS / 2);
    expect(tril_training_set_steps(training, STEPS / 2 - 1, &error), TRIL_ARGUMENT, less);
    must(tril_training_set_steps(training, STEPS / 2, &error));
    must(tril_training_set_steps(training, STEPS, &error));
    must(tril_training_save(training, scratch("half.safetensors"), NULL, &error));
    assert_int_equal(end_of(training, model), whole);
    assert_int_equal(tril_training_step(training, &error), TRIL_ARGUMENT);

    must(resume(&training, &model, "half.safetensors", whole_play));
    const TrilOptions now = tril_training_options(training);
    assert_int_equal(tril_training_progress(training).step, STEPS / 2);
    assert_true(now.steps == STEPS && now.batch == 4 && now.dropout == 0.1);
    assert_true(now.held_out == 0.1 && now.width == 16);
    assert_string_equal(now.precision, "f32");
    assert_near(now.learning_rate, usual_rate("modern"), 0);
    assert_int_equal(end_of(training, model), whole);
    expect(tril_training_open(&training, model, whole_play, &now, &error), TRIL_ARGUMENT, "");
    const TrilText *shorter = text_of(letters, play, play_length - 1, 0.1);
    expect(resume(&training, &model, "half.safetensors", shorter), TRIL_TEXT, "");

    /* with other options, like ./train --resume */
    model = state_of("half.safetensors", &saved);
    size_t length;
    char *bytes = slurp(scratch("half.safetensors"), &length);
    make_folder(scratch("half"));
    scratch_put("half/state.safetensors", bytes, length);
    assert_int_equal(saved.text, whole_play->digest);
    assert_int_equal(saved.progress.step, STEPS / 2);
    assert_true(isnan(saved.progress.loss));
    assert_true(*tril_model_metadata(model, "kernels"));
    assert_string_equal(tril_model_metadata(model, "option.batch"), "4");
    assert_null(tril_model_metadata(model, "no such note"));
    options = saved.options;
    assert_string_equal(options.rung, "modern");
    assert_true(options.width == 16 && options.steps == STEPS && options.batch == 4);
    options.steps = 2 * STEPS;
    options.learning_rate = 0.002;
    options.dropout = 0.2;
    options.threads = 2;
    must(tril_training_open(&training, model, whole_play, &options, &error));
    assert_near(tril_training_options(training).learning_rate, 0.002, 0);
    must_run("train -q --resume -s %d --lr 0.002 -d 0.2 -o @half " ACT, 2 * STEPS);
    assert_int_equal(end_of(training, model), digest_of("half/state.safetensors"));
    tril_training_close(training);
    training = begin(model, &options); /* goes on once; from then on it is a trained model */
    assert_int_equal(tril_training_progress(training).step, 0);
}

/* ---- decisions ---- */

/* Weights so large that results overflow are an error, not a uniform guess. */
TEST_OF_EACH(tril_rung, overflow) {
    if (strcmp(name, "bigram") == 0) return; /* its weights are its logits */
    TrilModel *model = make(small(name), 1);
    TrilTensor tensor;
    TrilReading *reading;
    TrilScore score;
    double nats;
    char one[4];
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++)
        for (int j = 0; j < tensor.rows * tensor.columns; j++)
            tensor.data[j] = j * 7 % 3 ? 3e38f : -3e38f;
    expect(loss_on(model, play, 500, &nats), TRIL_DIVERGED, "");
    expect(tril_reading_open(&reading, model, play, 10, 0, 1, &error), TRIL_DIVERGED, "");
    for (int i = 0; i < COUNT(precisions); i++) {
        TrilSampling sampling = tril_sampling();
        Written written = {0};
        sampling.precision = precisions[i];
        expect(tril_score(model, play, 500, precisions[i], 0, &score, &error), TRIL_DIVERGED, "");
        expect(tril_generate(model, "", 0, &sampling, 1, write_one, &written, &error),
               TRIL_DIVERGED, "");
        assert_int_equal(written.length, 0);
        TrilWriter *writer = write_with(model, &sampling);
        for (int j = 0; j < 2; j++) assert_int_equal(tril_writer_write(writer, one), 0);
    }
    must(tril_model_save(model, scratch("huge"), NULL, &error));
    static const char *const ways[] = {"-n 5", "-p THE -n 5", ("--score " ACT), "--explain THE"};
    for (int i = 0; i < 4; i++) {
        run("sample %s @huge", ways[i]);
        expect_exit(1, "");
    }
    const TrilOptions options = few(200, 1);
    assert_int_equal(take_steps(begin(model, &options)), TRIL_DIVERGED);
}

/* A model that could not be loaded is not written either, nor its state. */
TEST(not_finite) {
    const TrilOptions options = few(20, 1);
    TrilModel *model = make(small("gpt"), 1);
    TrilTraining *training = begin(model, &options);
    TrilTensor tensor;
    for (int i = 0; i < 2; i++) {
        assert_true(tril_model_tensor(model, i, &tensor));
        tensor.data[i] = i ? INFINITY : NAN;
        expect(tril_model_save(model, scratch("lost"), NULL, &error), TRIL_DIVERGED, tensor.name);
        expect(tril_training_save(training, scratch("lost"), NULL, &error), TRIL_DIVERGED,
               tensor.name);
        assert_false(scratch_has("lost"));
        tensor.data[i] = 0;
    }
    must(tril_training_save(training, scratch("lost"), NULL, &error));
}

/* A program may have set a locale in which numbers have a decimal comma: the files are the same. */
TEST(decimal_comma) {
    TrilOptions options = few(STEPS, 1);
    TrilModel *model = make(small("modern"), 1), *read;
    double nats;
    char precision[] = "f32";
    options.dropout = 0.25;
    options.precision = precision;
    TrilTraining *training = begin(model, &options);
    memset(precision, '-', sizeof precision - 1); /* the caller's again */
    assert_string_equal(tril_training_options(training).precision, "f32");
    must(take_steps(training));
    must(tril_training_evaluate(training, 0, NULL, NULL, &nats, &error));
    must(tril_model_save(model, scratch("point.safetensors"), NULL, &error));
    must(tril_training_save(training, scratch("point.last"), NULL, &error));
    if (!decimal_point(",", "")) skip();
    must(tril_model_save(model, scratch("comma.safetensors"), NULL, &error));
    must(tril_training_save(training, scratch("comma.last"), NULL, &error));
    scratch_expect_same("point.safetensors", "comma.safetensors");
    scratch_expect_same("point.last", "comma.last");
    read = load("comma.safetensors");
    assert_near(tril_model_loss(read), nats, 1e-6);
    must(resume(&training, &read, "point.last", whole_play));
    assert_near(tril_training_options(training).dropout, 0.25, 0);
    setlocale(LC_ALL, "C");
}

/* A program's metadata comes back, and cannot replace the state's own. */
TEST(notes) {
    enum { MOST = 128 };
    TrilOptions options = few(2, 1);
    TrilTraining *training = begin(make(small("bigram"), 1), &options);
    const TrilMetadata good[] = {{"color", "green \"and\"\n red"}, {"O", ""}, {NULL, NULL}};
    must(tril_training_save(training, scratch("noted"), good, &error));
    static const char *const own[] = {"step",  "option.lr", "text",    "vocabulary",
                                      "seed",  "width",     "cooling", "validation_loss",
                                      "digest"};
    for (int i = 0; i < COUNT(own); i++) {
        const TrilMetadata wrong[] = {{own[i], "1"}, {NULL, NULL}};
        expect(tril_training_save(training, scratch("noted"), wrong, &error), TRIL_ARGUMENT,
               own[i]);
    }
    const TrilMetadata invalid[] = {{"color", "\xff"}, {NULL, NULL}}, lacking[] = {{"a", NULL}},
                       twice[] = {{"color", "1"}, {"other", "2"}, {"color", "3"}, {NULL, NULL}};
    expect(tril_training_save(training, scratch("noted"), invalid, &error), TRIL_ARGUMENT, "UTF-8");
    expect(tril_training_save(training, scratch("noted"), lacking, &error), TRIL_ARGUMENT, "UTF-8");
    expect(tril_training_save(training, scratch("noted"), twice, &error), TRIL_ARGUMENT, "'color'");
    TrilMetadata many[MOST + 1] = {{NULL, NULL}};
    for (int i = 0; i < MOST; i++) many[i] = (TrilMetadata){formatted("note %d", i), ""};
    expect(tril_training_save(training, scratch("noted"), many, &error), TRIL_ARGUMENT, "128");
    TrilState state;
    TrilModel *saved = state_of("noted", &state);
    assert_string_equal(tril_model_metadata(saved, "color"), "green \"and\"\n red");
    assert_string_equal(tril_model_metadata(saved, "O"), "");
    expect(tril_state_load(&saved, &state, ACT, &error), TRIL_FILE, "");
    assert_null(saved);
}

static void expect_same_options(const TrilOptions *a, const TrilOptions *b) {
    for (int i = 0; tril_option(i); i++) {
        char one[TRIL_OPTION_SIZE], other[TRIL_OPTION_SIZE];
        assert_int_equal(tril_options_get(a, i, one), tril_options_get(b, i, other));
        assert_string_equal(one, other);
    }
}

/* Unset options are decided as a training run decides them, and stay decided. */
TEST(decisions) {
    TrilOptions options = small("modern"), decided = options, again;
    TrilModel *model = make(options, 1);
    const TrilText *text = whole_play;
    double epochs, once;
    options.threads = decided.threads = 1;
    must(tril_options_decide(&decided, text, 0, &epochs, &error));
    double read = decided.steps * decided.batch * options.context;
    assert_near(epochs, read / (double)text->trained_on, 1e-9);
    again = decided;
    must(tril_options_decide(&again, text, 0, NULL, &error));
    expect_same_options(&again, &decided);
    again = tril_training_options(begin(model, &options));
    assert_near(again.learning_rate, usual_rate("modern"), 0);
    again.learning_rate = NAN; /* as in the decisions: the rung's own */
    expect_same_options(&again, &decided);
    must(tril_model_save(model, scratch("trained"), NULL,
                         &error)); /* learns more gently from then on */
    again = tril_training_options(begin(load("trained"), &options));
    assert_near(again.learning_rate, usual_rate("modern") / 3, 1e-12);
    decided = options;
    decided.epochs = 1;
    must(tril_options_decide(&decided, text, 1, &once, &error));
    assert_true(once <= 1 && (1 - once) * read / epochs < decided.batch * options.context);
    assert_near(decided.learning_rate, usual_rate("modern") / 3, 1e-12);
    decided = options;
    decided.epochs = 1e-6;
    must(tril_options_decide(&decided, text, 0, NULL, &error));
    assert_true(decided.steps == 1);
    assert_near(tril_epochs_that_help(1e6, 0), 16, 0);
    assert_string_equal(tril_precision("f32"), "f32");
    assert_null(tril_precision("f64"));
    assert_true(tril_threads(NAN) >= 1 && tril_threads(1) == 1);
}

/* The options decided by a text's length and the given ones, as computed by hand. */
TEST(decided_by_length) {
    enum { LONGEST = 1600000 };
    static const struct {
        const char *rung;
        size_t length;
        bool trained;
        double context, batch, steps; /* given, or 0 */
        double decided[6];            /* as in `now`; 0: unset */
    } cases[] = {{"bigram", 3000, false, 0, 0, 0, {256, 8, 52, 5}},
                 {"bigram", 3000, false, 0, 0, 1200, {256, 8, 1200, 30}},
                 {"bigram", 30000, false, 0, 0, 1200, {256, 8, 1200, 52}},
                 {"modern", 3000, true, 0, 0, 0, {256, 8, 13, 1, 0.2}},
                 {"modern", LONGEST, false, 0, 0, 0, {256, 8, 2500, 250}},
                 {"modern", LONGEST, false, 0, 0, 50, {256, 8, 50, 7}},
                 {"modern", LONGEST, false, 0, 0, 900, {256, 8, 900, 90}},
                 {"modern", LONGEST, false, 0, 0, 5000, {256, 8, 5000, 500, 0.02}},
                 {"modern", LONGEST, false, 0, 0, 6000, {256, 8, 6000, 600, 0.04}},
                 {"ngram", 12000, false, 0, 0, 0, {256, 8, 210, 21, 0.3}},
                 {"ngram", 14000, false, 64, 0, 0, {64, 8, 984, 98, 0.3}},
                 {"ngram", 50000, false, 0, 0, 0, {256, 8, 878, 87, 0.3}},
                 {"ngram", 100000, false, 0, 0, 0, {512, 4, 1757, 175, 0.21, 2}},
                 {"ngram", 150000, true, 0, 0, 0, {1024, 2, 659, 65, 0.05, 1}},
                 {"ngram", 150000, false, 0, 8, 0, {256, 8, 2500, 250, 0.17}},
                 {"ngram", 150000, false, 300, 0, 0, {300, 7, 2500, 250, 0.17}},
                 {"ngram", 150000, false, 2048, 0, 0, {2048, 2, 1318, 131, 0.17}}};
    char *text = scrap(LONGEST + play_length, 1);
    for (size_t at = 0; at < LONGEST; at += play_length) memcpy(text + at, play, play_length);
    for (int i = 0; i < COUNT(cases); i++) {
        const double *decided = cases[i].decided;
        TrilOptions o = tril_options_empty();
        o.rung = cases[i].rung;
        if (cases[i].context > 0) o.context = cases[i].context;
        if (cases[i].batch > 0) o.batch = cases[i].batch;
        if (cases[i].steps > 0) o.steps = cases[i].steps;
        must(tril_options_decide(&o, text_of(letters, text, cases[i].length, 0.1), cases[i].trained,
                                 NULL, &error));
        const double now[] = {o.context, o.batch, o.steps, o.eval_every, o.dropout, o.kv_heads};
        for (int j = 0; j < COUNT(now); j++)
            if (!(isnan(now[j]) ? decided[j] == 0 : fabs(now[j] - decided[j]) < 1e-9))
                fail_msg("case %d: %d: %g", i, j, now[j]);
    }
}

/* An option that has no effect on a rung, or beside another option, is an error. */
TEST(effects) {
    static const struct {
        const char *rung, *option, *value;
        const char *steps, *time;
        const char *says; /* NULL: it has an effect */
    } cases[] = {{"bigram", "layers", "2", "", "", "bigram"},
                 {NULL, "layers", "2", "", "", NULL},
                 {"gpt", "layers", "2", "", "", NULL},
                 {"head", "heads", "2", "", "", "head"},
                 {"multihead", "heads", "2", "", "", NULL},
                 {"gpt", "kv-heads", "2", "", "", "kv-heads"},
                 {"multihead", "dropout", "0.1", "", "", "multihead"},
                 {"gpt", "dropout", "0", "", "", NULL},
                 {"bigram", "seed", "3", "", "", NULL},
                 {"gpt", "epochs", "2", "", "", NULL},
                 {"gpt", "epochs", "2", "5", "", "steps"},
                 {"gpt", "epochs", "0", "5", "", NULL},
                 {"gpt", "epochs", "2", "5", "3", NULL},
                 {"gpt", "eval-every", "5", "5", "", NULL},
                 {"gpt", "eval-every", "5", "", "3", "time"},
                 {"gtp", "batch", "5", "", "", "'gtp'"}};
    for (int i = 0; i < COUNT(cases); i++) {
        TrilOptions o = tril_options();
        o.rung = cases[i].rung;
        must(tril_options_set(&o, "steps", cases[i].steps, &error));
        must(tril_options_set(&o, "time", cases[i].time, &error));
        must(tril_options_set(&o, cases[i].option, cases[i].value, &error));
        int row = 0;
        while (strcmp(tril_option(row)->name, cases[i].option) != 0) row++;
        const TrilStatus status = tril_option_effect(row, &o, &error);
        if (cases[i].says)
            expect(status, TRIL_ARGUMENT, cases[i].says);
        else if (status != TRIL_OK)
            fail_msg("case %d: %s", i, error.text);
    }
    expect(tril_option_effect(-1, &(TrilOptions){0}, &error), TRIL_ARGUMENT, "-1");
}

/* A time limit chooses only unset options, and gives the reason against larger sizes. */
TEST(choices) {
    const TrilText *text = whole_play;
    TrilChoice choice;
    TrilOptions sizes = few(1, 1);
    sizes.rung = "modern";
    sizes.context = 16;
    sizes.kv_heads = 3; /* more than the two heads of the smallest size */
    sizes.heads = sizes.width = sizes.batch = NAN;
    must(tril_options_check(&sizes, &error));
    TrilOptions options = sizes;
    must(tril_options_choose(&options, text, false, 1e-6, &choice, &error));
    assert_true(options.layers == 4 && options.context == 16 && options.width == 36 &&
                options.heads == 3 && options.batch == 8);
    assert_true(choice.limit == TRIL_LIMIT_TIME && choice.speed > 0 && choice.larger.width == 66);
    options.width = options.heads = options.kv_heads = NAN;
    options.epochs = 0.03; /* a thousand characters */
    must(tril_options_choose(&options, text, false, 1, &choice, &error));
    assert_true(choice.limit == TRIL_LIMIT_TEXT && options.width == 32);
    options.context = 36000;
    expect(tril_options_choose(&options, text, false, 1, &choice, &error), TRIL_TEXT, "");
    options.context = 16;
    expect(tril_options_choose(&options, text, false, NAN, &choice, &error), TRIL_ARGUMENT, "");
    options.context = NAN; /* windows fit a short text */
    must(tril_options_choose(&options, text_of(letters, play, 60, 0.1), false, 1, &choice, &error));
    assert_int_equal(options.context, 32);
    options.width = 1 << 15;
    options.layers = 200;
    options.heads = 7;
    expect(tril_options_check(&options, &error), TRIL_ARGUMENT, "");
    options.rung = "bigram";
    const TrilOptions bigram = tril_options_sizes(&options);
    assert_true(bigram.layers == 1 && bigram.width == 1);
}

static int ask(void *user) {
    int *left = user;
    return --*left < 0;
}

static int ask_once(void *user) {
    bool *said = user, before = *said;
    *said = true;
    return !before;
}

/* A part of a text is evaluated as in its training run; an evaluation ends if it is asked to. */
TEST(evaluations) {
    TrilOptions options = few(STEPS, 1);
    TrilModel *model = make(small("modern"), 1);
    TrilTraining *training = begin(model, &options);
    const TrilText *text = whole_play;
    double in_training, part, some, train_loss;
    int left = 0;
    must(take_steps(training));
    must(tril_training_evaluate(training, 0, NULL, NULL, &in_training, &error));
    must(tril_text_evaluate(text, model, 0, 0, 4, 1, NULL, NULL, &part, &error));
    assert_near(part, in_training, 1e-12);
    assert_near(tril_model_loss(model), in_training, 0);
    must(tril_text_evaluate(text, model, 1, 0, 4, 1, NULL, NULL, &train_loss, &error));
    must(tril_text_evaluate(text, model, 1, play_length / 4, 4, 1, NULL, NULL, &some, &error));
    assert_true(train_loss != part && some != train_loss);
    assert_near(some, train_loss, 0.1);
    expect(tril_text_evaluate(text, model, 1, 0, 4, 1, ask, &left, &part, &error), TRIL_STOPPED,
           "");
    bool said = false; /* it is enough to say so once */
    expect(tril_text_evaluate(text, model, 1, 0, 4, 1, ask_once, &said, &part, &error),
           TRIL_STOPPED, "");
    double lowest = tril_training_progress(training).lowest;
    expect(tril_training_evaluate(training, 0, ask, &left, &part, &error), TRIL_STOPPED, "");
    assert_near(tril_training_progress(training).lowest, lowest, 0);
    must(tril_training_evaluate(training, 0, NULL, NULL, &part, &error));
    assert_near(part, in_training, 0);
    expect(tril_text_evaluate(text, model, 0, 0, 0, 1, NULL, NULL, &part, &error), TRIL_ARGUMENT,
           "");
}

/* Rates that stay high fall early, once, over 60% of 25 steps or at once; then training ends. */
TEST(cool_down) {
    TrilOptions sizes = small("modern"), options = few(100, 1);
    double nats, before;
    for (int lowest = 0; lowest <= 10; lowest += 10) {
        const int steps = lowest ? 26 : 1;
        TrilModel *model = make(sizes, 1);
        TrilTraining *training = begin(model, &options);
        assert_int_equal(tril_training_cool_down(training), 0); /* before the first step */
        for (int i = 0; i < lowest; i++) must(tril_training_step(training, &error));
        must(tril_training_evaluate(training, 0, NULL, NULL, &nats, &error));
        must(tril_training_step(training, &error));
        before = tril_training_progress(training).learning_rate;
        assert_int_equal(tril_training_cool_down(training), 1);
        TrilProgress p = tril_training_progress(training);
        assert_true(p.cooldown_begin == lowest + 1 && p.steps == steps && p.lowest_step == lowest);
        assert_int_equal(tril_training_cool_down(training), 0);
        must(tril_training_save(training, scratch("cooling"), NULL, &error));
        must(tril_training_set_steps(training, 90, &error)); /* no more than it takes to cool */
        assert_int_equal(tril_training_progress(training).steps, steps);
        for (int i = lowest + 1; i < steps; i++) {
            must(tril_training_step(training, &error));
            const double rate = tril_training_progress(training).learning_rate;
            assert_true(rate <= before);
            before = rate;
        }
        expect(tril_training_step(training, &error), TRIL_ARGUMENT, "");
        assert_true(!lowest || before < 0.1 * usual_rate("modern"));
        uint64_t whole = end_of(training, model);
        must(resume(&training, &model, "cooling", whole_play));
        assert_int_equal(tril_training_progress(training).steps, steps);
        assert_int_equal(end_of(training, model), whole);
    }
}

/* A file has its metadata. test_checkpoint has damaged ones. */
TEST(files) {
    TrilState state;
    TrilModel *model = train("gpt", 1), *loaded;
    must(tril_model_save(model, scratch("of.safetensors"), NULL, &error));
    loaded = load("of.safetensors");
    assert_string_equal(tril_model_metadata(loaded, "step"), "30");
    assert_null(tril_model_metadata(loaded, "digest of the moon"));
    assert_null(tril_model_metadata(model, "step"));
    assert_true(tril_tokenizer_same(tril_model_tokenizer(model), tril_model_tokenizer(loaded)));
    /* replaces a file of tril or an empty one, and nothing else */
    TrilOptions options = few(1, 1);
    TrilTraining *training = begin(make(small("gpt"), 1), &options);
    must(tril_model_save(model, scratch_put("of.safetensors", "", 0), NULL, &error));
    must(tril_training_save(training, scratch("of.safetensors"), NULL, &error));
    must(tril_model_save(model, scratch("of.safetensors"), NULL, &error));
    scratch_put("poem", "There is a tide in the affairs of men", 37);
    for (int i = 0; i < 4; i++) { /* test_base has links and others */
        const char *name = i / 2 ? "poem" : "none/model";
        TrilStatus status = i % 2 ? tril_training_save(training, scratch(name), NULL, &error)
                                  : tril_model_save(model, scratch(name), NULL, &error);
        expect(status, TRIL_FILE, name);
    }
    scratch_expect("poem", "There is a tide in the affairs of men", 37);
    expect(tril_model_load(&loaded, scratch("missing"), &error), TRIL_FILE, "missing");
    assert_null(loaded);
    expect(tril_state_load(&loaded, &state, scratch("of.safetensors"), &error), TRIL_FILE, "");
    expect(tril_model_load(&loaded, ACT, &error), TRIL_FILE, ACT);
}

/* ---- texts, and models that learn more characters ---- */

TEST(progress) {
    TrilOptions options = few(STEPS, 1);
    double sum = 0, whole, some, all;
    TrilTraining *training = begin(make(small("gpt"), 1), &options);
    TrilProgress p = tril_training_progress(training);
    assert_true(p.step == 0 && p.steps == STEPS && isnan(p.recent) && isnan(p.lowest));
    for (int i = 0; i < 2; i++)
        must(tril_training_evaluate(training, 0, NULL, NULL, &whole, &error));
    assert_int_equal(tril_training_progress(training).since_lowest, 0); /* nothing was learned */
    must(tril_training_step(training, &error));
    for (int i = 0; i < 2; i++) must(tril_training_evaluate(training, 0, NULL, NULL, &all, &error));
    assert_int_equal(tril_training_progress(training).since_lowest, all < whole ? 1 : 2);
    for (int i = 0; i < 3; i++) {
        must(tril_training_step(training, &error));
        sum += tril_training_progress(training).loss;
    }
    p = tril_training_progress(training);
    assert_near(p.recent, sum / 3, 1e-9);
    assert_true(p.step == 4 && p.lowest == fmin(whole, all) && p.seconds > 0);
    must(tril_training_evaluate(training, 0, NULL, NULL, &whole, &error));
    must(tril_training_evaluate(training, play_length / 10 + 1, NULL, NULL, &all, &error));
    must(tril_training_evaluate(training, play_length / 30, NULL, NULL, &some, &error));
    assert_true(all == whole && some != whole);
    assert_near(some, whole, 0.2);
    assert_int_equal(tril_training_cool_down(training), 0); /* its rates fall all the time */
    assert_true(isnan(tril_training_progress(training).recent));
}

/* The estimate has the parameters of the model, and more memory for a larger one. */
TEST_OF_EACH(tril_rung, estimates) {
    const int V = letters->size;
    TrilOptions options = small(name);
    options.batch = options.threads = 1;
    options.precision = "f32";
    size_t parameters;
    double bytes, larger;
    must(tril_estimate(&options, V, &parameters, &bytes, &error));
    TrilModel *model = make(options, 1);
    int counted = 0, j = 0;
    for (TrilTensor w; tril_model_tensor(model, j, &w); j++) counted += w.rows * w.columns;
    assert_int_equal(parameters, counted);
    const double used = tril_training_memory(begin(model, &options));
    assert_true(used >= bytes && bytes >= 4.0 * 4 * counted);
    if (strcmp(name, "ngram") != 0) assert_true(used == bytes); /* it has counts, too */
    options.width = options.batch = 64;
    must(tril_estimate(&options, V, &parameters, &larger, &error));
    assert_true(larger > bytes);
}

/* A model learns the characters of another text as ./train --init lets it. */
TEST_OF_EACH(tril_rung, more_characters) {
    static const char other[] = "für Elise, über Wörter; ";
    char text[40 * sizeof other] = "";
    for (int i = 0; i < 40; i++) strcat(text, other);
    scratch_put("other.txt", text, strlen(text));
    TrilOptions options = few(5, 1);
    TrilModel *model = train(name, 1), *extended, *same;
    must(tril_model_save(model, scratch("known.safetensors"), NULL, &error));
    must_run("train -q --init @known.safetensors -j 1 -b 4 -s 5 --precision f32 --patience 1 "
             "-o @init @other.txt");
    TrilText *more;
    expect(tril_text_make(&more, letters, text, strlen(text), 0.1, &error), TRIL_TEXT, "'ü'");
    must(tril_model_extend(&extended, model, text, strlen(text), options.seed, &error));
    at_end(release_model, extended);
    more = text_of(tril_model_tokenizer(extended), text, strlen(text), 0.1);
    assert_int_equal(tril_model_tokenizer(extended)->size, tril_model_tokenizer(model)->size + 2);
    assert_int_equal(end_of(begin_on(extended, more, &options), extended),
                     digest_of("init/state.safetensors"));
    /* without new characters it is a copy */
    must(tril_model_extend(&same, model, "the", 3, 1, &error));
    at_end(release_model, same);
    must(tril_model_save(same, scratch("same.safetensors"), NULL, &error));
    scratch_expect_same("known.safetensors", "same.safetensors");
}

/* ---- tokenizers and readings ---- */

/* Tokenizers with other characters or with bytes are others. */
TEST(same_tokenizers) {
    const TrilTokenizer *all[] = {tokenizer_of("ab\n"), tokenizer_of("ac\n"), tokenizer_of("abc\n"),
                                  tokenizer_of(NULL)};
    for (int i = 0; i < COUNT(all); i++)
        for (int j = 0; j < COUNT(all); j++)
            assert_int_equal(tril_tokenizer_same(all[i], all[j]), i == j);
    assert_true(tril_tokenizer_same(all[0], tokenizer_of("\nba")));
}

TEST(tokenizers) {
    static const char text[] = "naïve 中 text\n";
    const TrilTokenizer *tokenizer = tokenizer_of(text), *bytes = tokenizer_of(NULL);
    int32_t ids[sizeof text];
    char back[sizeof text];
    size_t ids_count, length;
    assert_int_equal(bytes->size, 256);
    for (int i = 0; i < 2; i++) {
        const TrilTokenizer *each = i ? bytes : tokenizer;
        must(tril_encode(each, text, strlen(text), ids, sizeof text, &ids_count, &error));
        must(tril_decode(each, ids, ids_count, back, sizeof back, &length, &error));
        assert_int_equal(length, strlen(text));
        assert_memory_equal(back, text, length);
        expect(tril_decode(each, ids, ids_count, back, length - 1, &length, &error), TRIL_ARGUMENT,
               "");
        assert_int_equal(length, strlen(text));
        must(tril_encode(each, text, strlen(text), NULL, 0, &length, &error));
        assert_int_equal(length, ids_count);
        expect(tril_encode(each, text, strlen(text), ids, ids_count - 1, &length, &error),
               TRIL_ARGUMENT, "");
        assert_int_equal(length, ids_count);
        ids[1] = each->size;
        expect(tril_decode(each, ids, 2, back, sizeof back, &length, &error), TRIL_ARGUMENT, "");
        assert_int_equal(each->bytes, i);
    }
    assert_int_equal(tril_encode(tokenizer, "Z", 1, ids, 1, &ids_count, &error), TRIL_TEXT);
    assert_non_null(strstr(error.text, "'Z'"));
}

/* Returns true for a rung that was added to those of the project: it may have no maps. */
static bool is_added(const char *rung) {
    int i = 0, last = 0;
    while (strcmp(tril_rung(last), "ngram") != 0) last++;
    while (strcmp(tril_rung(i), rung) != 0) i++;
    return i > last;
}

TEST_OF_EACH(tril_rung, readings) {
    static const char text[] = "THE FOREST";
    enum { T = sizeof text - 1 };
    TrilModel *model = train(name, 1);
    const bool bigram = strcmp(name, "bigram") == 0;
    const bool one = strcmp(name, "average") == 0 || strcmp(name, "head") == 0;
    double nats;
    float weights[T * T];
    const TrilReading *reading = read_with(model, text, T, 0, 1);
    must(loss_on(model, text, T, &nats));
    assert_int_equal(reading->tokens, T);
    assert_near(reading->loss, nats, 1e-5);
    size_t counted;
    const int order = tril_model_counted(model, &counted);
    assert_int_equal(order > 0, strcmp(name, "ngram") == 0);
    assert_int_equal(counted, order > 0 ? whole_play->trained_on : 0);
    assert_int_equal(tril_reading_match(reading, 0), order > 0); /* T is in the play */
    if (!is_added(name)) {
        assert_int_equal(reading->layers, !bigram);
        assert_int_equal(reading->heads, bigram ? 0 : one ? 1 : 2);
    }
    for (int head = 0; head < reading->heads; head++) /* test_lines has their numbers */
        must(tril_reading_attention(reading, 0, head, weights, T * T, &error));
    expect(tril_reading_attention(reading, reading->layers, 0, weights, T * T, &error),
           TRIL_ARGUMENT, "");
    expect(tril_reading_attention(reading, 0, -1, weights, T * T, &error), TRIL_ARGUMENT, "");
    expect(tril_reading_attention(reading, 0, 0, weights, T * T - 1, &error), TRIL_ARGUMENT, "");
    assert_true(isnan(read_with(model, "", 0, 0, 1)->loss));
}

/* ---- options ---- */

/* Usual and absurd values: no call reaches an assertion of the layers below with any of them. */
static const double real[] = {-INFINITY, INT_MIN, -1,      -0.0,  1e-300,   1.5,
                              1,         3,       INT_MAX, 1e300, INFINITY, NAN};
static const int whole[] = {INT_MIN, -1, 0, 1, 3, INT_MAX};
static const char *const unknown[] = {"", "nonsense"};

/* Gives an option its value j of these. Returns false beyond the last; *wrong if the option does
 * not allow the value. */
static bool give(TrilOptions *options, const TrilOption *row, int j, bool *wrong) {
    char *member = (char *)options + row->member;
    if (row->kind > TRIL_NAME || j >= (row->kind == TRIL_NAME ? COUNT(unknown) : COUNT(real)))
        return false;
    const double x = real[j];
    const bool fits = x >= row->min && x <= row->max && (row->kind != TRIL_WHOLE || x == floor(x));
    *wrong = row->kind == TRIL_NAME || !(fits || isnan(x)); /* NAN: unset */
    if (row->kind == TRIL_NAME)
        memcpy(member, &unknown[j], sizeof *unknown);
    else
        memcpy(member, &x, sizeof x);
    return true;
}

/* Every call that reads options names a wrong one. */
static void expect_wrong(const TrilOptions *options, const TrilOption *row, TrilModel *model,
                         TrilModel *saved) {
    enum { CALLS = 7 };
    TrilOptions decided = *options, chosen = *options;
    size_t parameters;
    double bytes;
    TrilChoice choice;
    TrilModel *made;
    TrilTraining *training;
    TrilError errors[CALLS];
    const TrilStatus results[CALLS] = {
        tril_options_check(options, &errors[0]),
        tril_options_decide(&decided, whole_play, false, NULL, &errors[1]),
        tril_options_choose(&chosen, whole_play, false, 1, &choice, &errors[2]),
        tril_estimate(options, 10, &parameters, &bytes, &errors[3]),
        tril_model_make(&made, letters, options, &errors[4]),
        tril_training_open(&training, saved, whole_play, options, &errors[5]),
        tril_training_open(&training, model, whole_play, options, &errors[6])};
    for (int i = 0; i < CALLS; i++) {
        assert_int_equal(results[i], TRIL_ARGUMENT);
        expect_message(errors[i].text, sizeof errors[i].text, NULL, TEXTS(row->name));
    }
}

static void try_training(TrilModel *model, const TrilOptions *options) {
    TrilTraining *training;
    size_t parameters;
    double bytes, nats;
    tril_estimate(options, 65, &parameters, &bytes, &error);
    if (tril_training_open(&training, model, whole_play, options, &error) != TRIL_OK) return;
    for (int i = 0; i < COUNT(whole); i++) tril_training_set_steps(training, whole[i], &error);
    tril_training_evaluate(training, SIZE_MAX, NULL, NULL, &nats, &error);
    tril_training_step(training, &error);
    tril_training_close(training);
}

TEST(any_option) {
    const TrilOptions usual = few(2, 1);
    TrilModel *model = make(small("modern"), 1);
    must(tril_training_save(begin(make(small("modern"), 1), &usual), scratch("named"), NULL,
                            &error));
    TrilState state;
    TrilModel *saved = state_of("named", &state);
    for (int i = 0; tril_option(i); i++) {
        TrilOptions options = usual;
        bool wrong;
        for (int j = 0; give(&options, tril_option(i), j, &wrong); j++)
            if (wrong)
                expect_wrong(&options, tril_option(i), model, saved);
            else
                try_training(model, &options);
    }
}

/* A model with a size is made, or the error names the value. */
TEST_OF_EACH(tril_rung, any_size) {
    static const TrilOption hidden = {"hidden", /* no option of the table */
                                      .kind = TRIL_WHOLE, .on_resume = TRIL_MODEL,
                                      .member = offsetof(TrilOptions, hidden)};
    for (int i = -1; i < 0 || tril_option(i); i++) {
        TrilOptions sizes = small(name);
        size_t parameters;
        double bytes;
        TrilModel *model;
        bool wrong;
        const TrilOption *row = i < 0 ? &hidden : tril_option(i);
        if (row->kind != TRIL_WHOLE || row->on_resume != TRIL_MODEL) continue;
        for (int j = 0; give(&sizes, row, j, &wrong); j++) {
            tril_estimate(&sizes, 65, &parameters, &bytes, &error);
            tril_options_sizes(&sizes);
            const TrilStatus status = tril_model_make(&model, letters, &sizes, &error);
            assert_int_equal(status, model ? TRIL_OK : TRIL_ARGUMENT);
            if (isnan(real[j]) && row->standard && tril_rung_uses(name, i)) assert_null(model);
            if (!model && !isnan(real[j]))
                expect_message(error.text, sizeof error.text, NULL,
                               TEXTS(formatted("%.10g", real[j])));
            tril_model_free(model);
        }
    }
}

/* ---- an object in use ---- */

typedef struct {
    TrilTraining *training;
    TrilModel *model;
    TrilText *text;
    TrilStatus read; /* of a call that only reads the model */
    int calls;
} Beside;

/* Called back while the model is in use: no call may change it. */
static int try_beside(void *user) {
    Beside *b = user;
    const TrilSampling sampling = tril_sampling();
    const TrilOptions options = few(1, 1);
    TrilTraining *other;
    TrilModel *extended;
    TrilReading *reading;
    TrilWriter *writer;
    TrilScore score;
    double nats;
    const char *path = scratch("beside");
    assert_int_equal(tril_training_step(b->training, &error), TRIL_BUSY);
    expect_error(error, "in use");
    const TrilStatus changing[] = {
        tril_training_evaluate(b->training, 0, NULL, NULL, &nats, &error),
        tril_training_save(b->training, path, NULL, &error),
        tril_training_set_steps(b->training, 9, &error),
        tril_training_profile(b->training, &error),
        tril_training_open(&other, b->model, b->text, &options, &error),
    };
    const TrilStatus reads[] = {
        tril_model_save(b->model, path, NULL, &error),
        tril_score(b->model, "THE", 3, "f32", 0, &score, &error),
        tril_text_evaluate(b->text, b->model, false, 99, 1, 1, NULL, NULL, &nats, &error),
        tril_reading_open(&reading, b->model, "THE", 3, false, 1, &error),
        tril_writer_open(&writer, b->model, &sampling, &error),
        tril_model_extend(&extended, b->model, "Z", 1, 1, &error),
    };
    for (size_t i = 0; i < sizeof changing / sizeof *changing; i++)
        if (changing[i] != TRIL_BUSY) fail_msg("call %zu: status %d", i, (int)changing[i]);
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++)
        if (reads[i] != b->read) fail_msg("reading call %zu: status %d", i, (int)reads[i]);
    assert_false(tril_training_cool_down(b->training));
    tril_reading_close(reading);
    tril_writer_close(writer);
    tril_model_free(extended);
    b->calls++;
    return 1;
}

static int try_beside_text(size_t number, const char *text, size_t length, bool ended, void *user) {
    (void)number, (void)text, (void)length, (void)ended;
    return try_beside(user);
}

TEST(in_use) {
    const TrilOptions options = few(3, 1);
    const TrilSampling sampling = tril_sampling();
    TrilWriter *writer;
    char one[4];
    double nats;
    TrilModel *model = make(small("gpt"), 1);
    TrilText *text = text_of(letters, play, play_length, 0.1);
    Beside b = {begin_on(model, text, &options), model, text, TRIL_BUSY, 0};
    expect(tril_training_evaluate(b.training, 0, try_beside, &b, &nats, &error), TRIL_STOPPED, "");
    b.read = TRIL_OK;
    expect(tril_generate(model, "", 0, &sampling, 1, try_beside_text, &b, &error), TRIL_STOPPED,
           "");
    assert_int_equal(b.calls, 2);
    must(take_steps(b.training)); /* nothing stays in use */
    must(tril_writer_open(&writer, model, &sampling, &error));
    must(tril_writer_append(writer, "THE", 3, &error));
    assert_true(tril_writer_write(writer, one) > 0);
    tril_writer_close(writer);
}

/* The number of the pointer that is NULL, from 0, and of those before the next one. */
static int null_at, pointers;

static bool is_next_null(void) {
    return pointers++ == null_at;
}

/* Calls a function once for each of its `count` NEEDED pointers, and once for its error, which is
 * then NULL. If its first one is to get a new object, the object is NULL. */
#define NEEDED(pointer) (is_next_null() ? NULL : (pointer))
#define WITHOUT(count, call)                                                \
    for (int made = null_at = 0, told = 0; null_at <= (count); null_at++) { \
        *(void **)any = any;                                                \
        *error.text = 0;                                                    \
        pointers = 0;                                                       \
        assert_int_equal(call, TRIL_ARGUMENT);                              \
        assert_int_equal(pointers, (count) + 1);                            \
        told += *error.text != 0;                                           \
        if (*error.text) expect_error(error, "NULL");                       \
        assert_true(told >= null_at);                                       \
        made += *(void **)any != NULL;                                      \
        if (strstr(#call, "(NEEDED(any)")) assert_true(made <= 1);          \
    }

/* No argument may be NULL but those of which tril.h says so. */
TEST(null_arguments) {
    TrilModel *model = train("gpt", 1);
    TrilOptions options = few(1, 1);
    TrilSampling sampling = tril_sampling();
    const TrilReading *reading = read_with(model, "ab", 2, 1, 1);
    TrilTraining *training = begin(model, &options);
    TrilWriter *writer = write_with(model, &sampling), *other;
    const char *texts[] = {"a", "b"}, *path = scratch("state");
    const size_t lengths[] = {1, 1};
    double share = 0.1;
    void *any = scrap(1, sizeof(TrilChoice)); /* of whatever the function gets or sets */
    must(tril_training_save(training, path, NULL, &error));
    TrilState state;
    WITHOUT(1, tril_tokenizer_make(NEEDED(any), "a", 1, NEEDED(&error)));
    WITHOUT(3, tril_encode(NEEDED(letters), NEEDED("a"), 1, NULL, 0, NEEDED(any), NEEDED(&error)));
    WITHOUT(4, tril_decode(NEEDED(letters), NEEDED(any), 1, NEEDED(any), 8, NEEDED(any),
                           NEEDED(&error)));
    WITHOUT(6, tril_text_join(NEEDED(texts), NEEDED(lengths), 2, 0, NEEDED(&share), NEEDED(any),
                              NEEDED(any), NEEDED(any), NEEDED(&error)));
    WITHOUT(3, tril_text_make(NEEDED(any), NEEDED(letters), NEEDED("a"), 1, 0.1, NEEDED(&error)));
    WITHOUT(2, tril_text_repeated(NEEDED(whole_play), NEEDED(any), NEEDED(&error)));
    WITHOUT(3, tril_text_copied(NEEDED(whole_play), NEEDED(any), 0, NEEDED(any), NEEDED(&error)));
    WITHOUT(2, tril_text_count(NEEDED(whole_play), 8, NEEDED(any), NEEDED(&error)));
    WITHOUT(3, tril_options_set(NEEDED(&options), NEEDED("lr"), NEEDED("1"), NEEDED(&error)));
    WITHOUT(1, tril_options_check(NEEDED(&options), NEEDED(&error)));
    WITHOUT(1, tril_option_effect(0, NEEDED(&options), NEEDED(&error)));
    WITHOUT(3, tril_model_make(NEEDED(any), NEEDED(letters), NEEDED(&options), NEEDED(&error)));
    WITHOUT(2, tril_model_load(NEEDED(any), NEEDED(path), NEEDED(&error)));
    WITHOUT(3, tril_model_extend(NEEDED(any), NEEDED(model), NEEDED("a"), 1, 1, NEEDED(&error)));
    WITHOUT(2, tril_model_save(NEEDED(model), NEEDED(path), NULL, NEEDED(&error)));
    WITHOUT(3, tril_options_choose(NEEDED(&options), NEEDED(whole_play), false, 1, NEEDED(any),
                                   NEEDED(&error)));
    WITHOUT(2, tril_options_decide(NEEDED(&options), NEEDED(whole_play), 0, NULL, NEEDED(&error)));
    WITHOUT(3, tril_estimate(NEEDED(&options), 65, NEEDED(any), NEEDED(any), NEEDED(&error)));
    WITHOUT(4, tril_training_open(NEEDED(any), NEEDED(model), NEEDED(whole_play), NEEDED(&options),
                                  NEEDED(&error)));
    WITHOUT(1, tril_training_set_steps(NEEDED(training), 1, NEEDED(&error)));
    WITHOUT(1, tril_training_step(NEEDED(training), NEEDED(&error)));
    WITHOUT(2,
            tril_training_evaluate(NEEDED(training), 0, NULL, NULL, NEEDED(any), NEEDED(&error)));
    WITHOUT(1, tril_training_profile(NEEDED(training), NEEDED(&error)));
    WITHOUT(2, tril_training_save(NEEDED(training), NEEDED(path), NULL, NEEDED(&error)));
    WITHOUT(3, tril_state_load(NEEDED(any), NEEDED(&state), NEEDED(path), NEEDED(&error)));
    WITHOUT(3, tril_text_evaluate(NEEDED(whole_play), NEEDED(model), 0, 0, 4, 1, NULL, NULL,
                                  NEEDED(any), NEEDED(&error)));
    WITHOUT(3, tril_score(NEEDED(model), NEEDED("ab"), 2, "f32", 0, NEEDED(any), NEEDED(&error)));
    WITHOUT(3,
            tril_reading_open(NEEDED(any), NEEDED(model), NEEDED("ab"), 2, 0, 0, NEEDED(&error)));
    WITHOUT(2, tril_reading_attention(NEEDED(reading), 0, 0, NEEDED(any), 4, NEEDED(&error)));
    WITHOUT(4, tril_generate(NEEDED(model), NEEDED("a"), 1, NEEDED(&sampling), 2,
                             NEEDED(write_several), NULL, NEEDED(&error)));
    WITHOUT(3, tril_writer_open(NEEDED(any), NEEDED(model), NEEDED(&sampling), NEEDED(&error)));
    WITHOUT(2, tril_writer_set(NEEDED(writer), NEEDED(&sampling), NEEDED(&error)));
    WITHOUT(2, tril_writer_append(NEEDED(writer), NEEDED("a"), 1, NEEDED(&error)));
    WITHOUT(3, tril_probabilities(NEEDED(&sampling), NEEDED(any), 4, NEEDED(any), NEEDED(&error)));
    sampling.precision = NULL;
    expect(tril_writer_open(&other, model, &sampling, &error), TRIL_ARGUMENT, "precision");
}

TEST(wrong_calls) {
    TrilModel *model = train("gpt", 1);
    TrilReading *reading;
    TrilSampling sampling = tril_sampling();
    TrilScore score;
    static Several several;
    several = (Several){.most = 1};
    double nats;
    expect(loss_on(model, "", 0, &nats), TRIL_TEXT, "empty");
    expect(loss_on(model, "a", 1, &nats), TRIL_TEXT, "");
    expect(tril_score(model, "ab", 2, "f32", -1, &score, &error), TRIL_ARGUMENT, "");
    expect(tril_reading_open(&reading, model, "§", 2, 0, 0, &error), TRIL_TEXT, "§");
    expect(tril_generate(model, "§", 2, &sampling, 2, write_several, &several, &error), TRIL_TEXT,
           "§");
    expect(tril_generate(model, "", 0, &sampling, 3, write_several, &several, &error), TRIL_STOPPED,
           " 1 ");
    sampling.length = 0;
    must(tril_generate(model, NULL, 0, &sampling, 3, write_several, &several, &error));
    must(tril_writer_append(write_with(model, &sampling), NULL, 0, &error));
    sampling.length = 500;
    assert_int_equal(several.parts, 1);
    const struct {
        TrilSampling sampling;
        const char *words;
    } wrong[] = {{{3, NULL, -1, 0, 1, 1, 1, "f32", 1}, "temperature"},
                 {{3, NULL, 1, 0, NAN, 1, 1, "f32", 1}, "top_p"},
                 {{3, NULL, 1, -1, 1, 1, 1, "f32", 1}, "top_k"},
                 {{3, NULL, 1, 0, 1, 2, 1, "f32", 1}, "counts"},
                 {{3, NULL, 1, 0, 1, 0.5, 1, "f32", 1}, "gpt"}, /* which counts nothing */
                 {{3, NULL, 1, 0, 1, 1, 1, "auto", 1}, "precision"}};
    for (int i = 0; i < 6; i++)
        expect(tril_generate(model, "", 0, &wrong[i].sampling, 1, write_several, &several, &error),
               TRIL_ARGUMENT, wrong[i].words);
    for (int i = 0; i < COUNT(unknown); i++) {
        sampling.precision = unknown[i];
        expect(tril_options_set(&(TrilOptions){0}, "preset", unknown[i], &error), TRIL_ARGUMENT,
               "preset");
        expect(tril_generate(model, "", 0, &sampling, 1, write_several, &several, &error),
               TRIL_ARGUMENT, "precision");
        expect(tril_score(model, "THE", 3, unknown[i], 0, &score, &error), TRIL_ARGUMENT,
               "precision");
    }
    sampling = tril_sampling();
    expect(tril_probabilities(&sampling, (float[]){0}, 0, &nats, &error), TRIL_ARGUMENT, " 0");
    sampling.temperature = -1;
    expect(tril_probabilities(&sampling, (float[]){0}, 1, &nats, &error), TRIL_ARGUMENT, "-1");
    TrilTensor tensor;
    assert_int_equal(tril_model_tensor(model, -1, &tensor), 0);
    assert_null(tril_rung(-1));
    assert_null(tril_rung_idea(99));
    tril_model_free(NULL);
    tril_tokenizer_free(NULL);
    tril_training_close(NULL);
    tril_reading_close(NULL);
    tril_writer_close(NULL);
    tril_text_free(NULL);
}

/* Texts with other ids, too short for the model, or with another share held out. */
TEST(wrong_texts) {
    TrilModel *model = train("gpt", 1), *other;
    TrilOptions options = few(3, 1);
    TrilTraining *training;
    const TrilTokenizer *own = tril_model_tokenizer(model);
    TrilText *text = text_of(own, play, play_length, 0.2);
    training = begin_on(make(small("gpt"), 1), text, &options);
    assert_near(tril_training_options(training).held_out, 0.2, 1e-4);
    must(tril_training_save(training, scratch("fifth"), NULL, &error));
    expect(tril_training_set_steps(training, 0, &error), TRIL_ARGUMENT, "");
    expect(resume(&training, &other, "fifth", whole_play), TRIL_TEXT, "");
    text = text_of(tokenizer_of(NULL), play, play_length, 0.1);
    expect(tril_training_open(&training, model, text, &options, &error), TRIL_TEXT, "");
    expect(resume(&training, &other, "fifth", text), TRIL_TEXT, "");
    text = text_of(own, play, 17, 0.1);
    expect(tril_training_open(&training, model, text, &options, &error), TRIL_TEXT, "");
    const char *texts[] = {"one", "\xff"};
    const size_t lengths[] = {3, 1};
    char both[8];
    size_t size;
    int which;
    double share = 0.1;
    expect(tril_text_join(texts, lengths, 2, 0, &share, both, &size, &which, &error), TRIL_TEXT,
           "0xFF");
    share = 1;
    expect(tril_text_join(texts, lengths, 1, 0, &share, both, &size, &which, &error), TRIL_ARGUMENT,
           "1");
    int32_t longest, beyond = INT32_MAX;
    expect(tril_text_copied(whole_play, &beyond, 1, &longest, &error), TRIL_ARGUMENT, "id ");
    expect(tril_text_make(&text, own, "§§§§§§§§§§", 20, 0.5, &error), TRIL_TEXT, "");
    expect(tril_text_make(&text, own, play, play_length, NAN, &error), TRIL_ARGUMENT, "");
    assert_null(text);
    expect(tril_model_extend(&other, model, "\xff", 1, 1, &error), TRIL_TEXT, "UTF-8");
    TrilTokenizer *tokenizer;
    expect(tril_tokenizer_make(&tokenizer, "\xEF\xBB\xBF", 3, &error), TRIL_TEXT, "empty");
    assert_null(tokenizer);
    expect(tril_tokenizer_make(&tokenizer, "a\0b", 3, &error), TRIL_TEXT, "0x00");
    assert_null(other);
    TrilOptions sizes = small("gpt");
    size_t parameters;
    double bytes;
    expect(tril_estimate(&sizes, 0, &parameters, &bytes, &error), TRIL_ARGUMENT, "");
    sizes.rung = NULL;
    expect(tril_model_make(&other, letters, &sizes, &error), TRIL_ARGUMENT, "model");
    assert_null(other);
}

/* Writes, and computes the probability of each character, also after logits that are no numbers. */
static void try_sampling(const TrilModel *model, bool broken, const TrilSampling *sampling) {
    enum { SIZE = 5 };
    const float logits[] = {0, INFINITY, NAN, -INFINITY, 1};
    double p[SIZE];
    char text[4];
    TrilWriter *writer;
    for (int size = -1; size <= SIZE; size++) tril_probabilities(sampling, logits, size, p, &error);
    if (tril_writer_open(&writer, model, sampling, &error) != TRIL_OK) return;
    for (int i = 0; i < 20; i++) assert_true((tril_writer_write(writer, text) > 0) == !broken);
    tril_writer_close(writer);
}

TEST(wrong_numbers_of_texts) {
    TrilModel *model = train("gpt", 1);
    TrilTensor tensor;
    float weights[16];
    for (int broken = 0; broken < 2; broken++) {
        for (int i = 0; i < COUNT(whole); i++) {
            TrilSampling sampling = tril_sampling(), threads = tril_sampling();
            sampling.top_k = threads.threads = whole[i];
            sampling.precision = precisions[i % 2];
            try_sampling(model, broken, &sampling);
            try_sampling(model, broken, &threads);
        }
        for (int i = 0; i < COUNT(real); i++) {
            TrilSampling warm = tril_sampling(), top = tril_sampling();
            warm.temperature = top.top_p = real[i];
            try_sampling(model, broken, &warm);
            try_sampling(model, broken, &top);
        }
        if (broken) break;
        const TrilReading *reading = read_with(model, "THE", 3, 1, 1);
        for (int i = 0; i < COUNT(whole); i++) {
            TrilLine line;
            tril_reading_line(reading, whole[i], &line);
            for (int j = 0; j < COUNT(whole); j++)
                tril_reading_attention(reading, whole[i], whole[j], weights, 16, &error);
        }
        /* the same with weights that are not numbers */
        for (int i = 0; tril_model_tensor(model, i, &tensor); i++) tensor.data[0] = NAN;
    }
}

/* ---- too little memory ---- */

/* The calls of a program, up to the first failure. Sets *results to a digest of their results. */
static TrilStatus use_all(uint64_t *results) {
    const TrilOptions sizes = small("ngram"), options = few(1, 1);
    TrilSampling sampling = tril_sampling();
    TrilTokenizer *tokenizer = NULL;
    TrilModel *model = NULL, *again = NULL, *loaded = NULL, *extended = NULL;
    TrilText *text = NULL;
    TrilTraining *training = NULL, *resumed = NULL;
    TrilState state;
    const TrilMetadata notes[] = {{"a", "b"}, {NULL, NULL}};
    TrilReading *reading = NULL;
    TrilWriter *writer = NULL;
    TrilCounts counts;
    size_t parameters;
    double bytes;
    Written written = {.length = 0};
    static Several several;
    double nats[2];
    several = (Several){.ended = 0};
    sampling.length = 3;
    TrilStatus s = tril_tokenizer_make(&tokenizer, play, 2000, &error);
    if (!s) s = tril_model_make(&model, tokenizer, &sizes, &error);
    if (!s) s = tril_estimate(&sizes, tokenizer->size, &parameters, &bytes, &error);
    if (!s) s = tril_text_make(&text, tokenizer, play, 2000, 0.1, &error);
    if (!s) s = tril_text_count(text, 8, &counts, &error);
    if (!s) s = tril_training_open(&training, model, text, &options, &error);
    if (!s) s = tril_training_step(training, &error);
    if (!s) s = tril_training_evaluate(training, 0, NULL, NULL, &nats[0], &error);
    if (!s) s = tril_training_save(training, scratch("state.safetensors"), notes, &error);
    if (!s) s = tril_model_save(model, scratch("memory.safetensors"), NULL, &error);
    if (!s) s = tril_state_load(&again, &state, scratch("state.safetensors"), &error);
    if (!s) s = tril_training_open(&resumed, again, text, &state.options, &error);
    if (!s) s = tril_training_profile(resumed, &error);
    if (!s) s = tril_model_load(&loaded, scratch("memory.safetensors"), &error);
    if (!s) s = loss_on(loaded, play, 20, &nats[1]);
    if (!s) s = tril_reading_open(&reading, loaded, play, 20, 1, 1, &error);
    if (!s) s = tril_generate(loaded, play, 5, &sampling, 2, write_several, &several, &error);
    if (!s) s = tril_generate(again, play, 5, &sampling, 1, write_one, &written, &error);
    if (!s) s = tril_writer_open(&writer, loaded, &sampling, &error);
    if (!s) s = tril_writer_append(writer, play, 5, &error);
    if (!s) s = tril_model_extend(&extended, loaded, "Änderung", 9, 1, &error);
    for (size_t i = 0; i < several.ended; i++)
        write_down(several.texts[i].text, several.texts[i].length, &written);
    if (!s)
        *results = tril_model_digest(extended) ^ digest_bytes(written.text, written.length) ^
                   digest_bytes(nats, sizeof nats) ^
                   digest_bytes(&counts.ngram, sizeof counts.ngram);
    tril_writer_close(writer);
    tril_reading_close(reading);
    tril_training_close(resumed);
    tril_training_close(training);
    tril_text_free(text);
    tril_model_free(extended);
    tril_model_free(loaded);
    tril_model_free(again);
    tril_model_free(model);
    tril_tokenizer_free(tokenizer);
    return s;
}

/* Each request for memory fails in turn: an error, and under the sanitizers no leak. One that is
 * not needed may fail unnoticed, and changes nothing. */
TEST(memory) {
    const size_t small = 8 << 20;
    int n = 0, unnoticed = 0;
    uint64_t expected, results;
    skip_without(FAULTY_MEMORY);
    must(use_all(&expected));
    const size_t peak = memory_peak();
    for (bool failed = true; failed; n++) {
        requests = 0;
        fails_at = n + 1;
        TrilStatus status = use_all(&results);
        fails_at = 0;
        failed = requests > n;
        if (status != TRIL_OK) assert_int_equal(status, TRIL_NO_MEMORY);
        if (status == TRIL_OK) assert_true(results == expected);
        unnoticed += status == TRIL_OK && failed;
    }
    if (!SANITIZED) assert_in_range(memory_peak(), 0, peak + small); /* all of it is freed */
    if (n < 100 || unnoticed > 5) fail_msg("%d of %d were unnoticed", unnoticed, n);
}

/* ---- threads ---- */

typedef struct {
    const char *rung;
    char path[SCRATCH_PATH];
    uint64_t digest;
    Written written;
} Worker;

static void *work(void *own) {
    Worker *worker = own;
    TrilModel *model = train(worker->rung, 2);
    TrilSampling sampling = tril_sampling();
    sampling.length = 200;
    for (int i = 0; i < 20; i++) must(tril_model_save(model, worker->path, NULL, &error));
    must(tril_generate(model, "", 0, &sampling, 1, write_one, &worker->written, &error));
    worker->digest = tril_model_digest(model);
    return NULL;
}

/* Models in threads of their own are as if each were alone. */
TEST(threads) {
    static const char *const rungs[] = {"gpt", "modern"};
    Worker together[2], alone[2];
    pthread_t threads[2];
    for (int i = 0; i < 2; i++) {
        together[i] = alone[i] = (Worker){.rung = rungs[i]};
        strcpy(together[i].path, scratch(rungs[i]));
        strcpy(alone[i].path, scratch("alone"));
    }
    for (int i = 0; i < 2; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, work, &together[i]), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(pthread_join(threads[i], NULL), 0);
    for (int i = 0; i < 2; i++) {
        work(&alone[i]);
        scratch_expect_same("alone", rungs[i]);
        assert_int_equal(together[i].digest, alone[i].digest);
        assert_string_equal(together[i].written.text, alone[i].written.text);
    }
}

/* Evaluates until the training has ended. */
static void *evaluate_meanwhile(void *training) {
    TrilError own;
    double nats;
    while (tril_training_progress(training).step < 300) {
        const TrilStatus status = tril_training_evaluate(training, 64, NULL, NULL, &nats, &own);
        if (status != TRIL_OK && status != TRIL_BUSY) return training;
    }
    return NULL;
}

/* Two threads use one training run: each call succeeds or fails with TRIL_BUSY, and the weights are
 * those of one thread. */
TEST(one_training) {
    TrilOptions options = few(300, 2);
    TrilModel *model = make(small("gpt"), 1), *alone = make(small("gpt"), 1);
    TrilTraining *training = begin(model, &options);
    pthread_t other;
    void *wrong;
    must(take_steps(begin(alone, &options)));
    assert_int_equal(pthread_create(&other, NULL, evaluate_meanwhile, training), 0);
    while (tril_training_progress(training).step < 300) {
        const TrilStatus status = tril_training_step(training, &error);
        if (status != TRIL_OK) assert_int_equal(status, TRIL_BUSY);
    }
    assert_int_equal(pthread_join(other, &wrong), 0);
    assert_null(wrong);
    assert_int_equal(tril_model_digest(model), tril_model_digest(alone));
}
