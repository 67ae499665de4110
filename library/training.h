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
    Notes notes;           /* the program's metadata, for states */
};

/* Makes a training run of the model on the text with decided options, and opens its run. On
 * failure *training is NULL. Fails for unsuitable options, and without memory. */
bool training_make(TrilTraining **training, TrilModel *model, const TrilText *text,
                   const TrilOptions *options, Error *err);

/* Resumes from this progress and these moments; the model must hold that step's weights. */
void training_restore(TrilTraining *training, const TrilProgress *progress,
                      const float *first_moments, const float *second_moments);

#endif
