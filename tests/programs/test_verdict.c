/* test_verdict.c - each verdict on a training run that earns it, and on training runs that do not:
 * real ones, counted in steps, and made-up curves where those are sharper. */
#include "tests/state.h"
#include "tests/table.h"
#include "programs/train/verdict.h"

/* ---- real training runs ---- */

/* Sizes that train in a second; in float32, so that every machine trains the same model. */
#define SMALL "-j 1 -l 1 -w 32 -H 2 -c 32 -b 8 --precision f32 "
#define TINY  "-j 1 -l 1 -w 16 -H 2 -c 16 -b 4 --precision f32 "

/* The verdict on a model, a line after the table; NULL if there is none. */
static const char *verdict_on(const char *name) {
    const char *line = strstr(after("\nuniform  "), formatted("\n%s: ", name));
    return line ? line + 1 : NULL;
}

/* Fails the test unless there is one with these texts. */
#define expect_verdict(name, ...) \
    expect_line_of(verdict_on(name), ran.command, TEXTS(name ": ", __VA_ARGS__))

/* Fails the test unless these are all models with verdicts. */
static void expect_verdicts(const char *const names[]) {
    for (int i = 0; model_name(i); i++)
        if (*names && strcmp(*names, model_name(i)) == 0)
            assert_true(verdict_on(*names++));
        else if (verdict_on(model_name(i)))
            fail_msg("%s: %s", ran.command, verdict_on(model_name(i)));
    assert_null(*names);
}

/* Fails the test unless nothing asks for more steps: no arrow in the model's row, no command. */
static void expect_no_more(const char *name) {
    const char *line = after(formatted("\n%-16s  ", name)), *mark = strstr(line, "\u2193");
    if ((mark && mark < strchr(line, '\n')) || strstr(ran.out, " --resume "))
        fail_msg("%s: asks for more steps:\n%s", ran.command, ran.out);
}

static void part_of_play(const char *name, size_t characters) {
    scratch_put(name, slurp(PLAY, NULL), characters);
}

/* A short text, learned by heart: said while it trains and at the end. The kept model is that of
 * the step which is named. */
TEST(overfitting) {
    part_of_play("three", 3000);
    must_run("train " SMALL "-c 16 -d 0 -s 600 --eval-every 60 --patience 1 -o @over @three");
    const char *since = measured(state_number("over/model.safetensors", "step"));
    const char *live = expect_line(since);
    assert_true(live < after("\nuniform  "));
    expect_verdicts(TEXTS("modern"));
    expect_verdict("modern", since);
    assert_ptr_equal(find_line(strchr(live, '\n'), TEXTS(since)), verdict_on("modern")); /* once */
    expect_no_more("modern");
}

/* The loss is lower with the steps that were said. */
TEST(still_falling) {
    if (SANITIZED) skip(); /* it is long, and runs no other code than the other tests */
    must_run("train " SMALL "-s 400 -o @fall " PLAY);
    expect_verdicts(TEXTS("modern"));
    expect_verdict("modern", "--steps 800");
    const double once = row_of("modern").validation;
    expect_line("\u2193 ");
    expect_line("train --resume --steps 800 --out ");
    must_run("train " SMALL "-s 800 -o @fall " PLAY);
    assert_true(row_of("modern").validation < once - 0.02);
}

TEST(short_text) {
    part_of_play("four", 400);
    must_run("train " TINY "-o @short @four");
    expect_verdict("modern", "400", "40", "--init MODEL");
    expect_no_more("modern");
    part_of_play("hundred", 150); /* counted pairs are worse than uniform chances there */
    must_run("train " TINY "-b 16 -c 64 -o @short @hundred");
    assert_true(row_of("counted bigram").validation > row_of("uniform").validation);
    expect_verdict("modern", "150", "38", "--init MODEL");
    expect_no_more("modern");
    part_of_play("ten", 10000); /* seen as often as helps: more epochs are not asked for */
    must_run("train " TINY "-b 8 -o @short @ten");
    expect_verdicts(TEXTS(NULL));
    expect_no_more("modern");
}

/* The rate that is said is one at which the training does not go wrong. */
TEST(rate) {
    static const struct {
        const char *rung, *rate, *sizes;
    } cases[] = {{"head", "0.3", "-j 1 -w 32 -c 32 -b 8 --precision f32 "}, {"modern", "1", TINY}};
    for (int i = 0; i < 2; i++) {
        double lower;
        must_run("train %s-m %s --lr %s -s 300 --eval-every 30 -o @rate " PLAY, cases[i].sizes,
                 cases[i].rung, cases[i].rate);
        if (i == 0) {
            expect_no_more("head");
            const char *live = expect_line("--lr ", "0.3");
            assert_true(live < after("\nuniform  "));
            live = find_line(strchr(live, '\n'), TEXTS("--lr "));
            assert_ptr_equal(live, verdict_on("head")); /* once */
        }
        const char *said = expect_line_of(verdict_on(cases[i].rung), ran.command,
                                          TEXTS(cases[i].rung, "--lr ", cases[i].rate));
        assert_int_equal(sscanf(strstr(said, "--lr "), "--lr %lf", &lower), 1);
        double bad = row_of(cases[i].rung).validation;
        must_run("train %s-m %s --lr %g -s 300 --eval-every 30 -o @rate " PLAY, cases[i].sizes,
                 cases[i].rung, lower);
        said = verdict_on(cases[i].rung);
        assert_true(!said || !find_line(said, TEXTS("--lr ")));
        assert_true(row_of(cases[i].rung).validation < bad);
    }
}

/* A loss that is no longer a number ends the training, with the rate to try. */
TEST(diverged) {
    run("train " TINY "--lr 6 -s 200 -o @gone " PLAY);
    assert_int_equal(ran.status, 1);
    expect_line_of(ran.err, ran.command, TEXTS("modern: ", "6", "--lr 0.006"));
    must_run("train " TINY "--lr 0.006 -s 200 -o @gone " PLAY);
    run("train " TINY "--lr 5 -s 40 --eval-every 20 -o @gone " PLAY);
    after("e+");
    for (const char *c = ran.out; *c; c++) { /* no figure has ten digits before its point */
        size_t digits = strspn(c, "0123456789");
        if (digits >= 10 && c[digits] == '.') fail_msg("%s", c);
    }
}

/* In a short ladder, rungs that are not below the one before them are named and marked, and an
 * untrained bigram is no baseline. */
TEST(ladder) {
    must_run("train " TINY "--ladder -s 300 -o @ladder " PLAY);
    assert_false(verdict_on("conv")); /* the table marks it */
    must_run("train " TINY "--ladder -s 100 -o @ladder " PLAY);
    expect_verdict("bigram", "100");
    expect_verdict("average", "counted bigram");
    expect_verdict("gpt", "multihead");
    expect_line("\u2193 ");
    for (int i = 0; i < 7; i++) { /* ngram begins where counting ends */
        const char *line = after(formatted("\n%-16s  ", model_name(i)));
        const char *end = strchr(line, '\n'), *mark = strstr(line, " \u2193");
        assert_true(mark && mark < end);
    }
}

/* With the recipes' rates, each rung is below the one before it, but for chance. */
TEST(staircase) {
    const double chance = 0.01;
    must_run(
        "train -q --ladder -j 1 -l 2 -w 32 -H 2 -c 32 -b 8 -s 400 --precision f32 -o @stairs " PLAY);
    for (int i = 1; i < 7; i++) { /* ngram begins where counting ends */
        const double before = row_of(model_name(i - 1)).validation,
                     is = row_of(model_name(i)).validation;
        if (!(is <= before + chance)) fail_msg("%s: %.4f after %.4f", model_name(i), is, before);
    }
}

/* The table's compute: 6 for each parameter but the positions, and 12 L T C, by characters read. */
TEST(compute) {
    must_run("train -q " TINY "--ladder -l 2 -s 60 --eval-every 30 -o @sum " PLAY);
    const double read = 60 * 4 * 16, T = 16, C = 16, L = 2;
    for (int i = 0; model_name(i); i++) {
        const char *name = model_name(i);
        bool bigram = i == 0;
        bool rotates = i >= 5;
        bool blocks = rotates || strcmp(name, "gpt") == 0;
        double parameters = (double)row_of(name).parameters;
        double positions = bigram || rotates ? 0 : T * C;
        double attention = bigram ? 0 : 12 * (blocks ? L : 1) * T * C;
        double operations = read * (6 * (parameters - positions) + attention);
        const char *row = formatted("\n%s,", name);
        const char *line = strstr(slurp(scratch("sum/ladder.csv"), NULL), row);
        double tera;
        assert_non_null(line);
        assert_int_equal(
            sscanf(line + strlen(row), "%*[^,],%*[^,],%*[^,],%*[^,],%*[^,],%lf", &tera), 1);
        assert_near(tera, operations / 1e12, 0.51e-6);
    }
}

/* The operations of a complete training are known from its log, and unknown without it. */
TEST(without_log) {
    must_run("train -q " TINY "--ladder -s 20 -o @logs " PLAY);
    assert_int_equal(unlink(scratch("logs/average.csv")), 0);
    must_run("train -q " TINY "--ladder -s 20 -r -o @logs " PLAY);
    char *table = slurp(scratch("logs/ladder.csv"), NULL);
    const char *average = strstr(table, "\naverage,"), *head = strstr(table, "\nhead,");
    assert_true(average && head && head[-1] == ',');
    row_of("average");
    assert_true(strchr(head + 1, '\n')[-1] != ',');
}

/* Verdicts do not depend on whether a training run was interrupted; --quiet has none. */
TEST(resumed) {
    must_run("train " TINY "-s 100 -o @whole " PLAY);
    expect_verdicts(TEXTS("bigram", "modern"));
    char *whole = copy_text(verdict_on("bigram"));
    *strstr(whole, "\n\n") = 0; /* before the digests: a baseline that was complete has none */
    must_run("train " TINY "-s 100 -r -o @whole " PLAY); /* nothing is left to train */
    assert_memory_equal(verdict_on("bigram"), whole, strlen(whole));
    must_run("train -q " TINY "-s 100 -o @whole " PLAY);
    expect_verdicts(TEXTS(NULL));
}

/* ---- made-up curves ---- */

static const Result pairs = {.name = "counted bigram", .validation = 2.4};

/* Two rungs of a plan, and a text. */
static Plan plan_of(const char *name, double rate, bool ladder) {
    static const Arguments arguments = {.out = "out"};
    Plan plan = {.rungs = {{.name = "head"}, {.name = name, .chosen = true}},
                 .rung_count = 2,
                 .ladder = ladder,
                 .options = tril_options(),
                 .arguments = &arguments,
                 .input = {.characters = 100000, .trained_on = 90000}};
    plan.options.rung = name;
    plan.options.steps = 1000;
    plan.options.learning_rate = rate;
    for (int i = 0; i < 2; i++) plan.rungs[i].options = plan.options;
    plan.rungs[0].options.learning_rate = NAN;
    return plan;
}

typedef double (*Shape)(double share);

/* A training run of 1,000 steps with an evaluation at each tenth. */
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

/* The verdict on the last of these results; there is none on the others. */
static Verdict judged(const Plan *plan, Result *results, int count) {
    verdicts_judge(plan, results, count);
    for (int i = 0; i + 1 < count; i++) assert_int_equal(results[i].verdict.kind, NO_VERDICT);
    return results[count - 1].verdict;
}

/* The verdict on one rung, beside counted pairs. */
static Verdict verdict_of(const Plan *plan, Result result) {
    Result results[] = {pairs, result};
    return judged(plan, results, 2);
}

#define SHAPE(name, value)         \
    static double name(double x) { \
        return value;              \
    }
SHAPE(falling, 1.5 + 0.3 / sqrt(x))
SHAPE(slow, 2.2 + 0.3 / sqrt(x))
SHAPE(flat, 3.1 - 0.3 * fmax(0, x - 0.6))
SHAPE(settled, 1.8 + 0.3 * exp(-12 * x))
SHAPE(by_heart, settled(x) - 0.9 * x)
SHAPE(turning, settled(x) + 0.5 * fmax(0, x - 0.6))
SHAPE(slip, settled(x) + (x > 0.95 ? 0.04 : 0)) /* a last worse evaluation is chance */
SHAPE(rising, settled(x) + (x > 0.6 ? 0.4 : 0))
SHAPE(learnt, fmax(0.04 - 0.01 * x, 1.5 - 2.5 * x)) /* a text of a few repeated words */
SHAPE(nearly_learnt, 0.3 + 2 * fmax(0, 0.6 - x) + 0.01 * (1 - x))

/* Verdicts on one rung, beside counted pairs, and beside counted n-grams if there are any. */
TEST(curves) {
    static const struct {
        const char *rung;
        bool ladder;
        Shape training, validation;
        double ngram; /* 0: none */
        int verdict;
        const char *says;
    } cases[] = {{"gpt", false, falling, falling, 0, STILL_FALLING, "--steps 2000"},
                 {"gpt", false, slow, slow, 0, NO_BETTER, "--steps 4000"},
                 {"gpt", false, by_heart, turning, 0, OVERFITTING, "--dropout"},
                 {"gpt", false, settled, turning, 0, NO_VERDICT, ""}, /* worse, but not by heart */
                 {"gpt", false, by_heart, slip, 0, NO_VERDICT, ""},
                 {"gpt", false, flat, flat, 0, NO_BETTER, "not below the counted bigram"},
                 {"gpt", false, settled, settled, 1.6, NO_VERDICT, ""},
                 {"gpt", false, falling, falling, 1.6, STILL_FALLING, ""},
                 {"gpt", false, slow, slow, 1.6, NO_BETTER, "too few"},
                 {"gpt", false, by_heart, turning, 1.6, OVERFITTING, ""},
                 {"gpt", true, settled, settled, 1.6, NO_VERDICT, ""},
                 {"gpt", true, falling, falling, 1.6, STILL_FALLING, ""},
                 {"ngram", false, settled, settled, 1.9, NO_VERDICT, ""},
                 {"ngram", false, settled, settled, 1.7, NO_BETTER, "learned nothing yet"},
                 {"ngram", false, falling, falling, 1.7, NO_BETTER, "learned nothing yet"}};
    for (int i = 0; i < COUNT(cases); i++) {
        Plan plan = plan_of(cases[i].rung, NAN, cases[i].ladder);
        Result result = result_of(cases[i].rung, plan_usual_rate(&plan.rungs[1]), cases[i].training,
                                  cases[i].validation);
        Result results[] = {pairs,
                            {.name = "counted 7-gram", .order = 7, .validation = cases[i].ngram},
                            {.name = "running 7-gram", .order = 7, .validation = 1.5},
                            result},
               alone[] = {pairs, result};
        const Verdict v = cases[i].ngram > 0 ? judged(&plan, results, 4) : judged(&plan, alone, 2);
        if ((int)v.kind != cases[i].verdict ||
            (v.kind != NO_VERDICT && !strstr(v.text, cases[i].says)))
            fail_msg("curve %d: %d, %s", i, (int)v.kind, v.text);
    }
}

/* Overfitting, on both sides of each of its thresholds. */
TEST(thresholds) {
    static const struct {
        bool overfits, ended;
        int since;                             /* evaluations since the lowest loss, 2 */
        double then, before, last, now, whole; /* training losses: then, now, of the whole text */
    } cases[] = {{true, false, 2, 1.5, 2.031, 2.031, 1.4, 0},
                 {false, false, 1, 1.5, 2.1, 2.1, 1.4, 0},
                 {false, false, 2, 1.5, 2.029, 2.1, 1.4, 0},
                 {false, false, 2, 1.5, 2.1, 2.029, 1.4, 0},
                 {true, false, 2, 1.9, 2.04, 2.04, 1.839, 0},
                 {false, false, 2, 1.9, 2.04, 2.04, 1.841, 0},
                 {true, false, 2, 1.5, 2.04, 2.04, 1.479, 0},
                 {false, false, 2, 1.5, 2.04, 2.04, 1.481, 0},
                 {true, true, 2, 1.5, 2.011, 2.011, 1.4, 1.6},
                 {false, true, 2, 1.5, 2.009, 2.009, 1.4, 1.6},
                 {true, true, 2, 1.5, 2.001, 2.001, 1.4, 1.49},
                 {false, true, 2, 1.5, 2.001, 2.001, 1.4, 1.51}};
    for (int i = 0; i < COUNT(cases); i++) {
        const Plan plan = plan_of("gpt", 1e-3, false);
        Result r = result_of("gpt", 1e-3, settled, settled);
        Course c = *r.course;
        c.ended = cases[i].ended;
        c.since_lowest = cases[i].since;
        c.lowest = (Evaluation){.step = 500, .loss = cases[i].then, .validation = 2};
        c.before.validation = cases[i].before;
        c.last = (Evaluation){.step = 1000, .loss = cases[i].now, .validation = cases[i].last};
        r.course = &c;
        r.validation = c.ended ? 2 : NAN;
        r.train = cases[i].whole;
        if ((verdict_of(&plan, r).kind == OVERFITTING) != cases[i].overfits) fail_msg("case %d", i);
    }
}

/* A rate that is too high, on both sides of each threshold. */
TEST(rates) {
    static const struct {
        bool high;
        double rise, floor_noise, last_noise, peak;
    } cases[] = {{true, 0.251, 0, 0, 1e-3},      {false, 0.249, 0, 0, 1e-3},
                 {true, 1.01, 0.15, 0.05, 1e-3}, {false, 0.99, 0.15, 0.05, 1e-3},
                 {true, 0.3, 0, 0, 1.0009e-3},   {false, 0.3, 0, 0, 1.0011e-3}};
    for (int i = 0; i < COUNT(cases); i++) {
        const Plan plan = plan_of("gpt", 1e-3, false);
        Result r = result_of("gpt", 1e-3, settled, settled);
        Course c = *r.course;
        c.floor.loss = 1;
        c.floor.noise = cases[i].floor_noise;
        c.last.loss = 1 + cases[i].rise;
        c.last.noise = cases[i].last_noise;
        c.peak = cases[i].peak;
        r.course = &c;
        if ((verdict_of(&plan, r).kind == RATE_TOO_HIGH) != cases[i].high) fail_msg("case %d", i);
    }
}

/* The mean loss of a few small batches is mostly chance, which is no rise. */
TEST(few_steps) {
    enum { STEPS = 20000, BETWEEN = 10 };
    const Plan plan = plan_of("gpt", 1e-3, false);
    Course c = {0};
    const Result r = {.name = "gpt", .course = &c, .validation = NAN};
    course_begin(&c, 3);
    for (int step = 1; step <= STEPS; step++) {
        course_add(&c, &(LogRow){.step = step,
                                 .characters = 7.0 * step,
                                 .rate = 1e-3,
                                 .loss = 2.3 + 0.4 * random_normal(1, (uint64_t)step),
                                 .validation = step % BETWEEN == 0 ? 2.3 : (double)NAN});
        if (step % BETWEEN == 0) assert_int_equal(verdict_of(&plan, r).kind, NO_VERDICT);
    }
}

/* An equal loss is not better than counting. */
TEST(ties) {
    const Plan plan = plan_of("gpt", 1e-3, false);
    Result results[] = {pairs, result_of("gpt", 1e-3, settled, settled)};
    results[0].validation = results[1].validation;
    assert_int_equal(judged(&plan, results, 2).kind, NO_BETTER);
}

/* More steps are proposed where a verdict asks for them, or where nothing speaks against them. */
TEST(further) {
    static const TrilExtent once = {.characters = 100000, .trained_on = 90000};
    static const TrilExtent ten = {.characters = 11111, .trained_on = 10000}; /* times */
    static const TrilExtent often = {.characters = 5000, .trained_on = 3900}; /* 26 times of 40 */
    static const struct {
        Shape training, validation;
        const TrilExtent *text;
        bool arrow, further;
    } cases[] = {{falling, falling, &once, true, true},
                 {slow, slow, &once, true, true},
                 {settled, settled, &once, false, true},
                 {settled, turning, &once, false, false}, /* no lower loss at the end */
                 {by_heart, turning, &once, false, false},
                 {rising, settled, &once, false, false},
                 {falling, falling, &ten, true, true},
                 {falling, falling, &often, false, false},
                 {settled, settled, &often, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Plan plan = plan_of("gpt", 1e-3, false);
        plan.input = *cases[i].text;
        Result results[] = {pairs, result_of("gpt", 1e-3, cases[i].training, cases[i].validation)};
        verdicts_judge(&plan, results, 2);
        const Verdict *v = &results[1].verdict;
        const char *longer = v->kind == NO_BETTER ? "--steps 4000" : "--steps 2000";
        if (v->falling != cases[i].arrow) fail_msg("curve %zu", i);
        assert_string_equal(v->longer, cases[i].further ? longer : "");
    }
}

/* A loss of nearly 0 has nowhere to fall to. */
TEST(near_zero) {
    Plan plan = plan_of("modern", 1e-3, false);
    assert_int_equal(verdict_of(&plan, result_of("modern", 1e-3, learnt, learnt)).kind, NO_VERDICT);
    const Verdict v = verdict_of(&plan, result_of("modern", 1e-3, nearly_learnt, nearly_learnt));
    assert_int_equal(v.kind, STILL_FALLING);
    plan.input = (TrilExtent){.characters = 1000, .trained_on = 900};
    Result all_by_pairs[] = {{.name = "counted bigram", .validation = 0.03},
                             result_of("modern", 1e-3, learnt, learnt)};
    assert_int_equal(judged(&plan, all_by_pairs, 2).kind, NO_VERDICT);
}

/* While a rung trains, only the verdicts that matter then appear. */
TEST(meanwhile) {
    static const Shape training[] = {falling, slow, by_heart, rising};
    static const Shape validation[] = {falling, slow, turning, settled};
    static const int kinds[] = {NO_VERDICT, NO_VERDICT, OVERFITTING, RATE_TOO_HIGH};
    for (int i = 0; i < 4; i++) {
        Plan plan = plan_of("gpt", 1e-3, true);
        Result r = result_of("gpt", 1e-3, training[i], validation[i]);
        Course now = *r.course;
        now.ended = false;
        r.course = &now;
        r.validation = NAN;
        assert_int_equal(judged(&plan, &r, 1).kind, kinds[i]);
    }
}

/* In a ladder, a loss above that of the rung before is explained: the model learned the training
 * text by heart, or needs more steps. */
TEST(order) {
    static const struct {
        double above, train; /* held-out and training loss, less those of the rung before */
        int since;           /* evaluations since the lowest loss */
        VerdictKind kind;
    } cases[] = {{0.0099, -1, 0, STILL_FALLING},
                 {0.0101, 0, 0, NO_BETTER},
                 {0.0101, -0.001, 0, OVERFITTING},
                 {0.0101, 0, 1, OVERFITTING}};
    const Plan plan = plan_of("gpt", 1e-3, true);
    for (int i = 0; i < COUNT(cases); i++) {
        Result results[] = {pairs, result_of("head", 1e-2, settled, settled),
                            result_of("gpt", 1e-3, falling, falling)};
        results[1].validation = 1.8;
        results[2].validation = 1.8 + cases[i].above;
        results[2].train = results[1].train + cases[i].train;
        Course course = *results[2].course;
        course.since_lowest = cases[i].since;
        results[2].course = &course;
        const Verdict v = judged(&plan, results, 3);
        assert_int_equal(v.kind, cases[i].kind);
        if (i > 0) expect_line_of(v.text, "", TEXTS("head", "1.8101", "1.8000"));
    }
}

/* Nothing is called better than counting that is not better than every counted baseline. */
TEST(uniform) {
    const Plan plan = plan_of("gpt", 1e-3, false);
    Result results[] = {{.name = "uniform", .validation = 1.7},
                        pairs,
                        {.name = "counted 7-gram", .order = 7, .validation = 1.9},
                        result_of("gpt", 1e-3, settled, settled)};
    const Verdict v = judged(&plan, results, 4);
    assert_int_equal(v.kind, NO_BETTER);
    assert_non_null(strstr(v.text, "uniform"));
}

/* The suggested options do train longer: where the epochs ended it, more time alone would not. */
TEST(epochs) {
    const double epochs[] = {0, 1.5, 1.12};
    for (int i = 0; i < 3; i++) {
        Plan plan = plan_of("gpt", 1e-3, false);
        plan.options.time = 60;
        plan.options.epochs = epochs[i]; /* of 90,000 characters; 100,000 are read */
        plan.options.batch = plan.options.context = 30;
        const Verdict v = verdict_of(&plan, result_of("gpt", 1e-3, falling, falling));
        expect_line_of(v.text, "",
                       TEXTS(i < 2 ? "with --time 120." : "with --time 120 --epochs 2.24."));
    }
}

/* The longest verdict is not cut. */
TEST(whole) {
    const Plan plan = plan_of("gpt", 1e-3, false);
    Result result = result_of("gpt", 1e-3, by_heart, turning);
    Course c = *result.course;
    c.lowest.step += 900000000;
    result.course = &c;
    const Verdict v = verdict_of(&plan, result);
    size_t length = strlen(v.text);
    assert_in_range(length, 1, VERDICT_SIZE - 2);
    assert_int_equal(v.text[length - 1], '.');
}

/* Of many evaluations, those that are kept span the training, and the lowest is known. */
TEST(many) {
    Course c = {0};
    for (int step = 1; step <= 10000; step++)
        course_add(&c,
                   &(LogRow){.step = step,
                             .loss = 3 - 1e-4 * step,
                             .validation = step % 10 == 0 ? 2.0 + abs(step - 7770) : (double)NAN});
    assert_in_range(c.evaluated.count, COURSE_KEPT / 2, COURSE_KEPT);
    assert_int_equal(c.lowest.step, 7770);
    assert_near(c.lowest.validation, 2, 0);
    assert_int_equal(c.since_lowest, 223);
    assert_int_equal(c.before.step, 9990);
    assert_int_equal(c.last.step, 10000);
    assert_near(c.last.loss, 3 - 1e-4 * 9995.5, 1e-9); /* the mean since the evaluation before */
    assert_near(course_validation(&c, 0.5), 2 + 2770, 10 * c.evaluated.every);
    assert_true(isnan(course_validation(&c, 1e-4)));
}

FIXTURE(scratch_open, scratch_close)
