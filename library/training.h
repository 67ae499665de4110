/* training.h - the struct behind a TrilTraining. */
#ifndef TRIL_LIBRARY_TRAINING_H
#define TRIL_LIBRARY_TRAINING_H

#include "library/option_table.h"
#include "library/batches.h"

struct TrilTraining {
    TrilModel *model; /* borrowed, as the text is */
    const TrilText *text;
    TrilOptions options; /* decided */
    Batches batches;
    Recipe recipe;
    double per_character, per_pair; /* operations for each character, and each one in its window */
    TrilProgress progress; /* determines the place in the text and all random numbers, too */
};

#endif
