/* test_lists.c - lists (--lines): each line is learned, predicted and written by itself. */
#include "tests/state.h"
#include "tests/table.h"

FIXTURE(scratch_open, scratch_close)

#define ANY   "-c 8 -b 10 --precision f32 --patience 1 "
#define TINY  "-l 1 -H 2 -w 16 " ANY
#define PAIRS "-m bigram " ANY

/* Writes the words of the play as a list of this name, the last line without its newline. Returns
 * the list; some words are longer than a context of 8. */
static char *put_words(const char *name, size_t *length) {
    char *words = slurp(ACT, length), *to = words;
    for (char *c = words; *c; c++)
        if (*c != ' ' && *c != '\n')
            *to++ = *c;
        else if (to > words && to[-1] != '\n')
            *to++ = '\n';
    while (to > words && to[-1] == '\n') to--;
    *to = 0;
    *length = (size_t)(to - words);
    scratch_put(name, words, *length);
    return words;
}

/* ---- windows ---- */

/* Windows lie end to end, begin after a newline or where the one before was full, and predict all
 * characters but the first. An epoch has each of them once, and any processes share a batch. */
TEST(windows) {
    enum { AT_MOST = 4, B = 6, ALL = 7 };
    static const int32_t ids[] = {0, 1, 2, 0, 0, 1, 1, 1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 0};
    static const size_t begins[ALL] = {0, 3, 4, 8, 12, 16, 18};
    Cut lines, text;
    int seen[ALL] = {0};
    assert_ok(cut_text(&lines, ids, (size_t)COUNT(ids), AT_MOST, true, &err), err);
    assert_int_equal(lines.count, ALL - 1);
    for (size_t i = 0; i < ALL; i++) assert_int_equal(lines.begins[i], begins[i]);
    assert_int_equal(cut_count(ids, 9, AT_MOST, true), 3);
    for (size_t length = 2; length <= (size_t)COUNT(ids); length++) {
        assert_ok(cut_text(&text, ids, length, AT_MOST, false, &err), err);
        assert_int_equal(text.begins[text.count], length - 1);
        for (size_t i = 0; i < text.count; i++) assert_int_equal(text.begins[i], AT_MOST * i);
        cut_free(&text);
    }
    for (uint64_t step = 0; step < 10; step++) {
        size_t starts[B], ends[B], part_starts[B], part_ends[B];
        assert_int_equal(batch_windows(&lines, 0, B, 0, 7, step, 0, B, starts, ends), 0);
        for (int i = 0; i < ALL - 1; i++)
            for (int b = 0; b < B; b++)
                seen[i] += starts[b] == begins[i] && ends[b] == begins[i + 1];
        for (int i = 0; i < ALL - 1; i++) assert_int_equal(seen[i], step + 1);
        assert_int_equal(batch_windows(&lines, 0, B, 0, 7, step, 2, 3, part_starts, part_ends),
                         ends[0] - starts[0] + ends[1] - starts[1]);
        assert_memory_equal(part_starts, starts + 2, 3 * sizeof *starts);
        assert_memory_equal(part_ends, ends + 2, 3 * sizeof *ends);
    }
    cut_free(&lines);
}

/* Joined lists are divided between lines only: no line is lost
 * or made, about the share is held out, and the training part ends with a newline. */
TEST(whole_lines) {
    enum { LISTS = 3, MOST = 2000 };
    static char lists[LISTS][MOST], joined[LISTS * (MOST + 2)];
    for (uint64_t seed = 0; seed < 40; seed++) {
        const char *given[LISTS];
        size_t lengths[LISTS], length, lines = 0;
        int which;
        for (int i = 0; i < LISTS; i++) {
            const size_t count = 2 + (size_t)random_bits(seed, (uint64_t)i) % 60;
            char *to = lists[i];
            for (size_t j = 0; j < count; j++) {
                memset(to, 'a' + (int)(j % 7), 1 + j % 20);
                to += 1 + j % 20;
                *to++ = '\n';
            }
            given[i] = lists[i];
            lengths[i] =
                (size_t)(to - lists[i]) - ((uint64_t)i + seed) % 2; /* perhaps without the last */
            lines += count;
        }
        const double share = seed % 2 ? 0.1 : 0.3;
        assert_ok(
            corpus_join(given, lengths, LISTS, false, true, share, joined, &length, &which, &err),
            err);
        {
            Corpus corpus;
            Vocab vocab;
            assert_ok(vocab_build(&vocab, joined, length, false, &err), err);
            vocab.lines = true;
            assert_ok(corpus_make(&corpus, &vocab, joined, length, share, &err), err);
            assert_int_equal(corpus.ids[0], corpus.ids[corpus.train - 1]);
            assert_near((double)corpus.train, (1 - share) * (double)corpus.length, 42);
            assert_int_equal(corpus.lines, lines + 1);
            for (size_t at = 0, end; at + 1 < corpus.length; at = end) {
                char line[MOST];
                for (end = at + 1; corpus.ids[end] != corpus.ids[0]; end++)
                    line[end - at - 1] = (char)vocab.codes[corpus.ids[end]];
                assert_true(lines_known(&corpus.known, line, end - at - 1));
                assert_true(end - at > 1);
            }
            corpus_free(&corpus);
            vocab_free(&vocab);
        }
    }
}

/* ---- the loss and its gradient ---- */

enum { V = 30, T = 32, ROWS = 3, LETTERS = 3 };

/* A model with its gradient of lines in a text. It has counted another one of the same letters. */
typedef struct {
    Bench *bench;
    double loss;
} Pass;

static Pass pass_over(const char *kind, int C, int threads, const int32_t *text,
                      const size_t *starts, const size_t *ends, int rows) {
    Config config = {.V = V, .T = T, .L = 2, .NH = 2, .C = C};
    int32_t inputs[ROWS * T], targets[ROWS * T];
    kind_set(&config, kind);
    RunOptions options = {
        .batch = ROWS, .length = T, .training = true, .threads = threads, .seed = 3, .lines = true};
    Pass pass = {.bench = bench_of(&config, &options)};
    bench_shake(pass.bench);
    assert_ok(model_count(pass.bench->model, random_ids(3, 200, LETTERS), 200, true, &err), err);
    run_lay_out(text, starts, ends, rows, inputs, targets);
    run_forward_training(pass.bench->run, inputs, rows, T,
                         &(Source){.starts = starts, .ends = ends, .counted = true});
    pass.loss = run_backward(pass.bench->run, targets, NULL);
    return pass;
}

/* The text around a line changes no bit of loss and gradients, with any number of threads. */
TEST_OF_EACH(kind_name, nothing_before) {
    static const size_t starts[ROWS] = {5, 14, 25}, ends[ROWS] = {9, 22, 28};
    int32_t *text = random_ids(1, 40, LETTERS), *other = random_ids(2, 40, LETTERS);
    for (int b = 0; b < ROWS; b++)
        memcpy(other + starts[b], text + starts[b], (ends[b] - starts[b] + 1) * sizeof *text);
    Pass a = pass_over(name, 16, 1, text, starts, ends, ROWS);
    Pass b = pass_over(name, 16, 3, other, starts, ends, ROWS);
    assert_true(a.loss == b.loss);
    for (int j = 0; j < a.bench->model->tensor_count; j++)
        assert_memory_equal(run_gradient(a.bench->run, j), run_gradient(b.bench->run, j),
                            a.bench->model->tensors[j].size * sizeof(float));
}

/* The loss is the mean over all characters of the lines: as if each line had a pass of its own,
 * weighted by its length. So are the gradients. Heads of 6 channels have another kernel. */
TEST(mean_of_characters) {
    static const size_t starts[ROWS] = {0, 44, 70}, ends[ROWS] = {32, 47, 75};
    for (int i = 0; kind_name(i / 2); i++) {
        const char *kind = kind_name(i / 2);
        int32_t *text = random_ids(1, 80, LETTERS), C = i % 2 ? 12 : 16;
        Pass all = pass_over(kind, C, 2, text, starts, ends, ROWS), each[ROWS];
        double loss = 0;
        for (int b = 0; b < ROWS; b++) {
            each[b] = pass_over(kind, C, 1, text, starts + b, ends + b, 1);
            loss += each[b].loss * (double)(ends[b] - starts[b]) / 40;
        }
        assert_near(all.loss, loss, 1e-5);
        for (int j = 0; j < all.bench->model->tensor_count; j++)
            for (size_t k = 0; k < all.bench->model->tensors[j].size; k++) {
                double sum = 0;
                for (int b = 0; b < ROWS; b++)
                    sum += (double)run_gradient(each[b].bench->run, j)[k] *
                           (double)(ends[b] - starts[b]) / 40;
                assert_near(run_gradient(all.bench->run, j)[k], sum, 2e-5);
            }
    }
}

/* Each prediction of a counted text leaves out the fold of the character that it predicts, in a
 * list as in another text. With weights of 0 a model's loss is that of its counts. */
TEST(own_folds) {
    enum { COUNT = 101, WINDOW = 20, WINDOWS = (COUNT - 1) / WINDOW };
    const Config config = {.model = "ngram", .V = V, .T = T, .L = 1, .NH = 1, .C = 8};
    int32_t *text = random_ids(5, COUNT, LETTERS), targets[COUNT], inputs[COUNT];
    size_t starts[WINDOWS], ends[WINDOWS];
    for (int i = 0; i < COUNT; i++) text[i] = i % WINDOW == 0 ? 0 : 1 + text[i]; /* 0: a newline */
    for (size_t b = 0; b < WINDOWS; b++) {
        starts[b] = b * WINDOW;
        ends[b] = starts[b] + WINDOW;
    }
    for (int lines = 0; lines < 2; lines++) {
        RunOptions options = {.batch = WINDOWS, .length = T, .training = true, .threads = 1};
        Model *model = new_model(&config, 1);
        double p[V], loss = 0;
        NgramLoss counted;
        options.lines = lines;
        Run *run = open_run(model, &options);
        assert_ok(model_count(model, text, COUNT, true, &err), err);
        memset(model->weights, 0, model->weights_size * sizeof *model->weights);
        for (size_t i = 1; i < COUNT; i++) {
            const int fold = ngram_fold(model->ngram, i);
            ngram_predict(model->ngram, text + i - 1, 1 + (i - 1) % WINDOW, fold, p);
            loss -= log(p[text[i]]) / (COUNT - 1);
        }
        assert_ok(ngram_loss(model->ngram, text, COUNT, WINDOW, 1, true, lines ? 0 : NO_ID,
                             &counted, &err),
                  err);
        assert_near(counted.windows, loss, 1e-12);
        assert_int_equal(counted.running == counted.windows, lines);
        run_lay_out(text, starts, ends, WINDOWS, inputs, targets);
        const Source source = {starts, lines ? ends : NULL, WINDOW, .counted = true};
        run_forward_training(run, inputs, WINDOWS, WINDOW, &source);
        assert_near(run_backward(run, targets, NULL), loss, 1e-6);
    }
}

/* ---- training runs ---- */

/* Resumed, also with other threads, a training run has the same bits, in every rung. A training run
 * cannot change whether its text is a list. */
TEST(resumed) {
    size_t length;
    skip_without(SIGNALS);
    put_words("words", &length);
    for (int i = 0; tril_rung(i); i++) {
        const char *rung = tril_rung(i), *sizes = used_by(rung, "--layers=1 --heads=2 --width=16");
        run_clocked(0.01, " 2@0.4", /* interrupts it early */
                    "train -q " ANY "-m %s %s --lines -s 60 -j 1 -o @part.safetensors @words", rung,
                    sizes);
        assert_true(state_number("part.last.safetensors", "step") < 60);
        must_run("train -q -r -j %d -o @part.safetensors @words", i < 5 ? 1 : 2);
        must_run("train -q " ANY "-m %s %s --lines -s 60 -o @whole.safetensors @words", rung,
                 sizes);
        expect_same_model("part.last.safetensors", "whole.last.safetensors");
        assert_true(row_of(rung).validation < log(62));
    }
    must_run("train -q " TINY "-m modern -s 20 -o @text.safetensors @words");
    must_fail(1, "train -q -r --lines -o @text.safetensors @words", "--lines");
    must_fail(1, "train -q -o @o/m --lines --init @text.safetensors @words", "--lines");
    must_run("train -q --init @whole.safetensors -s 5 -o @more.safetensors @words");
    run("sample --lines 2 --new -t 1.5 @more.safetensors");
    assert_int_equal(ran.status, 0);
}

/* Unset sizes suit the lines: a context for the longest one, and a batch with as many characters as
 * that of another text. */
TEST(sizes) {
    size_t length;
    char *words = put_words("words", &length), longest[] = "\nHonorificabilitudinitatibus!";
    char *list = scrap(length + sizeof longest, 1);
    TrilChoice choice;
    TrilOptions options = tril_options_empty(), chosen = options;
    snprintf(list, length + sizeof longest, "%s%s", words, longest);
    TrilTokenizer *lines = tokenizer_of(list), *two = tokenizer_of("ab");
    must(tril_tokenizer_set_lines(lines, &error));
    const TrilText *text = text_of(lines, list, strlen(list), 0.1);
    assert_int_equal(tril_text_extent(text).longest, strlen(longest));
    must(tril_options_decide(&options, text, 0, NULL, &error));
    assert_true(options.context == 32);
    const double mean = tril_text_window(text, 32), whole = tril_text_window(text, 4096);
    assert_near(whole, (double)length / (double)tril_text_extent(text).lines, 0.1);
    assert_true(mean == whole && tril_text_window(text, 4) < 4);
    assert_near(options.batch * mean, 8 * 256, mean);
    chosen.rung = "gpt";
    chosen.epochs = 1;
    chosen.layers = chosen.heads = chosen.width = 2; /* a larger size differs in its batch alone */
    must(tril_options_choose(&chosen, text, 0.1, NULL, NULL, &choice, &error));
    assert_true(chosen.context == 32 && chosen.batch * mean >= 8 * 64);
    assert_true(choice.limit == TRIL_LIMIT_TEXT && choice.batch > chosen.batch);
    assert_int_equal(tril_tokenizer_set_lines(two, &error), TRIL_TEXT);
    assert_int_equal(tril_tokenizer_has_lines(two), 0);
}

/* The held-out part is whole lines, and its loss that of --score. The bigram, which sees one
 * character, comes to the loss of counting on the same characters. */
TEST(held_out) {
    size_t length;
    char *words = put_words("words", &length);
    must_run("train -q " PAIRS "--lines -s 3000 -b 100 -o @b.safetensors @words");
    const Row counted = row_of("counted bigram"), learned = row_of("bigram");
    assert_near(learned.validation, counted.validation, 0.02);
    char *held_out = words + (size_t)((double)(length + 2) * 0.9) - 1;
    while (held_out[-1] != '\n') held_out--;
    const TrilModel *model = load_model(scratch("b.safetensors"));
    const TrilText *text = text_of(tril_model_tokenizer(model), words, length, 0.1);
    double nats;
    assert_int_equal(tril_text_extent(text).trained_on, held_out - words + 1);
    for (int trained = 1; trained >= 0; trained--) {
        scratch_put("part", trained ? words : held_out,
                    trained ? (size_t)(held_out - words) : strlen(held_out));
        must(tril_text_evaluate(text, model, trained, 0, 64, 1, NULL, NULL, &nats, &error));
        must_run("sample --score @part @b.safetensors");
        assert_near(atof(after("nats_per_char ")), nats, 1e-6);
    }
    assert_near(nats, learned.validation, 6e-5);
    /* the order of lines does not matter, nor does a newline at the end */
    char *turned = scrap(strlen(held_out) + 2, 1);
    const char *second = strchr(held_out, '\n') + 1;
    snprintf(turned, strlen(held_out) + 2, "%s\n%.*s\n", second, (int)(second - held_out - 1),
             held_out);
    scratch_put("part", turned, strlen(turned));
    must_run("sample --score @part @b.safetensors");
    assert_near(atof(after("nats_per_char ")), nats, 1e-6);
}

/* ---- writing ---- */

/* Returns the lines of an output. */
static size_t split(char *text, const char *lines[], size_t most) {
    size_t count = 0;
    for (char *line = strtok(text, "\n"); line && count < most; line = strtok(NULL, "\n"))
        lines[count++] = line;
    return count;
}

/* --new leaves out exactly the lines that the list has, in either part, and says how many. */
TEST(new_lines) {
    enum { NEW = 40, MOST = 400 };
    const char *all[MOST], *fresh[MOST];
    size_t length, left_out = 0, n = 0;
    double number;
    char *words = put_words("words", &length);
    must_run("train -q " TINY "-m modern --lines -s 500 -o @m.safetensors @words");
    const TrilModel *model = load_model(scratch("m.safetensors"));
    must_run("sample --lines 400 -t 1 @m.safetensors");
    size_t count = split(copy_text(ran.out), all, MOST);
    run("sample --lines 40 --new -t 1 -j 1 @m.safetensors");
    const char *said = copy_text(ran.err);
    assert_int_equal(split(copy_text(ran.out), fresh, MOST), NEW);
    char *list = scrap(length + 3, 1);
    snprintf(list, length + 3, "\n%s\n", words);
    for (size_t i = 0; i < count && n < NEW; i++) {
        bool has = strstr(list, formatted("\n%s\n", all[i])) != NULL;
        assert_int_equal(tril_model_has_line(model, all[i], strlen(all[i])), has);
        left_out += has;
        if (!has) assert_string_equal(all[i], fresh[n++]);
    }
    assert_int_equal(n, NEW);
    assert_true(left_out > 0);
    assert_int_equal(numbers_of(said, &number, 1), 1);
    assert_int_equal(number, left_out);
    must_fail(1, "sample --lines 2 --new -t 0 @m.safetensors", "--new", " 0 ", " 2 ", " 2000 ");
    const char *last = strrchr(words, '\n') + 1;
    TrilModel *extended;
    must(tril_model_extend(&extended, model, "€", 3, 1, &error));
    at_end(release_model, extended);
    assert_true(tril_model_has_line(extended, last, strlen(last)));
    double left[2];
    for (int i = 0; i < 2; i++) {
        run("sample --lines 9 --new -p %sTh @m.safetensors", i ? "me\n" : "");
        assert_int_equal(numbers_of(ran.err, &left[i], 1), 1);
    }
    assert_true(left[0] > 0 && left[1] == left[0]);
    must_run("sample --lines 3 --prompt Th @m.safetensors");
    assert_int_equal(split(ran.out, all, MOST), 3);
    for (int i = 0; i < 3; i++) assert_memory_equal(all[i], "Th", 2);
}

/* The likeliest line after a prompt follows whatever stands before it, in one text as in many, and
 * a newline begins the same line again. A reading predicts the same as the score. */
TEST(line_by_line) {
    size_t length;
    put_words("words", &length);
    for (int i = 0; i < 2; i++) {
        must_run("train -q " TINY "-m %s --lines -s 300 -o @l.safetensors @words",
                 i ? "gpt" : "ngram");
        must_run("sample -t 0 -n 60 @l.safetensors");
        char *text = copy_text(ran.out), *line = copy_text(text), *at = text;
        const size_t size = (size_t)(strchr(line, '\n') + 1 - line);
        for (; strlen(at) >= size; at += size) assert_memory_equal(at, line, size);
        must_run("sample -t 0 --lines 3 @l.safetensors");
        for (at = ran.out; *at; at += size) assert_memory_equal(at, line, size);
        assert_int_equal(ran.length, 3 * size);
        must_run("sample -t 0 -n 30 -p wh @l.safetensors");
        text = copy_text(ran.out);
        must_run("sample -t 0 -n 30 -p me\nwh @l.safetensors");
        assert_string_equal(ran.out + 3, text);
        must_run("sample -t 0 -n 30 --samples 2 -p me\nwh @l.safetensors");
        assert_memory_equal(ran.out + 3, text, strlen(text));
        static const char *const same[] = {"w", "wh", "\nwh", "me\nwh"};
        const TrilModel *model = load_model(scratch("l.safetensors"));
        const TrilScoring scoring = tril_scoring();
        TrilScore score;
        for (int j = 0; j < COUNT(same); j++) {
            const int letters = j == 0 ? 1 : 2;
            must(tril_score(model, "wh", (size_t)letters, &scoring, &score, &error));
            const TrilReading *reading = read_with(model, same[j], strlen(same[j]), 0, 1);
            assert_int_equal(tril_reading_tokens(reading), letters + 1);
            const int vocabulary = tril_tokenizer_size(tril_model_tokenizer(model));
            const float *last = tril_reading_logits(reading) + letters * vocabulary;
            double sum = 1;
            for (int v = 1; v < vocabulary; v++) sum += exp((double)last[v] - (double)*last);
            const double line_loss = letters * tril_reading_loss(reading) + log(sum);
            assert_near((letters + 1) * score.nats, line_loss, 1e-4);
            assert_int_equal(tril_reading_skipped(reading), j == 3 ? 2 : 0);
        }
    }
}

TEST(refused) {
    size_t length;
    put_words("words", &length);
    scratch_put("one", "no newline", 10);
    scratch_put("two", "abc\nd", 5);
    must_fail(1, "train -q -o @o/m --lines @one", "one");
    scratch_put("one", "no other\n", 9);
    must_fail(1, "train -q -o @o/m --lines @one", "one: ", " 2 ");
    must_fail(1, "train -q -o @o/m --lines --val 0.999 @two", "two");
    must_fail(2, "train -q -o @o/m --lines --windows grow @words", "windows");
    must_fail(2, "sample --new @no.safetensors", "--lines");
    must_run("train -q " PAIRS "--lines -s 5 -o @t.safetensors @words");
    char *file = slurp(scratch("t.safetensors"), &length);
    for (size_t i = length - 8; i < length; i++)
        file[i] = 0; /* the last digest, not the greatest */
    scratch_put("bad.safetensors", file, length);
    must_fail(1, "sample --lines 1 @bad.safetensors", "bad.safetensors");
    must_run("train -q " PAIRS "-s 5 -o @t.safetensors @words");
    must_fail(1, "sample --lines 2 --new @t.safetensors", "--new");
    must_fail(1, "train -q -o @o/m " TINY "--lines --teacher @t.safetensors @words", "--lines");
    must_run("sample --lines 2 @t.safetensors");
}
