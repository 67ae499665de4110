/* sizes.h - the sizes of a model: which fit into memory, and which suit a training time on this
 * machine. */
#ifndef TRIL_LIBRARY_SIZES_H
#define TRIL_LIBRARY_SIZES_H

#include "library/workers.h"

/* A model's sizes, and the windows in a batch. Open sizes are 0; an open dropout is negative. */
typedef struct {
    Config config;
    int batch;
} Sizes;

/* What kept sizes_choose from the next larger size. */
typedef enum { LIMIT_NONE, LIMIT_TIME, LIMIT_TEXT, LIMIT_MEMORY } Limit;

/* The reasons for a choice of sizes. */
typedef struct {
    double speed;               /* characters a second, as measured */
    Limit limit;                /* LIMIT_NONE: there is no larger size, or nothing was open */
    int layers, width, context; /* of the next larger size, */
    double worth;               /* and the characters that it must see to be better */
} Choice;

/* The sizes, with the smallest that sizes_choose knows where they are open. */
Sizes sizes_smallest(const Sizes *sizes);

/* Is there enough memory to train a model of these sizes on the text? `options` has the threads and
 * the precision. `teacher` predicts beside it; NULL: none. A resumed training also holds its state.
 * If not, the message says how much the training takes. */
bool sizes_fit(const Sizes *sizes, const RunOptions *options, const Corpus *corpus,
               const Model *teacher, bool resumed, Error *err);

/* What the choice of sizes depends on. All is borrowed. */
typedef struct {
    const RunOptions *options; /* the threads and the precision */
    const Corpus *corpus;
    Model *teacher;        /* predicts beside the model, in each step; NULL: none */
    double seconds;        /* for the training */
    double max_characters; /* which it sees at most */
    Stop stop;             /* ends the search soon, with any sizes */
} SizeSearch;

/* Chooses the open sizes. A larger model must see more characters to become better than a smaller
 * one. The number that it can see is measured: each candidate takes a few steps. An open context is
 * not longer than the teacher's. config.model and config.V must be set; dropout does not change.
 * Sets *choice to the reasons. Refused: too little memory even for the smallest. */
bool sizes_choose(Sizes *sizes, const SizeSearch *search, Choice *choice, Error *err);

#endif
