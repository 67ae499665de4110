/* test_verdict.c - each verdict on a training run that earns it, and on training runs that do not:
 * real ones, counted in steps, and made-up curves where those are sharper. */
#include "tests/drawn.h"
#include "tests/state.h"
#include "tests/table.h"
#include "programs/train/budget.h"
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
    must_run("train " SMALL "-c 16 -d 0 -s 600 --eval-every 60 --patience 1 -o @over/m @three");
    const char *since = measured(state_number("over/m", "step"));
    const char *live = expect_line(since);
    assert_true(live < after("\nuniform  "));
    expect_verdicts(TEXTS("modern"));
    expect_verdict("modern", since);
    assert_ptr_equal(find_line(strchr(live, '\n'), TEXTS(since)), verdict_on("modern")); /* once */
    expect_no_more("modern");
}

/* The loss with twice the steps is in the range that was said, or near it. */
TEST(still_falling) {
    double said[3];
    if (SANITIZED) skip(); /* it is long, and runs no other code than the other tests */
    must_run("train " SMALL "-s 400 -o @fall/m " PLAY);
    expect_verdicts(TEXTS("modern"));
    assert_int_equal(numbers_of(expect_verdict("modern", "--steps 800"), said, 3), 3);
    assert_near(said[2], row_of("modern").validation, 0.00501);
    assert_true(said[0] < said[1] && said[1] < said[2]);
    expect_line("\u2193 ");
    expect_line("train --resume --steps 800 --out ");
    must_run("train " SMALL "-s 800 -o @fall/m " PLAY);
    double twice = row_of("modern").validation;
    if (!(twice > said[0] - 0.02 && twice < said[1] + 0.02))
        fail_msg("%.2f to %.2f, and it is %.4f", said[0], said[1], twice);
}

TEST(short_text) {
    part_of_play("four", 400);
    must_run("train " TINY "-o @short/m @four");
    expect_verdict("modern", "400", "40", "--init MODEL");
    expect_no_more("modern");
    part_of_play("hundred", 150); /* counted pairs are worse than uniform chances there */
    must_run("train " TINY "-b 16 -c 64 -o @short/m @hundred");
    assert_true(row_of("counted bigram").validation > row_of("uniform").validation);
    expect_verdict("modern", "150", "38", "--init MODEL");
    expect_no_more("modern");
    part_of_play("ten", 10000); /* seen as often as helps: more epochs are not asked for */
    must_run("train " TINY "-b 8 -o @short/m @ten");
    expect_verdicts(TEXTS("modern"));
    expect_verdict("modern", "--model ngram");
    expect_no_more("modern");
}

/* Many short lines, as of names, are a list; not with --lines, and not where they are few. */
TEST(list) {
    char words[12000], *to = words;
    for (uint64_t i = 0; i < 900; i++)
        to += sprintf(to, "%.*s\n", 3 + (int)(i % 7), "aeiounstrld" + random_bits(1, i) % 4);
    scratch_put("words", words, (size_t)(to - words));
    must_run("train " TINY "-m average -s 300 -o @list/m @words");
    expect_verdict("average", "900", "--lines");
    must_run("train " TINY "-m average -s 300 --lines -o @list/m @words");
    assert_null(find_line(ran.out, TEXTS("average: ", "--lines")));
    expect_line("sample", "--lines 20");
    scratch_put("words", words, 600);
    must_run("train " TINY "-m average -s 300 -o @list/m @words");
    assert_null(find_line(ran.out, TEXTS("average: ", "--lines")));
}

/* The rate that is said is one at which the training does not go wrong. */
TEST(rate) {
    static const struct {
        const char *rung, *rate, *sizes;
    } cases[] = {{"head", "0.3", SMALL}, {"modern", "1", TINY}};
    for (int i = 0; i < 2; i++) {
        double lower;
        must_run("train %s-m %s --lr %s -s 300 --eval-every 30 -o @rate/m " PLAY, cases[i].sizes,
                 cases[i].rung, cases[i].rate);
        if (i == 0) expect_no_more(cases[i].rung);
        const char *said = expect_line_of(verdict_on(cases[i].rung), ran.command,
                                          TEXTS(cases[i].rung, "--lr ", cases[i].rate));
        assert_int_equal(sscanf(strstr(said, "--lr "), "--lr %lf", &lower), 1);
        double bad = row_of(cases[i].rung).validation;
        must_run("train %s-m %s --lr %g -s 300 --eval-every 30 -o @rate/m " PLAY, cases[i].sizes,
                 cases[i].rung, lower);
        said = verdict_on(cases[i].rung);
        assert_true(!said || !find_line(said, TEXTS("--lr ")));
        assert_true(row_of(cases[i].rung).validation < bad);
    }
    must_run("train " SMALL "-m head --lr 0.3 -s 300 --eval-every 30 -o @rate/m " PLAY);
    const char *live = expect_line("--lr ", "0.3");
    assert_true(live < after("\nuniform  "));
    assert_ptr_equal(find_line(strchr(live, '\n'), TEXTS("--lr ")), verdict_on("head")); /* once */
}

/* A loss that is no longer a number ends the training, with the rate to try. */
TEST(diverged) {
    run("train " TINY "--lr 6 -s 200 -o @gone/m " PLAY);
    assert_int_equal(ran.status, 1);
    expect_line_of(ran.err, ran.command, TEXTS("modern: ", "6", "--lr 0.006"));
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
    expect_verdict("bigram", "300");
    expect_verdict("average", "counted bigram");
    expect_verdict("gpt", "multihead");
    assert_false(verdict_on("conv")); /* the table marks it */
    expect_line("\u2193 ");
    for (int i = 0; i < 7; i++) { /* ngram begins where counting ends */
        const char *line = after(formatted("\n%-16s  ", model_name(i)));
        const char *end = strchr(line, '\n'), *mark = strstr(line, " \u2193");
        assert_true(mark && mark < end);
    }
}

/* The table's compute: 6 for each parameter but the positions, and 12 L T C, by characters read. */
TEST(compute) {
    must_run("train -q " TINY "--ladder -l 2 -s 60 --eval-every 30 -o @sum/m.safetensors " PLAY);
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
    must_run("train -q " TINY "--ladder -s 20 -o @logs/m.safetensors " PLAY);
    assert_int_equal(unlink(scratch("logs/average.csv")), 0);
    must_run("train -q " TINY "--ladder -s 20 -r -o @logs/m.safetensors " PLAY);
    char *table = slurp(scratch("logs/ladder.csv"), NULL);
    const char *average = strstr(table, "\naverage,"), *head = strstr(table, "\nhead,");
    assert_true(average && head && head[-1] == ',');
    row_of("average");
    assert_true(strchr(head + 1, '\n')[-1] != ',');
}

/* Verdicts do not depend on whether a training run was interrupted; --quiet has none. */
TEST(resumed) {
    must_run("train " TINY "-s 300 -o @whole/m " PLAY);
    expect_verdicts(TEXTS("bigram", "modern"));
    char *whole = copy_text(verdict_on("bigram"));
    *strstr(whole, "\n\n") = 0; /* before the digests: a baseline that was complete has none */
    must_run("train " TINY "-s 300 -r -o @whole/m " PLAY); /* nothing is left to train */
    assert_memory_equal(verdict_on("bigram"), whole, strlen(whole));
    must_run("train -q " TINY "-s 300 -o @whole/m " PLAY);
    expect_verdicts(TEXTS(NULL));
}

/* ---- made-up curves ---- */

static const Result pairs = {.name = "counted bigram", .validation = 2.4, .closed_form = true};

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
/* One worse evaluation, the last, is chance. */
static double slip(double x) {
    return settled(x) + (x > 0.95 ? 0.04 : 0);
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

/* Verdicts on one rung, beside counted pairs, and beside a counted n-gram if there is one: a model
 * that does not count is compared with it, where nothing matters more. */
TEST(curves) {
    static const struct {
        const char *rung;
        double rate; /* 0 for the default */
        bool ladder;
        Shape training, validation;
        double ngram; /* 0: none */
        int verdict;
        bool named; /* proposes --model ngram */
    } cases[] = {
        {"gpt", 0, false, falling, falling, 0, STILL_FALLING, false},
        {"gpt", 0, false, slow, slow, 0, TOO_FEW_STEPS, false},
        {"gpt", 0, false, by_heart, turning, 0, OVERFITTING, false},
        {"gpt", 0, false, settled, turning, 0, NO_VERDICT, false}, /* worse, but not by heart */
        {"gpt", 0, false, by_heart, slip, 0, NO_VERDICT, false},
        {"gpt", 0, false, jumping, settled, 0, RATE_TOO_HIGH, false},
        {"gpt", 0, false, flat, flat, 0, NO_VERDICT, false}, /* at this rate it is another fault */
        {"gpt", 0.003, false, slow, slow, 0, RATE_TOO_HIGH, false}, /* the first suspect */
        {"gpt", 0.0029, false, slow, slow, 0, TOO_FEW_STEPS, false},
        {"gpt", 0.1, false, falling, falling, 0, STILL_FALLING, false}, /* better than pairs */
        {"gpt", 0, false, settled, settled, 1.6, COUNTED, true},
        {"gpt", 0, false, settled, settled, 1.9, COUNTED, false},
        {"gpt", 0, false, falling, falling, 1.6, STILL_FALLING, true},
        {"gpt", 0, false, falling, falling, 1.9, STILL_FALLING, false},
        {"gpt", 0, false, slow, slow, 1.6, TOO_FEW_STEPS, false},
        {"gpt", 0, false, by_heart, turning, 1.6, OVERFITTING, false},
        {"gpt", 0, true, settled, settled, 1.6, NO_VERDICT, false},
        {"gpt", 0, true, falling, falling, 1.6, STILL_FALLING, false},
        {"ngram", 0, false, settled, settled, 1.6, NO_VERDICT, false}};
    Result counted = {.name = "counted 7-gram", .order = 7, .closed_form = true};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char options[LONGER_SIZE];
        double rate = cases[i].rate > 0 ? cases[i].rate : 1e-3;
        const Plan plan = plan_of(cases[i].rung, rate, cases[i].ladder);
        Result result = result_of(cases[i].rung, rate, cases[i].training, cases[i].validation);
        counted.validation = cases[i].ngram;
        Result results[] = {pairs, counted, result}, alone[] = {pairs, result};
        const Verdict v = cases[i].ngram > 0 ? judged(&plan, results, 3) : judged(&plan, alone, 2);
        if ((int)v.kind != cases[i].verdict ||
            (v.kind != NO_VERDICT && !strstr(v.text, "--model ngram") == cases[i].named))
            fail_msg("curve %zu: %d, %s", i, (int)v.kind, v.text);
        if (cases[i].named || v.kind == COUNTED)
            expect_line_of(v.text, "", TEXTS(" 6 ", cases[i].named ? "1.6000" : "1.9000"));
        if (v.kind == COUNTED) assert_true(verdict_further(&plan, &results[2], options));
    }
    /* on a short text: better than pairs, though not than the n-gram, is not pairs only */
    Plan plan = plan_of("gpt", 1e-3, false);
    plan.input = (TrilExtent){.characters = 1000, .trained_on = 900};
    counted.validation = 1.6;
    Result results[] = {pairs, counted, result_of("gpt", 1e-3, settled, settled)};
    assert_int_equal(judged(&plan, results, 3).kind, COUNTED);
}

/* ---- digests over many cases, most at or beside a threshold ---- */

/* Sets a course whose loss is `level` at the end, after falling by `fall` between 0.3 and 0.6 of
 * it. */
static void draw_course(Course *c, double rate, double level, double fall) {
    c->steps = 1000;
    c->ended = DRAW(1, 1, 1, 0) > 0;
    c->count = c->kinds[1].seen = 10;
    for (int i = 0; i < c->count; i++) {
        c->rows[i].step = 100 * (i + 1);
        c->rows[i].validation = level + fall * fmax(0, 5 - i) / 3;
    }
    c->rise = DRAW(0, 0, 0, 0, 0, 0, 0.25, 0.26, 0.57);
    c->floor.noise = DRAW(0, 0, 0.1);
    c->rise_of = level;
    c->rise_rate = rate * DRAW(1, 1.0005, 1.002);
    c->highest_rise = (Interval){.mean = level + c->rise, .step = 40};
    c->spikes = (int)DRAW(0, 0, 0, 0, 0, 0, 2, 3);
    c->spike_rate = rate * DRAW(1, 1.0005, 1.002);
    c->since_lowest = (int)DRAW(-1, 0, 0, 0, 1, 2, 3);
    c->lowest = (Evaluation){700, DRAW(level, level - 0.21, level - 0.22, NAN), level};
    c->second_loss = level + DRAW(0, 0.02);
    c->before = (Evaluation){900, 0, level + DRAW(0, 0.01, 0.02, 0.03, 0.04)};
    c->last = (Evaluation){1000, DRAW(level - 0.19, level - 0.2, level - 0.23, level - 0.24),
                           level + DRAW(0, 0.01, 0.02, 0.03, 0.04)};
}

TEST(many_cases) {
    static const char *const rungs[] = {"bigram", "gpt", "modern", "ngram"};
    static Course c;
    Digest digest = digest_start();
    for (int i = 0; i < 10000; i++, drawn_case++) {
        char options[LONGER_SIZE];
        const char *rung = rungs[(int)DRAW(0, 1, 1, 2, 2, 3)];
        const double usual = tril_rung_recipe(rung).learning_rate;
        Plan plan = plan_of(rung, usual * DRAW(1, 1, 1, 1, 1, 2.9, 3, 4, NAN), DRAW(0, 0, 1) > 0);
        const double rate = isnan(plan.options.learning_rate) ? usual : plan.options.learning_rate;
        const double level = DRAW(0, 0.8, 1.8) + DRAW_BELOW(1),
                     fall = DRAW(0, 0.02, 0.03, 0.04, 0.3, 2);
        draw_course(&c, rate, level, fall);
        plan.options.time = DRAW(NAN, NAN, 60);
        plan.options.epochs = DRAW(0, 1, 10);
        plan.options.batch = plan.options.context = 10;
        plan.options.lines = DRAW(0, 0, 1) > 0;
        plan.rungs[1].baseline = DRAW(0, 0, 0, 0, 0, 1) > 0;
        plan.rungs[1].chosen = !plan.rungs[1].baseline;
        plan.input.characters = (size_t)DRAW(1999, 2000, 2020, 3999, 4000, 1e5);
        plan.input.trained_on = plan.input.characters * 9 / 10;
        plan.input.lines = (size_t)DRAW(9, 99, 100, 101, 1e4);
        plan.input.longest = (size_t)DRAW(59, 60, 61);
        c.characters = (double)plan.input.trained_on * DRAW(1, 1, 9.9, 10, 12.5, 13, 25, 26) -
                       DRAW(0, 99, 100);
        Result results[] = {pairs,
                            {.name = "uniform", .validation = 3, .closed_form = true},
                            {.name = "counted 7-gram", .order = 7, .closed_form = true},
                            {.name = "head", .validation = level + DRAW(-0.1, 0, 0.1)},
                            {.name = rung, .seconds = 1, .course = &c}};
        results[0].validation = level + DRAW(-1, -0.16, -0.15, -0.11, -0.1, 0, 0.05, 0.06, 1);
        results[2].validation = level + DRAW(-0.2, 0, 0.2);
        results[4].validation = c.ended ? level : DRAW(NAN, level);
        results[4].train = level - DRAW(0, level / 4, level / 3);
        verdicts_judge(&plan, results, 5);
        const Verdict *v = &results[4].verdict;
        const bool further = verdict_further(&plan, &results[4], options);
        ADD(&digest, v->kind, v->step, further, verdict_asks_for_more(&results[4]));
        for (const char *at = v->kind ? v->text : ""; *at; at++)
            if (strchr("0123456789.", *at)) digest_add(&digest, at, 1);
        digest_add(&digest, options, strlen(options));
    }
    expect_digest(&digest, 0x600667d873052322);
}

/* When a training run evaluates and ends. */
TEST(many_budgets) {
    Digest digest = digest_start();
    for (int i = 0; i < 10000; i++, drawn_case++) {
        Plan plan = plan_of("gpt", 1e-3, false);
        TrilOptions *o = &plan.options;
        o->time = DRAW(NAN, 50, 100);
        o->epochs = DRAW(0, 0, 0.001, 1, 10);
        o->batch = o->context = 10;
        o->eval_every = DRAW(1, 2, 8, 100);
        o->patience = DRAW(0.1, 0.5, 1);
        o->precision = DRAW(0, 1) > 0 ? "bf16" : "f32";
        Progress p = {
            .seconds = DRAW_BELOW(100), .time_limit = DRAW(0, 50, 99), .early_stop = DRAW(0, 900)};
        p.now.step = (int)DRAW(0, 1, 2, 96, 98, 100, 992, 998, 999, 1000);
        p.now.seconds = p.seconds / 2;
        p.now.lowest = DRAW(NAN, 2);
        p.now.lowest_step = p.now.step - (int)DRAW(0, 50, 51, 90, 91, 500, 501);
        p.now.since_lowest = (int)DRAW(0, 1, 2, 3);
        p.now.recent_steps = (int)DRAW(0, 1, 2, 50);
        p.now.cooling = DRAW(0, 0, 0, 98);
        p.now.cooled = p.now.cooling > 0 ? (int)DRAW(98, 120) : 0;
        Budget b = budget_open(&plan, &plan.rungs[DRAW(0, 1, 1, 1) > 0], DRAW(10, 50, 100), &p);
        plan.rungs[0].baseline = true;
        ADD(&digest, b.steps, b.max_steps, b.closing, b.expected, budget_complete(&b, &p));
        if (p.now.step == 0) continue;
        if (DRAW(0, 1) > 0) budget_evaluated(&b, &p, DRAW(0.01, 0.2, 3));
        b.last_evaluation -= DRAW(0, 5, 10, 11);
        const bool used = budget_used(&b, &p), due = budget_evaluation_due(&b, &p, used),
                   nearly = budget_nearly_used(&b, &p, used);
        ADD(&digest, used, due, nearly, b.evaluation, b.steps, budget_early_stop(&b, &p),
            budget_early_decay(&b, &p));
        budget_limit_steps(&b, (int)DRAW(90, 1001));
        ADD(&digest, b.steps, b.max_steps);
    }
    expect_digest(&digest, 0xfaf5d861f5483df0);
}

/* What is kept of random losses. */
TEST(many_courses) {
    Digest digest = digest_start();
    for (int i = 0; i < 60; i++, drawn_case++) {
        static Course c;
        const int first = (int)DRAW(1, 1, 301),
                  count = (int)DRAW(6, 7, 8, 19, 39, 41, 299, 300, 301, 1300),
                  every = (int)DRAW(1, 2, 3, 40, 900);
        c = (Course){0};
        if (DRAW(0, 1) > 0) course_begin(&c, 2);
        for (int step = first; step < first + count; step++, drawn_case++)
            course_add(
                &c, &(LogRow){.step = step,
                              .characters = 7.0 * step,
                              .compute = 3.0 * step,
                              .rate = DRAW(1e-3, 2e-3),
                              .loss = DRAW(1, 1, 1, 1, 1, 1, 2, 3) + DRAW_BELOW(1),
                              .validation = step % every == 0 ? 1 + DRAW_BELOW(1) : (double)NAN});
        ADD(&digest, c.count, c.steps, c.characters, c.compute, c.since_lowest, c.second_loss,
            c.rise, c.rise_of, c.rise_rate, c.highest_rise.mean, c.highest_rise.step, c.spikes,
            c.spike_step, c.spike, c.spike_of, c.spike_rate, c.floor.mean, c.floor.noise,
            c.floor.step);
        for (int j = 0; j < 3; j++) {
            const Evaluation *e = (const Evaluation *[]){&c.last, &c.before, &c.lowest}[j];
            ADD(&digest, e->step, e->loss, e->validation, course_fall(&c, 0.3 * j, 0.3 * j + 0.3),
                course_validation(&c, c.steps * 0.35 * j));
        }
        for (int j = 0; j < c.count; j++) ADD(&digest, c.rows[j].step);
    }
    expect_digest(&digest, 0x963001892878e60d);
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

FIXTURE(scratch_open, scratch_close)
