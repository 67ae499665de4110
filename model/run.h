/* run.h - computes with a model: passes, the loss and its gradient, updates, evaluation.
 *
 * A Run holds the activations, gradients and optimizer state of one model at one batch size. A
 * model sees token ids (0 to V - 1), never the characters behind them. Losses are in nats per
 * token. A function that returns bool returns false with a message in `err`. Functions without an
 * Error assert their contracts. */
#ifndef TRIL_MODEL_RUN_H
#define TRIL_MODEL_RUN_H

#include "library/tril.h"
#include "model/model.h"

typedef struct Run Run;

/* The precision in which products multiply. All else, their sums included, is float32. BFLOAT16
 * rounds both factors, in linear layers and, where it is faster, in attention; it needs a processor
 * with instructions for it. INT8_WEIGHTS rounds the weights to 8 bits and the other factor to 16,
 * on any processor, with the same bits on every machine; it generates text and cannot train. */
typedef enum { FLOAT32, BFLOAT16, INT8_WEIGHTS } Precision;

/* Returns BFLOAT16 if it is faster on this processor (bf16_pays) and the environment variable
 * KERNELS names no instruction set, else FLOAT32. */
Precision run_default_precision(void);

typedef struct {
    int batch;     /* the most sequences of `length` tokens in a pass, >= 1; of all processes
                      together, if shared. In a decoding run, the most tokens in a pass */
    int length;    /* the most tokens in a sequence, 1 to the model's context */
    bool training; /* has gradients and an optimizer. Without it, the weights must not change while
                      the run is open: they are packed once */
    int threads;   /* the most threads, 1 to TRIL_MAX_THREADS; a short pass uses fewer */
    Precision precision;
    double dropout; /* the share of activations set to 0 in training, 0 <= dropout < 1 */
    uint64_t seed;  /* determines the masks of dropout */
    bool shared;    /* all processes (base/world.h) share the run: each opens it with the same
                       options and computes its part of a batch. Functions marked "collective" must
                       then be called by all processes */
    bool kept; /* every array of a forward pass stays complete until the next pass, for run_line;
                  needs more memory */
    int slots; /* > 0: a decoding run, for run_decode: it keeps so many sequences, each in a slot,
                  which grow token by token. Its passes use one thread; no training */
    const Run *packed_by; /* optional: a run of the same model and precision, without training,
                             which outlives this one; its packed weights are used */
} RunOptions;

/* Returns the number of processors that this program may use, at most TRIL_MAX_THREADS. More
 * threads than that give the same bits, but are not faster. */
int run_max_threads(void);

/* Returns run_max_threads(), or the environment variable OMP_NUM_THREADS if that is less. */
int run_default_threads(void);

/* The most tokens in a pass. Tokens times any width do not overflow a size_t. */
enum { MAX_TOKENS = 1 << 24 };

/* Opens a run of `model`, which it borrows and, in training, changes. run_close releases it; NULL
 * is allowed. Fails for a training batch with fewer sequences than processes, for a batch of more
 * than MAX_TOKENS tokens, for unavailable kernels, and without memory; *run is then NULL. A shared
 * run also fails for kernels that differ between processes, because they round differently; and if
 * it fails in one process, it fails in all. */
bool run_open(Run **run, Model *model, const RunOptions *options, Error *err);
void run_close(Run *run);

/* Returns the number of sequences of a batch that this process computes, and sets *first to the
 * number of sequences before them. Unless shared, they are the whole batch. Passes take these. */
int run_part(const Run *run, int *first);

/* Times passes and steps from now on, and runs short ones on a single thread if several turn out to
 * be slower, as on a busy machine. The results are the same. */
void run_pace(Run *run);

/* Returns the instruction set that the run computes with, e.g. "avx2": a constant. */
const char *run_kernels(const Run *run);

/* Memory in bytes: the total, and in it the weights with their packed copies, and the activations.
 */
typedef struct {
    double all, weights, activations;
} RunMemory;

/* run_memory returns the memory of an open run and its model. run_estimate computes that of a run
 * that is not open, in little memory. It fails as model_check and run_open do. */
RunMemory run_memory(const Run *run);
bool run_estimate(const Config *config, const RunOptions *options, RunMemory *memory, Error *err);

/* Computes logits[B,T,V], the prediction after each token of ids[B,T], B T <= batch length. The run
 * owns the logits; its next call overwrites them. */
const float *run_forward(Run *run, const int32_t *ids, int B, int T);

/* Reads N tokens, N <= batch, each the next one of the sequence in its slot; several of a slot come
 * one after another. Returns logits[N,V], as run_forward does for each sequence, to the last bit.
 */
const float *run_decode(Run *run, const DecodeToken *tokens, int N);

/* Does the same as run_forward for a training step, with dropout. Keeps `ids` and `source` until
 * run_backward returns. Needs RunOptions.training. */
void run_forward_training(Run *run, const int32_t *ids, int B, int T, const TextOrigin *source);

/* Multiplies the logits that counting adds (layer `trusted`) by `weight` from the next pass on.
 * It is 1 at first, and must be 1 in training. */
void run_weigh_counts(Run *run, double weight);

/* Returns the loss of run_forward_training's pass: the mean cross-entropy against targets[B,T], in
 * nats, over the whole shared batch. Adds its gradient to the gradient of every weight.
 * Overwrites the logits. Collective; in a shared run only run_update may use the gradients. */
double run_backward(Run *run, const int32_t *targets);

typedef struct {
    double learning_rate, beta1, beta2, epsilon, weight_decay; /* AdamW's */
    double matrix_rate, momentum, matrix_decay; /* Muon's, for the matrices that it trains */
    double clip; /* the largest global gradient norm, or NO_CLIPPING; not for Muon */
} Optimizer;

enum { NO_CLIPPING = 0 };

/* Takes one step of AdamW, and of Muon on the tensors that the rung marks `muon`. Sets the
 * gradients to 0. Returns the global gradient norm before clipping. Collective; all processes have
 * the same weights afterwards. */
double run_update(Run *run, const Optimizer *optimizer);

/* Sends the first moments of each matrix that Muon trains from the process that owns them to all
 * others. Call it before saving. Collective. */
void run_collect(Run *run);

/* Continues a training run after `step` updates: sets the step and copies the moments, which are
 * laid out like the weights; NULL keeps the present ones, which are 0 in a new run. The model must
 * have the weights of that step. */
void run_restore(Run *run, uint64_t step, const float *first_moments, const float *second_moments);

/* Measures the parts of training steps from now on: from run_forward_training to the end of
 * run_update. The results are the same. Fails without memory. */
bool run_profile(Run *run, Error *err);

/* Writes each part that took time since run_profile: all calls of one layer (layers.h), such as
 * "linear_backward", or "optimizer". Seconds are those of the first thread, operations those of
 * this process. Returns how many parts, at most `max`. */
int run_profile_parts(const Run *run, TrilPart *parts, int max);

/* Sets *line to line i, from 0, of the last run_forward, which must have had B = 1, in
 * a run with RunOptions.kept; without it, only the inputs of lines that attend are complete.
 * Returns false beyond the last line. */
bool run_line(const Run *run, int i, TrilLine *line);

/* Returns tensor i of the model. */
TrilTensor model_tensor(const Model *model, int i);

/* Returns the model that a run computes with. Borrowed. */
const Model *run_model(const Run *run);

/* Sets *first and *second to the moments, laid out like the weights; the run owns them. */
void run_moments(const Run *run, const float **first, const float **second);

/* Returns the gradient of tensor `tensor` of Model.tensors, for tests; the run owns it. */
const float *run_gradient(const Run *run, int tensor);

/* The windows of a text, which lie end to end: each has as many tokens as the run's sequences, the
 * last one perhaps fewer. All tokens but the first are predicted. */
typedef struct {
    const int32_t *ids; /* [count] */
    size_t count;       /* >= 2 */
    size_t every;       /* one batch of windows in `every` is read, >= 1 */
    bool counted;       /* as in TextOrigin */
} Windows;

/* Returns the mean loss over the windows, in nats, without dropout. Collective: each process reads
 * its part of the windows; the number of processes does not change a bit of the result. Calls
 * stopped(user) often, unless it is NULL, and returns NaN if it is true, as it must then be in
 * every process. */
double run_evaluate(Run *run, Windows windows, int (*stopped)(void *user), void *user);

#endif
