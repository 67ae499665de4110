/* model.h - a model: a configuration and its weights. run.h computes with it. In all structs of
 * model/, a pointer that does not apply is NULL. */
#ifndef TRIL_MODEL_MODEL_H
#define TRIL_MODEL_MODEL_H

#include "base/error.h"
#include "model/ngram.h"

#include <stddef.h>
#include <stdint.h>

/* ---- configuration ---- */

typedef struct {
    char model[16]; /* the rung's name */
    int V;          /* vocabulary */
    int T;          /* context: the most tokens that a prediction can see */
    int L;          /* transformer blocks (layers) */
    int NH;         /* attention heads; NH divides C */
    int C;          /* channels (width) */
    int NKV;        /* key-value heads, from modern on; NKV divides NH; usually NH */
    int H;          /* channels inside the MLP, from modern on; usually 8/3 C, rounded up to a
                       multiple of 32 */
} Config;

/* The largest vocabulary; tril.h has the largest other sizes. No product of three of them overflows
 * eight bytes. Where a size_t has four, model_lay_out and run_open fail if a size would overflow.
 */
enum { MAX_VOCABULARY = 0x110000 };

/* The block of a tensor outside of all blocks; the NKV or H that a rung usually has. */
enum { NO_BLOCK = -1, USUAL_SIZE = 0 };

/* The names of the rungs, lowest first. NULL ends them. */
extern const char *const model_names[];

/* Return the name of rung i of the ladder, from 0, and the idea that it adds to the one below, in
 * one line: constants, or NULL beyond the last. */
const char *model_name(int i);
const char *model_idea(int i);

/* ---- model ---- */

typedef struct Rung Rung;

typedef struct {
    char name[64]; /* as in checkpoints */
    int rank;      /* 1 or 2 */
    int shape[2];
    int block;        /* the transformer block it belongs to, from 0, or NO_BLOCK */
    size_t offset;    /* floats before its first number in Model.weights */
    size_t size;      /* numbers */
    float start;      /* the initial value of each number, unless there is a deviation */
    double deviation; /* the standard deviation of normal initial values of mean 0 */
    bool decays;      /* weight decay applies */
    bool muon;        /* trained by Muon; the others by AdamW */
    bool sparse;      /* an update leaves rows without a gradient as they are */
} Tensor;

typedef struct {
    Config config; /* as model_check leaves it */
    const Rung *rung;
    Tensor *tensors;
    int tensor_count;
    size_t weights_size; /* floats in `weights`, padding between tensors included */
    float *weights;
    size_t parameters; /* the numbers in all tensors, without padding */
    Ngram *ngram;      /* the counted model of a rung that has one, once it has counted */
} Model;

/* Checks a configuration. Sets sizes that the rung lacks to 1, and NKV or H to USUAL_SIZE if the
 * rung lacks it or it is the usual one. Fails for an unknown rung, a size out of range, NH that
 * does not divide C, NKV that does not divide NH, and an odd C / NH with rotary positions. */
bool model_check(Config *config, Error *err);

/* Return the key-value heads and the channels inside the MLP of a checked configuration; NH and 1
 * for a rung without such sizes. */
int model_kv_heads(const Config *config);
int model_hidden(const Config *config);

/* Returns the number of parameters of a checked configuration: the weights, biases included. */
double model_parameters(const Config *config);

/* Builds a model with initial weights, which follow from the seed. model_free releases its tensors
 * and weights. Fails as model_check does, and without memory; then there is nothing to release. */
bool model_build(Model *model, const Config *config, uint64_t seed, Error *err);
void model_free(Model *model);

/* Do the work of model_build in two steps, so that a checkpoint can be checked between them.
 * model_lay_out makes the tensors' names, shapes and offsets, in little memory. Fails as
 * model_check does, and without memory. model_allocate makes the weights, all 0. Fails without
 * memory; the caller then calls model_free. */
bool model_lay_out(Model *model, const Config *config, Error *err);
bool model_allocate(Model *model, Error *err);

/* Extends the vocabulary to V tokens, V > the model's. Token i is the earlier token sources[i], 0
 * <= i < V, and keeps its weights; a token whose source is NO_ID is new. Each earlier token occurs
 * once. A new token's own weights (a row of a table, a logit of the output layer) start as the mean
 * over the earlier tokens, which makes no new token likely (Hewitt, "Initializing New Word
 * Embeddings for Pretrained Language Models", 2021). Rows of vectors also get normal noise, with
 * half the tensor's standard deviation, which follows from the seed. Fails for too large a
 * vocabulary, and without memory; the model is then unchanged. */
bool model_extend(Model *model, int V, const int32_t *sources, uint64_t seed, Error *err);

/* Return true if the rung of a valid configuration has a counted model; has a width (C). */
bool model_has_ngram(const Config *config);
bool model_has_width(const Config *config);

/* Counts a training text, ids[count]. Counts add up over texts, but no text counts twice: if it is
 * the end of what was counted, nothing is added; if one of the two begins with the other, it
 * replaces what was counted. With `folds`, training on the text can leave parts of it out. Does
 * nothing for a rung that does not count. Without memory it fails and changes nothing. */
bool model_count(Model *model, const int32_t *ids, size_t count, bool folds, Error *err);

/* Counts the model's text again, to *folded, so that predictions can leave out parts of ids[count]
 * if the model has counted that text. Sets *folded to NULL for a model without counts. The caller
 * releases them with ngram_free. Fails as ngram_count does. */
bool model_fold(const Model *model, const int32_t *ids, size_t count, Ngram **folded, Error *err);

/* Returns a digest (base/digest.h) of each tensor's name and numbers, in order, and of the counted
 * text. Equal digests mean equal bits. */
uint64_t model_digest(const Model *model);

/* The next token of a sequence in a decoding run, `last`; the earlier ones precede it in memory. */
typedef struct {
    const int32_t *last;
    int past; /* earlier tokens, whose keys and values the run holds; past < length */
    int slot; /* where it holds them, from 0; less than RunOptions.slots */
} DecodeToken;

/* The place of a pass in a text: token n of the pass is the text's token starts[n / window] + n %
 * window. */
typedef struct {
    const size_t *starts;
    size_t window;
    bool counted; /* the model counted it last; each prediction then leaves out its own fold */
} TextOrigin;

#endif
