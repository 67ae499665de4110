/* tape.h - a rung's two passes as one list of calls of layers. Private to model/.
 *
 * When a run opens, the rung's `forward` and `backward` call the layers (layers.h). Each call adds
 * an instruction to the list, with its inputs and outputs; its Operation, one for each kind of
 * instruction, has the function that computes it. The engine derives the rest: how long each array
 * is needed, which instructions take the same slice of tokens, where threads wait for each other
 * (model/engine/schedule.h). */
#ifndef TRIL_MODEL_LAYERS_TAPE_H
#define TRIL_MODEL_LAYERS_TAPE_H

#include "model/kernels/products.h"
#include "model/layers/layers.h"
#include "model/model.h"
#include "model/ngram.h"

#include <stdint.h>

enum { MAX_INPUTS = 6, MAX_OUTPUTS = 4, MAX_TENSORS = 2 };

/* ---- an instruction at work ---- */

/* A tensor of weights: its numbers; in training, their gradient; for the right operand of a
 * product, its packed copy. */
typedef struct {
    float *w, *dw;
    const float *packed;
} Param;

/* One pass. */
typedef struct {
    const int32_t *ids;           /* [tokens] */
    int B, T;                     /* sequences; the tokens in each */
    size_t tokens;                /* B T */
    size_t before;                /* tokens of a shared batch before this process's part */
    float dropout;                /* the share of activations set to 0 in this pass */
    uint64_t masks;               /* names this step's masks of dropout (base/random.h) */
    const int32_t *targets;       /* [tokens] */
    float *losses;                /* [tokens] */
    float scale;                  /* the factor of the loss's gradient */
    const TextOrigin *source;     /* its place in a text, if known */
    const Ngram *ngram;           /* the counted model */
    float counts_weight;          /* factor of its logits; 1 in training */
    const DecodeToken *sequences; /* [B]: the tokens of a decoding run */
    size_t capacity;              /* the rows of a slot in arrays PER_CACHE_SLOT */
} Pass;

/* Return the id of token n of a pass, and its position: the number of tokens before it. */
static inline int32_t id_of(const Pass *pass, size_t n) {
    return pass->sequences ? *pass->sequences[n].last : pass->ids[n];
}

static inline size_t position_of(const Pass *pass, size_t n) {
    if (pass->sequences) return (size_t)pass->sequences[n].past;
    return n % (size_t)pass->T;
}

typedef struct Instruction Instruction;

/* The operands of one execution of an instruction. Pointers are to the rows of its N tokens. */
typedef struct {
    const Instruction *instruction;
    const Thread *thread;
    const Pass *pass;
    size_t first; /* the first of the N tokens, counted in the batch */
    int N;
    float *in[MAX_INPUTS], *out[MAX_OUTPUTS];
    size_t in_row[MAX_INPUTS], out_row[MAX_OUTPUTS]; /* floats from one token to the next */
    Param tensors[MAX_TENSORS];
    atomic_int *taken; /* in the phase of a team: items taken from each share (team_items) */
} Call;

/* ---- a kind of instruction ---- */

/* EACH_TOKEN: computes each token by itself; each thread executes it for its own slices of tokens.
 * ALL_TOKENS: looks across tokens; the whole team executes it, for all tokens. */
typedef enum { EACH_TOKEN, ALL_TOKENS } Reach;

/* All that the engine knows of a layer's forward or backward. */
typedef struct {
    const char *name; /* the layer's name in layers.h, in profiles and --explain */
    /* a heading and the equation for --explain; only a layer of the forward pass has them */
    const char *title, *equation;
    void (*compute)(const Call *c);
    Reach reach;
    int reused;  /* EACH_TOKEN: the input, counted from 1, whose memory the first output may reuse.
                    The operation also works if they have separate memory */
    bool packed; /* tensor 0, [out,in], is the right operand of a product, y = x w^T forward and dx
                    = dy w backward: the engine packs it before each pass */
    bool gradient; /* ALL_TOKENS: adds to gradients of weights, which nothing on the tape reads */
    bool attends;  /* each token takes a weighted mean of itself and those before it, in each head.
                     Inputs 0 and 1 are queries and keys, whose products give the weights by a
                     softmax; with one input, the weights are equal */
    /* Optional. Returns the multiply-adds for tokens that see each other in `pairs` pairs. */
    double (*work)(const Instruction *at, double tokens, double pairs);
    /* Optional. Returns the scratch of each thread, in floats, for sequences of T tokens. */
    size_t (*scratch)(const Instruction *at, const Isa *isa, const Products *products, int T);
} Operation;

struct Instruction {
    const Operation *operation;
    Array inputs[MAX_INPUTS], outputs[MAX_OUTPUTS]; /* NO_ARRAY beyond the last */
    int tensors[MAX_TENSORS]; /* numbers of the model's tensors, from 1, or NO_TENSOR */
    int NH;                   /* heads, of attention, rotary positions and norms: rows in a token */
    int taps;                 /* the tokens that a convolution adds */
    int site;                 /* the number of the dropout mask, or NO_DROPOUT */
    int block;                /* the transformer block in which the rung called it (begin_block) */
};

/* Returns the rows of a slot of a decoding run in output `number`, an array of tape_cache. */
static inline float *rows_in_slot(const Call *c, int number, int slot) {
    return c->out[number] + (size_t)slot * c->pass->capacity * c->out_row[number];
}

/* Returns the rows of sequence b of the pass in input `number`, from its first token to those of
 * the pass, and sets *row to the floats from one token to the next. A decoding run first adds the
 * row of the pass to those of earlier tokens, which are in output `earlier`: take the sequences in
 * order, because several may be tokens of one text. */
const float *cached_rows(const Call *c, int number, int earlier, size_t b, size_t *row);

/* ---- the list ---- */

/* Tokens in a stretch. The norms sum the gradients of their weights for each stretch by itself, and
 * linear layers for two halves of whole stretches. So the bits do not depend on the slices. */
enum { STRETCH = 16 };

/* The meaning of an array's rows. */
typedef enum {
    PER_TOKEN,
    PER_STRETCH,    /* sums over each stretch of tokens, which the team then adds */
    PER_POSITION,   /* constants for each position in the context, filled once */
    PER_CACHE_SLOT, /* earlier tokens of the texts of a decoding run, kept between passes */
    PER_PASS        /* sums over many tokens, `count` rows in all */
} Rows;

typedef struct {
    int width;
    Rows rows;
    int count;                                         /* the rows of an array PER_PASS */
    bool kept;                                         /* stays complete after the pass */
    void (*fill)(float *row, int position, int width); /* fills a row of constants */
} ArrayInfo;

struct Tape {
    const Model *model; /* borrowed; its weights are not read */
    bool training;      /* has a backward pass */
    double dropout;     /* the share of activations that training sets to 0 */
    bool shared;        /* with other processes, to which gradients are sent */
    int slots;          /* of a decoding run, or 0 */
    bool has_heads;     /* the rung may ask for NH */
    Instruction *list;
    int count, capacity;
    int backward_begin;   /* the first instruction of the backward pass; `count` if there is none;
                             set after the forward pass is recorded */
    Instruction *waiting; /* gradients that are not in the list yet */
    int waiting_count, waiting_capacity;
    ArrayInfo *arrays; /* [ids]; the first is NO_ARRAY's */
    int array_count, array_capacity;
    Array logits;
    int block; /* the current one */
    /* failed: for lack of memory or a wrong rung, as *err says; calls still return something */
    Error *err;
    bool failed;
};

/* Makes an empty tape for a model that is laid out; borrows the model and `err`. `slots` are those
 * of a decoding run, or 0. tape_close releases the tape. Fails without memory; then there is
 * nothing to release. */
bool tape_open(Tape *p, const Model *model, bool training, int slots, Error *err);
void tape_close(Tape *p);

/* Adds the gradients that still wait, at the end of the backward pass. */
void tape_end(Tape *p);

/* An operation that computes nothing, on the tape of a shared run. It follows the last gradient of
 * a block's weights (Instruction.block), or of those of NO_BLOCK, and says that these can be sent.
 */
extern const Operation gradients_ready;

/* ---- for the layers: how a call is recorded ---- */

/* tape_expect_width checks that a rung gave a layer a whole array of `width` columns; tape_expect,
 * that `holds` is true. Otherwise the tape fails, and *err names the layer and, unless it is
 * NO_TENSOR, the tensor. The layer continues, because a failed tape is never run. */
void tape_expect_width(Tape *p, const char *layer, int tensor, const char *name, Array array,
                       int width);
void tape_expect(Tape *p, bool holds, const char *layer, const char *demand);

/* Adds an instruction at the end of the list, in the current block. A gradient waits for the next
 * instruction of the team in the block of its weights: the team meets there anyway, and the
 * gradient's inputs may still be in the cache. tape_map adds one with input x, a whole array, and
 * a new first output of `width` columns, which it returns; `made` has the rest. */
void tape_add(Tape *p, Instruction made);
Array tape_map(Tape *p, const Operation *operation, Array x, int width, Instruction made);

/* Returns a new array [rows, width], not yet written. */
Array tape_array(Tape *p, int width, Rows rows);

/* Returns a new array of `count` rows PER_PASS. */
Array tape_sums(Tape *p, int count, int width);

/* Returns an array in which a decoding run keeps the rows of earlier tokens; otherwise NO_ARRAY. A
 * layer that looks across tokens has it among its outputs, for cached_rows. */
Array tape_cache(Tape *p, int width);

/* Returns constants for each position, row[width]: one array for each `fill` and width. */
Array tape_constants(Tape *p, int width, void (*fill)(float *row, int position, int width));

/* Returns columns `offset` to `offset` + `width` - 1 of an array, without a copy. */
Array tape_columns(Array array, int offset, int width);

/* tape_keep marks an array that stays complete after a pass; tape_keep_all, all arrays so
 * far, except constants, which always stay. */
void tape_keep(Tape *p, Array array);
void tape_keep_all(Tape *p);

/* Returns the last instruction of that operation whose first input is x and whose first tensor is
 * `tensor`. If there is none, the tape fails. The pointer is valid until the next instruction is
 * added. */
const Instruction *tape_user(Tape *p, const Operation *operation, Array x, int tensor);

/* ---- dropout, for dropout.c and attention.c ---- */

/* Return an instruction's dropout in this pass; the mask of row `row` if anything is dropped. */
Dropout dropout_of(const Call *c);
DropoutRow dropout_row(Dropout dropout, size_t row);

/* ---- the loss, for the engine ---- */

/* losses[n] = ln(sum_v exp(logits[n,v])) - logits[n,targets[n]], in nats, and dlogits[N,V] =
 * (softmax(logits) - target) scale, which may be logits. The operation is the first instruction of
 * the backward pass. */
void cross_entropy(const Thread *thread, float *losses, float *dlogits, const float *logits,
                   const int32_t *targets, float scale, int N, int V);
extern const Operation cross_entropy_backward;

#endif
