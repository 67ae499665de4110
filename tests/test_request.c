/* test_request.c - the request to ./train: how the command line, presets, defaults and the words of
 * a state combine. */
#include "tests/support.h"
#include "tests/scratch.h"
#include "programs/train/request.h"

#include <math.h>

enum { MAX_WORDS = 16 };

static Error err;
static char words[512]; /* a request points into it */
static char *argv[MAX_WORDS + 1];

/* Reads a command line with spaces between words. The text is added. */
static bool read_line(Request *request, const char *line) {
    int argc = 0;
    snprintf(words, sizeof words, "train %s text", line);
    for (char *word = strtok(words, " "); word && argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    return request_read(request, argc, argv, &err);
}

static Request asked(const char *line) {
    Request request;
    assert_ok(read_line(&request, line), err);
    return request;
}

static Request new_training(const char *line) {
    Request request = asked(line);
    return request_new(&request);
}

/* The request as read from the words of a state, in which a plan has fixed the sizes. */
static Request saved(const Request *request) {
    char text[WORDS_SIZE];
    Request back, planned = *request;
    planned.sizes = (TrilSizes){.layers = 4, .heads = 4, .width = 128, .context = 256};
    planned.dropout = fmax(0, request->dropout);
    planned.batch = 16;
    request_write(&planned, text);
    assert_ok(request_parse(&back, text, true, &err), err);
    return back;
}

static void expect_budget(const Request *r, int steps, double time) {
    assert_int_equal(r->steps, steps);
    assert_near(r->time, time, 0);
}

/* A request has only what was given. */
static void test_nothing(void **state) {
    (void)state;
    Request r = asked("-w 48 --patience 0");
    assert_int_equal(r.sizes.width, 48);
    assert_near(r.patience, 0, 0);
    assert_string_equal(r.input, "text");
    assert_null(r.model);
    assert_null(r.out);
    assert_int_equal(r.steps + r.batch + r.eval_every + r.sizes.layers + r.sizes.context, 0);
    assert_true(r.epochs < 0 && r.dropout < 0 && r.weight_decay < 0 && r.save_every < 0);
    assert_true(r.embedding_decay < 0);
    assert_false(r.has_seed);
    assert_true(r.steps_open);
}

/* Any number is a seed. */
static void test_seeds(void **state) {
    (void)state;
    static const struct {
        const char *line;
        uint64_t seed;
    } seeds[] = {{"--seed 0", 0},
                 {"--seed 1", 1},
                 {"--seed 1337", 1337},
                 {"--seed 18446744073709551615", UINT64_MAX}};
    for (size_t i = 0; i < sizeof seeds / sizeof *seeds; i++) {
        Request r = asked(seeds[i].line);
        assert_true(r.has_seed && r.seed == seeds[i].seed);
        r = request_new(&r);
        assert_true(saved(&r).seed == seeds[i].seed);
    }
    assert_true(new_training("").seed == 1337);
}

static void test_defaults(void **state) {
    (void)state;
    Request r = new_training("-l 3");
    assert_string_equal(r.model, "modern");
    assert_string_equal(r.out, "out/model.safetensors");
    assert_int_equal(r.sizes.layers, 3);
    assert_int_equal(r.sizes.width, 128);
    assert_int_equal(r.batch, 8);
    assert_true(r.learning_rate < 0 && r.epochs < 0 && r.dropout < 0); /* the plan decides */
    expect_budget(&r, 2500, 0);
    r = new_training("--time 2m -l 3 -q");
    assert_int_equal(r.sizes.layers, 3);
    assert_int_equal(r.sizes.width + r.sizes.heads + r.sizes.context + r.batch,
                     0); /* for the plan, too */
    assert_near(r.time, 120, 0);
    assert_true(r.quiet);
}

/* The command line takes precedence over the preset, in any order. */
static void test_presets(void **state) {
    (void)state;
    static const char *const lines[] = {"--preset nanogpt-cpu -w 64", "-w 64 --preset nanogpt-cpu"};
    for (int i = 0; i < 2; i++) {
        Request r = new_training(lines[i]);
        assert_string_equal(r.model, "gpt");
        assert_int_equal(r.sizes.width, 64);
        assert_int_equal(r.sizes.context, 64);
        assert_near(r.dropout, 0, 0);
        assert_false(r.steps_open);
        expect_budget(&r, 2000, 0);
    }
    Request r = new_training("--preset nanogpt-cpu --time 60");
    assert_int_equal(r.sizes.width, 128); /* fixed */
    assert_near(r.time, 60, 0);
}

static void test_words(void **state) {
    (void)state;
    static const char *const wrong[] = {"", "--width=16\n", "rubbish\n", "--model=other\n"};
    Request r = new_training("-m gpt -d 0.25 --bytes --lr 0.003 --time 90 --precision f32 -o x");
    Request back = saved(&r);
    assert_string_equal(back.model, "gpt");
    assert_string_equal(back.precision, "f32");
    assert_string_equal(back.out, "out/model.safetensors"); /* not saved */
    assert_near(back.dropout, 0.25, 0);
    assert_near(back.learning_rate, 0.003, 0);
    assert_true(back.bytes && !back.ladder);
    assert_near(back.time, 90, 0);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_false(request_parse(&back, wrong[i], true, &err));
        expect_words(err, "no valid 'settings'");
    }
    assert_false(request_parse(&back, "--wodth=16\n", true, &err));
    expect_words(err, "'--wodth'");
}

/* The budget of this command line replaces the saved one. With --continue the longer one counts. */
static void test_budgets(void **state) {
    (void)state;
    static const struct {
        const char *before, *now;
        int steps;
        double time;
    } cases[] = {
        {"-s 100", "-r", 100, 0},
        {"-s 100", "-r -s 50", 50, 0},
        {"-s 100", "-r -t 60", 100, 60},
        {"-t 60", "-r", 2500, 60},
        {"-t 60", "-r -s 50", 50, 0},
        {"-s 100", "-r --preset small", 2500, 0},
        {"-s 100", "--continue", 100, 0},
        {"-s 100", "--continue -s 50", 100, 0},
        {"-s 100", "--continue -s 200", 200, 0},
        {"-s 100", "--continue -t 60", 100, 0},
        {"-t 60", "--continue -t 30", 2500, 60},
        {"-t 60", "--continue -t 90", 2500, 90},
        {"-t 60", "--continue -s 50", 50, 60},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Request before = new_training(cases[i].before), all;
        before = saved(&before);
        Request now = asked(cases[i].now);
        assert_ok(request_resume(&all, &now, &before, &err), err);
        if (all.steps != cases[i].steps || fabs(all.time - cases[i].time) > 0)
            fail_msg("%s, then %s: %d steps, %g seconds", cases[i].before, cases[i].now, all.steps,
                     all.time);
    }
}

/* The other options of this command line replace the saved ones, or are refused. */
static void test_resume(void **state) {
    (void)state;
    static const char *const fixed[][3] = {
        {"-m gpt", "--model=modern", "--model=gpt"},
        {"-w 64", "--width=128", "--width=64"},
        {"--val 0.2", "--val=0.1", "--val=0.2"},
        {"--bytes", "without --bytes", "not with it"},
    };
    Request before = new_training("--seed 5 --lr 0.01 --ladder"), all, now = asked("-r --lr 0.1");
    before = saved(&before);
    assert_ok(request_resume(&all, &now, &before, &err), err);
    assert_near(all.learning_rate, 0.1, 0);
    assert_true(all.seed == 5 && all.ladder && all.resume);
    now = asked("-r --seed 1337 -o else -w 128");
    assert_ok(request_resume(&all, &now, &before, &err), err);
    assert_near(all.learning_rate, 0.01, 0);
    assert_string_equal(all.out, "else");
    assert_true(all.seed == 1337);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        now = asked(fixed[i][0]);
        assert_false(request_resume(&all, &now, &before, &err));
        expect_words(err, fixed[i][1], fixed[i][2]);
    }
}

static void test_refusals(void **state) {
    (void)state;
    static const char *const lines[][2] = {
        {"-s 3 -t 4", "take one"},
        {"more", "one text FILE is expected, not 2"},
        {"--preset none", "no preset 'none'"},
        {"--precision f16", "not 'f16'"},
        {"--ladder --init x", "not for a --ladder"},
        {"--preset small --init x", "take one"},
        {"--wodth 3", "--width"},
    };
    Request r;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        if (read_line(&r, lines[i][0])) fail_msg("%s is taken", lines[i][0]);
        expect_words(err, lines[i][1]);
    }
    assert_true(read_line(&r, "more --help") && r.help); /* which takes precedence */
}

static void test_rungs(void **state) {
    (void)state;
    const char *names[MAX_RUNGS];
    Request r = new_training("-m head");
    assert_int_equal(request_rungs(&r, names), 2);
    assert_string_equal(names[0], "bigram");
    assert_string_equal(names[1], "head");
    r = new_training("-m bigram");
    assert_int_equal(request_rungs(&r, names), 1);
    r = new_training("--ladder");
    int count = request_rungs(&r, names);
    for (int i = 0; i < count; i++) assert_string_equal(names[i], model_name(i));
    assert_null(model_name(count));
    assert_null(request_rung("modernist", 9));
    assert_string_equal(request_rung("modernist", 6), "modern");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing),  cmocka_unit_test(test_seeds),
        cmocka_unit_test(test_defaults), cmocka_unit_test(test_presets),
        cmocka_unit_test(test_words),    cmocka_unit_test(test_budgets),
        cmocka_unit_test(test_resume),   cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_rungs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
