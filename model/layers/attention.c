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

/* Returns head `number`, counted in all sequences. */
static Sequence head_of(const Attention *a, size_t number) {
    Sequence of = a->head;
    size_t batch = number / (size_t)a->NH, head = number % (size_t)a->NH;
    size_t T = (size_t)of.T, first = batch * T, shared = head / group_of(a);
    size_t of_q = first * of.q_row + head * (size_t)of.dk,
           of_out = first * of.out_row + head * (size_t)of.dv,
           of_key = first * of.k_row + shared * (size_t)of.dk,
           of_v = first * of.v_row + shared * (size_t)of.dv,
           of_lse = first * (size_t)a->NH + head * T;
    of.q += of_q;
    of.key += of_key;
    of.v += of_v;
    of.out += of_out;
    of.lse += of_lse;
    of.mask = a->dropout.first * (size_t)a->NH + of_lse;
    if (!of.dout) return of;
    of.dout += of_out;
    of.dq += of_q;
    of.dkey += of_key;
    of.dvalue += of_v;
    return of;
}

/* Returns the head that the same thread usually computes next, made in *next, for prefetching;
 * `own` itself if there is none, or if both stay in the cache anyway. */
static const Sequence *head_after(const Attention *a, size_t number, const Sequence *own,
                                  Sequence *next) {
    if (a->head.T <= KEY_GROUP || number + 1 == (size_t)a->B * (size_t)a->NH) return own;
    *next = head_of(a, number + 1);
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

size_t attention_scratch(const Isa *isa, const Products *products, int T, int dk, int dv) {
    const Products *of = products->attention;
    size_t forward = of->packed_size(isa, dk, T) + of->packed_size(isa, T, dv);
    size_t backward = of->packed_size(isa, dk, T) + of->packed_size(isa, dv, T) +
                      of->packed_size(isa, T, dk) + (size_t)T * (size_t)(dk + dv);
    size_t block = (size_t)block_of(isa, of), scores = block * whole_vectors(isa, T);
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
    return own->isa->attend && a->head.T <= most && a->dropout.rate <= 0 &&
           own->products == &float32_products && a->head.dk % 4 == 0 && a->head.dv % 4 == 0 &&
           a->head.dk <= SEQUENCE_CHANNELS && a->head.dv <= SEQUENCE_CHANNELS;
}

/* Prefetches rows of the next head: they lie far apart, and the hardware does not prefetch such
 * rows. Takes a few at a time, so that they need not wait for each other. */
static void prefetch_rows(const float *x, size_t row, int rows, int columns) {
    for (int i = 0; i < rows; i++)
        for (int c = 0; c < columns; c += 16) __builtin_prefetch(x + (size_t)i * row + c);
}

/* Applies dropout to the weights of some queries from t on, or to their gradients. */
static void drop(const Isa *isa, float *weights, size_t row, const Sequence *at, int t, int rows,
                 const Attention *a) {
    if (a->dropout.rate <= 0) return;
    for (int i = 0; i < rows; i++) {
        float *of = weights + (size_t)i * row;
        size_t query = at->mask + (size_t)(t + i);
        isa->dropout(of, of, dropout_row(a->dropout, query), t + i + 1);
    }
}

/* ---- forward ---- */

/* Returns the place of key s of head `head` in the columns: in groups of KEY_GROUP keys, within a
 * group by heads, within a head by channels. */
static size_t column_of(const Attention *a, size_t s, size_t head) {
    size_t group = s / KEY_GROUP * (size_t)a->NKV + head;
    return group * KEY_GROUP * (size_t)a->head.dk + s % KEY_GROUP;
}

void attention_column(const Attention *a, float *columns, size_t s) {
    for (size_t head = 0; head < (size_t)a->NKV; head++) {
        float *to = columns + column_of(a, s, head);
        for (size_t c = 0; c < (size_t)a->head.dk; c++)
            to[c * KEY_GROUP] = a->head.key[head * (size_t)a->head.dk + c];
    }
}

/* All heads of a group read some keys and values, then the next ones: so these stay near. */
void attention_token(const Thread *thread, const Attention *a, const float *columns, int seen) {
    enum { TOGETHER = 8 };         /* heads whose weights are in scratch together */
    enum { NEAR = 8 * KEY_GROUP }; /* keys, or values, that fit the L1 cache */
    const Isa *isa = thread->isa;
    const int n = seen;
    size_t row = (size_t)ceil_div_int(n, KEY_GROUP) * KEY_GROUP, dk = (size_t)a->head.dk,
           dv = (size_t)a->head.dv, NKV = (size_t)a->NKV, group = group_of(a),
           step = group < TOGETHER ? TOGETHER / group : 1;
    float *att = thread->scratch;
    for (size_t head = 0; head < NKV; head += step) {
        size_t shared = min_size(NKV - head, step);
        for (size_t i = 0; i < shared * group; i += TOGETHER) {
            size_t query = head * group + i, heads = min_size(shared * group - i, TOGETHER),
                   same = min_size(heads, group); /* read the same keys */
            for (int s = 0; s < n; s += NEAR)
                for (size_t h = 0; h < heads; h += same)
                    isa->scores(att + h * row + s, row, a->head.q + (query + h) * dk,
                                columns + column_of(a, (size_t)s, (query + h) / group),
                                NKV * dk * KEY_GROUP, ceil_div_int(min_int(NEAR, n - s), KEY_GROUP),
                                a->head.dk, (int)same);
            for (size_t h = 0; h < heads; h++)
                isa->mask(att + h * row, row, 1, n, (int)whole_vectors(isa, n));
            isa->softmax(att, row, NULL, att, a->head.scale, (int)heads,
                         (int)whole_vectors(isa, n));
            memset(a->head.out + query * dv, 0, heads * dv * sizeof(float));
            for (int s = 0; s < n; s += NEAR)
                isa->means(a->head.out + query * dv, att + s, row,
                           a->head.v + (size_t)s * a->head.v_row + head * dv, a->head.v_row,
                           min_int(NEAR, n - s), a->head.dv, (int)heads, (int)group);
        }
    }
}

static void forward_head(const Thread *thread, const Sequence *at, const Sequence *next,
                         const Attention *a) {
    const Isa *isa = thread->isa;
    const Products *products = thread->products;
    int T = at->T, strip = products->rows ? products->rows : block_of(isa, products);
    size_t row = whole_vectors(isa, T);
    float *keys = thread->scratch, *values = keys + products->packed_size(isa, a->head.dk, T);
    float *att = values + products->packed_size(isa, T, a->head.dv);
    products->pack(thread, keys, (Matrix){at->key, 1, a->head.k_row}, a->head.dk, T);
    products->pack(thread, values, (Matrix){at->v, a->head.v_row, 1}, T, a->head.dv);
    Packed transposed = {keys, a->head.dk, T}, plain = {values, T, a->head.dv};
    for (int t = 0; t < T; t += strip) {
        int rows = min_int(strip, T - t), max = t + rows;
        int columns = (int)whole_vectors(isa, max);
        const float *q = at->q + (size_t)t * a->head.q_row;
        prefetch_rows(next->q + (size_t)t * a->head.q_row, a->head.q_row, rows, a->head.dk);
        products->multiply(thread, att, row, q, a->head.q_row, transposed, rows, a->head.dk, NULL,
                           0, columns);
        prefetch_rows(next->key + (size_t)t * a->head.k_row, a->head.k_row, rows, a->head.dk);
        isa->mask(att, row, rows, t + 1, columns);
        isa->softmax(att, row, at->lse + t, att, a->head.scale, rows, columns);
        drop(isa, att, row, at, t, rows, a);
        prefetch_rows(next->v + (size_t)t * a->head.v_row, a->head.v_row, rows, a->head.dv);
        products->multiply(thread, at->out + (size_t)t * a->head.out_row, a->head.out_row, att, row,
                           plain, rows, max, NULL, 0, a->head.dv);
    }
}

void attention_forward(const Thread *thread, const Attention *a) {
    Items tasks = team_items(thread, (size_t)a->B * (size_t)a->NH, a->taken);
    Thread own = alone(thread);
    for (size_t task; team_next(&tasks, &task);) {
        Sequence at = head_of(a, task), other;
        const Sequence *next = head_after(a, task, &at, &other);
        if (is_short(&own, a))
            own.isa->attend(&at, next);
        else
            forward_head(&own, &at, next, a);
    }
}

/* ---- backward ---- */

/* A head in the thread's scratch: packed operands, the gradients of its keys [T,dk]
 * and values [T,dv], and the scores of a block of queries. */
typedef struct {
    Packed keys_transposed, values_transposed, keys;
    float *dkey, *dvalue;
    float *att, *dscores;
    size_t row;   /* floats from one query's scores to the next */
    float *means; /* each query's weighted mean of the gradients of its weights */
} Operands;

static Operands pack_head(const Thread *thread, const Sequence *at, const Attention *a) {
    const Isa *isa = thread->isa;
    const Products *products = thread->products;
    float *transposed = thread->scratch,
          *values = transposed + products->packed_size(isa, a->head.dk, at->T);
    float *keys = values + products->packed_size(isa, a->head.dv, at->T);
    size_t row = whole_vectors(isa, at->T), T = (size_t)at->T;
    float *dkey = keys + products->packed_size(isa, at->T, a->head.dk);
    float *dvalue = dkey + T * (size_t)a->head.dk, *att = dvalue + T * (size_t)a->head.dv;
    size_t scores = (size_t)block_of(isa, products) * row;
    products->pack(thread, transposed, (Matrix){at->key, 1, a->head.k_row}, a->head.dk, at->T);
    products->pack(thread, values, (Matrix){at->v, 1, a->head.v_row}, a->head.dv, at->T);
    products->pack(thread, keys, (Matrix){at->key, a->head.k_row, 1}, at->T, a->head.dk);
    return (Operands){.keys_transposed = {transposed, a->head.dk, at->T},
                      .values_transposed = {values, a->head.dv, at->T},
                      .keys = {keys, at->T, a->head.dk},
                      .dkey = dkey,
                      .dvalue = dvalue,
                      .att = att,
                      .dscores = att + scores,
                      .row = row,
                      .means = att + 2 * scores};
}

/* Recomputes att for some queries from t on, whose rows begin at row `above` of the block, then
 * computes the gradient of the scores, and from it dq. */
static void backward_queries(const Thread *thread, const Operands *o, const Sequence *at,
                             const Sequence *next, int t, int rows, int above, const Attention *a) {
    const Isa *isa = thread->isa;
    float *att = o->att + (size_t)above * o->row, *datt = o->dscores + (size_t)above * o->row;
    int max = t + rows, columns = (int)whole_vectors(isa, max);
    size_t first = (size_t)t;
    prefetch_rows(next->q + first * a->head.q_row, a->head.q_row, rows, a->head.dk);
    thread->products->multiply(thread, att, o->row, at->q + first * a->head.q_row, a->head.q_row,
                               o->keys_transposed, rows, a->head.dk, NULL, 0, columns);
    prefetch_rows(next->key + first * a->head.k_row, a->head.k_row, rows, a->head.dk);
    thread->products->multiply(thread, datt, o->row, at->dout + first * a->head.out_row,
                               a->head.out_row, o->values_transposed, rows, a->head.dv, NULL, 0,
                               columns);
    prefetch_rows(next->v + first * a->head.v_row, a->head.v_row, rows, a->head.dv);
    isa->mask(att, o->row, rows, t + 1, columns);
    drop(isa, datt, o->row, at, t, rows, a);
    for (int i = 0; i < rows; i++) {
        /* sum_s att datt = dout . out, with or without dropout: a shorter sum */
        size_t place = (size_t)(t + i) * a->head.out_row;
        o->means[i] = isa->dot(at->dout + place, at->out + place, (size_t)a->head.dv);
    }
    prefetch_rows(next->dout + first * a->head.out_row, a->head.out_row, rows, a->head.dv);
    isa->softmax_backward(datt, att, o->row, at->lse + t, o->means, a->head.scale, rows, columns);
    drop(isa, att, o->row, at, t, rows, a);
    prefetch_rows(next->out + first * a->head.out_row, a->head.out_row, rows, a->head.dv);
    float *dq = at->dq + first * a->head.q_row;
    thread->products->multiply(thread, dq, a->head.q_row, datt, o->row, o->keys, rows, max, NULL, 0,
                               a->head.dk);
}

/* Adds the parts of queries `from` to `end` - 1 to the gradients of keys first <= s < first + keys
 * and of their values. The block in scratch begins with query t. */
static void add_to_keys(const Thread *thread, const Operands *o, const Sequence *at, int t,
                        int from, int end, int first, int keys, const Attention *a) {
    size_t q = (size_t)from, k = (size_t)first, above = (size_t)(from - t) * o->row + k;
    Matrix att = {o->att + above, 1, o->row}, dscores = {o->dscores + above, 1, o->row};
    Matrix queries = {at->q + q * a->head.q_row, a->head.q_row, 1};
    Matrix dout = {at->dout + q * a->head.out_row, a->head.out_row, 1};
    thread->products->accumulate(thread, o->dkey + k * (size_t)a->head.dk, (size_t)a->head.dk,
                                 dscores, queries, keys, a->head.dk, end - from, NULL, false);
    thread->products->accumulate(thread, o->dvalue + k * (size_t)a->head.dv, (size_t)a->head.dv,
                                 att, dout, keys, a->head.dv, end - from, NULL, false);
}

/* Writes dq, and adds to the gradients of keys and values in scratch. Queries do not see the keys
 * after their strip: those are left out. Tiles of few channels are twice as tall (panel). */
static void backward_head(const Thread *thread, const Operands *o, const Sequence *at,
                          const Sequence *next, const Attention *a) {
    const Isa *isa = thread->isa;
    int block = block_of(isa, thread->products), strip = rows_of(isa, thread->products);
    if (!thread->products->rows && a->head.dk <= isa->tile_columns / 2) strip *= 2;
    for (int t = 0; t < at->T; t += block) {
        int end = min_int(t + block, at->T);
        for (int i = t; i < end; i += strip)
            backward_queries(thread, o, at, next, i, min_int(strip, end - i), i - t, a);
        for (int i = t, first = 0; i < end; i += strip) {
            int last = min_int(i + strip, end);
            add_to_keys(thread, o, at, t, i, end, first, last - first, a);
            first = last;
        }
    }
}

/* Computes the heads `first` to `end` - 1 of a short sequence, which share keys and values. */
static void backward_short_group(const Thread *thread, size_t first, size_t end,
                                 const Attention *a) {
    for (size_t number = first; number < end; number++) {
        Sequence at = head_of(a, number), other;
        at.adds = number > first;
        thread->isa->attend_backward(&at, head_after(a, number, &at, &other));
    }
}

/* Does the same for a sequence of any length. */
static void backward_group(const Thread *thread, size_t first, size_t end, const Attention *a) {
    Sequence of = head_of(a, first);
    if (is_short(thread, a)) {
        backward_short_group(thread, first, end, a);
        return;
    }
    size_t dk_row = (size_t)a->head.dk, dv_row = (size_t)a->head.dv, T = (size_t)of.T;
    Operands o = pack_head(thread, &of, a);
    memset(o.dkey, 0, T * (dk_row + dv_row) * sizeof *o.dkey);
    for (size_t number = first; number < end; number++) {
        Sequence at = head_of(a, number), other;
        backward_head(thread, &o, &at, head_after(a, number, &at, &other), a);
    }
    thread->isa->copy(of.dkey, a->head.k_row, o.dkey, dk_row, of.T, a->head.dk);
    thread->isa->copy(of.dvalue, a->head.v_row, o.dvalue, dv_row, of.T, a->head.dv);
}

void attention_backward_pass(const Thread *thread, const Attention *a) {
    Items tasks = team_items(thread, (size_t)a->B * (size_t)a->NKV, a->taken);
    Thread own = alone(thread);
    for (size_t task, group = group_of(a); team_next(&tasks, &task);)
        backward_group(&own, task * group, (task + 1) * group, a);
}

/* ---- as instructions ----
 * Inputs: q, k, v; backward also lse, out and dout. Outputs: out and lse; backward dq, dkey and
 * dvalue. A growing run also keeps values, and keys in columns. */

enum { Q, K, V, LSE, OUT, DOUT };
enum { VALUES = 2, COLUMNS = 3 };

/* Return the channels of a head: in queries and keys, and in values. */
static int dk_of(const Instruction *at) {
    return at->inputs[Q].width / at->NH;
}

static int dv_of(const Instruction *at) {
    return at->inputs[V].width / (at->inputs[K].width / dk_of(at));
}

static Attention attention_of(const Call *c) {
    const Instruction *at = c->instruction;
    int dk = dk_of(at), dv = dv_of(at);
    return (Attention){.head = {.q = c->in[Q],
                                .key = c->in[K],
                                .v = c->in[V],
                                .q_row = c->in_row[Q],
                                .k_row = c->in_row[K],
                                .v_row = c->in_row[V],
                                .out_row = (size_t)at->NH * (size_t)dv,
                                .T = c->pass->T,
                                .dk = dk,
                                .dv = dv,
                                .scale = 1.0f / sqrtf((float)dk)},
                       .B = c->pass->B,
                       .NH = at->NH,
                       .NKV = at->inputs[K].width / dk,
                       .dropout = dropout_of(c),
                       .taken = c->taken};
}

/* Computes each token of a growing run. Copies all keys before it reads the first: the pass may
 * have several tokens of a text, and a read waits for a recent store to the same cache line. */
static void forward_growing(const Call *c) {
    const Continuation *of = c->pass->sequences;
    Attention a = attention_of(c);
    const float *q = a.head.q, *key = a.head.key;
    for (size_t b = 0; b < (size_t)c->N; b++) {
        a.head.key = key + b * a.head.k_row;
        attention_column(&a, rows_in_slot(c, COLUMNS, of[b].slot), (size_t)of[b].past);
    }
    for (size_t b = 0; b < (size_t)c->N; b++) {
        a.head.q = q + b * a.head.q_row;
        a.head.v = rows_before(c, V, VALUES, b, &a.head.v_row);
        a.head.out = c->out[0] + b * a.head.out_row;
        attention_token(c->thread, &a, rows_in_slot(c, COLUMNS, of[b].slot), of[b].past + 1);
    }
}

static void forward(const Call *c) {
    if (c->pass->sequences) {
        forward_growing(c);
        return;
    }
    Attention a = attention_of(c);
    a.head.out = c->out[0];
    a.head.lse = c->out[1];
    attention_forward(c->thread, &a);
}

static void backward(const Call *c) {
    Attention a = attention_of(c);
    a.head.lse = c->in[LSE];
    a.head.out = c->in[OUT];
    a.head.dout = c->in[DOUT];
    a.head.dq = c->out[0];
    a.head.dkey = c->out[1];
    a.head.dvalue = c->out[2];
    attention_backward_pass(c->thread, &a);
}

/* Two products forward, five backward, each of the unmasked half. */
static double work(const Instruction *at, double tokens, double pairs) {
    (void)tokens;
    return (at->inputs[DOUT].id ? 5 : 2) * pairs * at->inputs[Q].width;
}

static size_t scratch(const Instruction *at, const Isa *isa, const Products *products, int T) {
    return attention_scratch(isa, products, T, dk_of(at), dv_of(at));
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

Attended attention(Tape *p, int NH, Array q, Array k, Array v, int place) {
    int dk = q.width / NH, NKV = dk > 0 ? k.width / dk : 0;
    bool whole = NKV > 0 && q.width % NH == 0 && k.width % dk == 0 && v.width % NKV == 0;
    tape_expect(p, whole, "attention", "the heads do not divide the columns");
    tape_expect(p, !whole || NH % NKV == 0, "attention",
                "the heads of keys do not divide those of queries");
    int dv = NKV > 0 ? v.width / NKV : 0;
    Attended made = {tape_array(p, NH * dv, PER_TOKEN), q,  k,    v,
                     tape_array(p, NH, PER_TOKEN),      NH, place};
    Array values = tape_earlier(p, v.width), columns = tape_earlier(p, k.width);
    tape_keep(p, q);
    tape_keep(p, k);
    tape_keep(p, v);
    tape_keep(p, made.out);
    tape_add(p, (Instruction){.operation = &operation,
                              .inputs = {q, k, v},
                              .outputs = {made.out, made.lse, values, columns},
                              .NH = NH,
                              .place = place});
    return made;
}

/* dq, dkey and dvalue have the strides of q, k and v. */
static void record_backward(Tape *p, Array dq, Array dkey, Array dvalue, Array dout, Attended of) {
    tape_expect_width(p, "attention_backward", NO_TENSOR, "the gradient", dout, of.out.width);
    tape_add(p, (Instruction){.operation = &backward_operation,
                              .inputs = {of.q, of.k, of.v, of.lse, of.out, dout},
                              .outputs = {dq, dkey, dvalue},
                              .NH = of.NH,
                              .place = of.place});
}

void attention_backward(Tape *p, Array *dq, Array *dkey, Array *dvalue, Array dout, Attended of) {
    *dq = tape_array(p, of.q.width, PER_TOKEN);
    *dkey = tape_array(p, of.k.width, PER_TOKEN);
    *dvalue = tape_array(p, of.v.width, PER_TOKEN);
    record_backward(p, *dq, *dkey, *dvalue, dout, of);
}

Attended attention_qkv(Tape *p, int NH, Array qkv, int place) {
    int C = qkv.width / 3;
    return attention(p, NH, tape_columns(qkv, 0, C), tape_columns(qkv, C, C),
                     tape_columns(qkv, 2 * C, C), place);
}

Array attention_qkv_backward(Tape *p, Array dout, Attended of) {
    int C = of.out.width;
    Array dqkv = tape_array(p, 3 * C, PER_TOKEN);
    record_backward(p, tape_columns(dqkv, 0, C), tape_columns(dqkv, C, C),
                    tape_columns(dqkv, 2 * C, C), dout, of);
    return dqkv;
}
