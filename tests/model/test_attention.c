/* test_attention.c - the worked examples of tests/golden/attention. They were computed in double
 * precision, independently of this project. The layers must reproduce them to 1e-5. */
#include "tests/support.h"
#include "model/layers/attention.h"

enum { RANK = 4, LONGEST = 150, WIDEST = 64 };

static Thread kernels; /* a single thread */

extern const Isa isa_scalar; /* a vector of one number */

/* ---- reading the examples ---- */

typedef struct {
    int rank, size[RANK]; /* 1 beyond the rank */
    size_t count;
    float *at;
} Golden;

/* Reads the named table: a line "name  2 x 3 x 4", then its rows. Its rank is 0 if missing. */
static Golden golden_if(const char *name) {
    FILE *file = fopen("tests/golden/attention", "r");
    assert_non_null(file);
    Golden array = {.size = {1, 1, 1, 1}, .count = 1};
    char line[4096], word[64];
    while (array.rank <= 0 && fgets(line, sizeof line, file))
        if (sscanf(line, "%63s", word) == 1 && strcmp(word, name) == 0)
            array.rank = sscanf(line + strlen(name), "%d x %d x %d x %d", &array.size[0],
                                &array.size[1], &array.size[2], &array.size[3]);
    for (int i = 0; i < RANK; i++) array.count *= (size_t)array.size[i];
    array.at = scrap(array.count, sizeof *array.at);
    for (size_t i = 0; i < array.count && array.rank > 0; i++)
        assert_int_equal(fscanf(file, "%f", &array.at[i]), 1);
    fclose(file);
    return array;
}

static Golden golden(const char *name) {
    Golden array = golden_if(name);
    if (array.rank <= 0) fail_msg("no table %s", name);
    return array;
}

/* Compares results with a table, if the file has it. Returns how many it has. */
static int compare(const float *ours, const char *example, const char *table) {
    Golden expected = golden_if(formatted("%s.%s", example, table));
    for (size_t i = 0; i < expected.count && expected.rank > 0; i++)
        assert_near(ours[i], expected.at[i], 1e-5 * fmax(1, fabs((double)expected.at[i])));
    return expected.rank > 0;
}

static void assert_equals(const float *ours, const char *example, const char *table) {
    if (!compare(ours, example, table)) fail_msg("no table %s.%s", example, table);
}

/* ---- layers that allocate their results ---- */

static float *zeros(size_t count) {
    return scrap(count, sizeof(float));
}

/* x[N,C] times the named weight, stored (out, in), or (in, out) with `transposed`. */
static float *project(const float *x, int N, const char *weight, bool transposed,
                      const char *bias) {
    Golden w = golden(weight), b = {0};
    if (bias) b = golden(bias);
    const int C = w.size[transposed ? 0 : 1], OC = w.size[transposed ? 1 : 0];
    float *y = zeros((size_t)(N * OC));
    for (int i = 0; i < N * OC; i++) {
        const int n = i / OC, o = i % OC;
        double sum = bias ? (double)b.at[o] : 0;
        for (int c = 0; c < C; c++)
            sum += (double)x[n * C + c] * (double)w.at[transposed ? c * OC + o : o * C + c];
        y[i] = (float)sum;
    }
    return y;
}

/* Projects x to queries, keys and values with the weights "<example>.wq" and so on; in `biased`
 * examples also with the biases "<example>.bq" and so on. */
typedef struct {
    float *q, *k, *v;
    int dk, dv; /* columns */
} Qkv;

static Qkv project_qkv(const float *x, int N, const char *example, bool transposed, bool biased) {
    float *arrays[3];
    int columns[3];
    for (int i = 0; i < 3; i++) {
        const char *weight = formatted("%s.w%c", example, "qkv"[i]);
        const char *bias = formatted("%s.b%c", example, "qkv"[i]);
        arrays[i] = project(x, N, weight, transposed, biased ? bias : NULL);
        columns[i] = golden(weight).size[transposed];
    }
    return (Qkv){arrays[0], arrays[1], arrays[2], columns[0], columns[2]};
}

/* NH heads over separate q [B,T,NH*dk], k [B,T,NKV*dk] and v [B,T,NKV*dv]. */
static Attention some_heads(int B, int T, int NH, int NKV, int dk, int dv, double scale) {
    return (Attention){.q_row = (size_t)(NH * dk),
                       .k_row = (size_t)(NKV * dk),
                       .v_row = (size_t)(NKV * dv),
                       .out_row = (size_t)(NH * dv),
                       .T = T,
                       .hs = dk,
                       .vs = dv,
                       .scale = (float)scale,
                       .B = B,
                       .NH = NH,
                       .NKV = NKV};
}

static Attention one_head(int B, int T, int dk, int dv, double scale) {
    return some_heads(B, T, 1, 1, dk, dv, scale);
}

/* A copy of the keys k[T,NKV*dk] in columns. */
static float *columns_of(const Attention *shape, const float *k) {
    Attention a = *shape;
    float *columns = zeros((size_t)(a.T + KEY_GROUP) / KEY_GROUP * KEY_GROUP * a.k_row);
    for (size_t s = 0; s < (size_t)a.T; s++) {
        a.k = k + s * a.k_row;
        attention_cache_key(&a, columns, s);
    }
    return columns;
}

/* Without the mask, each query is computed alone, as if all keys were earlier ones. */
static float *attend(const Attention *shape, bool mask, const float *q, const float *k,
                     const float *v) {
    Attention a = *shape;
    size_t T = (size_t)a.T, tokens = (size_t)a.B * T;
    float *out = zeros(tokens * a.out_row);
    a.lse = zeros(tokens * (size_t)a.NH);
    a.q = q, a.k = k, a.v = v, a.out = out;
    if (mask) attention_forward(&kernels, &a, NULL);
    for (size_t n = 0; n < tokens && !mask; n++) {
        a.q = q + n * a.q_row, a.out = out + n * a.out_row, a.v = v + n / T * T * a.v_row;
        attention_decode(&kernels, &a, columns_of(&a, k + n / T * T * a.k_row), a.T);
    }
    return out;
}

/* The attention weights of each head, [B,T,T]: the output if token s has unit vector s as value. */
static float *weights_of(Attention a, bool mask, int head, const float *q, const float *k) {
    int T = a.T;
    float *unit = zeros((size_t)(a.B * T * T));
    for (int b = 0; b < a.B; b++)
        for (int t = 0; t < T; t++) unit[(b * T + t) * T + t] = 1;
    q += head * a.hs;
    k += head * a.hs;
    a.NH = a.NKV = 1;
    a.vs = T;
    a.v_row = a.out_row = (size_t)T;
    return attend(&a, mask, q, k, unit);
}

/* ---- the examples ---- */

/* Examples of one head, the first without projections. Each of their tables is compared. */
TEST(one_head) {
    static const struct {
        const char *name, *x;
        bool transposed, mask;
        double scale;                                    /* 0: 1 / sqrt(dk) */
    } cases[] = {{"plain", "plain.x", false, false, 1},  /* 1 */
                 {"qkv", "plain.x", true, false, 0},     /* 2 */
                 {"linear", "plain.x", false, false, 0}, /* 3 */
                 {"three", "plain.x", true, false, 0},   /* 5 */
                 {"head", "head.x", false, true, 1},     /* 7 */
                 {"wide", "wide.x", true, false, 0}};    /* 8 */
    int tables = 0;
    for (int i = 0; i < COUNT(cases); i++) {
        const char *name = cases[i].name;
        Golden x = golden(cases[i].x);
        const int T = x.size[0];
        Qkv p = {x.at, x.at, x.at, 3, 3};
        if (i > 0) p = project_qkv(x.at, T, name, cases[i].transposed, false);
        const double usual = 1 / sqrt(p.dk), scale = cases[i].scale > 0 ? cases[i].scale : usual;
        Attention a = one_head(1, T, p.dk, p.dv, scale);
        const bool mask = cases[i].mask;
        const float *out = attend(&a, mask, p.q, p.k, p.v);
        tables += compare(p.q, name, "q") + compare(p.k, name, "k") + compare(p.v, name, "v");
        tables += compare(weights_of(a, mask, 0, p.q, p.k), name, "weights");
        tables += compare(out, name, "context") + compare(out, name, "out");
        a.scale = (float)usual;
        tables += compare(attend(&a, mask, p.q, p.k, p.v), name, "out_scaled");
    }
    assert_int_equal(tables, 2 + 5 + 1 + 5 + 3 + 1);
}

TEST(4_batch_and_heads) {
    enum { B = 2, T = 3, C = 4, NH = 2 };
    Golden x = golden("batch.x");
    Attention plain = one_head(B, T, C, C, 1), single = one_head(B, T, C, C, 1 / sqrt(C));
    Attention heads = some_heads(B, T, NH, NH, C / NH, C / NH, 1 / sqrt(2));
    Qkv p = project_qkv(x.at, B * T, "batch", false, true);
    assert_equals(attend(&plain, false, x.at, x.at, x.at), "batch", "plain");
    assert_equals(attend(&single, false, p.q, p.k, p.v), "batch", "single");
    const float *both = attend(&heads, false, p.q, p.k, p.v);
    assert_equals(both, "batch", "multi.heads");
    assert_equals(project(both, B * T, "batch.wo", false, "batch.bo"), "batch", "multi.out");
    float weights[B][NH][T * T];
    for (int h = 0; h < NH; h++) {
        float *of_head = weights_of(heads, false, h, p.q, p.k);
        for (int b = 0; b < B; b++)
            memcpy(weights[b][h], of_head + b * T * T, sizeof weights[b][h]);
    }
    assert_equals(&weights[0][0][0], "batch", "multi.weights");
}

/* A mean of the past: attention with all unmasked scores 0. */
TEST(6_mean) {
    enum { B = 2, T = 8, C = 2 };
    Golden x = golden("mean.x");
    const float *nothing = zeros(x.count);
    Attention a = one_head(B, T, C, C, 1);
    assert_equals(attend(&a, true, nothing, nothing, x.at), "mean", "out");
}

/* The heads of examples 2 and 3, with the mask. */
TEST(9_masked_heads) {
    enum { T = 6, HS = 2, NH = 2 };
    Golden x = golden("plain.x");
    float *q = zeros(T * NH * HS), *k = zeros(T * NH * HS), *v = zeros(T * NH * HS);
    for (int h = 0; h < NH; h++) {
        const Qkv p = project_qkv(x.at, T, h ? "linear" : "qkv", h == 0, false);
        for (int i = 0; i < T * HS; i++) {
            const int to = i / HS * NH * HS + h * HS + i % HS;
            q[to] = p.q[i], k[to] = p.k[i], v[to] = p.v[i];
        }
    }
    const Attention heads = some_heads(1, T, NH, NH, HS, HS, 1 / sqrt(HS));
    assert_equals(attend(&heads, true, q, k, v), "heads", "out");
    assert_equals(weights_of(heads, true, 0, q, k), "masked", "weights");
    assert_equals(weights_of(heads, true, 1, q, k), "second", "weights");
}

/* ---- attention compared with plain loops, at sizes beyond every tile and block ---- */

/* Rounds numbers to bfloat16. */
static void shorten(float *numbers, size_t count) {
    for (size_t i = 0; i < count; i++) {
        uint32_t bits;
        memcpy(&bits, &numbers[i], sizeof bits);
        bits &= 0xFFFF0000;
        memcpy(&numbers[i], &bits, sizeof bits);
    }
}

/* Computes both passes with random inputs. Returns all results, one array after another. */
static float *both_passes(Attention a, float *inputs[4], size_t *count) {
    const size_t tokens = (size_t)(a.B * a.T), queries = tokens * a.q_row, keys = tokens * a.k_row;
    const size_t values = tokens * a.v_row, outs = tokens * a.out_row;
    const size_t sizes[] = {queries, keys, values, outs};
    for (int i = 0; i < 4; i++) {
        inputs[i] = random_floats((uint64_t)i + 1, sizes[i]);
        if (kernels.products != &float32_products) shorten(inputs[i], sizes[i]);
    }
    *count = 2 * queries + keys + values + outs;
    a.q = inputs[0], a.k = inputs[1], a.v = inputs[2], a.dout = inputs[3];
    a.out = zeros(*count), a.dq = a.out + outs, a.dk = a.dq + queries, a.dv = a.dk + keys;
    a.lse = a.dv + values;
    attention_forward(&kernels, &a, NULL);
    attention_backward_pass(&kernels, &a, NULL);
    return a.out;
}

/* Tolerates `error` forward, and ten times that backward, where more terms are added. */
static void check_formulas(int T, int dk, int dv, double error) {
    const size_t sizes[] = {(size_t)(T * dv), (size_t)(T * dk), (size_t)(T * dk), (size_t)(T * dv)};
    float *inputs[4];
    size_t count;
    const float *ours = both_passes(one_head(1, T, dk, dv, 1 / sqrt(dk)), inputs, &count);
    const PlainHead plain = plain_head_of(T, dk, dv, inputs);
    for (int part = 0; part < 4; ours += sizes[part++])
        for (size_t i = 0; i < sizes[part]; i++)
            assert_near(ours[i], part == 0 ? plain.out[i] : plain.gradients[part - 1][i],
                        part == 0 ? error : 10 * error);
}

/* With bfloat16, whose numbers the inputs then are, only the attention weights and the gradients of
 * the scores are rounded: by at most 1 in 512, of values below 4. */
TEST(formulas) {
    const Products *tables[1 + BF16_MAX] = {&float32_products};
    int count = 1 + bf16_available(tables + 1);
    for (int i = 0; i < count; i++) {
        const double error = i == 0 ? 1e-5 : 0x1p-7;
        kernels.products = tables[i];
        for (int T = i == 0 ? 1 : 4; T <= 60; T += T < 8 ? 1 : 13) check_formulas(T, 5, 19, error);
        check_formulas(LONGEST, 64, 33, error);
        check_formulas(LONGEST, 33, 64, error);
        check_formulas(49, 16, 16, error);
        check_formulas(64, 32, 32, error);
    }
    kernels.products = tables[0];
}

/* Queries computed alone, from keys in columns, have the bits of one pass over all tokens. Some
 * heads share keys and values. */
static void check_tokens(int NH, int NKV, int dk, int dv) {
    enum { T = 150 };
    Attention all = some_heads(1, T, NH, NKV, dk, dv, 0.7), one = all;
    float *q = random_floats(1, T * all.q_row), *k = random_floats(2, T * all.k_row);
    float *v = random_floats(3, T * all.v_row), *parts = random_floats(4, T * all.out_row);
    const float *whole = attend(&all, true, q, k, v), *columns = columns_of(&all, k);
    one.v = v;
    for (int t = 0; t < T; t++) {
        one.q = q + (size_t)t * all.q_row;
        one.out = parts + (size_t)t * all.out_row;
        attention_decode(&kernels, &one, columns, t + 1);
    }
    assert_memory_equal(parts, whole, T * all.out_row * sizeof *parts);
}

/* The scratch holds the scores of eight heads in whole groups of keys, though the context is
 * shorter than a group. */
TEST(short_context) {
    enum { NH = 8, hs = 4, GUARD = 64 };
    const Isa *tables[ISA_MAX];
    const int count = isa_available(tables);
    for (int i = 0; i <= count; i++) {
        const Isa *isa = i < count ? tables[i] : &isa_scalar;
        const size_t size = attention_scratch(isa, &float32_products, 1, hs, hs);
        Attention one = some_heads(1, 1, NH, NH, hs, hs, 1);
        Thread own = {.isa = isa, .products = &float32_products, .count = 1};
        own.scratch = zeros(size + GUARD);
        one.q = one.k = one.v = random_floats(1, NH * hs);
        one.out = zeros(NH * hs);
        attention_decode(&own, &one, columns_of(&one, one.k), 1);
        for (int j = 0; j < GUARD; j++) assert_true(own.scratch[size + (size_t)j] == 0);
    }
}

TEST(tokens) {
    check_tokens(1, 1, 5, 3);
    check_tokens(6, 2, 32, 32);
    check_tokens(4, 4, 32, 32);
    check_tokens(4, 1, 16, 40);
    check_tokens(5, 5, 33, 16);
    check_tokens(24, 2, 8, 64); /* more heads than are computed together */
    check_tokens(11, 11, 4, 8);
}

/* ---- short sequences, which have kernels of their own ---- */

/* Their kernels give the bits of the general path, which dropout takes, here at a rate near 0. */
static void check_short(int T, int NH, int NKV, int dk, int dv) {
    Attention a = some_heads(2, T, NH, NKV, dk, dv, 0.7);
    float *inputs[4];
    size_t count;
    float *ours = both_passes(a, inputs, &count);
    a.dropout.rate = 1e-30f;
    assert_memory_equal(ours, both_passes(a, inputs, &count), count * sizeof *ours);
    a.dropout.rate = 0.5f;
    assert_memory_not_equal(ours, both_passes(a, inputs, &count), count * sizeof *ours);
}

TEST(short_sequences) {
    const Isa *tables[ISA_MAX], *chosen = kernels.isa;
    int count = isa_available(tables);
    for (int i = 0; i < count; i++) {
        kernels.isa = tables[i];
        for (int T = 1; T <= SEQUENCE_TOKENS + 1; T += T < 49 ? 1 : 40) {
            check_formulas(T, 8, 20, 1e-5);
            check_short(T, 4, 4, 4, 4);
            check_short(T, 2, 1, 8, 12);
            check_short(T, 3, 1, 16, 4);
            check_short(T, 2, 2, SEQUENCE_CHANNELS, 36);
        }
    }
    kernels.isa = chosen;
}

RELEASE(team, team_close)

/* The examples are too small to divide: one thread calls the layers alone. */
static void keep(const Thread *thread, void *kept) {
    *(Thread *)kept = *thread;
}

SET_UP {
    const Products *tables[BF16_MAX + 1] = {&float32_products};
    int count = 1 + bf16_available(tables + 1);
    const Isa *isa = isa_choose(&err);
    Team *team;
    size_t capacity = 0;
    for (int i = 0; i < count; i++) {
        size_t needed = attention_scratch(isa, tables[i], LONGEST, WIDEST, WIDEST);
        if (needed > capacity) capacity = needed;
    }
    assert_ok(team_open(&team, isa, tables[0], 1, capacity, &err), err);
    at_end(release_team, team);
    team_run(team, 1, keep, &kernels);
}
