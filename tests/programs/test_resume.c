/* test_resume.c - training runs that stop and resume: killed at random moments, interrupted, given
 * more steps, or not resumable. The result must be bit for bit that of a training run that was
 * never stopped. */
#include "tests/table.h"
#include "tests/state.h"
#include "base/clock.h"

#include <time.h>

/* Every rung with dropout, at sizes that train at once. The number of steps is no multiple of the
 * interval between evaluations. Dropout uses random numbers at every step. */
#define SIZES  "-l 2 -w 16 -H 2 -c 16 -b 4 -d 0.2 --lr 0.01 "
#define BUDGET "-m ngram -s 100 --eval-every 13 "
#define TINY   SIZES BUDGET "-j 1 "

static const char *const rungs[] = {"bigram", "average", "head",  "multihead", "gpt",
                                    "modern", "conv",    "ngram", "ngram.last"};
enum { FILES = sizeof rungs / sizeof *rungs };

/* ---- files ---- */

static const char *file_in(const char *folder, const char *name) {
    return scratch(formatted("%s/%s.safetensors", folder, name));
}

static Checkpoint *load_in(const char *folder, const char *name) {
    return loaded(file_in(folder, name));
}

/* Fails the test unless the entry of the metadata is this text. */
static void expect_note(const char *folder, const char *name, const char *key, const char *value) {
    assert_string_equal(safetensors_note(&load_in(folder, name)->file, key)->value, value);
}

/* The same step, and the same bits in every weight and moment. */
static void assert_same_file(const char *folder, const char *other, const char *name) {
    const SafeTensors *a = tensors_of(file_in(folder, name)), *b = tensors_of(file_in(other, name));
    assert_string_equal(safetensors_note(a, "step")->value, safetensors_note(b, "step")->value);
    assert_int_equal(a->tensor_count, b->tensor_count);
    for (int i = 0; i < a->tensor_count; i++) {
        const SafeTensor *one = &a->tensors[i], *same = &b->tensors[i];
        assert_int_equal(one->bytes, same->bytes);
        if (memcmp(one->data, same->data, one->bytes) != 0)
            fail_msg("%s: %s differs", name, one->name);
    }
}

/* Each step once, in order. */
static void check_log(const char *folder, const char *name, int steps) {
    const char *file = formatted("%s/%s.csv", folder, name);
    char *text = slurp(scratch(file), NULL), *line = text;
    for (int step = 0; step <= steps; step++) {
        if (step > 0) assert_int_equal(strtol(line, NULL, 10), step);
        line = strchr(line, '\n');
        if (!line) fail_msg("%s ends after step %d of %d", file, step - 1, steps);
        line++;
    }
    if (*line) fail_msg("%s goes on after its end: %s", file, line);
}

/* ---- stopping ---- */

/* Runs a command, and kills it after `time` seconds unless it has ended. */
static bool killed(const char *command, double time) {
    int out = create_file(scratch("stdout"));
    Process child = start(command, out);
    close(out);
    nanosleep(&(struct timespec){(time_t)time, (long)((time - floor(time)) * 1e9)}, NULL);
    kill_process(child);
    finish(child);
    if (ran.status != KILLED) expect_success();
    return ran.status == KILLED;
}

/* Runs a command and interrupts it after three seconds, or sixty steps, of a simulated clock. */
static void interrupted(const char *command) {
    must_run_clocked(0.01, " 2@3", "%s", command);
}

/* Returns how many times files have been set aside in the folder. */
static int set_aside(const char *folder) {
    int count = 0;
    while (scratch_has(formatted("%s/earlier-%d", folder, count + 1))) count++;
    return count;
}

/* ---- killed and interrupted ---- */

/* In every second life, another training run is begun, killed and resumed in the same folder. */
#define OTHER "train --continue -q -c 16 -b 4 --lr 0.01 -m bigram -s 300 --eval-every 13 -j 1 -o @"
TEST(killed) {
    /* the second does not repeat the options of the first */
    static const char *const ways[] = {
        "train --continue " TINY "--ladder -o @life/ngram.safetensors " ACT,
        "train -r -j 3 -o @life/ngram.safetensors " ACT,
        "train -r -j 2 -q --ladder " SIZES BUDGET "-o @life/ngram.safetensors " ACT};
    const char *kills = getenv("TRIL_KILLS");
    int wanted = kills ? atoi(kills) : repeats(3, 50), done = 0;
    double before = clock_seconds();
    must_run("train " TINY "--ladder -q -o @whole/ngram.safetensors " ACT);
    double whole = clock_seconds() - before;
    must_run(OTHER "alone/other.safetensors " ACT);
    for (int life = 0; done < wanted; life++) {
        for (int i = 0;; i++) {
            assert_true(i < 200); /* or it makes no progress */
            /* until there is a state, the command has all options */
            bool begun = scratch_has("life/ngram.last.safetensors");
            uint64_t key = random_key(5, (uint64_t)life, (uint64_t)i);
            int way = begun ? (int)(random_bits(key, 0) % 3) : 0;
            /* later runs get more time, in case the machine has become slower */
            double time = random_uniform(key, 1) * whole * (1 + i / 10.0);
            if (begun && life % 2)
                done +=
                    killed(OTHER "life/other.safetensors " ACT, random_uniform(key, 2) * whole / 9);
            int aside = set_aside("life");
            bool ended = !killed(ways[way], time);
            /* a resumed training run knows its files, whenever it was killed */
            if (begun && life % 2 == 0) assert_int_equal(set_aside("life"), aside);
            if (ended) break;
            done++;
        }
        for (int i = 0; i < FILES; i++) assert_same_file("whole", "life", rungs[i]);
        for (int i = 0; i < FILES - 1; i++) check_log("life", rungs[i], 100);
        must_run(OTHER "life/other.safetensors " ACT);
        assert_same_file("alone", "life", "other.last");
        assert_false(scratch_has_temporary("life"));
        scratch_remove(scratch("life"));
    }
}

/* An interruption before the first evaluation leaves a model to sample from. The state does not
 * know it, so the end result is the same. */
#define LONGER "train -c 16 -b 4 --lr 0.01 -m bigram -s 1000 "
TEST(interrupted) {
    skip_without(SIGNALS);
    must_run(LONGER "--eval-every 50 -o @one/b.safetensors " ACT);
    interrupted(LONGER "--eval-every 1000 -o @two/b.safetensors " ACT);
    expect_line("clocked/train --resume --out ");
    must_run("sample -n 5 @two/b.safetensors");
    expect_note("two", "b.last", "best_loss", "inf");
    must_run("train -r --eval-every 50 -o @two/b.safetensors " ACT);
    assert_same_file("one", "two", "b");
    assert_same_file("one", "two", "b.last");
}

/* The windows grow after 89 of 100 steps, and the training is interrupted before. */
#define GROWING "train -l 1 -w 16 -H 2 -c 128 -b 2 -m modern -s 100 --eval-every 100 "
TEST(growing_windows) {
    skip_without(SIGNALS);
    must_run(GROWING "-o @one/m.safetensors " PLAY);
    interrupted(GROWING "-o @two/m.safetensors " PLAY);
    must_run("train -r -o @two/m.safetensors " PLAY);
    assert_same_file("one", "two", "m");
    assert_same_file("one", "two", "m.last");
    /* not if the text is seen often, nor from a trained model. --resume remembers it */
    static const struct {
        const char *command;
        bool grow;
    } cases[] = {{GROWING "-o @few/m.safetensors " ACT, true},
                 {"train -r -s 300 -o @few/m.safetensors " ACT, true},
                 {GROWING "-s 300 -o @often/m.safetensors " ACT, false},
                 {"train --init @one/m.safetensors -b 2 -s 2 -o @three/m.safetensors " PLAY, false},
                 {"train -r -s 3 -o @three/m.safetensors " PLAY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        must_run("%s", cases[i].command);
        if (!has_line("64", "128") == cases[i].grow) fail_msg("%s", ran.command);
    }
}

/* The rungs of a ladder decide their own dropout, also after an interruption in a lower rung. */
#define MEMORIZING                                                                     \
    "train --ladder -m modern -l 2 -w 32 -H 2 -c 16 -b 8 -j 1 --precision f32 -s 800 " \
    "--eval-every 800 "
TEST(ladder_dropout) {
    skip_without(SIGNALS);
    must_run(MEMORIZING "-o @dropping/m.safetensors " ACT);
    interrupted(MEMORIZING "-o @cut/m.safetensors " ACT);
    expect_note("cut", "m.last", "model", "bigram");
    must_run("train -r -o @cut/m.safetensors " ACT);
    expect_note("dropping", "m", "dropout", "0.040000000000000001");
    assert_same_file("dropping", "cut", "m");
}

/* Writes the edited state of `folder` to @bent. */
static void bend(const char *folder, const char *key, const char *value, float factor) {
    const char *from = formatted("%s/ngram.last.safetensors", folder);
    state_edit(from, "bent/ngram.last.safetensors", key, value, factor);
}

/* A text with two characters, of which TRAIN are for training: four passes are 200 steps. */
enum { TRAIN = 12800, LENGTH = 14400 };
#define DECAYING "-l 1 -w 8 -H 1 -c 16 -b 16 -d 0 -m ngram "

/* The decay of the embedding follows from the number of steps. A resumed training run keeps it. */
TEST(decided_decay) {
    scratch_random("ab", LENGTH, 5, 1);
    must_run("train " DECAYING "--val %.17g -s 100 -o @decay/ngram.safetensors @ab",
             1 - (double)TRAIN / LENGTH);
    make_folder(scratch("bent"));
    bend("decay", "embedding_decay", "1", 1);
    must_run("train -r -s 201 -o @decay/ngram.safetensors @ab");
    must_run("train -r -s 201 -o @bent/ngram.safetensors @ab");
    assert_near(state_number("decay/ngram.last.safetensors", "embedding_decay"), 0.25, 0);
    assert_true(model_digest(&load_in("decay", "ngram.last")->model) !=
                model_digest(&load_in("bent", "ngram.last")->model));
    scratch_remove(scratch("bent"));
}

TEST(more_steps) {
    must_run("train " TINY "--patience 1 -o @more/ngram.safetensors " ACT);
    Row before = row_of("ngram");
    must_run("train -r -o @more/ngram.safetensors " ACT);
    assert_near(row_of("ngram").train, before.train, 0);
    assert_near(row_of("ngram").validation, before.validation, 0);
    assert_int_equal(count_progress(), 0);
    must_run("train -r -s 160 -o @more/ngram.safetensors " ACT);
    expect_line("100");
    assert_non_null(has_line("104/160"));
    check_log("more", "ngram", 160);
    check_log("more", "bigram", 160);
    expect_note("more", "ngram.last", "step", "160");
    run("train -r -q -s 159 -o @more/ngram.safetensors " ACT);
    expect_failure(1, "ngram.last.safetensors: ", " 160 ", "--steps 159");
}

static void expect_seed(const char *folder, const char *seed) {
    expect_note(folder, "b.last", "seed", seed);
    expect_note(folder, "b.last", "option.seed", seed);
}

/* Options of the command line replace the saved ones, any seed included. Others stay. A size may be
 * repeated if it is the same. */
TEST(asked_again) {
    static const char *const seeds[] = {"1", "0", "18446744073709551615", "1337"};
    must_run("train -m head -w 48 -c 16 -b 4 -s 1 --seed 5 -o @asked/b.safetensors " ACT);
    for (int i = 0; i < 4; i++) {
        expect_seed("asked", i > 0 ? seeds[i - 1] : "5");
        must_run("train -r -s %d -w 48 -o @asked/b.safetensors " ACT, 2 * i + 2);
        expect_seed("asked", i > 0 ? seeds[i - 1] : "5");
        must_run("train -r -s %d --seed %s -o @asked/b.safetensors " ACT, 2 * i + 3, seeds[i]);
        expect_seed("asked", seeds[i]);
    }
}

/* Without the file of the best weights, the last ones replace them. */
TEST(best_gone) {
    must_run("train -m bigram -c 16 -b 4 -s 40 -o @gone/b.safetensors " ACT);
    assert_int_equal(remove(scratch("gone/b.safetensors")), 0);
    must_run("train -r -o @gone/b.safetensors " ACT);
    must_run("sample -n 5 @gone/b.safetensors");
}

/* Without a state there is nothing to resume, perhaps because of a mistyped name. */
TEST(nothing_yet) {
    must_fail(1, "train -r -m bigram -o @fresh/b.safetensors " ACT, "b.last.safetensors: ");
    assert_false(scratch_has("fresh"));
}

/* test_command_line has the options, and test_outputs another text. */
TEST(refusals) {
    static const char *const notes[][3] = {
        {"step", "-1", "'step'"},
        {"step", "1e10", "'step'"},
        {"step", "12x", "'step'"},
        {"best_loss", "nan", "'best_loss'"},
        {"seconds", "-1", "'seconds'"},
        {"log_bytes", "", "'log_bytes'"},
        {"lowest_step", "-3", "'lowest_step'"},
        {"given_up", "later", "'given_up'"},
        {"cooling", "3", "'cooled'"},
        {"cooling", "-3", "'cooling'"},
        {"text", "?", "'text'"},
        {"text", "0123456789abcdef", ACT},
        {"results", "gpt 1 2 3\n", "'results'"},
        {"results", "gpt 1 2 3 4 5 0\n", "'results'"},
        {"results", "gpt 1 2 3 4 5 0 0123456789abcdef", "'results'"},
        {"results", "gpt 1 2 3 4 5 0 0123456789abcdeg\n", "'results'"},
        {"results", "gtp 1 2 3 4 5 0 0123456789abcdef\n", "'results'"},
        {"results", "bigram 1 1 1 -1 5 0 0123456789abcdef\n", "'results'"},
        {"results", "bigram 1 nan 1 1 5 0 0123456789abcdef\n", "'results'"},
        {"results", "bigram 1 1 inf 1 5 0 0123456789abcdef\n", "'results'"},
        {"option.steps", "rubbish", "'steps'"},
        {"option.batch", "0", "'batch'"},
        {"run.model", "gtp", "'run'"},
        {"run.width", "17", "'run'"},
        {"run.lr", "100", "'run'"},
        {"state", "0", "--init"},
        {"windows_grow", "-1", "'windows_grow'"},
        {"embedding_decay", "nan", "'embedding_decay'"},
        {"training", "?", "'training'"},
    };
    make_folder(scratch("bent"));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        bend("whole", notes[i][0], notes[i][1], 1);
        run("train -r -q -o @bent/ngram.safetensors " ACT);
        bool other_text = strcmp(notes[i][2], ACT) == 0;
        expect_failure(1, other_text ? "" : "ngram.last.safetensors: ", notes[i][2]);
    }
    static const char optional[] =
        " seed option.lr embedding_decay option.epochs text_name recent_loss lowest_loss command "
        "best_loss run.model ladder "; /* the library lacks these */
    const SafeTensors *whole = tensors_of(scratch("whole/ngram.last.safetensors"));
    for (int i = 0; i < whole->note_count; i++) {
        if (checkpoint_has_key(whole->notes[i].key)) continue;
        const char *key = formatted(" %s ", whole->notes[i].key);
        bend("whole", whole->notes[i].key, NULL, 1);
        run("train -r -q -o @bent/ngram.safetensors " ACT);
        if (ran.status == !!strstr(optional, key)) fail_msg("without%s: %d", key, ran.status);
    }
    scratch_remove(scratch("bent"));
    make_folder(scratch("bent"));
}

/* A stored state of every version: an earlier one fails with the way out, and is still a model; the
 * latest resumes to the same loss, and its log goes on. */
TEST(versions) {
    static const char lines[] = "abba baab abab\nab ba\n";
    char text[200 * sizeof lines] = "";
    for (int i = 0; i < 200; i++) strcat(text, lines);
    scratch_put("stored.txt", text, strlen(text));
    const char *log = slurp("tests/golden/formats/log-2.csv", NULL);
    for (int version = 0; version <= 2; version++) {
        size_t length;
        char *bytes =
            slurp(formatted("tests/golden/formats/state-%d.safetensors", version), &length);
        make_folder(scratch("stored"));
        scratch_put("stored/m.last.safetensors", bytes, length);
        scratch_put("stored/m.csv", log, strlen(log));
        must_run("sample -n 5 @stored/m.last.safetensors");
        run("train -r -q -s 20 --lr 0.001 -j 1 -o @stored/m.safetensors @stored.txt");
        if (version < 2) {
            expect_failure(1, "m.last.safetensors: ", "--init");
        } else {
            expect_success();
            assert_near(row_of("gpt").validation, 1.3290, 1e-3);
            assert_true(begins(slurp(scratch("stored/m.csv"), NULL), log)); /* goes on */
        }
        scratch_remove(scratch("stored"));
    }
}

/* Weights so large that the loss overflows: the files do not change. */
TEST(divergence) {
    size_t length;
    bend("whole", "step", "50", 1e30f);
    char *before = slurp(file_in("bent", "ngram.last"), &length);
    run("train -r -q -o @bent/ngram.safetensors " ACT);
    expect_failure(1, "ngram: ", " 0.01 ", "--lr 0.0033");
    scratch_expect("bent/ngram.last.safetensors", before, length);
    /* another learning rate, from the last good state, works */
    bend("whole", "step", "50", 1);
    must_run("train -r -q --lr 0.001 -o @bent/ngram.safetensors " ACT);
}

/* Fewer steps than a ladder had are an error before its rungs are trained again: their models stay.
 * A baseline stays as it is, if it had more. */
TEST(fewer_steps) {
    char *before[FILES];
    size_t lengths[FILES], length;
    must_run("train " TINY "-q --ladder -s 40 -o @fewer/ngram.safetensors " ACT);
    for (int i = 0; i < FILES; i++) before[i] = slurp(file_in("fewer", rungs[i]), &lengths[i]);
    run("train -r -q -s 20 -o @fewer/ngram.safetensors " ACT);
    expect_failure(1, "ngram.last.safetensors: ", " 40 ", "--steps 20");
    for (int i = 0; i < FILES; i++) {
        char *now = slurp(file_in("fewer", rungs[i]), &length);
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(now, before[i], length);
    }
    /* the state has few steps, and the rungs before it had more */
    bend("fewer", "step", "10", 1);
    run("train -r -q --ladder -s 20 -o @bent/ngram.safetensors " ACT);
    expect_failure(1, "ngram.last.safetensors: bigram ", " 40 ", "--steps 20");
    must_run("train " TINY "-q -s 40 -o @less/ngram.safetensors " ACT);
    scratch_remove(scratch("bent/bigram.safetensors"));
    bend("less", "step", "10", 1);
    must_run("train -r -q -s 20 -o @bent/ngram.safetensors " ACT);
    assert_false(scratch_has("bent/bigram.safetensors"));
}

/* The best weights fit on the disk but the state does not: training continues to its end and
 * reports it. A later run with more space resumes from the last saved state. */
TEST(no_room) {
    size_t length;
    skip_without(SIZE_LIMITS);
    slurp(file_in("whole", "ngram"), &length);
    limit_file_sizes(length + length / 2);
    run("train " TINY "-q -o @tight/ngram.safetensors " ACT);
    end_file_size_limit();
    assert_int_equal(ran.status, 1);
    assert_non_null(strstr(ran.err, "ngram.last.safetensors: "));
    assert_same_file("tight", "whole", "ngram");
    must_run("train -r -q -o @tight/ngram.safetensors " ACT);
    assert_same_file("tight", "whole", "ngram.last");
}

FIXTURE(scratch_open, scratch_close)
