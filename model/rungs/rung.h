/* rung.h - what a rung is: a list of weights, and two functions that record its passes.
 *
 * The list is written once, as a macro WEIGHTS(TABLE, LINEAR, NORM) with a row for each weight:
 *     TABLE (member, name, rows, width, flags)
 *     LINEAR(member, name, in, out, flags)
 *     NORM  (member, name, size, start, flags)
 * A row becomes a member of `Weights` (a Table, a Linear or a Norm: layers.h) and one or two
 * tensors of the model. In checkpoints their names are `name` with .weight and .bias added. A name
 * with %d has a tensor for each block, and the block's number replaces %d. Sizes are 4, V, T, C,
 * multiples of C such as 3C, HS (a head's channels), KV (the channels of all heads of keys, or of
 * values) and H (those inside a gated MLP). RUNG_WEIGHTS makes the struct and its table from the
 * list, so they cannot disagree. */
#ifndef TRIL_MODEL_RUNGS_RUNG_H
#define TRIL_MODEL_RUNGS_RUNG_H

#include "model/layers/layers.h"
#include "model/model.h"

#include <stddef.h>

/* How a weight starts and is trained. A matrix starts with normal random numbers of mean 0 and
 * deviation 0.02, as in GPT-2, and decays; a bias starts at 0; a norm's weight starts at
 * `start`. */
enum {
    BIAS = 1,      /* has a bias */
    RESIDUAL = 2,  /* ends a branch: deviation divided by sqrt(2 L), as in GPT-2 */
    FAN_IN = 4,    /* deviation 1/sqrt(columns) instead */
    ZEROS = 8,     /* starts at 0 */
    DECAYS = 16,   /* weight decay applies; set for matrices without NO_DECAY */
    NO_DECAY = 32, /* weight decay does not apply */
    MUON = 64,     /* trained by Muon; the others by AdamW */
    SPARSE = 128   /* a step does not change rows without a gradient */
};

/* Sizes by name. */
typedef enum {
    SIZE_NONE, /* no size: 1 */
    SIZE_4,    /* four, whatever the model's sizes */
    SIZE_V,
    SIZE_T,
    SIZE_L,
    SIZE_NH,
    SIZE_C,
    SIZE_3C,
    SIZE_4C,
    SIZE_HS,  /* C / NH */
    SIZE_NKV, /* heads of keys and values: Config.NKV, or NH */
    SIZE_KV,  /* NKV HS */
    SIZE_H    /* Config.H, or 8/3 C, rounded up to a multiple of 32: a gated MLP then has as many
                 weights as one of 4 C without a gate */
} Size;

/* The value of a size in a configuration that model_check accepted. */
int size_of(const Config *config, Size size);

typedef enum { WEIGHT_TABLE, WEIGHT_LINEAR, WEIGHT_NORM } WeightKind;

typedef struct {
    WeightKind kind;
    size_t member; /* offsetof(Weights, ...) */
    const char *name;
    Size rows, columns; /* of the weight [rows, columns]; linear layer: [out, in] */
    float start;
    unsigned flags;
} WeightSpec;

#define MEMBER_TABLE(member, name, rows, width, flags) Table member;
#define MEMBER_LINEAR(member, name, in, out, flags)    Linear member;
#define MEMBER_NORM(member, name, size, start, flags)  Norm member;
#define SPEC_TABLE(member, name, rows, width, flags) \
    {WEIGHT_TABLE, offsetof(Weights, member), name, SIZE_##rows, SIZE_##width, 0, flags},
#define SPEC_LINEAR(member, name, in, out, flags) \
    {WEIGHT_LINEAR, offsetof(Weights, member), name, SIZE_##out, SIZE_##in, 0, flags},
#define SPEC_NORM(member, name, size, start, flags) \
    {WEIGHT_NORM, offsetof(Weights, member), name, SIZE_##size, SIZE_NONE, start, flags},

#define RUNG_WEIGHTS                                      \
    typedef struct {                                      \
        WEIGHTS(MEMBER_TABLE, MEMBER_LINEAR, MEMBER_NORM) \
    } Weights;                                            \
    static const WeightSpec weight_specs[] = {WEIGHTS(SPEC_TABLE, SPEC_LINEAR, SPEC_NORM)}

struct Rung {
    const char *name;
    const char *idea; /* what it adds to the rung below, in one line */
    bool has_heads;   /* several heads; otherwise NH is 1 */
    bool even_heads;  /* heads have an even number of channels */
    const WeightSpec *weights;
    int weight_count;
    size_t weights_size, activations_size; /* of the rung's two structs, in bytes */
    /* Record the passes in `p`. `w` and `a` are arrays of the rung's two structs, one struct for
       each block; what belongs to no block is in all structs of `w` and in the first of `a`.
       forward returns the logits [N,V]; backward is given their gradient. */
    Array (*forward)(Program *p, const void *w, void *a);
    void (*backward)(Program *p, const void *w, const void *a, Array dlogits);
};

/* The last lines of a rung: `RUNG(name, "idea")` or, with several heads,
 * `RUNG(name, "idea", .has_heads = true)`. It needs these functions:
 *     static Array forward(Program *p, const Weights *w, Activations *a);
 *     static void backward(Program *p, const Weights *w, const Activations *a, Array dlogits); */
#define RUNG(rung, what, ...)                                                             \
    static Array forward_of(Program *p, const void *w, void *a) {                         \
        const Weights *weights = w;                                                       \
        Activations *activations = a;                                                     \
        return forward(p, weights, activations);                                          \
    }                                                                                     \
    static void backward_of(Program *p, const void *w, const void *a, Array dlogits) {    \
        const Weights *weights = w;                                                       \
        const Activations *activations = a;                                               \
        backward(p, weights, activations, dlogits);                                       \
    }                                                                                     \
    const Rung rung##_rung = {.name = #rung,                                              \
                              .idea = what,                                               \
                              .weights = weight_specs,                                    \
                              .weight_count = sizeof weight_specs / sizeof *weight_specs, \
                              .weights_size = sizeof(Weights),                            \
                              .activations_size = sizeof(Activations),                    \
                              .forward = forward_of,                                      \
                              .backward = backward_of,                                    \
                              __VA_ARGS__}

#endif
