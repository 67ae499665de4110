/* test_verdict.c - each verdict on a training run that earns it, and on training runs that do not:
 * real ones, counted in steps, and made-up curves where those are sharper. */
#include "tests/state.h"
#include "tests/table.h"
#include "programs/train/verdict.h"

/* ---- real training runs ---- */

/* Sizes that train in a second; in float32, so that every machine trains the same model. */
#define SMALL "-j 1 -l 1 -w 32 -H 2 -c 32 -b 8 --precision f32 "
#define TINY  "-j 1 -l 1 -w 16 -H 2 -c 16 -b 4 --precision f32 "

#define OVERFITS SMALL "-c 16 -d 0 -s 600 --eval-every 60 --patience 1"
#define HIGH     "-s 300 --eval-every 30 "
#define HEAD     "-j 1 -w 32 -c 32 -b 8 --precision f32 -m head " HIGH

/* The verdict on a model, a line after the table; NULL if there is none. */
static const char *verdict_on(const char *name) {
    const char *line = strstr(after("\nmodel  "), formatted("\n%s: ", name));
    return line ? line + 1 : NULL;
}

/* Each kind, and the marks of those that ask for more steps: an arrow in the model's row, and a
 * command. The test in a ladder and of --time have the others. */
TEST(runs) {
    static const struct {
        size_t characters; /* of the play */
        const char *options, *rung;
        const char *said[3]; /* none: no verdict */
        bool live, asks;     /* it is said while it trains, too; for more steps */
    } runs[] = {{3000, OVERFITS, "modern", {"180", "overfitting", "--dropout"}, true, false},
                {39054, SMALL "-s 400", "modern", {"falling", "--steps 800", ""}, false, true},
                {400, TINY, "modern", {"400", "40", "--init MODEL"}, false, false},
                {150, TINY "-b 16 -c 64", "modern", {"150", "38", "--init MODEL"}, false, false},
                {10000, TINY "-b 8", "modern", {NULL}, false, false}, /* seen as often as helps */
                {39054, HEAD "--lr 0.3", "head", {"--lr 0.02", "0.3", ""}, true, false},
                {39054, TINY HIGH "--lr 1", "modern", {"--lr 0.006", "1", ""}, false, false}};
    for (int i = 0; i < COUNT(runs); i++) {
        const char *const *said = runs[i].said, *rung = runs[i].rung;
        scratch_put("text", slurp(PLAY, NULL), runs[i].characters);
        must_run("train %s -o @run @text", runs[i].options);
        const char *verdict = verdict_on(rung), *row = after(formatted("\n%-16s  ", rung));
        if (!*said) assert_null(verdict);
        if (*said) expect_line_of(verdict, ran.command, TEXTS(said[0], said[1], said[2]));
        const char *mark = strstr(row, "\u2193"), *command = strstr(ran.out, " --resume ");
        const bool marked = mark && mark < strchr(row, '\n');
        if (marked != runs[i].asks || !command == runs[i].asks)
            fail_msg("%s: %s", ran.command, row);
        if (!runs[i].live) continue;
        const char *live = expect_line(said[0]);
        assert_true(live < row);
        assert_ptr_equal(find_line(strchr(live, '\n'), TEXTS(said[0])), verdict); /* once */
    }
}

/* A loss that is no longer a number ends the training, with the rate to try. */
TEST(diverged) {
    run("train " TINY "--lr 6 -s 200 -o @gone " PLAY);
    assert_int_equal(ran.status, 1);
    expect_line_of(ran.err, ran.command, TEXTS("modern: ", "6", "--lr 0.006"));
    run("train " TINY "--lr 5 -s 40 --eval-every 20 -o @gone " PLAY);
    after("e+");
    for (const char *c = ran.out; *c; c++) { /* no figure has ten digits before its point */
        size_t digits = strspn(c, "0123456789");
        if (digits >= 10 && c[digits] == '.') fail_msg("%s", c);
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
    const double read = 60 * 4 * 16, T = 16, C = 16, L = 2, V = 63;
    assert_near(row_of("uniform").train, log(V), 1e-4);
    assert_near(row_of("uniform").validation, log(V), 1e-4);
    assert_true(row_of("counted unigram").validation < row_of("uniform").validation);
    assert_true(row_of("counted bigram").validation < row_of("counted unigram").validation);
    for (int i = 0; i == 0 || strcmp(model_name(i - 1), "ngram") != 0; i++) {
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

/* ---- made-up curves ---- */

/* The losses of counting. */
typedef struct {
    double uniform, pairs, ngram;
} Counted;

static const Counted usual = {4, 2.4, 1.6};

/* Two rungs of a plan, and a text. */
static Plan plan_of(const char *name, double rate, bool ladder) {
    static const Arguments arguments = {.out = "out"};
    static TrilText text;
    text = (TrilText){.characters = 100000, .trained_on = 90000};
    Plan plan = {.rungs = {{.name = "head"}, {.name = name, .chosen = true}},
                 .rung_count = 2,
                 .ladder = ladder,
                 .options = tril_options(),
                 .arguments = &arguments,
                 .corpus = &text};
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
    r.characters = course->row.characters;
    r.validation = course->lowest.validation;
    r.train = training(1);
    return r;
}

/* The verdict on the last of these rungs; there is none on the others. */
static Verdict judged(const Plan *plan, Counted c, const Result *rungs, int count) {
    static Ladder l;
    static Plan copy;
    copy = *plan;
    l.plan = &copy;
    l.count = CLOSED_FORMS;
    l.results[UNIFORM] = (Result){.name = "uniform", .validation = c.uniform};
    l.results[UNIGRAM] = (Result){.name = "counted unigram", .validation = 3};
    l.results[PAIRS] = (Result){.name = "counted bigram", .validation = c.pairs};
    l.results[NGRAM] = (Result){.name = "counted 7-gram", .validation = c.ngram};
    l.results[RUNNING] = (Result){.name = "running 7-gram", .validation = 1.5};
    for (const Result *r = rungs; r < rungs + count; r++) {
        l.results[l.count] = *r;
        l.results[l.count++].rung = &copy.rungs[strcmp(r->name, plan->rungs[1].name) == 0];
    }
    verdicts_judge(&l);
    for (int i = 0; i + 1 < l.count; i++) assert_int_equal(l.results[i].verdict.kind, NO_VERDICT);
    return l.results[l.count - 1].verdict;
}

/* The verdict on one rung. */
static Verdict verdict_of(const Plan *plan, Result result) {
    return judged(plan, usual, &result, 1);
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

/* The verdict on one rung of curves, beside the counted losses, and how many times as long it
 * should train. */
TEST(curves) {
    static const struct {
        const char *rung;
        char how; /* 'l': in a ladder; 'r': while it trains; 'u': uniform is at 1.7 */
        Shape training, validation;
        double pairs, ngram; /* losses of counting; pairs: NAN if as good */
        size_t trained_on;
        VerdictKind kind;
        int longer;
        const char *says;
    } cases[] = {
        {"gpt", 0, falling, falling, 2.4, 0, 90000, STILL_FALLING, 2, "--steps 2000"},
        {"gpt", 0, slow, slow, 2.4, 0, 90000, TOO_SHORT, 4, "--steps 4000"},
        {"gpt", 0, settled, settled, 2.4, 0, 90000, NO_VERDICT, 2, ""},
        {"gpt", 0, by_heart, turning, 2.4, 0, 90000, OVERFITTING, 0, "--dropout"},
        {"gpt", 0, settled, turning, 2.4, 0, 90000, NO_VERDICT, 0,
         ""}, /* worse, but not by heart */
        {"gpt", 0, by_heart, slip, 2.4, 0, 90000, NO_VERDICT, 0, ""},
        {"gpt", 0, rising, settled, 2.4, 0, 90000, RATE_TOO_HIGH, 0, ""},
        {"gpt", 0, flat, flat, 2.4, 0, 90000, NO_BETTER, 2, "not below the counted bigram"},
        {"gpt", 0, settled, settled, (double)NAN, 0, 90000, NO_BETTER, 2, "bigram"},
        /* pairs are no measure where all characters alike are better */
        {"gpt", 'u', settled, settled, 2.4, 1.9, 90000, NO_BETTER, 2, "uniform"},
        {"gpt", 0, settled, settled, 2.4, 1.6, 90000, NO_VERDICT, 2, ""},
        {"gpt", 0, falling, falling, 2.4, 1.6, 90000, STILL_FALLING, 2, ""},
        {"gpt", 0, slow, slow, 2.4, 1.6, 90000, TOO_SHORT, 4, "only 1,000 steps"},
        {"gpt", 0, by_heart, turning, 2.4, 1.6, 90000, OVERFITTING, 0, ""},
        {"gpt", 'l', settled, settled, 2.4, 1.6, 90000, NO_VERDICT, 2, ""},
        {"gpt", 'l', falling, falling, 2.4, 1.6, 90000, STILL_FALLING, 2, ""},
        {"ngram", 0, settled, settled, 2.4, 1.9, 90000, NO_VERDICT, 2, ""},
        {"ngram", 0, settled, settled, 2.4, 1.7, 90000, NO_BETTER, 2, "learned nothing yet"},
        {"ngram", 0, falling, falling, 2.4, 1.7, 90000, NO_BETTER, 4, "learned nothing yet"},
        /* a text that is read ten times, of 16 that help; and 26 times, of 40 */
        {"gpt", 0, falling, falling, 2.4, 0, 10000, STILL_FALLING, 2, ""},
        {"gpt", 0, falling, falling, 2.4, 0, 3900, NO_VERDICT, 0, ""},
        {"gpt", 0, settled, settled, 2.4, 0, 3900, NO_VERDICT, 0, ""},
        /* a loss of nearly 0 has nowhere to fall to */
        {"modern", 0, learnt, learnt, 2.4, 0, 90000, NO_VERDICT, 0, ""},
        {"modern", 0, nearly_learnt, nearly_learnt, 2.4, 0, 90000, STILL_FALLING, 2, ""},
        {"modern", 0, learnt, learnt, 0.03, 0, 900, NO_VERDICT, 0, ""},
        /* only these members matter then */
        {"gpt", 'r', falling, falling, 0, 0, 90000, NO_VERDICT, 0, ""},
        {"gpt", 'r', slow, slow, 0, 0, 90000, NO_VERDICT, 0, ""},
        {"gpt", 'r', by_heart, turning, 0, 0, 90000, OVERFITTING, 0, ""},
        {"gpt", 'r', rising, settled, 0, 0, 90000, RATE_TOO_HIGH, 0, ""}};
    for (int i = 0; i < COUNT(cases); i++) {
        Plan plan = plan_of(cases[i].rung, NAN, cases[i].how == 'l');
        plan.corpus->trained_on = cases[i].trained_on;
        plan.corpus->characters = cases[i].trained_on / 9 * 10;
        Result r = result_of(cases[i].rung, tril_rung_rate(cases[i].rung, &plan.rungs[1].options),
                             cases[i].training, cases[i].validation);
        const double pairs = isnan(cases[i].pairs) ? r.validation : cases[i].pairs;
        if (cases[i].how == 'r') r.characters = 0;
        const double uniform = cases[i].how == 'u' ? 1.7 : usual.uniform;
        const Verdict v = judged(&plan, (Counted){uniform, pairs, cases[i].ngram}, &r, 1);
        if (v.kind != cases[i].kind || (v.kind != NO_VERDICT && !strstr(v.text, cases[i].says)))
            fail_msg("curve %d: %d, %s", i, (int)v.kind, v.text);
        const char *wanted = cases[i].longer ? formatted("--steps %d000", cases[i].longer) : "";
        if (strcmp(v.longer, wanted) != 0) fail_msg("curve %d: %s", i, v.longer);
        assert_int_equal(v.falling, v.kind == STILL_FALLING || cases[i].longer == 4);
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
        if (!cases[i].ended) r.characters = 0;
        c.since_lowest = cases[i].since;
        c.lowest = (Evaluation){.step = 500, .loss = cases[i].then, .validation = 2};
        c.before.validation = cases[i].before;
        c.last = (Evaluation){.step = 1000, .loss = cases[i].now, .validation = cases[i].last};
        r.course = &c;
        r.validation = 2;
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

/* In a ladder, a loss above that of the rung before is explained: the model learned the training
 * text by heart, or needs more steps. */
TEST(order) {
    static const struct {
        double above, train; /* held-out and training loss, less those of the rung before */
        int since;           /* evaluations since the lowest loss */
        double epochs;
        VerdictKind kind;
    } cases[] = {{0.0099, -1, 0, 1, STILL_FALLING},   {0.0101, 0, 0, 2.1, TOO_SHORT},
                 {0.0101, -0.001, 0, 1.9, TOO_SHORT}, {0.0101, -0.001, 0, 2.1, NO_BETTER},
                 {0.0101, 0, 1, 1.9, TOO_SHORT},      {0.0101, 0, 1, 2.1, NO_BETTER}};
    const Plan plan = plan_of("gpt", 1e-3, true);
    for (int i = 0; i < COUNT(cases); i++) {
        plan.corpus->trained_on = (size_t)(100000 / cases[i].epochs);
        Result rungs[] = {result_of("head", 1e-2, settled, settled),
                          result_of("gpt", 1e-3, falling, falling)};
        rungs[0].validation = 1.8;
        rungs[1].validation = 1.8 + cases[i].above;
        rungs[1].train = rungs[0].train + cases[i].train;
        Course course = *rungs[1].course;
        course.since_lowest = cases[i].since;
        rungs[1].course = &course;
        const Verdict v = judged(&plan, usual, rungs, 2);
        assert_int_equal(v.kind, cases[i].kind);
        if (i > 0) expect_line_of(v.text, "", TEXTS("head", "1.8101", "1.8000"));
    }
    for (int learned = 0; learned < 2; learned++) { /* otherwise a bigram is no measure */
        Course none = {.last.loss = NAN};
        Result rungs[] = {result_of("bigram", 1e-2, settled, settled),
                          result_of("gpt", 1e-3, falling, falling)};
        rungs[0].course = &none;
        rungs[0].validation = learned ? 2.49 : 2.51; /* counting reaches 2.4 */
        rungs[1].validation = 2.6;
        expect_line_of(judged(&plan, usual, rungs, 2).text, "",
                       TEXTS(learned ? " bigram (2.6000 against 2.4900)" : "against 2.4000"));
    }
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
    Plan plan = plan_of("gpt", 1e-3, false); /* no more than the option allows */
    plan.options.steps = 9e8;
    const Verdict v = verdict_of(&plan, result_of("gpt", 1e-3, falling, falling));
    assert_string_equal(v.longer, "--steps 1000000000");
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
