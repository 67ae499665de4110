/* rung.h - a rung: a list of weights, and two functions that record its passes.
 *
 * A rung's struct `Weights` has a member for each weight: a Table, a Linear or a Norm (layers.h).
 * Its list `weights` has a row for each member:
 *
 *     TABLE (member, name, rows, width, ...)
 *     LINEAR(member, name, in, out, ...)
 *     NORM  (member, name, size, ...)
 *
 * A row is one or two tensors of the model. In checkpoints their names are `name` with .weight and
 * .bias added. A name with %d has a tensor for each block, and the block's number replaces %d. The
 * members of WeightSpec that follow the sizes say how the weight starts and is trained, e.g.
 * `.bias = true`. */
#ifndef TRIL_MODEL_RUNGS_RUNG_H
#define TRIL_MODEL_RUNGS_RUNG_H

#include "model/layers/layers.h"
#include "model/model.h"

#include <stddef.h>

/* Sizes by name. */
typedef enum {
    SIZE_1,
    SIZE_4, /* four, whatever the model's sizes */
    SIZE_V,
    SIZE_T,
    SIZE_C,
    SIZE_3C,
    SIZE_4C,
    SIZE_HS,  /* channels of a head: C / NH */
    SIZE_NKV, /* key-value heads: Config.NKV, or NH */
    SIZE_KV,  /* channels of all keys of a token, or of all its values: NKV HS */
    SIZE_H    /* channels inside a gated MLP: Config.H, or 8/3 C, rounded up to a multiple of 32: it
                 then has as many weights as an MLP of 4 C without a gate */
} Size;

/* The value of a size in a configuration that model_check accepted. */
int size_of(const Config *config, Size size);

typedef enum { WEIGHT_TABLE, WEIGHT_LINEAR, WEIGHT_NORM } WeightKind;

/* A matrix starts with normal random numbers of mean 0 and deviation 0.02, as in GPT-2, and decays;
 * a bias starts at 0; a norm's weight starts at `start`. */
typedef struct {
    WeightKind kind;
    size_t member; /* offsetof(Weights, ...) */
    const char *name;
    Size rows, columns; /* of the weight [rows, columns]; linear layer: [out, in] */
    float start;
    bool bias;     /* has a bias */
    bool residual; /* ends a branch: deviation divided by sqrt(2 L), as in GPT-2 */
    bool fan_in;   /* deviation 1/sqrt(columns) instead */
    bool zeros;    /* starts at 0 */
    bool no_decay; /* weight decay does not apply */
    bool muon;     /* trained by Muon; the others by AdamW */
    bool sparse;   /* an update leaves rows without a gradient as they are */
} WeightSpec;

#define TABLE(m, n, r, c, ...)  WEIGHT(WEIGHT_TABLE, m, n, r, c, __VA_ARGS__)
#define LINEAR(m, n, i, o, ...) WEIGHT(WEIGHT_LINEAR, m, n, o, i, __VA_ARGS__)
#define NORM(m, n, s, ...)      WEIGHT(WEIGHT_NORM, m, n, s, SIZE_1, __VA_ARGS__)
#define WEIGHT(what, m, n, r, c, ...)                                                     \
    {                                                                                     \
        .kind = what, .member = offsetof(Weights, m), .name = n, .rows = r, .columns = c, \
        __VA_ARGS__                                                                       \
    }

struct Rung {
    const char *name;
    const char *idea; /* that it adds to the rung below, in one line */
    bool has_heads;   /* several heads; otherwise NH is 1 */
    bool even_heads;  /* heads have an even number of channels */
    bool has_ngram;   /* has a counted model (model/ngram.h) */
    const WeightSpec *weights;
    int weight_count;
    size_t weights_size, activations_size; /* sizes of the rung's two structs, in bytes */
    /* Record the passes in `p`. `w` and `a` are arrays of the rung's two structs, one struct for
     * each block; weights that belong to no block are in every struct of `w`, and arrays that
     * belong to no block are in the first struct of `a`. forward returns the logits [N,V]; backward
     * is given their gradient. */
    Array (*forward)(Tape *p, const void *w, void *a);
    void (*backward)(Tape *p, const void *w, const void *a, Array dlogits);
};

/* Writes the numbers and sizes of a model's tensors into weights[L], its rung's `Weights`. */
void model_bind_weights(const Model *model, char *weights);

/* The last lines of a rung: `RUNG(name, "idea")` or, with several heads,
 * `RUNG(name, "idea", .has_heads = true)`. It needs these functions:
 *     static Array forward(Tape *p, const Weights *w, Activations *a);
 *     static void backward(Tape *p, const Weights *w, const Activations *a, Array dlogits); */
#define RUNG(rung, what, ...)                                                       \
    static Array forward_of(Tape *p, const void *w, void *a) {                      \
        return forward(p, w, a);                                                    \
    }                                                                               \
    static void backward_of(Tape *p, const void *w, const void *a, Array dlogits) { \
        backward(p, w, a, dlogits);                                                 \
    }                                                                               \
    const Rung rung##_rung = {.name = #rung,                                        \
                              .idea = what,                                         \
                              .weights = weights,                                   \
                              .weight_count = sizeof weights / sizeof *weights,     \
                              .weights_size = sizeof(Weights),                      \
                              .activations_size = sizeof(Activations),              \
                              .forward = forward_of,                                \
                              .backward = backward_of,                              \
                              __VA_ARGS__}

#endif
