/* test_training.c - the optimizer on a whole model, its profile, the rates, and sizes. */
#include "tests/support.h"
#include "base/clock.h"
#include "library/recipe.h"
#include "model/engine/muon.h"

enum { B = 2, T = 5, V = 7 };

static Config config_of(const char *model) {
    Config config = {.V = V, .T = T, .L = 1, .NH = 1, .C = 6};
    strcpy(config.model, model);
    return config;
}

/* One step of AdamW for a tensor with gradient g. */
static void adamw_naively(double *w, double *m, double *v, const double *g, const Tensor *tensor,
                          Optimizer o, int step) {
    const char *name = tensor->name;
    const bool decays = strstr(name, "weight") && !strstr(name, "ln_") && !strstr(name, "norm");
    for (size_t i = 0; i < tensor->size; i++) {
        m[i] = o.beta1 * m[i] + (1 - o.beta1) * g[i];
        v[i] = o.beta2 * v[i] + (1 - o.beta2) * g[i] * g[i];
        w[i] -= o.learning_rate * ((decays ? o.weight_decay * w[i] : 0) +
                                   m[i] / (1 - pow(o.beta1, step)) /
                                       (sqrt(v[i] / (1 - pow(o.beta2, step))) + o.epsilon));
    }
}

/* c[M,N] = a[M,K] b[K,N]; `turned`: b is [N,K] */
static void product(double *c, const double *a, const double *b, bool turned, int M, int K, int N) {
    for (int i = 0; i < M; i++)
        for (int j = 0; j < N; j++) {
            c[i * N + j] = 0;
            for (int p = 0; p < K; p++)
                c[i * N + j] += a[i * K + p] * (turned ? b[j * K + p] : b[p * N + j]);
        }
}

enum { WIDEST = 36 * 96 };

/* The polynomials of Muon's iteration: a x + b x^3 + c x^5 of each singular value x. */
enum { MUON_STEPS = 3, MUON_ROWS = 48, MUON_COLUMNS = 144 };
static const double polynomials[MUON_STEPS][3] = {
    {8.01324, -22.9257, 16.5995}, {3.60058, -2.64188, 0.510505}, {2.63495, -1.919, 0.43065}};

static double frobenius(const double *x, int count) {
    double sum = 0;
    for (int i = 0; i < count; i++) sum += x[i] * x[i];
    return sqrt(sum);
}

/* x[m,n], m <= n, of any norm, is divided by the eighth root of the sum of its singular values'
 * eighth powers; then the polynomials follow, each with a new A = x x^T. */
static void orthogonalize(double *x, int m, int n) {
    double A[WIDEST], AA[WIDEST], y[WIDEST];
    product(A, x, x, true, m, n, m);
    product(AA, A, A, false, m, m, m);
    double largest = sqrt(sqrt(frobenius(AA, m * m)));
    for (int i = 0; i < m * n; i++) x[i] /= largest;
    for (int step = 0; step < MUON_STEPS; step++) {
        const double *p = polynomials[step];
        product(A, x, x, true, m, n, m);
        product(AA, A, A, false, m, m, m);
        for (int i = 0; i < m * m; i++) A[i] = p[1] * A[i] + p[2] * AA[i];
        product(y, A, x, false, m, m, n);
        for (int i = 0; i < m * n; i++) x[i] = p[0] * x[i] + y[i];
    }
}

/* One step of Muon for a matrix with gradient g. */
static void muon_naively(double *w, double *m, const double *g, const Tensor *tensor, Optimizer o) {
    int rows = tensor->shape[0], columns = tensor->shape[1];
    bool tall = rows > columns;
    double x[WIDEST], scale = tall ? sqrt((double)rows / columns) : 1;
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int at = i * columns + j;
            m[at] = o.momentum * m[at] + (1 - o.momentum) * g[at];
            x[tall ? j * rows + i : at] = o.momentum * m[at] + (1 - o.momentum) * g[at];
        }
    orthogonalize(x, tall ? columns : rows, tall ? rows : columns);
    for (int i = 0; i < rows; i++)
        for (int j = 0; j < columns; j++) {
            int at = i * columns + j;
            double step = scale * x[tall ? j * rows + i : at];
            w[at] -= o.matrix_rate * (o.matrix_decay * w[at] + step);
        }
}

/* Three steps, each compared with double precision on the same gradients and the weights before it.
 * The matrices of Muon are square, tall and wide; the errors of the numbers of o may be `most` at
 * most, and `mean` in the mean of a matrix. */
static void check_steps(Config config, Precision precision, int threads, double clip, double most,
                        double mean) {
    Optimizer o = {.learning_rate = 0.01,
                   .beta1 = 0.9,
                   .beta2 = 0.95,
                   .epsilon = 1e-8,
                   .weight_decay = 0.3,
                   .matrix_rate = 0.1,
                   .momentum = 0.8,
                   .matrix_decay = 0.2,
                   .clip = clip};
    RunOptions options = {
        .batch = B, .length = T, .training = true, .threads = threads, .precision = precision};
    Bench *bench = bench_of(&config, &options);
    const Model *model = bench->model;
    const size_t size = model->weights_size;
    double *w = scrap(size, sizeof *w), *g = scrap(size, sizeof *g);
    double *m = scrap(size, sizeof *m), *v = scrap(size, sizeof *v);
    bench_shake(bench);
    for (int step = 1; step <= 3; step++) {
        int32_t *ids = random_ids((uint64_t)step, B * T + 1, V);
        double square = 0;
        run_forward_training(bench->run, ids, B, T, NULL);
        run_backward(bench->run, ids + 1);
        for (size_t i = 0; i < size; i++) w[i] = (double)model->weights[i];
        for (int i = 0; i < model->tensor_count; i++)
            for (size_t j = 0; j < model->tensors[i].size; j++)
                square += pow((double)run_gradient(bench->run, i)[j], 2);
        const double norm = sqrt(square), scale = clip > 0 && norm > clip ? clip / norm : 1;
        for (int i = 0; i < model->tensor_count; i++) {
            const Tensor *tensor = &model->tensors[i];
            const size_t at = tensor->offset;
            for (size_t j = 0; j < tensor->size; j++)
                g[at + j] = (tensor->muon ? 1 : scale) * (double)run_gradient(bench->run, i)[j];
            assert_int_equal(tensor->muon, begins(tensor->name, "model.layers") &&
                                               strstr(tensor->name, "_proj.weight"));
            if (tensor->muon)
                muon_naively(w + at, m + at, g + at, tensor, o);
            else
                adamw_naively(w + at, m + at, v + at, g + at, tensor, o, step);
        }
        assert_near(run_update(bench->run, &o), norm, 1e-5 * norm);
        for (int i = 0; i < model->tensor_count; i++) {
            const Tensor *tensor = &model->tensors[i];
            double sum = 0;
            for (size_t j = 0; j < tensor->size; j++) {
                const size_t at = tensor->offset + j;
                assert_near(model->weights[at], w[at], tensor->muon ? most * o.matrix_rate : 2e-5);
                sum += fabs((double)model->weights[at] - w[at]);
                assert_true(run_gradient(bench->run, i)[j] == 0); /* zeroed for the next step */
            }
            if (tensor->muon) assert_true(sum / (double)tensor->size <= mean * o.matrix_rate);
        }
    }
}

/* 0.05 clips far below the norm of these gradients; Muon does not depend on their size. */
TEST(steps) {
    Config config = {.model = "modern", .V = V, .T = T, .L = 2, .NH = 1};
    for (int threads = 1; threads <= 3; threads++)
        for (config.C = 10; config.C <= 36; config.C += 26)
            check_steps(config, FLOAT32, threads, threads % 2 ? 0.05 : 0, 2e-4, 2e-4);
    for (int clips = 0; clips < 2; clips++)
        check_steps(config_of("gpt"), FLOAT32, 2, 0.05 * clips, 0, 0);
}

/* bfloat16 keeps 8 bits of each factor. The iteration multiplies small singular values by up to
 * 78, and their errors with them. The numbers of o are 0.1 to 0.2 in the mean. */
TEST(steps_in_bf16) {
    const Config config = {.model = "modern", .V = V, .T = T, .L = 2, .NH = 1, .C = 36};
    if (run_default_precision() != BFLOAT16) skip();
    for (int threads = 1; threads <= 3; threads++)
        check_steps(config, BFLOAT16, threads, 0, 0.5, 0.03);
}

typedef struct {
    float *w, *m, *g;
} MuonWork;

static void muon_work_of(const Thread *thread, void *argument) {
    MuonWork *a = argument;
    Muon muon = {.rate = 1};
    muon_step(thread, a->w, a->m, a->g, MUON_ROWS, MUON_COLUMNS, muon);
}

/* A matrix of rank 1 has one singular value that is not 0: a step of rate 1 has a norm near 1. In
 * bfloat16 rounding may not take it out of the interval of the next polynomial. */
static void check_rank_one(const Products *products, float (*number)(int row, int column)) {
    enum { SIZE = MUON_ROWS * MUON_COLUMNS };
    static float w[SIZE], m[SIZE], g[SIZE];
    Team *team;
    const Isa *isa = isa_choose(&err);
    MuonWork work = {w, m, g};
    assert_ok(team_open(&team, isa, products, 1,
                        muon_scratch(isa, products, MUON_ROWS, MUON_COLUMNS), &err),
              err);
    double norm = 0, sum = 0;
    for (int i = 0; i < SIZE; i++) {
        w[i] = m[i] = 0;
        g[i] = number(i / MUON_COLUMNS, i % MUON_COLUMNS);
        sum += fabs((double)g[i]);
    }
    team_run(team, 1, muon_work_of, &work);
    for (int i = 0; i < SIZE; i++) norm += (double)w[i] * w[i];
    assert_near(sqrt(norm), sum > 0 ? 1 : 0, sum > 0 ? 0.35 : 0);
    team_close(team);
}

#define NUMBERS(name, value)                   \
    static float name(int row, int column) {   \
        return (void)row, (void)column, value; \
    }
NUMBERS(zero, 0.0f)
NUMBERS(same, 0.3f)
NUMBERS(one_row, row == 7 ? (float)column - 20 : 0)
NUMBERS(signs, (row * 5 % 7 < 3) == (column * 3 % 11 < 5) ? 1.0f : -1.0f)
NUMBERS(tiny, 1e-12f * signs(row, column))

TEST(muon_rank) {
    static float (*const numbers[])(int, int) = {zero, same, one_row, signs, tiny};
    const Products *tables[1 + BF16_MAX] = {&float32_products};
    int count = 1 + bf16_available(tables + 1);
    for (int i = 0; i < count; i++)
        for (int j = 0; j < COUNT(numbers); j++) check_rank_one(tables[i], numbers[j]);
}

/* The profile of `steps` steps: the operations of all products and of attention, and no more
 * seconds than have passed. */
static void check_profile(const Bench *bench, int steps, double passed) {
    enum { KINDS = 64 };
    TrilPart lines[KINDS];
    int count = run_profile_parts(bench->run, lines, KINDS), found = 0;
    double products = 0, seconds = 0, tokens = (double)steps * B * T;
    double pairs = (double)steps * B * (1 + 2 + 3 + 4 + 5); /* as many tokens as each one sees */
    for (int i = 0; i < bench->model->tensor_count; i++)    /* wte is the output layer, too */
        if (bench->model->tensors[i].rank == 2) products += (double)bench->model->tensors[i].size;
    for (int i = 0; i < count; i++) {
        const bool product = begins(lines[i].name, "linear");
        const bool attention = strcmp(lines[i].name, "attention") == 0;
        assert_true(lines[i].seconds > 0);
        seconds += lines[i].seconds;
        if (product) assert_near(lines[i].operations, 2 * tokens * products, 0.5);
        if (attention) assert_near(lines[i].operations, 2 * 2 * pairs * 6, 0.5);
        found += product || attention || strcmp(lines[i].name, "optimizer") == 0;
    }
    assert_int_equal(found, 5); /* linear, its backward pass and its gradients */
    assert_true(seconds <= passed);
}

static void profiled_step(Bench *bench, const int32_t *ids) {
    Optimizer o = {.epsilon = 1e-8, .matrix_rate = 0.1, .momentum = 0.9};
    run_forward_training(bench->run, ids, B, T, NULL);
    run_backward(bench->run, ids + 1);
    run_update(bench->run, &o);
}

/* The profile of training steps, and of nothing else, has a line for each kind of instruction. */
TEST(profile) {
    for (int threads = 1; threads <= 3; threads += 2) {
        Config config = config_of("modern");
        Bench *bench = bench_open(&config, B, threads, 3);
        TrilPart lines[2];
        int32_t *ids = random_ids(1, B * T + 1, V);
        profiled_step(bench, ids);
        assert_int_equal(run_profile_parts(bench->run, lines, 2), 0);
        assert_ok(run_profile(bench->run, &err), err);
        double begun = clock_seconds();
        for (int steps = 1; steps <= 2; steps++) {
            profiled_step(bench, ids);
            double passed = clock_seconds() - begun;
            run_forward(bench->run, ids, 1, 1);
            run_evaluate(bench->run, (Windows){ids, B * T + 1, 1, false}, NULL, NULL);
            check_profile(bench, steps, passed);
        }
        assert_int_equal(run_profile_parts(bench->run, lines, 2), 2);
    }
}

/* A row of the bigram's table that is not in the batch does not change, not even by momentum. */
TEST(lazy_rows) {
    Config config = config_of("bigram");
    Bench *bench = bench_open(&config, 1, 1, 3);
    const float *table = bench->model->weights;
    int32_t first[] = {0, 1, 2, 3, 4}, second[] = {0, 1, 1, 0, 0}, targets[] = {1, 1, 2, 3, 5};
    float kept[V * V];
    bench_train(bench, first, targets, 1, T, 1, 0.1);
    memcpy(kept, table, sizeof kept);
    bench_train(bench, second, targets, 1, T, 1, 0.1);
    assert_memory_not_equal(table, kept, 2 * V * sizeof *table);
    assert_memory_equal(table + 2 * V, kept + 2 * V, (V - 2) * V * sizeof *table);
}

/* 10 of 100 steps warm up; then the rate falls to a tenth, or in the last 40 to 0. */
TEST(schedules) {
    static const struct {
        int step;
        double cosine, late;
    } cases[] = {{0, 1.0 / 11, 1.0 / 11},
                 {9, 10.0 / 11, 10.0 / 11},
                 {10, 1, 1},
                 {55, 0.55, 1},
                 {60, 0.4718583, 1},
                 {61, 0.4564397, 39.0 / 40},
                 {99, 0.1002741, 1.0 / 40},
                 {100, 0.1, 0}};
    Recipe recipe = {.peak = {.learning_rate = 1}, .warmup = 0.1, .max_warmup = 10};
    for (int i = 0; i < 2 * COUNT(cases); i++) {
        recipe.cooldown = i % 2 ? 0.4 : 0;
        const double rate = recipe_step(&recipe, cases[i / 2].step, 100).learning_rate;
        assert_near(rate, i % 2 ? cases[i / 2].late : cases[i / 2].cosine, i % 2 ? 1e-12 : 1e-7);
        assert_near(recipe_step(&recipe, 0, 1).learning_rate, 1, 1e-12);
    }
}

/* Products in bfloat16 learn as those in float32 do. */
static void check_bf16(const char *name) {
    enum { BATCH = 6, LENGTH = 40, SIZE = 30, STEPS = 60 };
    Config config = {.V = SIZE, .T = LENGTH, .L = 2, .NH = 3, .C = 54};
    RunOptions options = {.batch = BATCH, .length = LENGTH, .training = true, .threads = 2};
    int32_t *ids = random_ids(1, BATCH * LENGTH + 1, SIZE);
    double losses[2];
    strcpy(config.model, name);
    for (int i = 0; i < 2; i++) {
        options.precision = i ? BFLOAT16 : FLOAT32;
        Bench *bench = bench_of(&config, &options);
        losses[i] = bench_train(bench, ids, ids + 1, BATCH, LENGTH, STEPS, 3e-3);
    }
    assert_near(losses[1], losses[0], 0.02);
    assert_true(losses[1] != losses[0]);
    assert_true(losses[0] < 3.2); /* it has learned: ln 30 is 3.4 */
}

TEST(bf16) {
    const Products *tables[BF16_MAX];
    if (bf16_available(tables) == 0) { /* the processor has none */
        Run *run;
        const Config config = config_of("gpt");
        RunOptions options = {.batch = 1, .length = T, .threads = 1, .precision = BFLOAT16};
        assert_false(run_open(&run, new_model(&config, 1), &options, &err));
        expect_error(err, "bf16");
        skip();
    }
    check_bf16("gpt");
    check_bf16("modern");
}

/* NKV and H are 0 in a model where they have their default value, or where the rung has neither. */
TEST(usual_sizes) {
    static const struct {
        Config config;
        int NKV, H, kv_heads, hidden;
    } cases[] = {
        {{"modern", V, T, 1, 6, 12, 0, 0}, 0, 0, 6, 32},
        {{"modern", V, T, 1, 6, 12, 6, 32}, 0, 0, 6, 32},
        {{"modern", V, T, 1, 6, 12, 2, 31}, 2, 31, 2, 31},
        {{"gpt", V, T, 1, 6, 12, 2, 31}, 0, 0, 6, 1},
        {{"bigram", V, T, 1, 6, 12, 4, -1}, 0, 0, 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        Model model;
        assert_ok(model_lay_out(&model, &cases[i].config, &err), err);
        assert_int_equal(model.config.NKV, cases[i].NKV);
        assert_int_equal(model.config.H, cases[i].H);
        assert_int_equal(model_kv_heads(&model.config), cases[i].kv_heads);
        assert_int_equal(model_hidden(&model.config), cases[i].hidden);
        model_free(&model);
    }
}
