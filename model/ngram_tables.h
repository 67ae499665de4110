/* ngram_tables.h - the tables of the counted model. ngram_count.c makes them, ngram_predict.c reads
 * them.
 *
 * A context of k tokens is a node of a tree: its children are the contexts of k + 1 tokens that end
 * with it. A context that occurs once has no children: its longer contexts can be read in the text
 * at its place. Places before the text have a token of their own, V. */
#ifndef TRIL_MODEL_NGRAM_TABLES_H
#define TRIL_MODEL_NGRAM_TABLES_H

#include "model/ngram.h"

enum { DISCOUNTS = 3 };

typedef struct {
    int32_t token;  /* the first of the context; V before the text */
    uint32_t place; /* the index in the text of the token after a context that occurs once */
    /* indices of its first child, in the next level, and first follower. The last ones precede the
       next context's first. A context that occurs once has neither */
    uint32_t child, follower;
} Context;

/* A token that followed a context. */
typedef struct {
    int32_t token;
    uint32_t count;
    /* the part of the count in each fold: all_in(f) if all of it is in fold f; otherwise an index
       in Ngram.parts, where the set of the folds that have a part begins; their parts follow */
    int32_t part;
} Follower;

static inline int32_t all_in(int fold) {
    return -1 - fold;
}

/* All contexts of k tokens. One more marks the end of the last. */
typedef struct {
    Context *contexts;
    Follower *followers;
    size_t context_count;
    size_t single; /* contexts that occur once, and so have one follower */
    double discounts[DISCOUNTS];
} Level;

struct Ngram {
    int V, order;
    int32_t *ids; /* the counted text */
    size_t count, fresh;
    Level levels[MAX_ORDER + 1]; /* level k has the contexts of k tokens; the last is empty */
    uint32_t *parts;             /* the first is the empty set */
    size_t part_count, part_capacity;
    double *base; /* [1 + FOLDS][V]: p without a context, first with all folds, then without each */
    size_t size;  /* bytes */
};

/* The set of folds in which a follower occurs, a bit for each, and one for the text in none. */
typedef uint16_t FoldSet;
enum { NO_FOLD = 1 << FOLDS };

/* Returns the token `back` tokens before a place; V before the text. */
static inline int32_t before(const Ngram *g, size_t place, int back) {
    return place >= (size_t)back ? g->ids[place - (size_t)back] : g->V;
}

/* Returns the folds of a place: one, or none. */
static inline FoldSet folds_of(const Ngram *g, size_t place) {
    int fold = place >= g->fresh ? ngram_fold(g, place - g->fresh) : ALL_FOLDS;
    return (FoldSet)(fold == ALL_FOLDS ? NO_FOLD : 1 << fold);
}

/* Adds `weight` times the discounted probabilities after a context to p. Returns the weight that is
 * left for the context of one token less. */
double add_context(const Ngram *g, const Level *level, size_t context, int fold, double weight,
                   double *p);

#endif
