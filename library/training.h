/* training.h - what stands behind a TrilTraining. */
#ifndef TRIL_LIBRARY_TRAINING_H
#define TRIL_LIBRARY_TRAINING_H

#include "library/options.h"
#include "library/workers.h"

enum { MAX_NOTES = 32 }; /* of a program */

struct TrilTraining {
    TrilModel *model; /* borrowed */
    const TrilText *text;
    TrilText *own;       /* that text, if it is released with the training; else NULL */
    TrilOptions options; /* decided */
    uint64_t teacher;    /* its digest; 0: there is none */
    Workers workers;
    Recipe recipe;
    double each, look;     /* operations for a character, and for each one in its window */
    TrilProgress progress; /* determines the place in the text and in all random numbers, too */
    Asking stop;           /* for evaluations */
    Note notes[MAX_NOTES]; /* of the program; keys and texts are owned */
    int note_count;
};

/* Makes a training of the model on the text with decided options, and opens its run. `resumed`: a
 * state's progress will be restored. On failure *training is NULL. Fails for options that do not
 * suit, and for lack of memory (err->no_memory). */
bool training_make(TrilTraining **training, TrilModel *model, const TrilText *text,
                   const TrilOptions *options, bool resumed, Error *err);

/* Resumes from this progress and these moments; the model must hold that step's weights. */
void training_restore(TrilTraining *training, const TrilProgress *progress,
                      const float *first_moments, const float *second_moments);

/* Checks that the text was encoded with the model's vocabulary and exceeds its context. */
bool text_suits(const TrilText *text, const TrilModel *model, Error *err);

TrilMemory memory_from(const Memory *memory);

#endif
