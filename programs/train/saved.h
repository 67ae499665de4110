/* saved.h - the last state of a run of ./train: that of the rung in training, which the library
 * saves, and in its notes what else the program wants to know when it goes on. */
#ifndef TRIL_PROGRAMS_TRAIN_SAVED_H
#define TRIL_PROGRAMS_TRAIN_SAVED_H

#include "programs/train/course.h"
#include "programs/train/plan.h"

/* A line of the table of losses. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation; /* nats per character */
    double seconds;           /* negative: needed no training */
    double characters;        /* seen in training; if it ended early, planned */
    double time;              /* plan_time: 0 if steps counted */
    uint64_t digest;          /* of the weights (tril_model_digest); 0: not known */
    double compute;           /* floating-point operations of the training; NaN: not known */
    const Course *course;     /* how the training went; borrowed. NULL: not known; a state does not
                                 have it, but the log */
    uint64_t log_digest;      /* of the whole log */
} Result;

/* How far the training of one rung has come. What is not in `now` is in the notes of the state, as
 * double where it is a number. */
typedef struct {
    TrilProgress now;
    double best;         /* lowest validation loss saved; infinite before the first */
    double seconds;      /* since the beginning */
    double log_length;   /* bytes of the log */
    double time_limit;   /* by the clock: the plan_time whose share is used up; 0: it is not */
    double early_stop;   /* steps planned when its patience ended it early; 0: it did not */
    uint64_t log_digest; /* of the log's bytes */
} Progress;

/* The rung that is being trained, and the results of the rungs before it. */
typedef struct {
    TrilState *state; /* owned */
    Progress progress;
    uint64_t digest;     /* of the file */
    uint64_t training;   /* Plan.training; 0: of the library */
    uint64_t teacher;    /* Plan.teacher */
    TrilOptions options; /* Plan.options, without teacher */
    bool ladder;         /* Plan.ladder */
    Result results[MAX_RUNGS];
    int result_count;
} Saved;

/* Reads a state, and checks every note. Refused: what tril_state_load refuses, notes that
 * saved_write does not write. The caller releases it with saved_free; on failure there is nothing
 * to release. */
bool saved_load(Saved *saved, const char *path, Error *err);
void saved_free(Saved *saved);

/* Writes the state of the training, atomically, with its progress, the plan's options, and
 * results[count] of the rungs before, at most MAX_RUNGS. On failure the file that was there stays.
 */
bool saved_write(const char *path, TrilTraining *training, const Plan *plan,
                 const Progress *progress, const Result *results, int count, Error *err);

#endif
