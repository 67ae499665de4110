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

static const char *const files[] = {"bigram", "average", "head",  "multihead", "gpt",
                                    "modern", "conv",    "model", "state"};
enum { FILES = sizeof files / sizeof *files };

/* ---- files ---- */

static const char *file_in(const char *folder, const char *name) {
    return scratch(formatted("%s/%s.safetensors", folder, name));
}

static Checkpoint *load_in(const char *folder, const char *name) {
    return loaded(file_in(folder, name));
}

/* Fails the test unless the entry of the metadata is this text. */
static void expect_note(const char *folder, const char *name, const char *key, const char *value) {
    assert_string_equal(safetensors_metadata(&load_in(folder, name)->file, key)->value, value);
}

/* The same step, and the same bits in every weight and moment. */
static void assert_same_file(const char *folder, const char *other, const char *name) {
    const SafeTensors *a = tensors_of(file_in(folder, name)), *b = tensors_of(file_in(other, name));
    assert_string_equal(safetensors_metadata(a, "step")->value,
                        safetensors_metadata(b, "step")->value);
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

/* ---- killed and interrupted ---- */

/* In every second life, another run is begun there and killed: what it renamed goes on as it was.
 */
#define OTHER "train -q -c 16 -b 4 --lr 0.01 -m bigram -s 300 --eval-every 13 -j 1 -o @life " ACT
TEST(killed) {
    /* the second does not repeat the options of the first */
    static const char *const ways[] = {"train --continue " TINY "--ladder -o @life " ACT,
                                       "train -r -j 3 -o @life " ACT,
                                       "train -r -j 2 -q --ladder " SIZES BUDGET "-o @life " ACT};
    const char *kills = getenv("TRIL_KILLS");
    int wanted = kills ? atoi(kills) : repeats(3, 50), done = 0;
    double before = clock_seconds();
    must_run("train " TINY "--ladder -q -o @whole " ACT);
    double whole = clock_seconds() - before;
    for (int life = 0; done < wanted; life++) {
        for (int i = 0;; i++) {
            assert_true(i < 200); /* or it makes no progress */
            /* until there is a state, the command has all options */
            bool begun = scratch_has("life/state.safetensors");
            uint64_t key = random_key(5, (uint64_t)life, (uint64_t)i);
            int way = begun ? (int)(random_bits(key, 0) % 3) : 0;
            /* later runs get more time, in case the machine has become slower */
            double time = random_uniform(key, 1) * whole * (1 + i / 10.0);
            if (begun && life % 2) done += killed(OTHER, random_uniform(key, 2) * whole / 9);
            if (scratch_has("life-1")) {
                scratch_remove(scratch("life"));
                assert_int_equal(rename(scratch("life-1"), scratch("life")), 0);
            }
            const bool ended = !killed(ways[way], time);
            if (begun) assert_false(scratch_has("life-1")); /* --continue found its run */
            if (!begun) scratch_remove(scratch("life-1")); /* there was no state to continue from */
            if (ended) break;
            done++;
        }
        for (int i = 0; i < FILES; i++) assert_same_file("whole", "life", files[i]);
        for (int i = 0; i < FILES - 1; i++) check_log("life", files[i], 100);
        assert_false(scratch_has_temporary("life"));
        scratch_remove(scratch("life"));
    }
}

/* An interruption before the first evaluation leaves a model to sample from. The state does not
 * know it, so the end result is the same. */
#define LONGER "train -c 16 -b 4 --lr 0.01 -m bigram -s 1000 "
TEST(interrupted) {
    skip_without(SIGNALS);
    must_run(LONGER "--eval-every 50 -o @one " ACT);
    interrupted(LONGER "--eval-every 1000 -o @two " ACT);
    expect_line("clocked/train --resume --out ");
    must_run("sample -n 5 @two/model.safetensors");
    expect_note("two", "state", "best_loss", "inf");
    must_run("train -r --eval-every 50 -o @two " ACT);
    assert_same_file("one", "two", "model");
    assert_same_file("one", "two", "state");
}

/* An interruption while the bigram is trained again, for longer: the command continues with that,
 * and without it the bigram is again the one whose result is shown. */
TEST(retrained) {
    skip_without(SIGNALS);
    must_run("train -q " SIZES "-m gpt -s 30 -j 1 -o @more " ACT);
    const char *loss =
        safetensors_metadata(&load_in("more", "bigram")->file, "validation_loss")->value;
    interrupted("train -r -s 4000 --patience 1 -o @more " ACT);
    expect_line("To resume: ", "-s 4000 --patience 1 ");
    must_run("train -r -o @more " ACT);
    expect_note("more", "bigram", "validation_loss", loss);
}

/* The windows grow after 89 of 100 steps, and the training is interrupted before. */
#define GROWING "train -l 1 -w 16 -H 2 -c 128 -b 2 -m modern -s 100 --eval-every 100 "
TEST(growing_windows) {
    skip_without(SIGNALS);
    must_run(GROWING "-o @grown " PLAY);
    interrupted(GROWING "-o @growing " PLAY);
    must_run("train -r -o @growing " PLAY);
    assert_same_file("grown", "growing", "model");
    assert_same_file("grown", "growing", "state");
    /* not if the text is seen often, nor from a trained model. --resume remembers it */
    static const struct {
        const char *command;
        bool grow;
    } cases[] = {{GROWING "-o @few " ACT, true},
                 {"train -r -s 300 -o @few " ACT, true},
                 {GROWING "-s 300 -o @often " ACT, false},
                 {"train --init @grown -b 2 -s 2 -o @three " PLAY, false},
                 {"train -r -s 3 -o @three " PLAY, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        must_run("%s", cases[i].command);
        if (!has_line("64", "128") == cases[i].grow) fail_msg("%s", ran.command);
    }
}

/* The rungs of a ladder decide their own dropout, also after an interruption in a lower rung. */
#define MEMORIZING "-l 2 -w 32 -H 2 -c 16 -b 8 -j 1 --precision f32 -s 800 --eval-every 800 "
TEST(ladder_dropout) {
    skip_without(SIGNALS);
    must_run("train -m ngram " MEMORIZING "-o @alone " ACT);
    assert_true(state_number("alone/state.safetensors", "option.dropout") > 0);
    must_run("train --ladder " MEMORIZING "-o @dropping " ACT);
    interrupted("train --ladder " MEMORIZING "-o @cut " ACT);
    expect_note("cut", "state", "model", "bigram");
    must_run("train -r -o @cut " ACT);
    assert_int_equal(model_digest(&load_in("alone", "model")->model),
                     model_digest(&load_in("cut", "ngram")->model));
    assert_same_file("dropping", "cut", "model");
    assert_same_file("dropping", "cut", "state");
}

/* Writes the edited state of `folder` to @bent. */
static void bend(const char *folder, const char *key, const char *value, float factor) {
    const char *from = formatted("%s/state.safetensors", folder);
    state_edit(from, "bent/state.safetensors", key, value, factor);
}

/* The rung in training keeps the dropout of its state, whatever another number of steps calls for.
 */
TEST(kept_dropout) {
    must_run("train -q --ladder -l 1 -w 8 -H 2 -c 8 -b 4 -j 1 -s 20 -o @own " ACT);
    expect_note("own", "state", "option.dropout", "0");
    make_folder(scratch("bent"));
    bend("own", "option.dropout", "0.25", 1);
    must_run("train -r -q -s 21 -o @bent " ACT);
    expect_note("bent", "state", "option.dropout", "0.25");
    bend("own", "results", "bigram 1 1 1 1 64000000 0 \n", 1);
    must_fail(2, "train -r -q -s 1500000 -o @bent " ACT, " 2000000 ", "--steps 1500000");
    scratch_remove(scratch("bent"));
}

/* A text with two characters, of which TRAIN are for training: four passes are 200 steps. */
enum { TRAIN = 12800, LENGTH = 14400 };
#define DECAYING "-l 1 -w 8 -H 1 -c 16 -b 16 -d 0 -m ngram "

/* The decay of the embedding follows from the number of steps. A resumed training run keeps it. */
TEST(decided_decay) {
    scratch_random("ab", LENGTH, 5, 1);
    must_run("train " DECAYING "--val %.17g -s 100 -o @decay @ab", 1 - (double)TRAIN / LENGTH);
    make_folder(scratch("bent"));
    bend("decay", "embedding_decay", "1", 1);
    must_run("train -r -s 201 -o @decay @ab");
    must_run("train -r -s 201 -o @bent @ab");
    assert_near(state_number("decay/state.safetensors", "embedding_decay"), 0.25, 0);
    assert_true(model_digest(&load_in("decay", "state")->model) !=
                model_digest(&load_in("bent", "state")->model));
    scratch_remove(scratch("bent"));
}

TEST(more_steps) {
    must_run("train " TINY "--patience 1 -o @more " ACT);
    Row before = row_of("ngram");
    must_run("train -r -o @more " ACT);
    assert_near(row_of("ngram").train, before.train, 0);
    assert_near(row_of("ngram").validation, before.validation, 0);
    assert_int_equal(count_progress(), 0);
    must_run("train -r -s 158 --eval-every 13 -o @more " ACT);
    expect_line("100");
    assert_true(has_line("104/158") && has_line("143/158"));
    assert_null(has_line("156/158")); /* shortly before the last one */
    check_log("more", "model", 158);
    check_log("more", "bigram", 158);
    expect_note("more", "state", "step", "158");
    run("train -r -q -s 157 -o @more " ACT);
    expect_failure(2, "state.safetensors: ", " 158 ", "--steps 157");
    must_run("train -r -s 160 -b 8 -o @more " ACT); /* the characters of the steps before stay */
    const char *log = slurp(scratch("more/model.csv"), NULL);
    assert_non_null(strstr(log, formatted("\n158,%d,", 158 * 4 * 16)));
    assert_non_null(strstr(log, formatted("\n160,%d,", (158 * 4 + 2 * 8) * 16)));
    must_fail(2, "train -r -q -w 8 -o @more " ACT, "state.safetensors: ", "--width=8");
    must_fail(2, "train -r -q --ladder -o @more " ACT, "state.safetensors: ", "--ladder");
}

static void expect_seed(const char *folder, const char *seed) {
    expect_note(folder, "state", "seed", seed);
    expect_note(folder, "state", "option.seed", seed);
}

/* Options of the command line replace the saved ones, any seed included. Others stay. A size may be
 * repeated if it is the same. */
TEST(asked_again) {
    static const char *const seeds[] = {"1", "0", "18446744073709551615", "1337"};
    must_run("train -m head -w 48 -c 16 -b 4 -s 1 --seed 5 -o @asked " ACT);
    for (int i = 0; i < 4; i++) {
        expect_seed("asked", i > 0 ? seeds[i - 1] : "5");
        must_run("train -r -s %d -w 48 -o @asked " ACT, 2 * i + 2);
        expect_seed("asked", i > 0 ? seeds[i - 1] : "5");
        must_run("train -r -s %d --seed %s -o @asked " ACT, 2 * i + 3, seeds[i]);
        expect_seed("asked", seeds[i]);
    }
}

/* Without the file of the best weights, the last ones replace them. */
TEST(best_gone) {
    must_run("train -m bigram -c 16 -b 4 -s 40 -o @gone " ACT);
    assert_int_equal(remove(scratch("gone/model.safetensors")), 0);
    must_run("train -r -o @gone " ACT);
    assert_non_null(has_line("  bigram has taken all 40 steps; more --steps train it further"));
    must_run("sample -n 5 @gone/model.safetensors");
}

/* Returns true for the entry of an option with a default, which an older state lacks. */
static bool has_default(const char *key) {
    const char *const name = key + strlen("option.");
    for (int i = 0; strncmp(key, "option.", strlen("option.")) == 0 && tril_option(i); i++)
        if (strcmp(tril_option(i)->name, name) == 0) return tril_option(i)->standard != NULL;
    return false;
}

/* test_command_line has the options, and test_folder another text. */
TEST(refusals) {
    static const char *const notes[][3] = {
        {"step", "-1", "'step'"},
        {"step", "1e10", "'step'"},
        {"step", "12x", "'step'"},
        {"best_loss", "nan", "'best_loss'"},
        {"seconds", "-1", "'seconds'"},
        {"lowest_step", "-3", "'lowest_step'"},
        {"given_up", "later", "'given_up'"},
        {"cooling", "3", "'cooled'"},
        {"cooling", "-3", "'cooling'"},
        {"seed", " -1", "'seed'"},
        {"seed", "18446744073709551616", "'seed'"},
        {"text", "?", "'text'"},
        {"text", "0123456789abcdef", ACT},
        {"results", "gpt 1 2 3\n", "'results'"},
        {"results", "gpt 1 2 3 4 5 0", "'results'"},
        {"results", "gpt 1 2 3 4 5 0 x\n", "'results'"},
        {"results", "gtp 1 2 3 4 5 0 \n", "'results'"},
        {"results", "bigram 1 1 1 -1 5 0 \n", "'results'"},
        {"results", "bigram 1 nan 1 1 5 0 \n", "'results'"},
        {"results", "bigram 1 1 inf 1 5 0 \n", "'results'"},
        {"results", "bigram 1 1 1 1 5 0 =\n", "'results'"},
        {"results", "bigram 1 1 1 1 5 0 =-1\n", "'results'"},
        {"option.steps", "rubbish", "'steps'"},
        {"option.batch", "0", "'batch'"},
        {"run.model", "gtp", "'run'"},
        {"run.width", "17", "'run'"},
        {"run.lr", "100", "'run'"},
        {"characters", "latin-1", "'characters'"},
        {"vocabulary", "aab", "'vocabulary'"},
        {"vocabulary", "abc", "vocabulary"},
        {"state", "0", "init"},
        {"windows_grow", "-1", "'windows_grow'"},
        {"embedding_decay", "nan", "'embedding_decay'"},
    };
    must_run("train " TINY "-q -o @alone " ACT);
    make_folder(scratch("bent"));
    for (size_t i = 0; i < sizeof notes / sizeof *notes; i++) {
        bend("alone", notes[i][0], notes[i][1], 1);
        run("train -r -q -o @bent " ACT);
        bool other_text = strcmp(notes[i][2], ACT) == 0;
        expect_failure(1, other_text ? "" : "state.safetensors: ", notes[i][2]);
    }
    static const char optional[] =
        " seed option.lr embedding_decay option.epochs text_name val recent_loss lowest_loss command "
        "best_loss run.model ladder "    /* the library lacks these */
        "other_seconds evaluated_part "; /* earlier versions, these */
    const SafeTensors *whole = tensors_of(scratch("alone/state.safetensors"));
    for (int i = 0; i < whole->metadata_count; i++) {
        if (checkpoint_has_key(whole->metadata[i].key)) continue;
        const char *key = formatted(" %s ", whole->metadata[i].key);
        bend("alone", whole->metadata[i].key, NULL, 1);
        run("train -r -q -o @bent " ACT);
        if (ran.status == (has_default(whole->metadata[i].key) || strstr(optional, key)))
            fail_msg("without%s: %d", key, ran.status);
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
    const char *log = slurp("tests/golden/formats/log-3.csv", NULL);
    for (int version = 2; version <= 3; version++) {
        size_t length;
        char *bytes =
            slurp(formatted("tests/golden/formats/state-%d.safetensors", version), &length);
        make_folder(scratch("stored"));
        scratch_put("stored/state.safetensors", bytes, length);
        scratch_put("stored/model.csv", log, strlen(log));
        must_run("sample -n 5 @stored/state.safetensors");
        run("train -r -q -s 20 --lr 0.001 -j 1 -o @stored @stored.txt");
        if (version < 3) {
            expect_failure(1, "state.safetensors: ", "init");
        } else {
            expect_success();
            assert_near(row_of("gpt").validation, 1.3290, 1e-3);
            assert_true(begins(slurp(scratch("stored/model.csv"), NULL), log)); /* goes on */
        }
        scratch_remove(scratch("stored"));
    }
}

/* Weights so large that the loss overflows: the files do not change. */
TEST(divergence) {
    size_t length;
    bend("alone", "step", "50", 1e30f);
    char *before = slurp(file_in("bent", "state"), &length);
    run("train -r -q -o @bent " ACT);
    expect_failure(1, "ngram: ", " 0.01 ", "--lr 0.0033");
    scratch_expect("bent/state.safetensors", before, length);
    /* another learning rate, from the last good state, works */
    bend("alone", "step", "50", 1);
    must_run("train -r -q --lr 0.001 -o @bent " ACT);
}

/* Fewer steps than a ladder had are an error before its rungs are trained again: their models stay.
 * A baseline stays as it is, if it had more. */
TEST(fewer_steps) {
    char *before[FILES];
    size_t lengths[FILES], length;
    must_run("train " TINY "-q --ladder -s 40 -o @fewer " ACT);
    for (int i = 0; i < FILES; i++) before[i] = slurp(file_in("fewer", files[i]), &lengths[i]);
    run("train -r -q -s 20 -o @fewer " ACT);
    expect_failure(2, "state.safetensors: ", " 40 ", "--steps 20");
    for (int i = 0; i < FILES; i++) {
        char *now = slurp(file_in("fewer", files[i]), &length);
        assert_int_equal(length, lengths[i]);
        assert_memory_equal(now, before[i], length);
    }
    /* the state has few steps, and the rungs before it had more */
    bend("fewer", "step", "10", 1);
    run("train -r -q --ladder -s 20 -o @bent " ACT);
    expect_failure(2, "state.safetensors: bigram ", " 40 ", "--steps 20");
    must_run("train " TINY "-q -s 40 -o @less " ACT);
    scratch_remove(scratch("bent/bigram.safetensors"));
    bend("less", "step", "10", 1);
    must_run("train -r -q -s 20 -o @bent " ACT);
    assert_false(scratch_has("bent/bigram.safetensors"));
}

/* The best weights fit on the disk but the state does not: training continues to its end and
 * reports it. A later run with more space resumes from the last saved state. */
TEST(no_room) {
    size_t length;
    skip_without(SIZE_LIMITS);
    slurp(file_in("alone", "model"), &length);
    limit_file_sizes(length + length / 2);
    run("train " TINY "-q -o @tight " ACT);
    end_file_size_limit();
    assert_int_equal(ran.status, 1);
    assert_non_null(strstr(ran.err, "state.safetensors: "));
    assert_same_file("tight", "alone", "model");
    must_run("train -r -q -o @tight " ACT);
    assert_same_file("tight", "alone", "state");
    /* without any state, no command resumes */
    slurp(file_in("tight", "bigram"), &length);
    limit_file_sizes(length + length / 2);
    run("train -q -m bigram -c 16 -b 4 -j 1 -s 20 -o @none " ACT);
    end_file_size_limit();
    assert_int_equal(ran.status, 1);
    assert_non_null(has_line("To read what it writes"));
    assert_null(has_line("--resume"));
}
