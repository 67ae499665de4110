/* test_command_line.c - how the command line, presets, defaults and a state's options combine. */
#include "tests/scratch.h"
#include "programs/train/command_line.h"

enum { MAX_WORDS = 16 };

/* Reads a command line with spaces between its arguments. The text is added. */
static Arguments asked(const char *line) {
    char *words = formatted("train %s " ACT, line), **argv = scrap(MAX_WORDS + 1, sizeof *argv);
    int argc = 0;
    Arguments a;
    for (char *word = strtok(words, " "); word && argc < MAX_WORDS; word = strtok(NULL, " "))
        argv[argc++] = word;
    assert_ok(command_line_read(&a, argc, argv, &err), err);
    return a;
}

static TrilOptions new_training(const char *line) {
    const Arguments a = asked(line);
    TrilOptions options = tril_options();
    assert_ok(command_line_apply(&a, OVER_DEFAULTS, &options, &err), err);
    return options;
}

/* Only the given options are set; --help takes precedence. */
TEST(nothing) {
    assert_true(asked("more --help").help);
    const Arguments a = asked("-w 48 --patience 0");
    for (int i = 0; tril_option(i); i++) {
        const char *name = tril_option(i)->name;
        char text[TRIL_OPTION_SIZE];
        bool set = tril_options_get(&a.options, i, text);
        bool given = strcmp(name, "width") == 0 || strcmp(name, "patience") == 0;
        bool always = tril_option(i)->kind == TRIL_SEED || tril_option(i)->kind == TRIL_FLAG;
        if (set != (given || always)) fail_msg("--%s is '%s'", name, text);
    }
    assert_near(a.options.width, 48, 0);
    assert_near(a.options.patience, 0, 0);
    assert_string_equal(a.texts[0], ACT);
    assert_int_equal(a.text_count, 1);
    assert_string_equal(a.out, "out");
}

/* The command line takes precedence over the preset, in any order. */
TEST(presets) {
    static const char *const lines[] = {"--preset nanogpt-cpu -w 64", "-w 64 --preset nanogpt-cpu"};
    for (int i = 0; i < 2; i++) {
        const TrilOptions o = new_training(lines[i]);
        assert_string_equal(o.rung, "gpt");
        assert_true(o.width == 64 && o.context == 64 && o.dropout == 0 && o.steps == 2000);
    }
    const TrilOptions o = new_training("--preset nanogpt-cpu --time 60");
    assert_true(o.width == 128 && o.time == 60);
    for (int i = 0; tril_preset(i); i++) {
        TrilOptions preset = tril_options();
        assert_int_equal(tril_options_set(&preset, "preset", tril_preset(i), &(TrilError){0}),
                         TRIL_OK);
        assert_int_equal(tril_options_check(&preset, &(TrilError){0}), TRIL_OK);
        if (begins(tril_preset(i), "nanogpt")) assert_near(preset.learning_rate, 1e-3, 0);
    }
}

/* Each value, and being unset, is written as it is read. */
TEST(table) {
    static const char *const values[] = {[TRIL_WHOLE] = "3",
                                         [TRIL_REAL] = "0.3",
                                         [TRIL_TIME] = "90.5",
                                         [TRIL_FLAG] = "1",
                                         [TRIL_SEED] = "18446744073709551615"};
    TrilOptions o = tril_options_empty();
    TrilError error;
    size_t covered = sizeof o.hidden; /* no option */
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *t = tril_option(i);
        char text[TRIL_OPTION_SIZE];
        const char *value = values[t->kind] ? values[t->kind] : t->names ? t->names[1] : "gpt";
        assert_int_equal(tril_options_set(&o, t->name, value, &error), TRIL_OK);
        assert_int_equal(tril_options_set(&o, t->name, "rubbish", &error), TRIL_ARGUMENT);
        assert_int_equal(tril_options_get(&o, i, text), 1);
        assert_string_equal(text, value);
        if (t->kind == TRIL_WHOLE || t->kind == TRIL_REAL || t->kind == TRIL_TIME) {
            char least[TRIL_OPTION_SIZE];
            double *number = (double *)(void *)((char *)&o + t->member);
            const char *beyond = formatted("%.0f", 2 * t->max + 1);
            assert_int_equal(tril_options_set(&o, t->name, beyond, &error), TRIL_ARGUMENT);
            for (int end = 0; end < 2; end++) {
                *number = end ? t->max : t->min;
                assert_int_equal(tril_options_get(&o, i, least), 1);
                assert_int_equal(tril_options_set(&o, t->name, least, &error), TRIL_OK);
                assert_true(*number == (end ? t->max : t->min));
            }
        }
        if (t->kind != TRIL_FLAG && t->kind != TRIL_SEED) {
            assert_int_equal(tril_options_set(&o, t->name, "", &error), TRIL_OK);
            assert_int_equal(tril_options_get(&o, i, text), 0);
        }
        covered += t->kind == TRIL_FLAG   ? sizeof(bool)
                   : t->kind == TRIL_NAME ? sizeof(char *)
                                          : sizeof(double);
    }
    /* a member without a row would not be covered */
    assert_in_range(sizeof o - covered, 0, sizeof(double) - 1);
    assert_int_equal(tril_options_set(&o, "wodth", "3", &error), TRIL_ARGUMENT);
}

/* This command line's budget replaces that of the state. With --continue the longer one counts, if
 * both are steps or both a time. */
TEST(budgets) {
    static const struct {
        const char *before, *now;
        double steps, time; /* 0 if unset */
    } cases[] = {
        {"-s 100", "-r", 100, 0},
        {"-s 100", "-r -s 50", 50, 0},
        {"-s 100", "-r -t 60", 100, 60},
        {"-t 60", "-r", 0, 60},
        {"-t 60", "-r -s 50", 50, 0},
        {"-s 100", "-r --preset small", 2500, 0},
        {"-s 100", "--continue", 100, 0},
        {"-s 100", "--continue -s 50", 100, 0},
        {"-s 100", "--continue -s 200", 200, 0},
        {"-s 100", "--continue -t 60", 100, 60},
        {"-t 60", "--continue -t 30", 0, 60},
        {"-t 60", "--continue -t 90", 0, 90},
        {"-t 60", "--continue", 0, 60},
        {"-t 60", "--continue -s 50", 50, 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const TrilOptions before = new_training(cases[i].before);
        const Arguments a = asked(cases[i].now);
        TrilOptions now = before;
        assert_ok(command_line_apply(&a, OVER_RUN, &now, &err), err);
        double steps = isnan(now.steps) ? 0 : now.steps, time = isnan(now.time) ? 0 : now.time;
        if (steps != cases[i].steps || time != cases[i].time)
            fail_msg("%s, then %s: %g steps, %g seconds", cases[i].before, cases[i].now, steps,
                     time);
    }
}

/* The other options of this command line replace those of the state, or cannot. */
TEST(resume) {
    static const char *const fixed[][3] = {
        {"-m gpt", "--model=modern", "--model=gpt"},
        {"--preset nanogpt-cpu", "--model=modern", "--model=gpt"},
        {"-w 64", "--width=128", "--width=64"},
        {"-H 2", "--heads=4", "--heads=2"},
        {"-l 3", "--layers=4", "--layers=3"},
        {"-c 8", "--context=256", "--context=8"},
        {"--kv-heads 1", "--kv-heads=4", "--kv-heads=1"},
        {"--val 0.2", "--val=0.1", "--val=0.2"},
        {"--bytes", "--bytes", ""},
    };
    const TrilOptions before = new_training("--seed 5 --lr 0.01");
    TrilOptions now = before;
    Arguments a = asked("-r --lr 0.1");
    assert_ok(command_line_apply(&a, OVER_RUN, &now, &err), err);
    assert_true(now.learning_rate == 0.1 && now.seed == 5);
    a = asked("-r --seed 1337 -w 128");
    now = before;
    assert_ok(command_line_apply(&a, OVER_RUN, &now, &err), err);
    assert_true(now.learning_rate == 0.01 && now.seed == 1337);
    for (size_t i = 0; i < sizeof fixed / sizeof *fixed; i++) {
        a = asked(fixed[i][0]);
        now = before;
        assert_false(command_line_apply(&a, OVER_RUN, &now, &err));
        expect_error(err, fixed[i][1], fixed[i][2]);
    }
}
