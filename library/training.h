/* training.h - what stands behind a TrilTraining, and between options and settings. */
#ifndef TRIL_LIBRARY_TRAINING_H
#define TRIL_LIBRARY_TRAINING_H

#include "library/saving.h"
#include "library/settings.h"
#include "library/trainer.h"
#include "library/handles.h"

struct TrilTraining {
    TrilModel *model; /* borrowed */
    const TrilText *text;
    TrilText *own; /* that text, if it is released with the training; else NULL */
    const TrilModel *teacher;
    uint64_t teacher_digest; /* 0: there is none */
    Settings settings;
    Training training;
    TrilStop stop; /* for evaluations; NULL: none */
    void *stop_user;
    Note notes[MAX_NOTES]; /* of the program; keys and texts are owned */
    int note_count;
};

/* Begins the training that the settings describe, with nothing open. `training` is all 0; its
 * model, its text and its teacher are set already. `resumed`: it will go on after a state. The
 * caller closes it also after a failure. */
TrilStatus training_begin(TrilTraining *training, const RunOptions *run, bool resumed, Error *err);

/* Releases all but the model and the memory of the handle itself. */
void training_release(TrilTraining *training);

/* The model's file says from now on what it was trained with. */
void training_mark(TrilTraining *training);

/* Has the text the ids of the model, and is it long enough? */
bool text_suits(const TrilText *text, const TrilModel *model, Error *err);

/* The progress of a training of so many steps. */
TrilProgress progress_from(const Progress *progress, int steps);

/* Sets *settings and *run to what the options ask of a training of a model `config`. Refused:
 * options out of range. */
bool settings_from(Settings *settings, RunOptions *run, const Config *config,
                   const TrilOptions *options, Error *err);

TrilOptions options_from(const Settings *settings, int threads, const TrilModel *teacher);

TrilMemory memory_from(const Memory *memory);

/* Is the number of steps in its range? */
bool steps_in_range(int steps, int least, Error *err);

/* Can the teacher, or NULL, teach a model with these ids and this context? */
bool teacher_fits(const TrilModel *teacher, const Vocab *vocab, int context, Error *err);

#endif
