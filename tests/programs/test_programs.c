/* test_programs.c - the two programs from outside: their output, files and exit status. The models
 * are tiny and write gibberish, but gibberish of the right length. */
#include "tests/table.h"
#include "tests/state.h"
#include "base/memory.h"

/* Its beginning, for evaluating large models. */
#define VERSE "@verse.txt"

/* Sizes that train at once. The last of repeated options counts. */
#define TINY_SIZES "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 "
#define TINY       TINY_SIZES "-s 40 --eval-every 20 "

#define train(...)  must_run("train " TINY __VA_ARGS__)
#define sample(...) must_run("sample " __VA_ARGS__)

/* The first lines of the Thousand Character Classic: halves of 12 bytes, separated by a comma. */
static const char *const verses[] = {"天地玄黃，宇宙洪荒。\n", "日月盈昃，辰宿列張。\n",
                                     "寒來暑往，秋收冬藏。\n", "閏餘成歲，律呂調陽。\n",
                                     "雲騰致雨，露結為霜。\n", "金生麗水，玉出崑岡。\n"};

/* ---- output of the programs ---- */

/* Reads the numbers of training and held-out characters from the first line. */
static void split_of(size_t *training, size_t *held_out) {
    double numbers[4]; /* all, distinct, training, held out */
    assert_int_equal(numbers_of(after(": "), numbers, 4), 4);
    *training = (size_t)numbers[2];
    *held_out = (size_t)numbers[3];
}

/* ---- training (tests/screens has what is printed) ---- */

/* The stated memory is the measured one, that of the largest child so far. */
TEST(memory) {
    static const char *const sizes[][2] = {{"gpt", "-w 64 -b 12 -l 1 -c 64"},
                                           {"modern", "-w 128 -c 64 -b 16 -l 3"},
                                           {"gpt", "-w 64 -c 256 -b 40 -l 3"},
                                           {"modern", "-w 256 -c 64 -b 40"},
                                           {"gpt", "-w 512 -c 32 -b 1"}};
    skip_without(CHILD_MEMORY);
    if (strstr(programs_folder(), "san")) skip(); /* use more */
    for (int i = 0; i < repeats(2, COUNT(sizes)); i++) {
        run("train -s 2 --eval-every 2 --profile -o @memory -m %s %s " VERSE, sizes[i][0],
            sizes[i][1]);
        assert_int_equal(ran.status, 0);
        double stated;
        const char *of_model = after(formatted(" s of %s went\n", sizes[i][0]));
        numbers_of(find_line(of_model, TEXTS(" MiB ")), &stated, 1);
        stated *= 1048576;
        assert_near(stated, largest_memory(), 0.05 * stated);
    }
}

/* A training run that memorises the text ends early. Resuming needs a larger --patience. */
TEST(patience) {
    scratch_random("noise", 400, 5, 3);
    must_run("train " TINY_SIZES "-w 64 -d 0 --lr 0.001 -s 400 --eval-every 20 -o @heart %s",
             scratch("noise"));
    double step = state_number("heart/state.safetensors", "lowest_step");
    double best = row_of("gpt").validation;
    assert_near(state_number("heart/state.safetensors", "stale"), 7, 0);
    const char *last = formatted("%.0f/400", step + 7 * 20);
    assert_true(step >= 20 && step <= 200 && has_line(last));
    expect_line_of(has_line(last), ran.command, TEXTS(formatted("%.0f", step)));
    assert_null(has_line("400/400"));
    must_run("train -r -o @heart %s", scratch("noise"));
    assert_int_equal(count_progress(), 0);
    assert_near(row_of("gpt").validation, best, 1e-6);
    must_run("train -r --patience 1 -o @heart %s", scratch("noise"));
    assert_non_null(has_line("400/400"));
    assert_near(row_of("gpt").validation, best, 1e-6);
}

/* The evaluation after the last of all steps ends no training early, so more steps continue it. */
TEST(more_steps) {
    scratch_random("noise", 900, 5, 3);
    must_run("train -q -m modern -l 2 -w 32 -H 2 -c 16 -b 8 -d 0 -j 1 --precision f32 --lr 0.02 "
             "-s 100 --eval-every 25 -o @steps @noise");
    must_run("train -r -q -s 140 --eval-every 1000 -o @steps @noise");
    must_run("train -r -q -s 200 -o @steps @noise");
    assert_near(state_number("steps/state.safetensors", "step"), 200, 0);
}

/* A rung of a ladder is trained as it would be alone and with --profile, with the options that the
 * last rung gets alone. Only that of --model gets its rate. */
TEST(ladder_alone) {
    scratch_random("short", 300, 5, 3);
    must_run("train -q " TINY "--ladder -m head --lr 0.02 -o @rungs @short");
    for (int i = 0; model_name(i); i++) {
        const char *name = model_name(i), *alone = formatted("alone/%s", name);
        const bool head = strcmp(name, "head") == 0;
        const char *rung = formatted("rungs/%s.safetensors", head ? "model" : name);
        must_run("train -q --profile -c 16 -b 4 -j 1 -s 40 --eval-every 20 -m %s %s %s -o @%s "
                 "@short",
                 name, used_by(name, "--layers=1 --heads=2 --width=16"), head ? "--lr 0.02" : "",
                 alone);
        expect_same_model(rung, formatted("%s/model.safetensors", alone));
    }
}

/* ---- other texts ---- */

/* A text of a single character: nothing to learn, and no failure. */
TEST(one_character) {
    char text[300];
    memset(text, 'a', sizeof text);
    scratch_put("a.txt", text, sizeof text);
    train("--ladder -o @single @a.txt");
    for (int i = 0; model_name(i); i++) {
        Row row = {0, 1, 1, 1, 0};
        assert_true(find_row(model_name(i), &row));
        assert_true(row.train == 0 && row.validation == 0);
    }
    Row counted;
    assert_true(find_row("counted bigram", &counted) && counted.validation == 0);
    sample("-n 12 -p a @single");
    assert_string_equal(ran.out, "aaaaaaaaaaaaa\n");
}

/* ---- prompts ---- */

/* A prompt from a file or from standard input is that of --prompt; --quiet leaves out its echo. */
TEST(prompt) {
    static const char prompt[] = "THE CLOCK";
    scratch_put("prompt", prompt, strlen(prompt));
    sample("-n 40 -p THE~CLOCK @play");
    keep();
    sample("-n 40 --prompt-file @prompt @play");
    assert_string_equal(ran.out, kept);
    sample("-n 40 --quiet --prompt-file @prompt @play");
    assert_string_equal(ran.out, kept + strlen(prompt));
    command_input = copy_text(scratch("prompt"));
    sample("-n 40 -q --samples 2 --prompt-file - @play");
    assert_memory_equal(ran.out, kept + strlen(prompt), 40);
    sample("-n 40 -i @play"); /* the line is a prompt */
    keep();
    sample("-n 40 -i -q @play");
    assert_string_equal(ran.out, kept + strlen(prompt));
    command_input = copy_text(scratch_put("typed", "THE CLOCK\r\n", 11)); /* as on Windows */
    sample("-n 40 -i -q @play");
    assert_string_equal(ran.out, kept + strlen(prompt));
    command_input = NULL;
}

/* ---- copied passages ---- */

/* The longest passage of text[length] that `of` has, and the share of its characters in passages of
 * 20 or more. */
static void find_copies(const char *text, size_t length, const char *of, double found[2]) {
    bool *copied = scrap(length, 1);
    for (size_t i = 0; i < length; i++) {
        char *part = copy_text(text + i);
        size_t n = length - i;
        while (part[n] = 0, !strstr(of, part)) n--;
        found[0] = fmax(found[0], (double)n);
        if (n >= 20) memset(copied + i, 1, n);
    }
    for (size_t i = 0; i < length; i++) found[1] += 100.0 * copied[i] / (double)length;
}

/* Fails the test unless a row of --copied has these numbers. */
static void expect_copies(const char *row, const double *numbers) {
    double shown[2];
    const char *at = strstr(ran.err, row);
    assert_non_null(at);
    assert_int_equal(numbers_of(at + strlen(row), shown, 2), 2);
    for (int i = 0; i < 2; i++) assert_near(shown[i], numbers[i], 0.0501);
}

/* What a model writes is compared with the text that it was trained on, beside what was held out:
 * the end of the text, or a file. */
TEST(copied) {
    enum { N = 90, PIECES = 16 };
    size_t length;
    double own[2] = {0}, usual[2] = {0};
    char *play = slurp(PLAY, &length), *held_out = play + length * 4 / 5;
    const size_t rest = length - (size_t)(held_out - play);
    scratch_put("first", play, length - rest - 1);
    scratch_put("rest", held_out, rest);
    held_out[-1] = '\n';
    scratch_put("all", play, length);
    must_run("train -q -m ngram -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 --val 0.2 -o @fifth @all");
    must_run(
        "train -q -m ngram -l 1 -w 16 -H 2 -c 16 -b 4 -s 20 -o @apart --val-file @rest @first");
    sample("-q -n %d -t 0.3 @fifth", N);
    run("sample -q -n %d -t 0.3 --copied @all @fifth", N);
    const char *written = copy_text(ran.out), *train = copy_text(play);
    ((char *)train)[length - rest] = 0;
    find_copies(written, N, train, own);
    for (int i = 0; i < PIECES; i++) {
        double found[2] = {0};
        find_copies(held_out + (size_t)i * (rest - N) / (PIECES - 1), N, train, found);
        for (int j = 0; j < 2; j++) usual[j] += found[j] / PIECES;
    }
    assert_true(own[0] >= 8 && usual[1] > 0);
    expect_copies("generated text", own);
    expect_copies("held-out text", usual);
    assert_null(find_line(ran.err, TEXTS("another text")));
    run("sample -q -n %d -t 0.3 --copied @first @apart", N);
    expect_copies("held-out text", usual);
    assert_null(find_line(ran.err, TEXTS("another text")));
    run("sample -q -n %d -t 0.3 --copied " ACT " @fifth", N);
    expect_line_of(ran.err, ran.command, TEXTS("another text"));
    run("sample -q -n 9 -k 1 --samples 3 --copied @all @fifth");
    expect_line_of(ran.err, ran.command, TEXTS("16 pieces of 27 "));
    run("sample -q -n 9000 --copied @all @fifth");
    expect_line_of(ran.err, ran.command, TEXTS("one piece of "));
    assert_int_equal(remove(scratch("rest")), 0);
    run("sample --copied @first @apart");
    expect_failure(1, "--copied: ", "--val-file ", "rest");
}

/* ---- score ---- */

/* The lines of `sample --score`. */
typedef struct {
    double characters, unknown, nats, bits, perplexity;
} Score;

static Score score_of(const char *command) {
    Score s = {0};
    double *const numbers[] = {&s.characters, &s.unknown, &s.nats, &s.bits, &s.perplexity};
    run("%s", command);
    assert_int_equal(ran.status, 0);
    const char *line = ran.out;
    for (int i = 0; i < COUNT(numbers); i++, line = strchr(line, '\n') + 1) {
        expect_line_of(line, ran.command, TEXTS(""));
        assert_int_equal(numbers_of(line, numbers[i], 1), 1);
    }
    assert_string_equal(line, "");
    assert_true((s.unknown > 0) == (*ran.err != 0));
    return s;
}

/* The score of the held-out part is the validation loss of the training. */
static void check_score(const char *options, const char *path, bool bytes) {
    size_t length, training, held_out, tail = 0;
    uint32_t code;
    train("--precision f32 %s -o @scored %s", options, path);
    split_of(&training, &held_out);
    double loss = row_of("gpt").validation;
    char *text = slurp(*path == '@' ? scratch(path + 1) : path, &length);
    for (size_t i = 0; i < training; i++)
        tail += bytes ? 1 : (size_t)utf8_decode(text + tail, length - tail, &code);
    scratch_put("tail", text + tail, length - tail);
    const Score s = score_of("sample --score @tail @scored");
    assert_true(s.characters == (double)held_out && s.unknown == 0);
    assert_near(s.nats, loss, 1e-4);
    assert_near(s.bits, s.nats / log(2.0), 1e-5);
    assert_near(s.perplexity, exp(s.nats), 1e-3);
    assert_near(state_number("scored/model.safetensors", "validation_loss"), s.nats, 1e-5);
}

TEST(score) {
    check_score("--seed 3", ACT, false);
    check_score("--val 0.2", "@chinese.txt", false);
    check_score("--bytes", "@chinese.txt", true);
    scratch_put("mixed", "好the 好forest", 16); /* unknown characters are left out */
    const Score skipped = score_of("sample --score @mixed @play");
    assert_true(skipped.characters == 12 && skipped.unknown == 2);
    expect_line_of(ran.err, ran.command, TEXTS("unknown"));
}

/* ---- the whole ---- */

SET_UP {
    char chinese[280 * 32] = "";
    for (uint64_t i = 0; i < 280; i++) strcat(chinese, verses[random_bits(11, i) % 6]);
    scratch_put("chinese.txt", chinese, strlen(chinese));
    scratch_put("verse.txt", slurp(ACT, NULL), 4000);
    train("-o @play " ACT);
}
