/* test_effects.c - every option of both programs has an effect, or is an error. */
#include "tests/command.h"

#define SIZES "-l 1 -H 2 -w 16 -c 16 "
#define BASE  "-m modern " SIZES "-b 4 -s 12 "
#define MODEL "@e"

/* Each option with a command line without it and one with it. */
typedef struct {
    const char *option, *without, *with;
    const char *said; /* what only the second one prints; NULL: the weights, or the texts, differ */
} Effect;

static const Effect of_train[] = {
    {"model", BASE, BASE "-m gpt", NULL},
    {"preset", "-s 2 -w 16 -c 16", "-s 2 -w 16 -c 16 --preset nanogpt-cpu", NULL},
    {"ladder", "-s 2 -w 16 -c 16", "-s 2 -w 16 -c 16 --ladder", "\nmultihead "},
    {"init", "-m ngram " SIZES "-b 4 -s 12", "--init @first -b 4 -s 12", NULL},
    {"out", BASE, BASE "-o @e/other", "e/other"},
    {"resume", BASE, "-s 13 --resume", "13/13"},
    {"continue", BASE, "-s 13 --continue", "13/13"},
    {"steps", BASE, BASE "-s 13", NULL},
    {"time", BASE, "-m modern " SIZES "-b 4 -t 5", NULL},
    {"batch", BASE, BASE "-b 2", NULL},
    {"lr", BASE, BASE "--lr 0.1", NULL},
    {"eval-every", BASE "--eval-every 4", BASE "--eval-every 5", " 5/12"},
    {"epochs", "-m modern " SIZES "-e 0.1", "-m modern " SIZES "-e 0.2", NULL},
    {"patience", BASE "-s 80 --lr 1 --eval-every 1 --patience 1",
     BASE "-s 80 --lr 1 --eval-every 1 --patience 0.01", NULL},
    {"precision", BASE "--precision f32", BASE "--precision bf16", NULL},
    {"seed", BASE, BASE "--seed 3", NULL},
    {"val", BASE, BASE "--val 0.3", NULL},
    {"val-file", BASE, BASE "--val-file @lines", NULL},
    {"bytes", BASE, BASE "--bytes", NULL},
    {"profile", BASE, BASE "--profile", "where the "},
    {"quiet", BASE "-q", BASE, "step "},
    {"help", BASE, "--help", "Usage: "},
    {"version", BASE, "--version", "tril "},
};

static const Effect of_sample[] = {
    {"length", MODEL, "-n 9 " MODEL, NULL},
    {"prompt", MODEL, "-p THE " MODEL, NULL},
    {"prompt-file", MODEL, "--prompt-file @lines " MODEL, NULL},
    {"quiet", "-p THE " MODEL, "-p THE -q " MODEL, NULL},
    {"samples", MODEL, "--samples 2 " MODEL, "\n----\n"},
    {"stop", MODEL, "--stop e " MODEL, NULL},
    {"interactive", MODEL, "-i " MODEL, NULL},
    {"temperature", MODEL, "-t 2 " MODEL, NULL},
    {"top-k", MODEL, "-k 2 " MODEL, NULL},
    {"top-p", MODEL, "-P 0.3 " MODEL, NULL},
    {"counts", "@first", "--counts 0 @first", NULL},
    {"seed", MODEL, "--seed 3 " MODEL, NULL},
    {"score", MODEL, "--score " ACT " " MODEL, "nats_per_char"},
    {"explain", MODEL, "--explain THE " MODEL, "softmax"},
    {"layer", "--explain THE --layer 0 " MODEL, "--explain THE --layer 1 " MODEL, NULL},
    {"head", "--explain THE --head 0 " MODEL, "--explain THE --head 1 " MODEL, NULL},
    {"info", MODEL, "--info " MODEL, "digest"},
    {"precision", MODEL, "--precision f32 " MODEL, NULL},
    {"help", MODEL, "--help", "Usage: "},
    {"version", MODEL, "--version", "tril "},
};

/* Each with every rung. */
static const char *const of_rungs[] = {"--layers=2",   "--heads=4",   "--width=32",
                                       "--kv-heads=1", "--context=8", "--dropout=0.4"};

/* Fails the test unless the option is in the table, or in that one. */
static void expect_row(const Effect *effects, size_t count, const char *option) {
    static const char *const others[] = {/* tested by those of what they belong to */
                                         "threads" /* any number gives the same */,
                                         "copied" /* prints on standard error */};
    bool known = false;
    for (size_t i = 0; i < count; i++) known = known || strcmp(effects[i].option, option) == 0;
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        known = known || strcmp(others[i], option) == 0;
    for (int i = 0; i < COUNT(of_rungs); i++)
        known = known || begins(of_rungs[i], formatted("--%s=", option));
    if (!known) fail_msg("--%s has no row", option);
}

/* Each option of --help has a row. */
static void expect_rows(const char *program, const Effect *effects, size_t count) {
    must_run("%s --help", program);
    int found = 0;
    for (const char *at = ran.out; (at = strstr(at, "\n  ")); at += 3) {
        char option[32];
        if (sscanf(at, "\n  -%*c, --%31[a-z-]", option) == 1 ||
            sscanf(at, "\n      --%31[a-z-]", option) == 1) {
            expect_row(effects, count, option);
            found++;
        }
    }
    assert_true(found >= (int)count);
}

/* Trains in the folder e, which is new unless the command resumes. */
static void train_in_e(const char *options) {
    const bool resumes = strstr(options, "--resume") || strstr(options, "--continue");
    if (!resumes && scratch_has("e")) scratch_remove(scratch("e"));
    must_run("train -o " MODEL " %s " ACT, options);
}

static uint64_t weights_in_e(void) {
    return tril_model_digest(load_model(scratch("e/state.safetensors")));
}

/* Fails the test unless only the second output says what it should. */
static void expect_said(const Effect *e, const char *first) {
    if (strstr(first, e->said) || !strstr(ran.out, e->said))
        fail_msg("--%s does not show '%s':\n%s", e->option, e->said, ran.out);
}

TEST(train) {
    enum { COUNT = sizeof of_train / sizeof *of_train };
    expect_rows("train", of_train, COUNT);
    must_run("train -m ngram " SIZES "-b 4 -s 12 -o @first " ACT);
    scratch_put("lines", "THE\nAND\n", 8);
    for (size_t i = 0; i < COUNT; i++) {
        const Effect *e = &of_train[i];
        if (strcmp(e->option, "precision") == 0 && strcmp(tril_precision("auto"), "bf16") != 0)
            continue; /* the other precision is an error */
        train_in_e(e->without);
        const char *first = copy_text(ran.out);
        const uint64_t before = e->said ? 0 : weights_in_e();
        train_in_e(e->with);
        if (e->said)
            expect_said(e, first);
        else if (weights_in_e() == before)
            fail_msg("--%s has no effect", e->option);
    }
}

TEST(sample) {
    enum { COUNT = sizeof of_sample / sizeof *of_sample };
    expect_rows("sample", of_sample, COUNT);
    must_run("train -m ngram " SIZES "-b 4 -s 12 -o @first " ACT);
    must_run("train -m modern -l 2 -H 2 -w 16 -c 16 -b 4 -s 12 -o " MODEL " " ACT);
    command_input = scratch_put("lines", "THE\nAND\n", 8);
    for (size_t i = 0; i < COUNT; i++) {
        const Effect *e = &of_sample[i];
        must_run("sample %s", e->without);
        const char *first = copy_text(ran.out);
        must_run("sample %s", e->with);
        if (e->said)
            expect_said(e, first);
        else if (strcmp(first, ran.out) == 0)
            fail_msg("--%s has no effect", e->option);
    }
    command_input = NULL;
}

/* An option changes the weights of a rung, or that rung refuses it. */
TEST_OF_EACH(tril_rung, rungs) {
    const char *base = formatted("-m %s -c 16 -b 4 -s 12 %s", name,
                                 used_by(name, "--layers=1 --heads=2 --width=16 --dropout=0"));
    train_in_e(base);
    const uint64_t before = weights_in_e();
    for (int i = 0; i < COUNT(of_rungs); i++) {
        const char *with = formatted("%s %s", base, of_rungs[i]);
        if (*used_by(name, of_rungs[i])) {
            train_in_e(with);
            if (weights_in_e() == before) fail_msg("%s: no effect", with);
        } else {
            assert_string_not_equal(name, "modern"); /* which uses all */
            must_fail(2, formatted("train -o " MODEL " %s " ACT, with), "no effect", name);
        }
    }
}
