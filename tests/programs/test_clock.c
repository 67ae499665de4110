/* test_clock.c - training by time, on a clock that the test controls (tests/clocked.c). The
 * simulated machines are from a hundred times slower to a hundred times faster than one that needs
 * ten milliseconds for a step of these sizes. The tests check the schedule's arithmetic, to the
 * second and the step, not the learning. */
#include "tests/state.h"
#include "tests/table.h"
#include "programs/train/budget.h"

/* Sizes that train at once. The last of repeated options counts. */
#define TINY_SIZES "-m gpt -l 1 -w 8 -H 2 -c 16 -b 4 -j 1 "

/* The readings of the clock in a step, and those after the beginning of the last one. */
enum { LOOKS = 3, LAST_LOOKS = 12 };

/* The schedule as read from a log. */
typedef struct {
    int steps, evaluations;
    double first, peak, last; /* learning rates */
    double seconds;           /* of the last row */
    double widest;            /* the longest time between evaluations */
} Schedule;

static Schedule schedule_of(const char *path) {
    char *log = slurp(path, NULL), *save = NULL;
    Schedule s = {0};
    double evaluated = 0;
    for (char *line = strtok_r(log, "\n", &save); (line = strtok_r(NULL, "\n", &save));) {
        double rate;
        int loss = 0; /* where the training loss ends */
        assert_int_equal(sscanf(line, "%d,%*f,%lf,%lf,%*f%n", &s.steps, &s.seconds, &rate, &loss),
                         3);
        if (s.steps == 1) s.first = rate;
        s.peak = fmax(s.peak, rate);
        s.last = rate;
        if (strncmp(line + loss, ",,", 2) == 0) continue; /* no validation loss */
        s.evaluations++;
        s.widest = fmax(s.widest, s.seconds - evaluated);
        evaluated = s.seconds;
    }
    return s;
}

/* Two lines about a model name the step of its lowest loss: it overfits, and its run ends. */
static void expect_given_up(const char *model, double lowest) {
    const char *step = formatted("%.0f", lowest);
    const char *line = expect_line_of(after(model), ran.command, TEXTS(step));
    expect_line_of(strchr(line, '\n'), ran.command, TEXTS(step));
}

/* The whole program takes the given time on any machine. The schedule ends with it, and each tenth
 * has an evaluation. */
TEST(time) {
    static const struct {
        double tick, time;
    } machines[] = {{2e-4, 4}, {2e-2, 200}, {5e-5, 1}, {2e-3, 20}, {0.2, 2000}};
    for (int i = 0; i < repeats(2, COUNT(machines)); i++) {
        double tick = machines[i].tick, time = machines[i].time, step = LOOKS * tick;
        double passed = must_run_clocked(
            tick, "", "train " TINY_SIZES "-e 0 --patience 1 -t %g -o @timed " PLAY, time);
        /* evaluations read the clock less often than predicted, so some time remains */
        if (!(passed <= time + LAST_LOOKS * tick && passed > 0.97 * time - 10 * step))
            fail_msg("tick %g: %g seconds of %g", tick, passed, time);
        Schedule gpt = schedule_of(scratch("timed/model.csv")),
                 bigram = schedule_of(scratch("timed/bigram.csv"));
        double share = fmin(time / 10, 1000 * step); /* it needs no more */
        assert_true(bigram.seconds <= share + step && bigram.seconds > share - 50 * step);
        assert_near(gpt.seconds + bigram.seconds, time, 0.03 * time + 20 * step);
        assert_near(gpt.steps, gpt.seconds / step, 0.1 * gpt.steps + 5);
        assert_in_range(gpt.evaluations, 8, 11);
        /* the first evaluation is predicted to take 15 steps, up to a twentieth of the time */
        double widest = fmax(0.16 * time, 1.3 * 20 * 15 * step);
        if (gpt.widest > widest) fail_msg("tick %g: %g of %g", tick, gpt.widest, time);
        assert_true(gpt.peak <= 5e-3 && gpt.peak > 4.5e-3 && gpt.last < 0.55e-3);
        assert_true(gpt.first < 0.1 * gpt.peak); /* it warms up before any speed is known */
        scratch_remove(scratch("timed"));
    }
}

/* An evaluation that takes most of the time that was left ends the training: there would be another
 * after a step or two. If it nevertheless goes on, none follows the next step, however slow. */
TEST(late_evaluation) {
    static const struct {
        double seconds;
        bool ends, seemed; /* seemed: if the budget seemed used up before it */
    } cases[] = {{60, false, false}, {93, false, true}, {99, true, true}, {130, true, true}};
    Plan plan = {.options = tril_options(),
                 .corpus = &(TrilText){.characters = 1000, .trained_on = 900}};
    plan.options.context = 16;
    plan.options.eval_every = 250;
    const RungPlan rung = {.options = plan.options};
    for (int i = 0; i < COUNT(cases); i++) {
        Budget b = {.plan = &plan, .rung = &rung, .seconds = 100, .steps = 1000, .slowdown = 1};
        b.max_steps = 1 << 30;
        Result p = {.now = {900, .recent_steps = 100 * i}, .seconds = cases[i].seconds};
        plan.options.time = 100;
        assert_int_equal(budget_used(&b, &p, 0.02), cases[i].ends);
        assert_int_equal(budget_used(&b, &p, 0.1), cases[i].seemed);
        assert_int_equal(budget_evaluation_due(&b, &p, true), i > 0);
        b.steps = 1000;
        assert_int_equal(budget_evaluation_due(&b, &p, false), i > 0);
        b.steps = 910;
        assert_false(budget_evaluation_due(&b, &p, false));
        plan.options.time = NAN;
        assert_false(budget_used(&b, &p, 0.1));
    }
}

/* Returns the seconds that did not pass in steps, as the state knows them. */
static double other_seconds(const char *state) {
    const double step = LOOKS * 0.01, other = state_number(state, "other_seconds"),
                 seconds = state_number(state, "seconds");
    assert_near(seconds - other, state_number(state, "step") * step, 0.03 * seconds);
    return other;
}

/* A training run resumes with more time; less time is an error. */
TEST(more_time) {
    const double first =
        must_run_clocked(0.01, "", "train " TINY_SIZES "-e 0 --patience 1 -t 30 -o @more " PLAY);
    int before = schedule_of(scratch("more/model.csv")).steps;
    const double other = other_seconds("more/state.safetensors"),
                 passed = must_run_clocked(0.01, "", "train -r -t 45 -o @more " PLAY);
    assert_true(other_seconds("more/state.safetensors") > other);
    expect_line(formatted("%d", before));
    assert_near(first + passed, 45, 1);
    Schedule s = schedule_of(scratch("more/model.csv")),
             bigram = schedule_of(scratch("more/bigram.csv"));
    double longer = (45 - bigram.seconds) / (30 - bigram.seconds);
    assert_near(s.steps, before * longer, 0.06 * before);
    assert_true(s.last < 0.55e-3);
    must_run_clocked(0.01, "", "train -r -o @more " PLAY); /* the time comes from the state */
    assert_int_equal(count_progress(), 0);
    run_clocked(0.01, "", "train -r -q -t 20 -o @more " PLAY);
    expect_failure(2, "--time 20");
    run_clocked(0.01, "", "train -r -q -s 3 -o @more " PLAY);
    expect_failure(2, "--steps 3");
    run_clocked(0.01, "", "train --continue -q -s 3 -o @more " PLAY);
    expect_failure(2, "--steps 3");
    /* --continue has nothing left to do */
    must_run_clocked(0.01, "", "train --continue -t 20 -o @more " PLAY);
    assert_int_equal(count_progress(), 0);
}

/* Under a time limit the rungs of a ladder take about as many steps as each other, never more than
 * announced; fewer here, because a step takes longer than measured. If they cannot, a line says
 * so: with --profile the steps of the upper rungs read the clock most often. */
TEST(equal_steps) {
    static const char command[] = "train --ladder " TINY_SIZES "-e 0 --patience 1 -t 20 -o @even";
    double announced[4];
    must_run_clocked(0.002, "", "%s " PLAY " --profile", command);
    expect_line(" steps of another rung; ");
    must_run_clocked(0.0004, "",
                     "train --ladder " TINY_SIZES
                     "-e 0 --patience 0.1 -t 20 -o @even " ACT); /* bigram stops early */
    assert_null(has_line(" steps of another rung; "));
    must_run_clocked(0.002, "", "%s " PLAY, command);
    assert_null(has_line(" steps of another rung; "));
    assert_int_equal(numbers_of(expect_line("a second: about "), announced, 4), 3);
    for (int i = 0; tril_rung(i); i++) {
        const char *log = scratch(formatted("even/%s.csv", tril_rung(i)));
        const int steps =
            schedule_of(file_kind(log) != FILE_NONE ? log : scratch("even/model.csv")).steps;
        assert_in_range(steps, 0.5 * announced[1], announced[1]);
    }
}

/* An interrupted ladder resumes with the rung under way: each of those before it had its share. */
TEST(ladder) {
    skip_without(SIGNALS);
    must_run_clocked(0.01, " 15@25", "train --ladder " TINY_SIZES "-t 30 -o @ladder " PLAY);
    assert_true(must_run_clocked(0.01, "", "train -r -o @ladder " PLAY) < 10);
    assert_null(has_line(" steps of another rung; ")); /* nor had those of the first run fewer */
    /* less time than one of them took is refused */
    must_run_clocked(0.01, " 15@7", "train --ladder " TINY_SIZES "-s 100 -o @slow " PLAY);
    run_clocked(0.01, "", "train -r -q -t 2 -o @slow " PLAY);
    expect_failure(2, "state.safetensors: bigram ", "--time 2");
}

/* The command that trains further does so, also where the epochs ended the training. */
TEST(further) {
    must_run_clocked(1e-3, "", "train " TINY_SIZES "-e 1 --patience 1 -t 60 -o @further " PLAY);
    int before = schedule_of(scratch("further/model.csv")).steps;
    expect_line(" --resume --time 240 --epochs 4 ");
    must_run_clocked(1e-3, "", "train --resume --time 240 --epochs 4 -o @further " PLAY);
    assert_in_range(schedule_of(scratch("further/model.csv")).steps, 4 * before, 4 * before + 3);
    scratch_remove(scratch("further"));
}

/* Returns the steps that a run announced, and sets *taken to those of its log. */
static double announced(const char *log, double *taken) {
    double said[2]; /* speed, steps */
    assert_int_equal(numbers_of(expect_line(" characters a second: "), said, 2), 2);
    *taken = schedule_of(scratch(log)).steps;
    return said[1];
}

/* The steps that are announced are those that are taken: without the time of the baseline, of
 * counting and of evaluations. A run whose steps become slower says so: with --profile they read
 * the clock more often. */
TEST(announced) {
    static const char command[] = "train " TINY_SIZES "-e 0 --patience 1 -t 20 -o @said " PLAY;
    double taken;
    must_run_clocked(2e-3, "", "%s", command);
    const double said = announced("said/model.csv", &taken);
    assert_near(said, taken, 0.3 * said);
    assert_null(has_line("only", formatted("%.0f", taken)));
    must_run_clocked(2e-3, "", "%s --profile", command);
    assert_true(announced("said/model.csv", &taken) > 2 * taken);
    after("\ngpt: ");
    expect_line("only", formatted("%.0f", taken));
}

/* Where counting or an evaluation of the whole text would take too much of the time, a part must
 * do, and that is said. Without a time limit all is read. */
TEST(samples) {
    scratch_random("long", 400000, 5, 3);
    const double passed =
        must_run_clocked(0.1, "", "train " TINY_SIZES "--precision f32 -t 12 -o @part @long");
    assert_true(passed < 1.1 * 12 + 2);
    const double all = 40000;
    double read[2];
    assert_int_equal(numbers_of(expect_line("360,000 characters to train on: "), read, 2), 2);
    assert_true(read[0] >= 32768 && read[0] < 360000);
    assert_int_equal(numbers_of(expect_line("40,000 held-out"), read, 2), 2);
    assert_true(read[0] >= 64 && read[0] < all / 4 && read[1] == all);
    assert_non_null(strchr(after("\ngpt  "), '~'));
    assert_non_null(has_line("~ about"));
    /* a resumed run evaluates the same part, here without a step */
    const char *losses = formatted("%.55s", after("\ngpt  "));
    must_run_clocked(0.1, "", "train -q -r -o @part @long");
    assert_memory_equal(after("\ngpt  "), losses, strlen(losses));
    expect_line("~ about, on a part of the held-out text");
    must_run("train -q " TINY_SIZES "-s 2 -o @all @long");
    assert_null(has_line("~"));
}

/* A time in which a step takes more than a twentieth is refused, with one that is enough. */
TEST(too_short) {
    double found[5]; /* the steps, their seconds, the limit, the seconds left, the limit to give */
    run_clocked(0.2, "", "train -q " TINY_SIZES "-t 10 -o @hasty " PLAY);
    expect_failure(1, "gpt: ", "--time 10");
    assert_int_equal(numbers_of(ran.err, found, 5), 5);
    assert_true(found[3] < 10 && found[1] > found[3]);
    assert_in_range(found[4], 11, 100);
    must_run_clocked(0.2, "", "train " TINY_SIZES "-t %g -o @hasty " PLAY, found[4]);
    assert_true(schedule_of(scratch("hasty/model.csv")).steps >= 10);
}

/* Windows do not grow where the text is seen often, also if all sizes are given. */
TEST(windows) {
    skip_without(SIGNALS);
    static const char sizes[] = "-m modern -l 1 -w 8 -H 2 -c 256 -b 4 -j 1 -d 0 -e 0 --patience 1";
    must_run_clocked(0.01, " 2@1 2@1.1", "train %s -t 5 -o @seldom " PLAY, sizes);
    expect_line("64", "256");
    must_run_clocked(0.01, " 2@8 2@8.1", "train %s -t 50 -o @often " PLAY, sizes);
    after("\nmodern: "); /* the bigram had its tenth of the time */
    assert_null(has_line("64", "256"));
}

/* By time, too, a text is repeated only as often as is known to help, and a training run ends early
 * when the loss stops falling. */
TEST(enough) {
    skip_without(SIGNALS);
    scratch_random("short", 1000, 5, 3); /* 900 of them for training */
    must_run_clocked(1e-4, "", "train " TINY_SIZES "-c 15 -t 5 --patience 1 -o @brief @short");
    expect_line("40.0", "(--epochs); it ends early");
    assert_null(has_line("larger size")); /* all sizes were asked for */
    assert_true(has_line("600/~600") > has_line("gpt: "));
    must_run_clocked(1e-4, "", "train -r -t 5 -o @brief @short");
    assert_int_equal(count_progress(), 0);
    /* 5.3 epochs would fit */
    must_run_clocked(2e-3, "", "train " TINY_SIZES "-t 20 -e 5 --patience 1 -o @most " PLAY);
    expect_line("5.0 epochs, the limit (--epochs)");
    assert_null(has_line("ends early"));
    must_run_clocked(1e-4, " 2@0.5 2@0.6", "train -t 5 -c 15 -o @larger @short");
    expect_line("2", "64", "15", "250,000");
    scratch_random("noise", 400, 5, 3);
    must_run_clocked(1e-3, "",
                     "train " TINY_SIZES "-w 64 -d 0 --lr 0.001 -t 4 -e 1000 -o @heart @noise");
    expect_given_up("\ngpt: ", state_number("heart/state.safetensors", "lowest_step"));
    must_run_clocked(1e-3, "", "train -r -o @heart @noise");
    assert_int_equal(count_progress(), 0);
}

/* Where nothing can be learned, the learning rates of modern decay early, to 0. An interruption
 * during the decay does not change the end result. */
#define DECAY                                                                                  \
    "train -m modern -l 1 -w 32 -H 2 -c 16 -b 4 -j 1 -d 0 -s 4000 --eval-every 20 --patience " \
    "0.05 "
TEST(early_decay) {
    skip_without(SIGNALS);
    scratch_random("noise", 400, 6, 3); /* nothing can be learned from it */
    double passed = must_run_clocked(1e-3, "", DECAY "-o @early @noise");
    int lowest = (int)state_number("early/state.safetensors", "cooling") - 120;
    expect_given_up("\nmodern: ", lowest);
    /* evaluated every 20 steps; no progress means 40 steps after the lowest loss, or 100, a
     * fortieth of all */
    int decay = lowest * 3 / 2, at = lowest + 120 + decay;
    const char *end = formatted("%d/%d", at, at);
    assert_non_null(has_line(end));
    double best = row_of("modern").validation,
           seconds = schedule_of(scratch("early/model.csv")).seconds;
    const char *signal = formatted(" 15@%.3f", passed - seconds * decay / 2 / at);
    must_run_clocked(1e-3, signal, DECAY "-o @late @noise");
    assert_null(has_line(end));
    expect_given_up("\nmodern: ", lowest);
    expect_line(" --resume --out ");
    must_run_clocked(1e-3, "", "train -r -o @late @noise");
    assert_non_null(has_line(end));
    assert_near(row_of("modern").validation, best, 1e-9);
    expect_same_model("late/model.safetensors", "early/model.safetensors");
}

/* A rung of a ladder whose rates decayed early is complete: a training run that is interrupted
 * after it resumes with the next rung, for the steps that were planned at first. */
TEST(early_decay_of_a_rung) {
    skip_without(SIGNALS);
    static const char ladder[] = "train --ladder -m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -d 0 "
                                 "-s 800 --eval-every 20 --patience 0.1 ";
    scratch_random("noise", 400, 6, 3); /* nothing can be learned from it */
    double passed = must_run_clocked(1e-3, "", "%s-o @whole @noise", ladder);
    assert_in_range(schedule_of(scratch("whole/modern.csv")).steps, 100, 799);
    const char *last = last_model_name();
    double seconds = schedule_of(scratch(formatted("whole/%s.csv", last))).seconds;
    const char *signal = formatted(" 15@%.3f", passed - seconds / 2);
    must_run_clocked(1e-3, signal, "%s-o @parts @noise", ladder);
    after(formatted("\n%s  ", last));
    expect_line(" --resume --out ");
    must_run_clocked(1e-3, "", "train -r -o @parts @noise");
    assert_null(has_line("modern resumes"));
    expect_line(formatted("%s resumes", last));
    expect_same_model(formatted("parts/%s.safetensors", last),
                      formatted("whole/%s.safetensors", last));
    expect_same_model("parts/modern.safetensors", "whole/modern.safetensors");
    expect_same_model("parts/ngram.safetensors", "whole/ngram.safetensors");
}

/* Kills a training run after `end` seconds. It must lose at most the last minute. */
static void check_saved(double tick, double end) {
    run_clocked(tick, formatted(" 9@%.9g", end),
                "train -m bigram -c 16 -b 4 -j 1 -s 1000000 --eval-every 1000000 --patience 1 "
                "-e 0 -o @saved " PLAY);
    assert_int_equal(ran.status, KILLED);
    double seconds = state_number("saved/state.safetensors", "seconds"),
           step = state_number("saved/state.safetensors", "step");
    if (!(seconds <= end && seconds >= end - 60 - 20 * tick))
        fail_msg("tick %g: %g seconds saved of %g", tick, seconds, end);
    assert_near(step * LOOKS * tick, seconds, 0.05 * seconds);
    scratch_remove(scratch("saved"));
}

/* On any machine, killed at any time. */
TEST(saving) {
    static const double ticks[] = {0.05, 0.1, 0.2};
    for (int i = 0; i < 3; i++)
        for (int moment = 0; moment < 6; moment++)
            check_saved(ticks[i], (2000 + 100 * moment) * ticks[i]);
}
