/* model.h - the models' interface for library/, extras/formats/ and library/: to build, run, train
 * and sample them.
 *
 * A Model is what is learned: a configuration and the weights. A Run computes: it holds the
 * activations, gradients and optimizer state of one model at one batch size. A model sees token ids
 * (0 to V - 1), never the characters behind them. Losses are in nats per token. A function that
 * returns bool returns false with a message in `err` when it refuses. Functions without an Error
 * assert their contracts. */
#ifndef TRIL_MODEL_MODEL_H
#define TRIL_MODEL_MODEL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* ---- configuration ---- */

typedef struct {
    char model[16]; /* the rung's name */
    int V;          /* vocabulary */
    int T;          /* context: the most tokens that a prediction can see */
    int L;          /* layers */
    int NH;         /* attention heads; NH divides C */
    int C;          /* channels (width) */
    int NKV; /* heads of keys and values, in modern and conv: NKV divides NH; 0: NH of them */
    int H;   /* channels inside the MLP, likewise; 0: 8/3 C, rounded up to a multiple of 32 */
    double dropout; /* the share of activations set to 0 in training, 0 <= dropout < 1 */
} Config;

/* The largest sizes accepted: no product of three of them overflows eight bytes. Where a size_t has
 * four, model_lay_out and run_open refuse what would overflow. */
enum { MAX_CONTEXT = 65536, MAX_LAYERS = 256, MAX_WIDTH = 1 << 20, MAX_VOCABULARY = 0x110000 };

/* The name of rung i of the ladder, lowest first; NULL beyond the last. A constant. */
const char *model_name(int i);

/* What a rung adds to the one below, in one line; NULL for an unknown rung. A constant. */
const char *model_idea(const char *name);

/* ---- model ---- */

typedef struct Rung Rung;

typedef struct {
    char name[64]; /* as in checkpoints */
    int rank;      /* 1 or 2 */
    int shape[2];
    int layer;      /* the block it belongs to, from 0; -1: none */
    size_t offset;  /* of its first number in Model.weights, in floats */
    size_t size;    /* numbers */
    unsigned flags; /* how it starts and is trained: model/rungs/rung.h */
} Tensor;

typedef struct {
    Config config; /* sizes that the rung does not use are 1; NKV and H are 0 where they are what 0
                      stands for */
    const Rung *rung;
    Tensor *tensors;
    int tensor_count;
    size_t weights_size; /* floats in `weights`, padding between tensors included */
    float *weights;
    /* the numbers in all tensors, without padding */
    size_t parameters;
} Model;

/* Is the configuration valid? If not, the message says why: an unknown rung, a size out of range, a
 * width that the number of heads does not divide, heads that those of keys do not divide. */
bool model_check(const Config *config, Error *err);

/* The numbers that NKV and H stand for in a valid configuration, also where they are 0. In a rung
 * without such sizes: NH, and 1. */
int model_kv_heads(const Config *config);
int model_hidden(const Config *config);

/* The number of parameters; 0 if model_check refuses the configuration or memory is short. */
size_t model_parameters(const Config *config);

/* Builds a model with initial weights, which follow from the seed. model_free releases what it
 * owns: tensors and weights. Refused: what model_check refuses, no memory; then there is nothing to
 * release. */
bool model_build(Model *model, const Config *config, uint64_t seed, Error *err);
void model_free(Model *model);

/* The two halves of model_build, so that a checkpoint can be checked between them. model_lay_out
 * makes the tensors' names, shapes and offsets, in little memory. Refused: what model_check
 * refuses, no memory. model_allocate makes the weights, all 0. Refused: no memory; the caller then
 * calls model_free. */
bool model_lay_out(Model *model, const Config *config, Error *err);
bool model_allocate(Model *model, Error *err);

/* Extends the vocabulary to V tokens, V >= the model's. Token i is the earlier token sources[i],
 * 0 <= i < V, and keeps its weights; a token with sources[i] = -1 is new. Each earlier token occurs
 * once. What a token has of its own - a row of a table, a logit of the output layer - starts, for a
 * new one, as the mean over the earlier ones, which makes no new token likely (Hewitt,
 * "Initializing New Word Embeddings for Pretrained Language Models", 2021). Rows of vectors also
 * get normal noise, half as wide as the tensor's numbers, which follows from the seed. Refused: too
 * large a vocabulary, no memory; the model is then unchanged. */
bool model_extend(Model *model, int V, const int32_t *sources, uint64_t seed, Error *err);

/* A digest of the weights (base/digest.h): of each tensor's name and numbers, in order. Equal
 * digests mean equal bits. */
uint64_t model_digest(const Model *model);

/* ---- run ---- */

typedef struct Run Run;

/* The precision in which products multiply. All else, their sums included, is float32. BFLOAT16
 * rounds both factors, in linear layers and, where it is faster, in attention; it needs a processor
 * with instructions for it. BF16_WEIGHTS rounds the weights only, on any processor. INT8_WEIGHTS
 * rounds them to 8 bits and the other factor to 16: the same bits on every machine. Both generate
 * text and cannot train. */
typedef enum { FLOAT32, BFLOAT16, BF16_WEIGHTS, INT8_WEIGHTS } Precision;

/* BFLOAT16 where the processor has it and the environment variable KERNELS names no other
 * instruction set; else FLOAT32. */
Precision run_default_precision(void);

typedef struct {
    int batch;     /* the most sequences of `length` tokens in a pass, >= 1; of all processes
                      together, if shared */
    int length;    /* the most tokens in a sequence, 1 to the model's context */
    bool training; /* has gradients and an optimizer */
    bool frozen;   /* the weights do not change while the run is open, so they are packed once */
    int threads;   /* the most threads, 1 to MAX_THREADS; a short pass uses fewer */
    Precision precision;
    uint64_t seed; /* of dropout */
    bool shared;   /* all processes (base/world.h) share the run: each opens it with the same
                      options and computes its part of a batch. Functions marked "collective" must
                      then be called by all processes */
    bool kept; /* every array of a forward pass stays complete until the next pass, for run_line;
                  needs more memory */
} RunOptions;

enum { MAX_THREADS = 1024 };

/* The processors that this program may use, at most MAX_THREADS. More threads than that give the
 * same bits, but are not faster. */
int run_max_threads(void);

/* run_max_threads(), or the environment variable OMP_NUM_THREADS if that is less. */
int run_default_threads(void);

/* The most tokens in a pass. Tokens times any width do not overflow a size_t. */
enum { MAX_TOKENS = 1 << 24 };

/* Opens a run of `model`, which it borrows and, in training, changes. run_close releases it; NULL
 * is allowed. Refused: a training batch with fewer sequences than processes, a batch of more than
 * MAX_TOKENS tokens, unavailable kernels, no memory; *run is then NULL. */
bool run_open(Run **run, Model *model, const RunOptions *options, Error *err);
void run_close(Run *run);

/* The number of sequences of a batch that this process computes. *first is how many come before
 * them. Without sharing: all of them, and 0. The passes below take this part only. */
int run_part(const Run *run, int *first);

/* From now on the weights do not change (true), and are packed only now; or they may change between
 * passes (false). RunOptions.frozen is the setting at the start. */
void run_freeze(Run *run, bool frozen);

/* From now on passes are timed, and use one thread where several are slower, as on a busy machine.
 * The results are the same. */
void run_pace(Run *run);

/* The instruction set that the run computes with, e.g. "avx2". A constant. */
const char *run_kernels(const Run *run);

/* The memory of a run and its model, in bytes: run_memory of an open run, run_estimate of one that
 * is not open, in little memory. Refused by run_estimate: what model_check and run_open refuse,
 * except for lack of memory for the run itself. */
typedef struct {
    size_t weights;     /* and their packed copies */
    size_t optimizer;   /* gradients and moments */
    size_t messages;    /* buffers for what other processes send, if the run is shared */
    size_t activations; /* grow with batch x length */
    size_t threads;     /* scratch of all threads */
} Memory;
Memory run_memory(const Run *run);
bool run_estimate(const Config *config, const RunOptions *options, Memory *memory, Error *err);

/* Computes logits[B,T,V], the prediction after each token of ids[B,T], B T <= batch length. The run
 * owns the logits; its next call overwrites them. `past` is the number of earlier tokens of the
 * same sequence whose keys and values the run still holds: past + T <= length; past > 0 needs B
 * = 1. */
const float *run_forward(Run *run, const int32_t *ids, int B, int T, int past);

/* Can the run forget the oldest tokens of a text and keep the others? Yes, if positions are only
 * rotations of queries and keys: then only distances count. Not in training. */
bool run_slides(const Run *run);

/* Forgets the first `dropped` tokens of `dropped` + `kept`: the kept ones are now the first. What
 * later layers kept of them still depends on the dropped ones. run_slides must be true. */
void run_slide(Run *run, int dropped, int kept);

/* run_forward, and then the softmax of each row, in place of the logits: probabilities[B,T,V]. */
const float *run_probabilities(Run *run, const int32_t *ids, int B, int T);

/* run_forward for a training step, with dropout. Keeps the pointer `ids` until run_backward
 * returns. Needs RunOptions.training. */
void run_forward_training(Run *run, const int32_t *ids, int B, int T);

/* The mean cross-entropy of the last forward pass against targets[B,T], in nats. Collective; it is
 * the mean over the whole shared batch. */
double run_loss(Run *run, const int32_t *targets);

/* The next run_backward also learns what another model expects: `share`, 0 to 1, of each target is
 * a row of probabilities[B,T,V], and the rest is the actual next token (Hinton, Vinyals and Dean,
 * "Distilling the Knowledge in a Neural Network", 2015). Borrows them until run_backward returns.
 */
void run_teach(Run *run, const float *probabilities, double share);

/* Adds the gradient of that loss to the gradient of every weight, after run_forward_training.
 * Overwrites the logits. Collective; in a shared run only run_update may use the gradients. */
void run_backward(Run *run, const int32_t *targets);

typedef struct {
    double learning_rate, beta1, beta2, epsilon, weight_decay; /* AdamW's */
    double matrix_rate, momentum, matrix_decay; /* Muon's, for the matrices that it trains */
    double clip; /* the largest global gradient norm; 0: no clipping. Muon's steps are not
                    clipped */
} Optimizer;

/* One step of AdamW, and of Muon on the tensors that the rung marks MUON. Sets the gradients to 0.
 * Returns the global gradient norm before clipping. Collective; all processes have the same weights
 * afterwards. */
double run_update(Run *run, const Optimizer *optimizer);

/* Sends the first moments of each matrix that Muon trains from the process that has them to all
 * others. Call it before saving. Collective. */
void run_collect(Run *run);

/* Continues a training after `step` updates: sets the step and copies the moments, which are laid
 * out like the weights. The model must have the weights of that step. Collective: the first process
 * passes the moments, the others NULL. */
void run_restore(Run *run, uint64_t step, const float *first_moments, const float *second_moments);

/* From now on measures what each part of a training step takes, and nothing else: from
 * run_forward_training to the end of run_update. The results are the same. Refused: no memory. */
bool run_profile(Run *run, Error *err);

/* All that has one name, e.g. all linear layers. */
typedef struct {
    const char *name;  /* a constant: a layer's in layers.h, e.g. "linear_backward"; or another part
                          of a step, e.g. "Muon" */
    double seconds;    /* elapsed: the mean of the threads that worked at the same time */
    double operations; /* floating-point operations of this process; 0: not counted */
} ProfileLine;

/* Writes a line for each part that took time since run_profile. Returns how many, at most `max`. */
int run_profile_lines(const Run *run, ProfileLine *lines, int max);

/* The model that a run computes with. Borrowed. */
const Model *run_model(const Run *run);

/* The moments of the optimizer, laid out like the weights. Borrowed from the run. */
void run_moments(const Run *run, const float **first, const float **second);

/* The gradient of tensor number `tensor` of Model.tensors, for tests. Borrowed from the run. */
const float *run_gradient(const Run *run, int tensor);

/* What one head of one layer computed in the last run_forward, which must have had B = 1 and past =
 * 0. Rows of tokens are `_row` floats apart. The run owns the arrays; its next call overwrites
 * them. In `modern`, queries and keys are those after norm and rotation. */
typedef struct {
    int T, dk, dv;                /* tokens; channels of the head */
    const float *query, *key;     /* [T, dk]; NULL: the head is the plain mean */
    const float *value, *context; /* [T, dv]; context: the weighted mean of the values */
    size_t query_row, key_row, value_row, context_row;
    float scale; /* multiplies query . key before the softmax */
} AttentionView;

/* False if the rung has no attention, or no such layer or head. */
bool run_attention(const Run *run, int layer, int head, AttentionView *view);

/* attention_scores: scores[T] = query[t] . key[s] for each token s, unscaled; needs a query.
 * attention_weights: weights[T] = the softmax of the scaled scores over s <= t, and 0 for s > t;
 * without a query, 1 / (t + 1) for s <= t. */
void attention_scores(const AttentionView *head, int t, float *scores);
void attention_weights(const AttentionView *head, int t, float *weights);

/* One line of a rung's forward pass: a call of a layer (model/layers/layers.h), and what it
 * computed in the last run_forward, which must have had B = 1 and past = 0, in a run with
 * RunOptions.kept. The lines of a pass, in order, are the whole computation from token ids to
 * logits. */
typedef struct {
    int array;         /* number of the array, the same in all lines; 0: none */
    int offset, width; /* its columns: those from `offset` on, `width` of them */
    const float *data; /* [T, width]; rows of tokens are `row` floats apart; the run owns it */
    size_t row;
} LineArray;

enum { LINE_INPUTS = 3, LINE_OUTPUTS = 3, LINE_TENSORS = 2 };

typedef struct {
    const char *operation; /* the layer's name in layers.h, e.g. "linear" or "attention" */
    int layer;             /* the block of the model it belongs to, from 0 */
    int NH; /* rows in a token: heads of attention and rotary positions, and of a norm
               of each head; else 0 or 1 */
    /* Inputs: attention: q, k, v; rotary: x, and for each position hs/2 cosines and hs/2 sines.
       Outputs: first the result; then what the layer saves, if anything. */
    LineArray inputs[LINE_INPUTS], outputs[LINE_OUTPUTS];
    int tensors[LINE_TENSORS]; /* numbers of Model.tensors: weight and bias, or the tables of tokens
                                  and positions; -1: none */
} LineView;

/* Sets *line to line i, from 0, of the forward pass; false beyond the last. */
bool run_line(const Run *run, int i, LineView *line);

/* Computes a line again, by its definition, for another token: y[width of its output] from x[width
 * of its input]. False if it is none of linear, layernorm and rmsnorm. */
bool run_line_apply(const Run *run, int i, const float *x, float *y);

/* The mean loss over ids[count], in nats, without dropout: windows of the run's length are laid end
 * to end, and each token but the first is predicted once. With every = k > 1, only one batch in k
 * is read. Collective: each process reads its part of the windows; the number of processes does not
 * change a bit of the result. count >= 2, every >= 1. */
double run_evaluate(Run *run, const int32_t *ids, size_t count, size_t every);

/* The same, but returns NaN soon after `stopped` returned anything but 0 in any process. It is
 * called often, with `user`; NULL: never stop. */
double run_evaluate_until(Run *run, const int32_t *ids, size_t count, size_t every,
                          int (*stopped)(void *user), void *user);

/* The share of the peak learning rate in step `step`, counted from 0. Both rise linearly to 1 over
 * `warmup` steps. rate_cosine then falls along half a cosine to `floor` at step `steps`
 * (Loshchilov and Hutter, "SGDR", 2017). rate_warmup_stable_decay stays at 1 and falls linearly to
 * 0 over the last `cooldown` steps (Hu et al., "MiniCPM", 2024; Haegele et al., 2024). */
double rate_cosine(int step, int steps, int warmup, double floor);
double rate_warmup_stable_decay(int step, int steps, int warmup, int cooldown);

/* ---- closed forms: what needs no training ---- */

typedef struct {
    double uniform;                   /* ln V */
    double unigram, unigram_held_out; /* the entropy of the characters' frequencies */
    double bigram, bigram_held_out;   /* the entropy of each character's frequency after the one
                                         before */
} Counts;

/* Counts characters and pairs of train[train_count], in nats per token. The held-out figures are
 * cross-entropies under smoothed frequencies: add-one for single characters, Witten-Bell (1991) for
 * pairs. Both texts have at least two tokens. Refused: no memory. */
bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, Counts *counts, Error *err);

/* ---- sampling ---- */

typedef struct {
    double temperature; /* divides the logits; 0: always the most likely token */
    int top_k;          /* only the k most likely tokens; 0: all */
    double top_p;       /* only the most likely tokens that together reach this probability; 1:
                           all */
    uint64_t seed;
} Sampler;

/* Picks the next token from logits[V] and returns its id. `stream` is the number of the sample,
 * `place` the number of the draw in it: both and the seed determine the random number. order[V] is
 * scratch. */
int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, int32_t *order);

/* p[V] = the probability that sampler_pick picks each token; 0 if it never does. order[V] is
 * scratch. */
void sampler_probabilities(const Sampler *sampler, const float *logits, int V, double *p,
                           int32_t *order);

/* A growing text: a run of batch 1 and the tokens in its context. When they fill the context, its
 * last quarter is kept; if the run does not slide, its last 16th is read again, in one pass. */
typedef struct {
    Run *run;
    int context, V;  /* the model's */
    int32_t *window; /* [context]; owned */
    int length;      /* tokens in it */
} Generator;

/* Opens a run of `model`, which is borrowed. generator_close releases what the generator owns.
 * Refused: what run_open refuses, no memory. */
bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err);
void generator_close(Generator *generator);

/* Drops all tokens. */
void generator_reset(Generator *generator);

/* Reads ids[count], count >= 1, and returns the logits[V] after the last of them. If count is
 * larger than the context, only the last tokens are read. The run owns the logits; its next call
 * overwrites them. */
const float *generator_feed(Generator *generator, const int32_t *ids, size_t count);

#endif
