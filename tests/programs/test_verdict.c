/* test_verdict.c - each verdict on a training that earns it, and on trainings that do not: real
 * ones, counted in steps, and made-up curves where those are sharper. */
#include "tests/support.h"
#include "tests/state.h"
#include "tests/table.h"
#include "programs/train/verdict.h"

#include <ctype.h>

#define PLAY "data/sample.txt"

/* ---- real trainings ---- */

/* Sizes that train in a second; in float32, so that every machine trains the same model. */
#define SMALL "-j 1 -l 1 -w 32 -H 2 -c 32 -b 8 --precision f32 "
#define TINY  "-j 1 -l 1 -w 16 -H 2 -c 16 -b 4 --precision f32 "

/* The verdicts of the last run as one line, with single spaces. */
static const char *spoken(void) {
    static char text[8192];
    size_t length = 0;
    const char *from = after(heading), *end = strstr(from, "\n\nTo read");
    assert_non_null(end);
    for (const char *line; (line = strstr(from, "digest of the weights")) && line < end;)
        from = line + strcspn(line, "\n"); /* none of them is a verdict */
    for (; from < end && length + 1 < sizeof text; from++)
        if (!isspace((unsigned char)*from) || (length > 0 && text[length - 1] != ' '))
            text[length++] = isspace((unsigned char)*from) ? ' ' : *from;
    text[length] = 0;
    const char *found = strstr(text, ": ");
    return found ? text : "";
}

static void expect_spoken(const char *what) {
    if (!strstr(spoken(), what)) fail_msg("%s: no '%s' in: %s", ran.command, what, spoken());
}

static void expect_silent(const char *what) {
    if (strstr(spoken(), what)) fail_msg("%s: '%s' in: %s", ran.command, what, spoken());
}

/* Nothing asks for more steps of the model: neither an arrow in its row nor a command. */
static void expect_no_more(const char *name) {
    char row[64];
    snprintf(row, sizeof row, "\n%-16s  ", name);
    const char *line = after(row), *mark = strstr(line, "\u2193");
    if ((mark && mark < strchr(line, '\n')) || strstr(ran.out, "To train it further"))
        fail_msg("%s: asks for more steps:\n%s", ran.command, after(heading));
}

static const char *part_of_play(const char *name, size_t characters) {
    size_t length;
    char *play = slurp(PLAY, &length);
    assert_true(characters <= length);
    const char *path = scratch_put(name, play, characters);
    free(play);
    return path;
}

/* A short text, learned by heart: said while it trains and at the end. The kept model is that of
 * the step which is named. */
TEST(overfitting) {
    part_of_play("three", 3000);
    must_run("train " SMALL "-c 16 -d 0 -s 600 --eval-every 60 --patience 1 -o @over/m @three");
    int since, named;
    const char *live = after("\n  overfitting since step ");
    assert_true(live < after(heading));
    assert_int_equal(sscanf(live, "%d", &since), 1);
    assert_null(strstr(live, "\n  overfitting")); /* once */
    assert_int_equal(sscanf(strstr(spoken(), "modern: overfitting since step "),
                            "modern: overfitting since step %d", &named),
                     1);
    assert_int_equal(since, named);
    expect_silent("still falling");
    assert_near(state_number("over/m", "step"), named, 0);
    expect_no_more("modern");
}

/* The loss with twice the steps is in the range that was said, or near it. */
TEST(still_falling) {
    double low, high, from;
    must_run("train " SMALL "-s 400 -o @fall/m " PLAY);
    assert_null(strstr(spoken(), "rate is too high"));
    const char *said = strstr(spoken(), "modern: still falling: ");
    assert_non_null(said);
    assert_int_equal(sscanf(said,
                            "modern: still falling: with twice the steps the loss would be about "
                            "%lf to %lf instead of %lf (--steps 800).",
                            &low, &high, &from),
                     3);
    assert_near(from, row_of("modern").validation, 0.00501);
    assert_true(low < high && high < from);
    after("\n\u2193 the loss was still falling at the end: more steps would lower it\n");
    after("\nTo train it further:     train --resume --steps 800 --out ");
    expect_silent("overfitting");
    expect_silent("worse than");
    must_run("train " SMALL "-s 800 -o @fall/m " PLAY);
    double twice = row_of("modern").validation;
    if (!(twice > low - 0.02 && twice < high + 0.02))
        fail_msg("%.2f to %.2f, and it is %.4f", low, high, twice);
}

/* A training that has learned what it can from its text is not still falling; and nothing else is
 * said of it. */
TEST(healthy) {
    must_run("train " TINY "-m average -s 4000 -e 0 -o @healthy/m " PLAY);
    assert_string_equal(spoken(), "");
    assert_null(strstr(ran.out, "\u2193"));
}

TEST(too_few_steps) {
    must_run("train " TINY "-s 100 -o @few/m " PLAY); /* the only evaluation is the last */
    expect_spoken("modern: worse than counting pairs (");
    expect_spoken("100 steps are too few. Train longer: --steps 400, for example.");
    expect_spoken("bigram: 100 steps were too few to learn what counting finds (");
    expect_silent("twice the steps");
    must_run("train " TINY "-s 2000 -o @few/m " PLAY);
    expect_silent("too few");
    expect_silent("worse than counting");
}

TEST(short_text) {
    part_of_play("four", 400);
    must_run("train " TINY "-o @short/m @four");
    expect_spoken(
        "modern: the text is too short: the model learned only pairs of characters from its 400 "
        "characters, seen 40 times.");
    expect_spoken("--init MODEL");
    expect_no_more("modern");
    part_of_play("hundred", 150); /* counted pairs are worse than uniform chances there */
    must_run("train " TINY "-b 16 -c 64 -o @short/m @hundred");
    assert_true(row_of("counted bigram").validation > row_of("uniform").validation);
    expect_spoken("modern: the text is too short");
    expect_no_more("modern");
    part_of_play("ten", 10000); /* seen as often as helps: more epochs are not asked for */
    must_run("train " TINY "-b 8 -o @short/m @ten");
    expect_silent("too short");
    expect_no_more("modern");
}

/* The rate that is said is one at which the training does not go wrong. */
TEST(rate) {
    static const struct {
        const char *rung, *rate, *sizes, *says;
    } cases[] = {{"head", "0.3", SMALL, "the training loss rose from "},
                 {"modern", "1", TINY, "the loss did not fall while the rate was at its peak"}};
    for (int i = 0; i < 2; i++) {
        double lower;
        must_run("train %s-m %s --lr %s -s 300 --eval-every 30 -o @rate/m " PLAY, cases[i].sizes,
                 cases[i].rung, cases[i].rate);
        expect_spoken("the learning rate is too high: ");
        expect_spoken(cases[i].says);
        expect_silent("twice the steps");
        expect_no_more(cases[i].rung);
        const char *instead = strstr(spoken(), "Try --lr ");
        assert_int_equal(sscanf(instead, "Try --lr %lf instead of ", &lower), 1);
        double bad = row_of(cases[i].rung).validation;
        must_run("train %s-m %s --lr %g -s 300 --eval-every 30 -o @rate/m " PLAY, cases[i].sizes,
                 cases[i].rung, lower);
        expect_silent("the learning rate");
        assert_true(row_of(cases[i].rung).validation < bad);
    }
    must_run("train " SMALL "-m head --lr 0.3 -s 300 --eval-every 30 -o @rate/m " PLAY);
    const char *live = after("\n  the learning rate is too high: ");
    assert_true(live < after(heading));
    assert_null(strstr(live, "\n  the learning rate is too high: ")); /* once */
}

/* A loss that is no longer a number ends the training, with the rate to try. */
TEST(diverged) {
    run("train " TINY "--lr 6 -s 200 -o @gone/m " PLAY);
    assert_int_equal(ran.status, 1);
    if (!strstr(ran.err, "the learning rate of 6 is too high: try --lr 0.006\n"))
        fail_msg("%s", ran.err);
    must_run("train " TINY "--lr 0.006 -s 200 -o @gone/m " PLAY);
    run("train " TINY "--lr 5 -s 40 --eval-every 20 -o @gone/m " PLAY);
    after("e+");
    for (const char *c = ran.out; *c; c++) { /* no figure has ten digits before its point */
        size_t digits = strspn(c, "0123456789");
        if (digits >= 10 && c[digits] == '.') fail_msg("%s", c);
    }
}

/* In a short ladder, rungs that are not below the one before them are named and marked, and an
 * untrained bigram is no baseline. */
TEST(ladder) {
    must_run("train " TINY "--ladder -s 300 --eval-every 30 -o @ladder/m.safetensors " PLAY);
    expect_spoken("bigram: 300 steps were too few to learn what counting finds (");
    expect_spoken("compare with the counted bigram");
    expect_spoken("average: not below counted bigram yet (");
    expect_spoken("gpt: not below multihead yet (");
    expect_silent("twice the steps"); /* the table marks these rungs */
    after("\n\u2193 the loss was still falling at the end");
    char row[64];
    for (int i = 0; model_name(i); i++) {
        snprintf(row, sizeof row, "\n%-16s  ", model_name(i));
        const char *line = after(row), *end = strchr(line, '\n'), *mark = strstr(line, " \u2193");
        assert_true(mark && mark < end);
    }
    must_run("train " SMALL "--ladder -s 1400 -e 0 --patience 1 -o @ladder/m.safetensors " PLAY);
    expect_silent("bigram:");
    expect_silent("modern:");
}

/* The table's compute: 6 operations for each parameter but the positions, and 12 L T C, for each
 * character read. */
TEST(compute) {
    must_run("train -q " TINY "--ladder -l 2 -s 40 --eval-every 20 -o @sum/m.safetensors " PLAY);
    const double read = 40 * 4 * 16, T = 16, C = 16, L = 2;
    for (int i = 0; model_name(i); i++) {
        const char *name = model_name(i);
        bool bigram = strcmp(name, "bigram") == 0;
        bool rotates = strcmp(name, "modern") == 0 || strcmp(name, "conv") == 0;
        bool blocks = rotates || strcmp(name, "gpt") == 0;
        double parameters = (double)row_of(name).parameters;
        double positions = bigram || rotates ? 0 : T * C;
        double attention = bigram ? 0 : 12 * (blocks ? L : 1) * T * C;
        double operations = read * (6 * (parameters - positions) + attention);
        size_t length;
        char *table = slurp(scratch("sum/ladder.csv"), &length), row[32];
        double tera;
        snprintf(row, sizeof row, "\n%s,", name);
        char *line = strstr(table, row);
        assert_non_null(line);
        assert_int_equal(
            sscanf(line + strlen(row), "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf", &tera), 1);
        assert_near(tera, operations / 1e12, 0.51e-6);
        free(table);
    }
}

/* What a complete training computed is known from its log. Without the log it is not. */
TEST(without_log) {
    must_run("train -q " TINY "--ladder -s 20 -o @logs/m.safetensors " PLAY);
    assert_int_equal(unlink(scratch("logs/average.csv")), 0);
    must_run("train -q " TINY "--ladder -s 20 -r -o @logs/m.safetensors " PLAY);
    size_t length;
    char *table = slurp(scratch("logs/ladder.csv"), &length);
    const char *average = strstr(table, "\naverage,"), *head = strstr(table, "\nhead,");
    assert_true(average && head && head[-1] == ',');
    assert_non_null(strstr(after(heading), "\naverage"));
    assert_true(strchr(head + 1, '\n')[-1] != ',');
    free(table);
}

/* Verdicts do not depend on whether a training was interrupted; --quiet has none. */
TEST(resumed) {
    static const char first[] = "bigram: 300 steps were too few";
    char whole[4096];
    must_run("train " TINY "-s 300 -o @whole/m " PLAY);
    expect_spoken(first);
    snprintf(whole, sizeof whole, "%s", strstr(spoken(), first));
    must_run("train " TINY "-s 300 -r -o @whole/m " PLAY); /* nothing is left to train */
    expect_spoken(first);
    assert_string_equal(strstr(spoken(), first), whole);
    must_run("train -q " TINY "-s 300 -o @whole/m " PLAY);
    assert_true(strstr(whole, "worse than") && !strstr(spoken(), "worse than"));
}

/* ---- made-up curves ---- */

static const Result pairs = {.name = "counted bigram", .validation = 2.4, .seconds = -1};

/* Two rungs of a plan, and a text. */
static Plan plan_of(const char *name, double rate, bool ladder) {
    static const Arguments arguments = {.input = "text"};
    Plan plan = {.rungs = {{.name = "head"}, {.name = name, .chosen = true}},
                 .rung_count = 2,
                 .ladder = ladder,
                 .options = tril_options(),
                 .arguments = &arguments,
                 .input = {.length = 100000, .train = 90000}};
    plan.options.rung = name;
    plan.options.steps = 1000;
    plan.options.learning_rate = rate;
    return plan;
}

typedef double (*Shape)(double share);

/* A training of 1,000 steps with an evaluation at each tenth. */
static Result result_of(const char *name, double rate, Shape training, Shape validation) {
    enum { STEPS = 1000 };
    static Course courses[8]; /* of the last results */
    static int next;
    Course *course = &courses[next++ % 8];
    Result r = {.name = name, .seconds = 1, .course = course};
    *course = (Course){0};
    for (int step = 1; step <= STEPS; step++) {
        double share = (double)step / STEPS;
        LogRow row = {.step = step,
                      .characters = 100.0 * step,
                      .rate = rate,
                      .loss = training(share) + 0.05 * sin(12.3 * step), /* chance */
                      .validation = step % 100 == 0 ? validation(share) : NAN};
        course_add(course, &row);
    }
    course->ended = true;
    r.validation = course->lowest.validation;
    r.train = training(1);
    return r;
}

/* Copies the verdicts on the results, and returns how many. */
static int verdicts_of(const Plan *plan, Result *results, int count, Verdict *verdicts) {
    int said = 0;
    verdicts_judge(plan, results, count);
    for (int i = 0; i < count; i++)
        if (results[i].verdict.kind != NO_VERDICT) verdicts[said++] = results[i].verdict;
    return said;
}

/* Judges one rung. Returns the kind of its verdict. */
static int judged(const char *name, double rate, Shape training, Shape validation) {
    Plan plan = plan_of(name, rate, false);
    Result results[] = {pairs, result_of(name, rate, training, validation)};
    verdicts_judge(&plan, results, 2);
    assert_int_equal(results[0].verdict.kind, NO_VERDICT);
    return (int)results[1].verdict.kind;
}

static double falling(double x) {
    return 1.5 + 0.3 / sqrt(x);
}
static double settled(double x) {
    return 1.8 + 0.3 * exp(-12 * x);
}
static double by_heart(double x) {
    return settled(x) - 0.9 * x;
}
static double turning(double x) {
    return settled(x) + 0.5 * fmax(0, x - 0.6);
}
/* A text of a few repeated words. */
static double learnt(double x) {
    return fmax(0.04 - 0.01 * x, 1.5 - 2.5 * x);
}
static double nearly_learnt(double x) {
    return 0.3 + 2 * fmax(0, 0.6 - x) + 0.01 * (1 - x);
}
/* One worse evaluation, the last, is chance. */
static double slip(double x) {
    return settled(x) + (x > 0.95 ? 0.04 : 0);
}
static double rising(double x) {
    return settled(x) + (x > 0.3 && x < 0.5 ? 0.6 : 0);
}
static double jumping(double x) {
    double steps = 1000 * x;
    return settled(x) + (fabs(fmod(steps, 250) - 110) < 0.5 ? 1.5 : 0);
}
static double flat(double x) {
    return 3.1 - 0.3 * fmax(0, x - 0.6);
}
static double slow(double x) {
    return 2.2 + 0.3 / sqrt(x);
}

TEST(curves) {
    static const struct {
        const char *rung;
        double rate; /* 0: the usual one */
        Shape training, validation;
        int verdict;
    } cases[] = {
        {"gpt", 0, settled, settled, NO_VERDICT},
        {"gpt", 0, falling, falling, STILL_FALLING},
        {"gpt", 0, slow, slow, TOO_FEW_STEPS},
        {"gpt", 0, by_heart, turning, OVERFITTING},
        {"gpt", 0, settled, turning, NO_VERDICT}, /* worse, but not by heart */
        {"gpt", 0, by_heart, settled, NO_VERDICT},
        {"gpt", 0, by_heart, slip, NO_VERDICT},
        {"gpt", 0, rising, settled, RATE_TOO_HIGH},
        {"gpt", 0, jumping, settled, RATE_TOO_HIGH},
        {"gpt", 0.1, flat, flat, RATE_TOO_HIGH},
        {"gpt", 0, flat, flat, NO_VERDICT}, /* at the usual rate it is something else */
        {"gpt", 1e-4, flat, flat, NO_VERDICT},
        {"gpt", 0.1, slow, slow, RATE_TOO_HIGH}, /* the first suspect */
        {"gpt", 0.003, slow, slow, RATE_TOO_HIGH},
        {"gpt", 0.0029, slow, slow, TOO_FEW_STEPS},
        {"gpt", 0.1, falling, falling, STILL_FALLING}, /* better than pairs */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        double rate = cases[i].rate > 0 ? cases[i].rate : 1e-3;
        int found = judged(cases[i].rung, rate, cases[i].training, cases[i].validation);
        if (found != cases[i].verdict)
            fail_msg("curve %zu: %d, not %d", i, found, cases[i].verdict);
    }
}

/* More steps are proposed where a verdict asks for them, or where nothing speaks against them. */
TEST(further) {
    static const Input once = {.length = 100000, .train = 90000};
    static const Input often = {.length = 5000, .train = 3900}; /* seen 26 times: 40 are enough */
    static const struct {
        Shape training, validation;
        const Input *text;
        bool arrow, further;
    } cases[] = {{falling, falling, &once, true, true},
                 {slow, slow, &once, true, true},
                 {settled, settled, &once, false, true},
                 {settled, turning, &once, false, false}, /* no lower loss at the end */
                 {by_heart, turning, &once, false, false},
                 {rising, settled, &once, false, false},
                 {falling, falling, &often, false, false},
                 {settled, settled, &often, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[LONGER_SIZE];
        Plan plan = plan_of("gpt", 1e-3, false);
        plan.input = *cases[i].text;
        Result results[] = {pairs, result_of("gpt", 1e-3, cases[i].training, cases[i].validation)};
        verdicts_judge(&plan, results, 2);
        bool further = verdict_further(&plan, &results[1], options);
        if (verdict_asks_for_more(&results[1]) != cases[i].arrow || further != cases[i].further)
            fail_msg("curve %zu", i);
        if (further) assert_string_equal(options, "--steps 2000");
    }
}

/* A loss of nearly 0 has nowhere to fall to: no lower one is promised, least of all one below 0. */
TEST(near_zero) {
    Verdict verdicts[MAX_RUNGS];
    Plan plan = plan_of("modern", 1e-3, false);
    Result results[] = {pairs, result_of("modern", 1e-3, learnt, learnt)};
    assert_int_equal(verdicts_of(&plan, results, 2, verdicts), 0);
    results[1] = result_of("modern", 1e-3, nearly_learnt, nearly_learnt);
    assert_int_equal(verdicts_of(&plan, results, 2, verdicts), 1);
    assert_int_equal(verdicts->kind, STILL_FALLING);
    assert_null(strstr(verdicts->text, "-0."));
    assert_non_null(strstr(verdicts->text, " would be about 0.06 or lower instead of 0.30 ("));
    plan.input = (Input){.length = 1000, .train = 900};
    Result all_by_pairs[] = {{.name = "counted bigram", .validation = 0.03, .seconds = -1},
                             result_of("modern", 1e-3, learnt, learnt)};
    assert_int_equal(verdicts_of(&plan, all_by_pairs, 2, verdicts), 0);
}

/* A training that was resumed with a lower rate is not blamed for the earlier one. */
TEST(mended) {
    Verdict verdicts[MAX_RUNGS];
    Plan plan = plan_of("gpt", 1e-3, false);
    Result results[] = {pairs, result_of("gpt", 0.02, rising, settled)};
    assert_int_equal(verdicts_of(&plan, results, 2, verdicts), 0);
}

/* While a rung trains, only what matters then is said. */
TEST(meanwhile) {
    static const Shape training[] = {falling, slow, by_heart, rising};
    static const Shape validation[] = {falling, slow, turning, settled};
    static const int kinds[] = {NO_VERDICT, NO_VERDICT, OVERFITTING, RATE_TOO_HIGH};
    for (int i = 0; i < 4; i++) {
        Verdict verdicts[MAX_RUNGS];
        Plan plan = plan_of("gpt", 1e-3, true);
        Result r = result_of("gpt", 1e-3, training[i], validation[i]);
        Course now = *r.course;
        now.ended = false;
        r.course = &now;
        r.validation = NAN;
        int count = verdicts_of(&plan, &r, 1, verdicts);
        assert_int_equal(count, kinds[i] != NO_VERDICT);
        if (count > 0) assert_int_equal(verdicts->kind, kinds[i]);
    }
}

/* A rung is compared with the one before it, if it was still falling. */
TEST(order) {
    Verdict verdicts[MAX_RUNGS];
    Plan plan = plan_of("gpt", 1e-3, true);
    Result results[] = {pairs, result_of("head", 1e-2, settled, settled),
                        result_of("gpt", 1e-3, falling, falling)};
    assert_int_equal(verdicts_of(&plan, results, 3, verdicts), 1);
    assert_int_equal(verdicts->kind, STILL_FALLING);
    results[2].validation = 1.9;
    assert_int_equal(verdicts_of(&plan, results, 3, verdicts), 1);
    assert_int_equal(verdicts->kind, NOT_COMPARABLE);
    assert_non_null(strstr(verdicts->text, "not below head yet (1.9000 against 1.8000)"));
    results[2] = result_of("gpt", 1e-3, settled, settled);
    results[2].validation = 1.9; /* it had the time */
    assert_int_equal(verdicts_of(&plan, results, 3, verdicts), 0);
}

/* What is said to train longer does: where the epochs ended the training, more time would not. */
TEST(epochs) {
    const struct {
        double epochs;
        const char *twice;
    } cases[] = {{0, "twice the time "}, {1.5, "twice the time "}, {1.12, "twice the epochs "}};
    for (int i = 0; i < 3; i++) {
        Verdict verdicts[MAX_RUNGS];
        Plan plan = plan_of("gpt", 1e-3, false);
        plan.options.time = 60;
        plan.options.epochs = cases[i].epochs; /* of 90,000 characters; 100,000 are read */
        plan.options.batch = plan.options.context = 30;
        Result results[] = {pairs, result_of("gpt", 1e-3, falling, falling)};
        assert_int_equal(verdicts_of(&plan, results, 2, verdicts), 1);
        assert_non_null(strstr(verdicts->text, cases[i].twice));
        assert_non_null(
            strstr(verdicts->text, i < 2 ? "(--time 120)" : "(--time 120 --epochs 2.24)"));
    }
}

/* The longest verdict is not cut. */
TEST(whole) {
    Verdict verdicts[MAX_RUNGS];
    Plan plan = plan_of("gpt", 1e-3, false);
    Result results[] = {pairs, result_of("gpt", 1e-3, by_heart, turning)};
    Course c = *results[1].course;
    c.lowest.step += 900000000;
    results[1].course = &c;
    assert_int_equal(verdicts_of(&plan, results, 2, verdicts), 1);
    size_t length = strlen(verdicts->text);
    assert_true(length < VERDICT_SIZE - 1);
    assert_int_equal(verdicts->text[length - 1], '.');
}

/* Of many evaluations, those that are kept span the training, and the lowest is known. */
TEST(many) {
    Course c = {0};
    for (int step = 1; step <= 10000; step++)
        course_add(&c,
                   &(LogRow){.step = step,
                             .loss = 3 - 1e-4 * step,
                             .validation = step % 10 == 0 ? 2.0 + abs(step - 7770) : (double)NAN});
    assert_in_range(c.kinds[1].kept, COURSE_KEPT / 2, COURSE_KEPT);
    assert_int_equal(c.lowest.step, 7770);
    assert_near(c.lowest.validation, 2, 0);
    assert_int_equal(c.since_lowest, 223);
    assert_int_equal(c.before.step, 9990);
    assert_int_equal(c.last.step, 10000);
    assert_near(c.last.loss, 3 - 1e-4 * 9995.5, 1e-9); /* the mean since the evaluation before */
    assert_near(course_validation(&c, 5000), 2 + 2770, 1e-9);
    assert_true(isnan(course_validation(&c, 1)));
    assert_near(course_fall(&c, 0.3, 0.6), 3000, 1e-9);
}

/* Without evaluations the training loss tells, but not if its log begins in the middle. */
TEST(part_of_log) {
    for (int first = 1; first <= 501; first += 500) {
        Course c = {0};
        for (int step = first; step <= 1000; step++)
            course_add(&c, &(LogRow){.step = step, .loss = 3 - 1e-3 * step, .validation = NAN});
        double fall = course_fall(&c, 0.3, 0.6);
        if (first == 1)
            assert_near(fall, 0.3, 0.05);
        else
            assert_true(isnan(fall));
    }
}

FIXTURE(scratch_open, command_close)
