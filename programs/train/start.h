/* start.h - what a training starts from: random weights, its own last state (--resume, --continue),
 * or a trained model (--init); and who teaches (--teacher). */
#ifndef TRIL_PROGRAMS_TRAIN_START_H
#define TRIL_PROGRAMS_TRAIN_START_H

#include "programs/train/saved.h"

/* At most one of `saved` and `init` is loaded. All is owned. */
typedef struct {
    Saved saved;
    bool resumed;       /* `saved` is loaded */
    TrilModel *init;    /* of --init, not yet trained further; NULL: none */
    TrilModel *teacher; /* of --teacher; NULL: none */
    int added;          /* characters of the text that `init` did not know */
} Start;

/* Reads what the training starts from, and sets *options to its options: those of the training that
 * is resumed, or the defaults with the sizes of the model of --init, and over them the command
 * line. Fails for a state or a model that cannot be read, a text that --continue could not read
 * twice, a change of what the state or the model settles, another teacher than the state's. The
 * caller releases *start with start_free; on failure there is nothing to release. */
bool start_load(Start *start, TrilOptions *options, const Arguments *asked, Error *err);
void start_free(Start *start);

/* Reads the text, with the tokenizer of the state or model if there is one. Extends the model by
 * the characters that it lacks. Refused: what input_make refuses; a file that cannot be read;
 * another text than the state's; a teacher with other characters.
 * The caller releases *input with input_free; on failure there is nothing to release. */
bool start_read_text(Start *start, const Arguments *asked, const TrilOptions *options, Input *input,
                     Error *err);

/* The number by which the training knows its files: that of the state or, for a new training, one
 * that follows from its text, its plan, the name of --out, and the models that it begins from and
 * learns from. Never 0. */
uint64_t start_training(const Start *start, const Plan *plan, const Input *input);

#endif
