/* start.h - what a training starts from: random weights, its own last state (--resume, --continue),
 * or a trained model (--init); and who teaches (--teacher). */
#ifndef TRIL_TRAINING_START_H
#define TRIL_TRAINING_START_H

#include "formats/trained.h"
#include "training/saving.h"

/* At most one of `state` and `init` is loaded. */
typedef struct {
    State state;
    Trained init;
    bool resumed;    /* `state` is loaded */
    bool from_model; /* `init` is loaded */
    Trained teacher;
    bool taught; /* `teacher` is loaded */
    int added;   /* characters of the text that `init` did not know */
} Start;

/* Reads what the training starts from, and completes the request: *request is the command line
 * `asked`, completed by the training that is resumed, by the model of --init, or by the defaults.
 * Refused: a state or a model that cannot be read; a text that --continue could not read twice; a
 * change of what the state or the model settles; another teacher than the state's. The caller
 * releases *start with start_free; on failure there is nothing to release. */
bool start_load(Start *start, Request *request, const Request *asked, Error *err);
void start_free(Start *start);

/* The model of --teacher, which `start` owns; NULL: there is none. */
Model *start_teacher(Start *start);

/* Reads the text, with the vocabulary of the state or model if there is one. Extends the model by
 * the characters that it lacks. Refused: what corpus_load refuses; another text than the state's; a
 * teacher with other characters.
 * The caller releases *corpus with corpus_free; on failure there is nothing to release. */
bool start_read_text(Start *start, const Request *request, Corpus *corpus, Error *err);

#endif
