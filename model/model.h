/* model.h - the programs' one door to the models: what they are, run, train, save and sample.
 *
 * A Model is what is learned: a configuration and the weights. A Run is what computes: the
 * activations, gradients and optimizer state of one model at one batch size. The model sees token
 * ids (0 to V - 1) and never the characters behind them. Losses are in nats per token. */
#ifndef TRIL_MODEL_H
#define TRIL_MODEL_H

#include "base/error.h"

#include <stddef.h>
#include <stdint.h>

/* ---- configuration ---- */

typedef struct {
    char model[16]; /* the rung's name */
    int V;          /* vocabulary */
    int T;          /* context: the tokens that a prediction can look back on */
    int L;          /* layers */
    int NH;         /* attention heads; they share the channels, so NH divides C */
    int C;          /* channels (width) */
    double dropout; /* in training, the share of activations set to 0 */
} Config;

/* The largest sizes accepted: no product of three of them overflows a size_t. */
enum { MAX_CONTEXT = 65536, MAX_LAYERS = 256, MAX_WIDTH = 1 << 20, MAX_VOCABULARY = 0x110000 };

/* The name of rung i of the ladder, lowest first; NULL beyond the last. */
const char *model_name(int i);

/* One line on what a rung adds to the one below; NULL if there is no such rung. */
const char *model_idea(const char *name);

/* ---- model ---- */

typedef struct Rung Rung;

typedef struct {
    char name[64]; /* as in checkpoints */
    int rank;      /* 1 or 2 */
    int shape[2];
    int layer;      /* from 0; -1: of none */
    size_t offset;  /* of its first number in Model.weights */
    size_t size;    /* numbers */
    unsigned flags; /* the rung's, on how it is trained */
} Tensor;

typedef struct {
    Config config; /* sizes that the rung does not have are 1 */
    const Rung *rung;
    Tensor *tensors;
    int tensor_count;
    size_t room; /* floats in `weights`, padding between tensors included */
    float *weights;
    size_t parameters;
} Model;

/* Would model_build accept it? If not, says why: an unknown rung, sizes out of range, heads that do
 * not divide the width. */
bool model_check(const Config *config, Error *err);

/* The number of its weights; 0 if model_check refuses it, or there is no memory to count them. */
size_t model_parameters(const Config *config);

/* Lays out a model with initial weights that follow from the seed. Refused: an unknown rung,
 * sizes out of range, heads that do not divide the width, no memory. */
bool model_build(Model *model, const Config *config, uint64_t seed, Error *err);
void model_free(Model *model);

/* ---- run ---- */

typedef struct Run Run;

/* In what products multiply; all else is float32, and so are their sums. BFLOAT16 rounds both
 * factors, in linear layers and, where it pays, in attention, on processors that have instructions
 * for it; NARROW rounds the weights only, on any, and is for making text and not for training. */
typedef enum { FLOAT32, BFLOAT16, NARROW } Precision;

/* BFLOAT16 where the processor has it (and the environment's KERNELS asks for no other
 * instructions), else FLOAT32. */
Precision run_default_precision(void);

typedef struct {
    int batch;     /* the most sequences in a pass, >= 1; where it is shared, of all processes */
    int length;    /* the most tokens of a sequence, 1 to the model's context */
    bool training; /* has gradients and an optimizer */
    bool frozen;   /* the weights stay as they are while the run is open: prepared only once */
    int threads;   /* 1 to MAX_THREADS: the most; a pass takes as many as it is worth */
    Precision precision;
    uint64_t seed; /* of dropout */
    bool shared;   /* by all processes (base/world.h), each of which opens it alike: of a batch each
                      has a part, and all take part in what says so below */
} RunOptions;

enum { MAX_THREADS = 1024 };

/* The processors that this program may use, at most MAX_THREADS; 1 in a build without OpenMP. More
 * threads work, too, and come to the same bits, but in turns. */
int run_most_threads(void);

/* As many, or those that OMP_NUM_THREADS says, if they are fewer. */
int run_default_threads(void);

/* The most tokens in a pass: their number, times any width, is counted without overflow. */
enum { MAX_TOKENS = 1 << 24 };

/* Makes a run over `model`, which it borrows and (in training) changes. Refused: a batch to train
 * on that has fewer sequences than there are processes to share it, no memory. */
bool run_open(Run **run, Model *model, const RunOptions *options, Error *err);
void run_close(Run *run);

/* How many sequences of a batch are this process's, and how many come before. Alone: all, and 0. */
int run_part(const Run *run, int *first);

/* From now on the weights stay as they are, and are prepared only once, or (false) may change
 * between passes, as they do where RunOptions.frozen is not set. */
void run_freeze(Run *run, bool frozen);

/* From now on a pass takes one thread where several are slower, as they are on a busy machine: the
 * passes are timed. Their results are the same. */
void run_pace(Run *run);

/* The instruction set that the run computes with, e.g. "avx2". */
const char *run_kernels(const Run *run);

/* What a run and its model take, in bytes: of a run that is open, and of one that is not, which
 * needs next to none to tell. Refused is what model_build and run_open refuse, but for memory. */
typedef struct {
    size_t weights;     /* and their packed copies */
    size_t optimizer;   /* gradients and moments */
    size_t messages;    /* of other processes, if the run is shared */
    size_t activations; /* grow with batch x length */
    size_t threads;     /* what each computes in */
} Memory;
Memory run_memory(const Run *run);
bool run_estimate(const Config *config, const RunOptions *options, Memory *memory, Error *err);

/* The logits [B,T,V] that follow each token of ids[B,T], B <= batch. They stay the run's own,
 * until its next call. `past` tokens of the same sequence have gone before, through this run, and
 * are still remembered: past + T <= length, and past > 0 needs B = 1. */
const float *run_forward(Run *run, const int32_t *ids, int B, int T, int past);

/* The same as a step of training, with dropout; remembers ids for run_backward. */
void run_forward_training(Run *run, const int32_t *ids, int B, int T);

/* The mean cross-entropy of the last forward pass against targets[B,T], in nats. Shared, it is that
 * of the whole batch: all take part. */
double run_loss(Run *run, const int32_t *targets);

/* The gradient of that loss in all weights, after run_forward_training. Overwrites the logits.
 * Shared, all take part; the gradients are there for run_update only. */
void run_backward(Run *run, const int32_t *targets);

typedef struct {
    double learning_rate, beta1, beta2, epsilon, weight_decay; /* AdamW's */
    double matrix_rate, momentum, matrix_decay; /* Muon's, of the matrices that it trains */
    double clip; /* the gradient's largest norm, of all weights; 0: not clipped. Muon never is */
} Optimizer;

/* One step of AdamW, and of Muon on the matrices that the rung has for it; returns the norm that
 * the gradient had before clipping. Shared, all take part, and have the same weights after it. */
double run_update(Run *run, const Optimizer *optimizer);

/* Brings the moments that one process has to all others: of each matrix that Muon trains where the
 * run is shared. All take part; before they are saved. */
void run_collect(Run *run);

/* Makes a training run that is at its start go on where another stood after `step` updates: its
 * model has the weights of then, and the moments, laid out like the weights, are copied. Shared,
 * all take part, and those of the first process count: the others have NULL. */
void run_restore(Run *run, uint64_t step, const float *first_moments, const float *second_moments);

/* The gradient of a tensor (by its place in Model.tensors), for tests. */
const float *run_gradient(const Run *run, int tensor);

/* What one head of one layer saw in the last run_forward, of one sequence with nothing past. Rows
 * of tokens are `_row` floats apart; pointers are the run's own, until its next call. Queries and
 * keys are what the scores are made of: in modern, after norm and turn. */
typedef struct {
    int T, dk, dv;                /* tokens; channels of the head */
    const float *query, *key;     /* [T, dk]; NULL: each takes the plain mean */
    const float *value, *context; /* [T, dv]; context: what it heard */
    size_t query_row, key_row, value_row, context_row;
    float scale;                    /* of query . key, before the softmax */
    const float *projection, *bias; /* [C, dv], [C]: what context goes through */
    size_t projection_row;          /* from one of the C channels to the next */
} HeadView;

/* Refused, with false: a rung, layer or head that is not there. */
bool run_head(const Run *run, int layer, int head, HeadView *view);

/* The scores query . key of token t with each of the T; and the weights, the softmax of those up to
 * its own, scaled, and 0 beyond. Scores want a query; weights are those of the plain mean where
 * there is none. */
void head_scores(const HeadView *head, int t, float *scores);
void head_weights(const HeadView *head, int t, float *weights);

/* The mean loss over a text: windows of the run's length laid end to end, each token but the
 * first predicted once, batch by batch. With every = k > 1, only one batch in k is read. Without
 * dropout. Shared, all take part, and each reads its part of the windows; the result is the same to
 * the bit at any number of processes. count >= 2. */
double run_evaluate(Run *run, const int32_t *ids, size_t count, size_t every);

/* The same; but NaN, soon after *stopped, which is asked again and again, was true for any process
 * (NULL: it never is). */
double run_evaluate_until(Run *run, const int32_t *ids, size_t count, size_t every,
                          bool (*stopped)(void));

/* The share of the peak rate that a step has, counted from 0. Both rise in a line over `warmup`
 * steps to 1; one then falls along half a cosine that would reach `floor` at step `steps`
 * (Loshchilov and Hutter, "SGDR", 2017), the other stays, and falls over the last `cooldown` steps
 * in a line that would reach 0 (Hu et al., "MiniCPM", 2024; Haegele et al., 2024). */
double schedule_cosine(int step, int steps, int warmup, double floor);
double schedule_trapezoid(int step, int steps, int warmup, int cooldown);

/* ---- closed forms: what needs no training ---- */

typedef struct {
    double uniform;                   /* ln V */
    double unigram, unigram_held_out; /* the entropy of the characters' frequencies */
    double bigram, bigram_held_out;   /* ... of each character's frequency after the one before */
} Counts;

/* Counted on the training ids, in nats per token. The held-out figures are cross-entropies under
 * smoothed frequencies: add-one for single characters, Witten-Bell (1991) for pairs. Both texts
 * have two tokens or more. */
bool count_losses(const int32_t *train, size_t train_count, const int32_t *held_out,
                  size_t held_out_count, int V, Counts *counts, Error *err);

/* ---- sampling ---- */

typedef struct {
    double temperature; /* divides the logits; 0: always the likeliest */
    int top_k;          /* only the k likeliest; 0: all */
    double top_p;       /* only the likeliest that together reach this probability; 1: all */
    uint64_t seed;
} Sampler;

/* Picks the id that follows, from logits[V]; `place` counts the draws of a stream, `stream` the
 * samples. `order` is scratch for V ids. */
int sampler_pick(const Sampler *sampler, const float *logits, int V, uint64_t stream,
                 uint64_t place, int32_t *order);

/* A text that grows: a run of batch 1 and the tokens it remembers. When they fill the context, the
 * older half is forgotten and the newer half read again, in one pass. */
typedef struct {
    Run *run;
    int context, V;  /* the model's */
    int32_t *window; /* room for the context; owned */
    int length;      /* tokens in it */
} Generator;

bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err);
void generator_close(Generator *generator);

/* Forgets everything. */
void generator_reset(Generator *generator);

/* Reads count >= 1 more tokens and returns the logits [V] that follow the last of them. */
const float *generator_feed(Generator *generator, const int32_t *ids, size_t count);

/* ---- checkpoint ---- */

/* A line of a checkpoint's metadata. The key is a plain word; the value is UTF-8 of `length`
 * bytes, any character included. */
typedef struct {
    const char *key, *value;
    size_t length;
} Note;

/* Writes the weights, the configuration, `notes` (of other keys than its own: see checkpoint.c) and
 * a digest of all that as one safetensors file, atomically. */
bool checkpoint_save(const char *path, const Model *model, const Note *notes, int count,
                     Error *err);

/* The same, for a training run: its model, and the moments of its optimizer, from which run_restore
 * goes on. */
bool checkpoint_save_run(const char *path, const Run *run, const Note *notes, int count,
                         Error *err);

typedef struct {
    Model model;
    float *first_moments, *second_moments; /* laid out like the weights; NULL if it has none */
    char *header;                          /* what the notes point into; owned, as all is */
    Note *notes;
    int note_count;
} Checkpoint;

/* Reads one back: every name, shape, type and size is checked before the weights are read, the
 * digest before they are used. Refused, too: numbers that are not finite. */
bool checkpoint_load(Checkpoint *checkpoint, const char *path, Error *err);

/* Reads the notes alone, without the weights, which are NULL then. The rest of the file may be
 * damaged. */
bool checkpoint_peek(Checkpoint *checkpoint, const char *path, Error *err);
void checkpoint_free(Checkpoint *checkpoint);

/* The note of that key, or NULL. */
const Note *checkpoint_note(const Checkpoint *checkpoint, const char *key);

/* ---- Hugging Face ---- */

/* Has transformers an architecture for it? For a gpt and a modern. */
bool model_check_export(const Model *model, Error *err);

/* Writes such a model to a directory as transformers reads it: config.json and model.safetensors.
 */
bool model_export(const Model *model, const char *directory, Error *err);

/* Reads such a directory, of a GPT-2 or Qwen3 that another program may have trained: everything is
 * checked, down to each setting that would make it compute something else. Its ids may be in
 * another order: ours from 0 to count - 1 are its `rows`. The dropout is 0. */
bool model_import(Model *model, const char *directory, const int32_t *rows, int count, Error *err);

#endif
