/* run.h - what the rungs see of a model and a run. Private to model/.
 *
 * A rung is two tables and two functions. Its table of tensors drives the layout of the weights,
 * their initial values, the parameter count, the checkpoint's names and the optimizer; its table
 * of buffers, the layout of the activations. `forward` fills the buffers, `backward` the
 * gradients. */
#ifndef TRIL_RUN_H
#define TRIL_RUN_H

#include "model/model.h"
#include "model/layers.h"
#include "model/pace.h"

#include <stddef.h>

/* Sizes by name, as the tables use them. */
typedef enum {
    SIZE_NONE,
    SIZE_1,
    SIZE_V,
    SIZE_T,
    SIZE_L,
    SIZE_NH,
    SIZE_C,
    SIZE_2C,
    SIZE_3C,
    SIZE_4C,
    SIZE_HS,  /* a head's channels */
    SIZE_8C_3 /* 8/3 C, up to a multiple of 32: a gated MLP's, of as many weights as one
                 of 4 C that has no gate */
} Size;

int size_of(const Config *config, Size size);

/* Of a tensor or a buffer. */
enum {
    ONCE = 0,        /* one for the whole model */
    EVERY_LAYER = 1, /* one for each layer; in a tensor's name, %d is the layer */
    /* of a tensor */
    RESIDUAL = 2,   /* a matrix that ends a branch: deviation scaled by 1/sqrt(2 L), as in GPT-2 */
    DECAYS = 4,     /* weight decay applies */
    LINEAR = 8,     /* a linear layer's: packed for its products */
    FAN_IN = 2048,  /* deviation divided by the square root of the columns */
    MUON = 4096,    /* trained by Muon; the others by AdamW */
    LAZY_ROWS = 16, /* rows that a step gave no gradient are left alone by its update */
    /* of a buffer */
    TRAINING = 32,     /* only there in training */
    BETWEEN = 64,      /* one before each layer and one after the last, number L; where there is no
                          backward pass one for all, of which threads together have a row each */
    SCRATCH = 128,     /* a thread's own, for the stretch of tokens that it works on */
    PER_STRETCH = 256, /* a row for each stretch, not for each token */
    KEPT = 512,        /* kept for the backward pass; scratch where there is none */
    PRODUCT = 1024     /* what a linear layer makes: of threads together, one for all */
};

typedef struct {
    size_t slot;            /* offsetof(the rung's struct Weights, the Param that it becomes) */
    const char *name;       /* in checkpoints */
    Size shape[2];          /* a vector's second is SIZE_NONE */
    float start, deviation; /* initial values: normal around `start` */
    unsigned flags;
} TensorSpec;

typedef struct {
    size_t slot; /* offsetof(the rung's struct Buffers, the float * that it becomes) */
    Size width;  /* floats for each token of the batch */
    unsigned flags;
} BufferSpec;

/* Rows of the two tables. A matrix starts as GPT-2's do, a gain at 1, a bias at 0. */
#define MATRIX(member, name, rows, columns, flags) \
    { offsetof(Weights, member), name, {rows, columns}, 0.0f, 0.02f, DECAYS | (flags) }
#define GAIN(member, name, size, flags) \
    { offsetof(Weights, member), name, {size, SIZE_NONE}, 1.0f, 0.0f, flags }
#define BIAS(member, name, size, flags) \
    { offsetof(Weights, member), name, {size, SIZE_NONE}, 0.0f, 0.0f, flags }
#define BUFFER(member, width, flags) \
    { offsetof(Buffers, member), width, flags }
#define COUNT(table) (int)(sizeof(table) / sizeof *(table))

/* Every pointer of the rung's two structs has its row. */
#define CHECK_TABLES                                                                             \
    _Static_assert(COUNT(tensors) == sizeof(Weights) / sizeof(Param), "a weight without a row"); \
    _Static_assert(COUNT(buffers) == sizeof(Buffers) / sizeof(float *), "a buffer without a row")

/* What a rung shows of its attention: rows of tokens as run_head describes them. */
typedef struct {
    Attention shape;
    const float *q, *k, *v, *att; /* the first token's; no q: the plain mean */
    Param projection, bias;
} Sight;

struct Rung {
    const char *name;
    const char *idea;
    bool has_width, has_heads, has_layers; /* otherwise 1 */
    bool rotary;                           /* turns pairs of channels: heads have an even number */
    bool together; /* forward may be called by threads together (layers.h) */
    const TensorSpec *tensors;
    int tensor_count;
    const BufferSpec *buffers; /* the first one is the logits, V for each token */
    int buffer_count;
    /* called by all threads of the team; they write to the buffers and gradients only. The loss
       comes between the two, from each thread for its own stretches. */
    void (*forward)(const Run *run, const Kernels *k);
    void (*backward)(const Run *run,
                     const Kernels *k); /* the buffer of logits then holds dlogits */
    void (*sight)(const Run *run, int l, Sight *sight); /* NULL: it has no attention */
};

extern const Rung bigram_rung, average_rung, head_rung, multihead_rung, gpt_rung, modern_rung;

/* model_build in two halves, for a checkpoint to be checked between them: first the tensors' names,
 * shapes and offsets, which needs next to no memory; then room for the weights, all 0. */
bool model_lay_out(Model *model, const Config *config, Error *err);
bool model_make_room(Model *model, Error *err);

typedef struct Bucket Bucket;

enum { WINDOWS_AT_ONCE = 4096 };

struct Run {
    Model *model;
    const Isa *isa;
    const Products *products;
    Team *team;
    RunOptions options;
    /* the pass under way */
    const int32_t *ids, *targets;
    int B, T, past;
    int stretch;   /* tokens in a stretch */
    bool together; /* so few tokens that the threads work on the same ones */
    bool dropping; /* dropout applies */
    bool paced;    /* of threads that a pass is worth it takes as many as are faster of late: */
    Pace paces[2]; /* in passes of one token, and of several */
    uint64_t step; /* updates done: the number of the step under way, from 0 */
    /* activations; for buffer i in layer l at the offset [i * (L + 1) + l], SIZE_MAX if not there
     */
    float *activations;
    size_t *offsets;
    size_t *widths; /* of each buffer, floats for a token */
    Param *params;  /* for row i of the rung's table in layer l at [l * rows + i] */
    float *losses;  /* of each token */
    double *sums;   /* of the losses of WINDOWS_AT_ONCE windows, in an evaluation */
    Memory memory;
    float *packed;          /* the linear layers' weights, for the pass under way */
    size_t *packed_offsets; /* for tensor i, SIZE_MAX if it is not packed */
    /* in training, laid out like the weights; the squares are sums over stretches of the gradients
     */
    float *gradients, *first_moments, *second_moments;
    double *squares;
    /* of a batch that processes share: all its sequences, and those that come before this one's;
       alone, they are the run's own, and 0 */
    int whole, before;
    int *owners; /* of each tensor's training, and what is sent together (buckets.h); NULL and */
    Bucket *buckets; /* none where nothing is shared */
    int bucket_count;
    float *room; /* for what others send to be added */
};

/* The tokens of a pass are cut into stretches, of which each thread has some, the same in every
 * layer: few enough that what a block makes of one is still in the cache when it is read. How they
 * are cut does not depend on the number of threads. */
typedef struct {
    size_t first; /* token of the batch */
    int count;
} Stretch;

enum { STRETCH_LEAST = 24, STRETCH_MOST = 288 };

/* This thread's stretch number i, from 0; false beyond its last. */
bool run_stretch(const Run *run, const Kernels *k, int i, Stretch *stretch);

/* How many stretches the pass has, all threads together. */
int run_stretches(const Run *run);

/* Fills a rung's struct of Params with those of layer l and those that all layers share. */
void run_weights(const Run *run, int l, void *weights);

/* Fills a rung's struct of buffers with those of layer l (0 to L; in L those BETWEEN) and those
 * that all layers share, each at the row of token `first`. What is not there is NULL; outside of a
 * pass, where k is NULL, scratch is not. */
void run_buffers(const Run *run, const Kernels *k, int l, size_t first, void *buffers);

/* Called by all threads in a backward pass when all that layer l's weights learnt is there: where
 * several processes train, it is sent while the pass goes on. */
void run_learnt(const Run *run, const Kernels *k, int l);

/* How many threads, `most` at most, are worth it for so many multiply-adds in which they wait for
 * each other `waits` times: each is to work for longer than it then waits. */
int run_worth(double work, int waits, int most);

/* How many threads the pass under way, or the last one, is worth. */
int run_threads(const Run *run);

/* The loss of each token [B,T] of the last forward pass against targets[B,T], in nats. */
const float *run_losses(Run *run, const int32_t *targets);

/* The dropout of the pass under way at one place (any number unique in the rung) of layer l. */
Dropout run_dropout(const Run *run, int place, int l);

#endif
