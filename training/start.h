/* start.h - what a training starts from: random weights, its own last state (--resume, --continue),
 * or a trained model (--init). */
#ifndef TRIL_TRAINING_START_H
#define TRIL_TRAINING_START_H

#include "exchange/trained.h"
#include "training/saving.h"

/* At most one of the two is there. */
typedef struct {
    State state;
    Trained init;
    bool resumed;    /* `state` is there */
    bool from_model; /* `init` is there */
} Start;

/* Reads what the training starts from, and sets *request to what is asked for in all: by the
 * command line `asked`; where that leaves something open, in the training that goes on, by the
 * model that the training begins from, or by default. Refused: a state or a model that cannot be
 * read; a text that --continue could not read twice; a change of what the state or the model
 * settles. The caller releases *start with start_free; on failure there is nothing to release. */
bool start_load(Start *start, Request *request, const Request *asked, Error *err);
void start_free(Start *start);

/* Reads the text, with the vocabulary of the state or model if there is one. Refused: what
 * corpus_load refuses; another text than the state's. The caller releases *corpus with corpus_free;
 * on failure there is nothing to release. */
bool start_read_text(const Start *start, const Request *request, Corpus *corpus, Error *err);

#endif
