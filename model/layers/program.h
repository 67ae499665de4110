/* program.h - a rung's two passes as one list of layer calls. Private to model/.
 *
 * When a run opens, the rung's `forward` and `backward` call the layers (layers.h). Each call adds
 * an instruction to the list. The engine derives the rest from the list: how long each array is
 * needed, which instructions can process the same block of tokens, and where threads must wait for
 * each other (model/engine/schedule.h). model/engine/execute.c executes the list. */
#ifndef TRIL_MODEL_LAYERS_PROGRAM_H
#define TRIL_MODEL_LAYERS_PROGRAM_H

#include "model/layers/compute.h"
#include "model/layers/layers.h"
#include "model/model.h"

#include <stdint.h>

enum { MAX_INPUTS = 6, MAX_OUTPUTS = 4, MAX_TENSORS = 2 };

/* ---- an instruction at work ---- */

/* One pass. */
typedef struct {
    const int32_t *ids; /* [B,T] */
    int B, T;
    int past;      /* earlier tokens of the same sequence; > 0 needs B = 1 */
    bool dropping; /* dropout applies */
    bool single;   /* all threads work on one token */
} Pass;

typedef struct Instruction Instruction;

/* The operands of one execution of an instruction. Pointers are to the rows of its N tokens. */
typedef struct {
    const Instruction *instruction;
    const Thread *thread;
    const Pass *pass;
    size_t first; /* the first of the N tokens, counted in the batch */
    int N;
    float *in[MAX_INPUTS], *out[MAX_OUTPUTS];        /* NULL where it has none */
    size_t in_row[MAX_INPUTS], out_row[MAX_OUTPUTS]; /* floats from one token to the next */
    Param tensors[MAX_TENSORS];
    Dropout dropout;        /* for the instruction's place; rate 0 where none applies */
    atomic_int *taken;      /* by the team: items taken from each thread's share (kernels.h); NULL:
                               equal shares */
    const int32_t *targets; /* for the loss: [B,T], and the factor of its gradient */
    float scale;
    const float *taught; /* for the loss: probabilities[B,T,V] that are `taught_share` of each
                            target; NULL: none */
    float taught_share;
} Call;

/* ---- the list ---- */

/* Does an operation compute each token by itself, or across tokens? Each thread executes the first
 * kind for its own blocks of tokens. The whole team executes the second kind, for all tokens. */
typedef enum { EACH_TOKEN, ALL_TOKENS } Reach;

/* How threads that work on one token divide an EACH_TOKEN operation: not at all, by columns, or by
 * heads. */
typedef enum { UNDIVIDED, BY_COLUMNS, BY_HEADS } Division;

typedef struct {
    const char *name;
    void (*compute)(const Call *call);
    Reach reach;
    Division division;
    int reused;  /* 1 + the index of the input whose memory the first output may reuse; 0: none. The
                    operation also works if they have separate memory */
    bool packed; /* tensor 0 is the right operand of a product: it needs a packed copy */
    bool reduces; /* adds what other gradients left: comes after all that are pending, so that
                     threads meet once for all */
} Operation;

struct Instruction {
    const Operation *operation;
    Array inputs[MAX_INPUTS], outputs[MAX_OUTPUTS]; /* NO_ARRAY beyond the last */
    int tensors[MAX_TENSORS];                       /* numbers of the model's tensors; -1: none */
    int NH;                                         /* rows in a token: heads of attention, rotary
                                                       positions and norms */
    int taps;                                       /* of a convolution */
    int place;                                      /* of the dropout mask; NO_DROPOUT: none */
    int layer; /* the block of the model it belongs to; gradients_ready: whose gradients, -1: those
                  of no block */
};

/* Tokens in a stretch. The norms sum the gradients of their weights for each stretch by itself, and
 * linear layers for two halves of whole stretches, so that the bits do not depend on how the tokens
 * are divided. */
enum { STRETCH = 16 };

/* What the rows of an array are for. */
typedef enum {
    PER_TOKEN,
    PER_STRETCH,  /* sums over each stretch of tokens, which the team then adds */
    PER_POSITION, /* constants for each position in the context, filled once */
    PER_PASS      /* sums over many tokens, `count` rows in all */
} Rows;

typedef struct {
    int width;
    Rows rows;
    int count;   /* PER_PASS: how many rows; otherwise 0 */
    bool cached; /* later passes read it: in generation it grows token by token */
    bool kept;   /* stays complete after the pass */
    void (*fill)(float *row, int position, int width); /* fills a row of constants; NULL: not
                                                          constant */
} ArrayInfo;

struct Program {
    const Model *model; /* borrowed; its weights are not read */
    bool training;      /* has a backward pass */
    Instruction *list;
    int count, capacity;
    int backward;      /* the first instruction of the backward pass; `count` if there is none; 0
                          while the forward pass is recorded */
    ArrayInfo *arrays; /* by id; id 0 is NO_ARRAY */
    int array_count, array_capacity;
    Array logits;
    Instruction *pending; /* gradients of weights that are not in the list yet */
    int pending_count, pending_capacity;
    int appended; /* gradients of the current block that are in the list already */
    /* the current block (block_number) */
    int layer;
    bool heads_asked;  /* the rung has asked for NH */
    Instruction spare; /* what program_add returns when memory is short */
    /* failed: memory was short or the rung is wrong, as *err says. Calls still return, with
       arbitrary results */
    Error *err;
    bool failed;
};

/* Makes an empty program for a model that is laid out; borrows the model and `err`. program_close
 * releases the program. Refused: no memory; then there is nothing to release. Later calls that run
 * out of memory, or find the rung wrong, set Program.failed. */
bool program_open(Program *p, const Model *model, bool training, Error *err);
void program_close(Program *p);

/* Moves the pending gradients of block l (-1: of none) into the list, and adds gradients_ready if
 * the block has any. */
void program_end_block(Program *p, int l);

/* Tells the engine that the gradients of a block (Instruction.layer) are ready to be sent to other
 * processes. */
extern const Operation gradients_ready;

/* The loss, between the two passes: logits[N,V] -> dlogits[N,V]. */
extern const Operation cross_entropy;

/* Attention and the mean of the past, for the attention view. */
extern const Operation attention_operation, mean_operation;

/* What tells tokens their positions, for sliding (model/engine/slide.c). */
extern const Operation rotary_operation, embedding_operation;

enum { ATTENTION_COLUMNS = 3 }; /* the output of attention that has the keys in columns */

/* ---- for the layers: how a call is recorded ---- */

/* What a layer demands of a rung: an array of `width` columns, or a condition. If it is not met,
 * the program fails, and *err says where (a tensor of -1 is none). The layer continues all the
 * same; a program that failed is never run. */
void program_expect_width(Program *p, const char *layer, int tensor, const char *name, Array array,
                          int width);
void program_expect(Program *p, bool holds, const char *layer, const char *demand);

/* A new instruction at the end of the list, without operands. Valid until the next instruction is
 * added. In the backward pass one of the team comes after the pending gradients of the current
 * block. */
Instruction *program_add(Program *p, const Operation *operation);

/* The same for a gradient of weights, which reads whole arrays: it is pending until the next
 * instruction of the team in the block that `tensor` belongs to, at most until the end of that
 * block. */
Instruction *program_add_gradient(Program *p, const Operation *operation, int tensor);

/* A new array [rows, width], not yet written. */
Array program_array(Program *p, int width, Rows rows);

/* The same, of `count` rows PER_PASS. */
Array program_sums(Program *p, int count, int width);

/* Constants for each position, row[width]. The same `fill` and width give the same array. */
Array program_constants(Program *p, int width, void (*fill)(float *row, int position, int width));

/* The columns `offset` to `offset` + `width` - 1 of an array; no copy. */
Array program_columns(Array array, int offset, int width);

/* Marks an array that later passes read; one that stays complete after a pass; all arrays so
 * far, but for constants, which stay in any case. */
void program_cache(Program *p, Array array);
void program_keep(Program *p, Array array);
void program_keep_all(Program *p);

/* The last instruction of that operation whose first output is `made`; whose first input is x and
 * whose first tensor is `tensor`. It must exist. */
const Instruction *program_maker(const Program *p, const Operation *operation, Array made);
const Instruction *program_user(const Program *p, const Operation *operation, Array x, int tensor);

#endif
