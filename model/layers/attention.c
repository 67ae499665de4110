/* attention.c - each token's query selects from the tokens up to its own, and takes a weighted mean
 * of their values.
 *
 * A task is one head of one sequence; threads divide the tasks. In the backward pass, heads that
 * share keys and values are one task, so that one thread sums their gradients in a fixed order.
 * Scores are computed for a few queries at a time, in the thread's scratch. So memory grows with T,
 * not with T x T. Scores of keys that none of these queries sees are not computed. */
#include "model/layers/attention.h"
#include "base/array.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* Returns how many heads of queries read the same keys and values. */
static size_t group_of(const Attention *a) {
    return (size_t)(a->NH / a->NKV);
}

/* Sets *of to head `number`, counted in all sequences. */
static void head_of(Attention *of, const Attention *a, size_t number) {
    size_t batch = number / (size_t)a->NH, head = number % (size_t)a->NH;
    size_t T = (size_t)a->T, first = batch * T, shared = head / group_of(a);
    size_t of_q = first * a->q_row + head * (size_t)a->hs,
           of_out = first * a->out_row + head * (size_t)a->vs,
           of_k = first * a->k_row + shared * (size_t)a->hs,
           of_v = first * a->v_row + shared * (size_t)a->vs,
           of_lse = first * (size_t)a->NH + head * T;
    *of = *a;
    of->q += of_q;
    of->k += of_k;
    of->v += of_v;
    of->out += of_out;
    of->lse += of_lse;
    of->dropout.first = a->dropout.first * (size_t)a->NH + of_lse;
    if (!a->dout) return;
    of->dout += of_out;
    of->dq += of_q;
    of->dk += of_k;
    of->dv += of_v;
}

/* Returns the head that the same thread usually computes next, made in *next, for prefetching;
 * `own` itself if there is none, or if both stay in the cache anyway. */
static const Attention *head_after(const Attention *a, size_t number, const Attention *own,
                                   Attention *next) {
    if (a->T <= KEY_GROUP || number + 1 == (size_t)a->B * (size_t)a->NH) return own;
    head_of(next, a, number + 1);
    return next;
}

/* Returns the rows of a product's tile. */
static int rows_of(const Isa *isa, const Products *products) {
    return products->rows ? products->rows : isa->tile_rows;
}

/* Returns the number of queries whose scores are in scratch: a multiple of rows_of, at least 24. */
static int block_of(const Isa *isa, const Products *products) {
    int rows = rows_of(isa, products);
    return (23 + rows) / rows * rows;
}

size_t attention_scratch(const Isa *isa, const Products *products, int T, int hs, int vs) {
    const Products *of = products->attention;
    size_t forward = of->packed_size(isa, hs, T) + of->packed_size(isa, T, vs);
    size_t backward = of->packed_size(isa, hs, T) + of->packed_size(isa, vs, T) +
                      of->packed_size(isa, T, hs) + (size_t)T * (size_t)(hs + vs);
    size_t block = (size_t)block_of(isa, of);
    size_t scores = block * ceil_div((size_t)T, KEY_GROUP) * KEY_GROUP; /* decoding: whole groups */
    return (forward > backward ? forward : backward) + 2 * scores + block;
}

/* Returns the context for one head: a team of this thread alone, in the precision of attention. */
static Thread alone(const Thread *thread) {
    Thread own = thread_alone(thread);
    own.products = thread->products->attention;
    return own;
}

/* Returns true if a kernel computes whole heads: short sequences in float32. With few queries in a
 * vector, gradients of keys would be loaded and stored so often that products are faster. */
static bool is_short(const Thread *own, const Attention *a) {
    int most = own->isa->lanes < 8 ? 16 : SEQUENCE_TOKENS;
    return own->isa->attend && a->T <= most && a->dropout.rate <= 0 &&
           own->products == &float32_products && a->hs % 4 == 0 && a->vs % 4 == 0 &&
           a->hs <= SEQUENCE_CHANNELS && a->vs <= SEQUENCE_CHANNELS;
}

/* Prefetches rows of the next head: they lie far apart, and the hardware does not prefetch such
 * rows. Takes a few at a time, so that they need not wait for each other. */
static void prefetch_rows(const float *x, size_t row, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c += 16) __builtin_prefetch(x + (size_t)i * row + c);
}

/* Applies dropout to the weights of some queries from t on, or to their gradients. */
static void drop(const Isa *isa, float *weights, size_t row, const Attention *at, int t, int rows) {
    if (at->dropout.rate <= 0) return;
    for (int i = 0; i < rows; i++) {
        float *of = weights + (size_t)i * row;
        size_t query = at->dropout.first + (size_t)(t + i);
        isa->dropout(of, of, dropout_row(at->dropout, query), t + i + 1);
    }
}

/* ---- forward ---- */

/* Returns the place of key s of head `head` in the columns: in groups of KEY_GROUP keys, within a
 * group by heads, within a head by channels. */
static size_t column_of(const Attention *a, size_t s, size_t head) {
    size_t group = s / KEY_GROUP * (size_t)a->NKV + head;
    return group * KEY_GROUP * (size_t)a->hs + s % KEY_GROUP;
}

void attention_cache_key(const Attention *a, float *columns, size_t s) {
    for (size_t head = 0; head < (size_t)a->NKV; head++) {
        float *to = columns + column_of(a, s, head);
        for (size_t c = 0; c < (size_t)a->hs; c++)
            to[c * KEY_GROUP] = a->k[head * (size_t)a->hs + c];
    }
}

/* All heads of a group read some keys and values, then the next ones: so these stay near. */
void attention_decode(const Thread *thread, const Attention *a, const float *columns, int seen) {
    enum { TOGETHER = 8 };         /* heads whose weights are in scratch together */
    enum { NEAR = 8 * KEY_GROUP }; /* keys, or values, that fit the L1 cache */
    const Isa *isa = thread->isa;
    const int n = seen;
    size_t row = (size_t)ceil_div_int(n, KEY_GROUP) * KEY_GROUP, hs = (size_t)a->hs,
           vs = (size_t)a->vs, NKV = (size_t)a->NKV, group = group_of(a),
           step = group < TOGETHER ? TOGETHER / group : 1;
    float *att = thread->scratch;
    for (size_t head = 0; head < NKV; head += step) {
        size_t shared = min_size(NKV - head, step);
        for (size_t i = 0; i < shared * group; i += TOGETHER) {
            size_t query = head * group + i, heads = min_size(shared * group - i, TOGETHER),
                   same = min_size(heads, group); /* read the same keys */
            for (int s = 0; s < n; s += NEAR)
                for (size_t h = 0; h < heads; h += same)
                    isa->scores(att + h * row + s, row, a->q + (query + h) * hs,
                                columns + column_of(a, (size_t)s, (query + h) / group),
                                NKV * hs * KEY_GROUP, ceil_div_int(min_int(NEAR, n - s), KEY_GROUP),
                                a->hs, (int)same);
            for (size_t h = 0; h < heads; h++)
                isa->mask(att + h * row, row, 1, n, (int)whole_vectors(isa, n));
            isa->softmax(att, row, NULL, att, a->scale, (int)heads, (int)whole_vectors(isa, n));
            memset(a->out + query * vs, 0, heads * vs * sizeof(float));
            for (int s = 0; s < n; s += NEAR)
                isa->means(a->out + query * vs, att + s, row,
                           a->v + (size_t)s * a->v_row + head * vs, a->v_row, min_int(NEAR, n - s),
                           a->vs, (int)heads, (int)group);
        }
    }
}

static void forward_head(const Thread *thread, const Attention *at, const Attention *next) {
    const Isa *isa = thread->isa;
    const Products *products = thread->products;
    int T = at->T, strip = products->rows ? products->rows : block_of(isa, products);
    size_t row = whole_vectors(isa, T);
    float *keys = thread->scratch, *values = keys + products->packed_size(isa, at->hs, T);
    float *att = values + products->packed_size(isa, T, at->vs);
    products->pack(thread, keys, (Matrix){at->k, 1, at->k_row}, at->hs, T);
    products->pack(thread, values, (Matrix){at->v, at->v_row, 1}, T, at->vs);
    Packed transposed = {keys, at->hs, T}, plain = {values, T, at->vs};
    for (int t = 0; t < T; t += strip) {
        int rows = min_int(strip, T - t), max = t + rows;
        int columns = (int)whole_vectors(isa, max);
        const float *q = at->q + (size_t)t * at->q_row;
        prefetch_rows(next->q + (size_t)t * at->q_row, at->q_row, rows, at->hs);
        products->multiply(thread, att, row, q, at->q_row, transposed, rows, at->hs, NULL, columns);
        prefetch_rows(next->k + (size_t)t * at->k_row, at->k_row, rows, at->hs);
        isa->mask(att, row, rows, t + 1, columns);
        isa->softmax(att, row, at->lse + t, att, at->scale, rows, columns);
        drop(isa, att, row, at, t, rows);
        prefetch_rows(next->v + (size_t)t * at->v_row, at->v_row, rows, at->vs);
        products->multiply(thread, at->out + (size_t)t * at->out_row, at->out_row, att, row, plain,
                           rows, max, NULL, at->vs);
    }
}

void attention_forward(const Thread *thread, const Attention *a, atomic_int *taken) {
    Items tasks = team_items(thread, (size_t)a->B * (size_t)a->NH, taken);
    Thread own = alone(thread);
    for (size_t task; team_next(&tasks, &task);) {
        Attention at, other;
        head_of(&at, a, task);
        const Attention *next = head_after(a, task, &at, &other);
        if (is_short(&own, a))
            own.isa->attend(&at, next);
        else
            forward_head(&own, &at, next);
    }
}

/* ---- backward ---- */

/* A head in the thread's scratch: packed operands, the gradients of its keys [T,hs]
 * and values [T,vs], and the scores of a block of queries. */
typedef struct {
    Packed keys_transposed, values_transposed, keys;
    float *dk, *dv;
    float *att, *dscores;
    size_t row;   /* floats from one query's scores to the next */
    float *means; /* each query's weighted mean of the gradients of its weights */
} Operands;

static Operands pack_head(const Thread *thread, const Attention *at) {
    const Isa *isa = thread->isa;
    const Products *products = thread->products;
    float *transposed = thread->scratch,
          *values = transposed + products->packed_size(isa, at->hs, at->T);
    float *keys = values + products->packed_size(isa, at->vs, at->T);
    size_t row = whole_vectors(isa, at->T), T = (size_t)at->T;
    float *dk = keys + products->packed_size(isa, at->T, at->hs);
    float *dv = dk + T * (size_t)at->hs, *att = dv + T * (size_t)at->vs;
    size_t scores = (size_t)block_of(isa, products) * row;
    products->pack(thread, transposed, (Matrix){at->k, 1, at->k_row}, at->hs, at->T);
    products->pack(thread, values, (Matrix){at->v, 1, at->v_row}, at->vs, at->T);
    products->pack(thread, keys, (Matrix){at->k, at->k_row, 1}, at->T, at->hs);
    return (Operands){.keys_transposed = {transposed, at->hs, at->T},
                      .values_transposed = {values, at->vs, at->T},
                      .keys = {keys, at->T, at->hs},
                      .dk = dk,
                      .dv = dv,
                      .att = att,
                      .dscores = att + scores,
                      .row = row,
                      .means = att + 2 * scores};
}

/* Recomputes att for some queries from t on, whose rows begin at row `above` of the block, then
 * computes the gradient of the scores, and from it dq. */
static void backward_queries(const Thread *thread, const Operands *o, const Attention *at,
                             const Attention *next, int t, int rows, int above) {
    const Isa *isa = thread->isa;
    float *att = o->att + (size_t)above * o->row, *datt = o->dscores + (size_t)above * o->row;
    int max = t + rows, columns = (int)whole_vectors(isa, max);
    size_t first = (size_t)t;
    prefetch_rows(next->q + first * at->q_row, at->q_row, rows, at->hs);
    thread->products->multiply(thread, att, o->row, at->q + first * at->q_row, at->q_row,
                               o->keys_transposed, rows, at->hs, NULL, columns);
    prefetch_rows(next->k + first * at->k_row, at->k_row, rows, at->hs);
    thread->products->multiply(thread, datt, o->row, at->dout + first * at->out_row, at->out_row,
                               o->values_transposed, rows, at->vs, NULL, columns);
    prefetch_rows(next->v + first * at->v_row, at->v_row, rows, at->vs);
    isa->mask(att, o->row, rows, t + 1, columns);
    drop(isa, datt, o->row, at, t, rows);
    for (int i = 0; i < rows; i++) {
        /* sum_s att datt = dout . out, with or without dropout: a shorter sum */
        size_t row = (size_t)(t + i) * at->out_row;
        o->means[i] = isa->dot(at->dout + row, at->out + row, (size_t)at->vs);
    }
    prefetch_rows(next->dout + first * at->out_row, at->out_row, rows, at->vs);
    isa->softmax_backward(datt, att, o->row, at->lse + t, o->means, at->scale, rows, columns);
    drop(isa, att, o->row, at, t, rows);
    prefetch_rows(next->out + first * at->out_row, at->out_row, rows, at->vs);
    float *dq = at->dq + first * at->q_row;
    thread->products->multiply(thread, dq, at->q_row, datt, o->row, o->keys, rows, max, NULL,
                               at->hs);
}

/* Adds the parts of queries `from` to `end` - 1 to the gradients of keys first <= s < first + keys
 * and of their values. The block in scratch begins with query t. */
static void add_to_keys(const Thread *thread, const Operands *o, const Attention *at, int t,
                        int from, int end, int first, int keys) {
    size_t q = (size_t)from, k = (size_t)first, above = (size_t)(from - t) * o->row + k;
    Matrix att = {o->att + above, 1, o->row}, dscores = {o->dscores + above, 1, o->row};
    Matrix queries = {at->q + q * at->q_row, at->q_row, 1};
    Matrix dout = {at->dout + q * at->out_row, at->out_row, 1};
    thread->products->accumulate(thread, o->dk + k * (size_t)at->hs, (size_t)at->hs, dscores,
                                 queries, keys, at->hs, end - from, NULL, false);
    thread->products->accumulate(thread, o->dv + k * (size_t)at->vs, (size_t)at->vs, att, dout,
                                 keys, at->vs, end - from, NULL, false);
}

/* Writes dq, and adds to the gradients of keys and values in scratch. Queries do not see the keys
 * after their strip: those are left out. Tiles of few channels are twice as tall (panel). */
static void backward_head(const Thread *thread, const Operands *o, const Attention *at,
                          const Attention *next) {
    const Isa *isa = thread->isa;
    int block = block_of(isa, thread->products), strip = rows_of(isa, thread->products);
    if (!thread->products->rows && at->hs <= isa->tile_columns / 2) strip *= 2;
    for (int t = 0; t < at->T; t += block) {
        int end = min_int(t + block, at->T);
        for (int i = t; i < end; i += strip)
            backward_queries(thread, o, at, next, i, min_int(strip, end - i), i - t);
        for (int i = t, first = 0; i < end; i += strip) {
            int last = min_int(i + strip, end);
            add_to_keys(thread, o, at, t, i, end, first, last - first);
            first = last;
        }
    }
}

/* Computes the heads `first` to `end` - 1 of a short sequence, which share keys and values. */
static void backward_short_group(const Thread *thread, size_t first, size_t end,
                                 const Attention *a) {
    for (size_t number = first; number < end; number++) {
        Attention at, other;
        head_of(&at, a, number);
        at.adds = number > first;
        thread->isa->attend_backward(&at, head_after(a, number, &at, &other));
    }
}

/* Does the same for a sequence of any length. */
static void backward_group(const Thread *thread, size_t first, size_t end, const Attention *a) {
    if (is_short(thread, a)) {
        backward_short_group(thread, first, end, a);
        return;
    }
    Attention of;
    head_of(&of, a, first);
    size_t hs = (size_t)a->hs, vs = (size_t)a->vs, T = (size_t)a->T;
    Operands o = pack_head(thread, &of);
    memset(o.dk, 0, T * (hs + vs) * sizeof *o.dk);
    for (size_t number = first; number < end; number++) {
        Attention at, other;
        head_of(&at, a, number);
        backward_head(thread, &o, &at, head_after(a, number, &at, &other));
    }
    thread->isa->copy(of.dk, a->k_row, o.dk, hs, a->T, a->hs);
    thread->isa->copy(of.dv, a->v_row, o.dv, vs, a->T, a->vs);
}

void attention_backward_pass(const Thread *thread, const Attention *a, atomic_int *taken) {
    Items tasks = team_items(thread, (size_t)a->B * (size_t)a->NKV, taken);
    Thread own = alone(thread);
    for (size_t task, group = group_of(a); team_next(&tasks, &task);)
        backward_group(&own, task * group, (task + 1) * group, a);
}

/* ---- as instructions ----
 * Inputs: q, k, v; backward also lse, out and dout. Outputs: out and lse; backward dq, dk and
 * dv. A decoding run also keeps values, and keys in columns. */

enum { Q, K, V, LSE, OUT, DOUT };
enum { VALUES = 2, COLUMNS = 3 };

/* Return the channels of a head: in queries and keys, and in values. */
static int hs_of(const Instruction *at) {
    return at->inputs[Q].width / at->NH;
}

static int vs_of(const Instruction *at) {
    return at->inputs[V].width / (at->inputs[K].width / hs_of(at));
}

static Attention attention_of(const Call *c) {
    const Instruction *at = c->instruction;
    int hs = hs_of(at), vs = vs_of(at);
    return (Attention){.q = c->in[Q],
                       .k = c->in[K],
                       .v = c->in[V],
                       .q_row = c->in_row[Q],
                       .k_row = c->in_row[K],
                       .v_row = c->in_row[V],
                       .out_row = (size_t)at->NH * (size_t)vs,
                       .B = c->pass->B,
                       .T = c->pass->T,
                       .NH = at->NH,
                       .NKV = at->inputs[K].width / hs,
                       .hs = hs,
                       .vs = vs,
                       .scale = 1.0f / sqrtf((float)hs),
                       .dropout = dropout_of(c)};
}

/* Computes each token of a decoding run. Copies all keys before it reads the first: the pass may
 * have several tokens of a text, and a read waits for a recent store to the same cache line. */
static void forward_decoding(const Call *c) {
    const DecodeToken *of = c->pass->sequences;
    Attention a = attention_of(c);
    const float *q = a.q, *key = a.k;
    for (size_t b = 0; b < (size_t)c->N; b++) {
        a.k = key + b * a.k_row;
        attention_cache_key(&a, rows_in_slot(c, COLUMNS, of[b].slot), (size_t)of[b].past);
    }
    for (size_t b = 0; b < (size_t)c->N; b++) {
        a.q = q + b * a.q_row;
        a.v = cached_rows(c, V, VALUES, b, &a.v_row);
        a.out = c->out[0] + b * a.out_row;
        attention_decode(c->thread, &a, rows_in_slot(c, COLUMNS, of[b].slot), of[b].past + 1);
    }
}

static void forward(const Call *c) {
    if (c->pass->sequences) {
        forward_decoding(c);
        return;
    }
    Attention a = attention_of(c);
    a.out = c->out[0];
    a.lse = c->out[1];
    attention_forward(c->thread, &a, c->taken);
}

static void backward(const Call *c) {
    Attention a = attention_of(c);
    a.lse = c->in[LSE];
    a.out = c->in[OUT];
    a.dout = c->in[DOUT];
    a.dq = c->out[0];
    a.dk = c->out[1];
    a.dv = c->out[2];
    attention_backward_pass(c->thread, &a, c->taken);
}

/* Two products forward, five backward, each of the unmasked half. */
static double work(const Instruction *at, double tokens, double pairs) {
    (void)tokens;
    return (at->inputs[DOUT].id ? 5 : 2) * pairs * at->inputs[Q].width;
}

static size_t scratch(const Instruction *at, const Isa *isa, const Products *products, int T) {
    return attention_scratch(isa, products, T, hs_of(at), vs_of(at));
}

static const Operation operation = {
    .name = "attention",
    .title = "Attention: each character takes a weighted mean of all so far",
    .equation =
        "out[t] = sum over s <= t of weight[t,s] v[s], weight = softmax(q[t] . k[s] / sqrt(n))",
    .compute = forward,
    .reach = ALL_TOKENS,
    .work = work,
    .scratch = scratch,
    .attends = true};
static const Operation backward_operation = {.name = "attention_backward",
                                             .compute = backward,
                                             .reach = ALL_TOKENS,
                                             .work = work,
                                             .scratch = scratch};

Attended attention(Tape *p, int NH, Array q, Array k, Array v, int site) {
    int hs = q.width / NH, NKV = hs > 0 ? k.width / hs : 0;
    bool whole = NKV > 0 && q.width % NH == 0 && k.width % hs == 0 && v.width % NKV == 0;
    tape_expect(p, whole, "attention", "the heads do not divide the columns");
    tape_expect(p, !whole || NH % NKV == 0, "attention",
                "the heads of keys do not divide those of queries");
    int vs = NKV > 0 ? v.width / NKV : 0;
    Attended made = {tape_array(p, NH * vs, PER_TOKEN), q,  k,   v,
                     tape_array(p, NH, PER_TOKEN),      NH, site};
    Array values = tape_cache(p, v.width), columns = tape_cache(p, k.width);
    tape_keep(p, q);
    tape_keep(p, k);
    tape_keep(p, v);
    tape_keep(p, made.out);
    tape_add(p, (Instruction){.operation = &operation,
                              .inputs = {q, k, v},
                              .outputs = {made.out, made.lse, values, columns},
                              .NH = NH,
                              .site = site});
    return made;
}

/* dq, dk and dv have the strides of q, k and v. */
static void record_backward(Tape *p, Array dq, Array dk, Array dv, Array dout, Attended of) {
    tape_expect_width(p, "attention_backward", NO_TENSOR, "the gradient", dout, of.out.width);
    tape_add(p, (Instruction){.operation = &backward_operation,
                              .inputs = {of.q, of.k, of.v, of.lse, of.out, dout},
                              .outputs = {dq, dk, dv},
                              .NH = of.NH,
                              .site = of.site});
}

void attention_backward(Tape *p, Array *dq, Array *dk, Array *dv, Array dout, Attended of) {
    *dq = tape_array(p, of.q.width, PER_TOKEN);
    *dk = tape_array(p, of.k.width, PER_TOKEN);
    *dv = tape_array(p, of.v.width, PER_TOKEN);
    record_backward(p, *dq, *dk, *dv, dout, of);
}

Attended attention_qkv(Tape *p, int NH, Array qkv, int site) {
    int C = qkv.width / 3;
    return attention(p, NH, tape_columns(qkv, 0, C), tape_columns(qkv, C, C),
                     tape_columns(qkv, 2 * C, C), site);
}

Array attention_qkv_backward(Tape *p, Array dout, Attended of) {
    int C = of.out.width;
    Array dqkv = tape_array(p, 3 * C, PER_TOKEN);
    record_backward(p, tape_columns(dqkv, 0, C), tape_columns(dqkv, C, C),
                    tape_columns(dqkv, 2 * C, C), dout, of);
    return dqkv;
}
