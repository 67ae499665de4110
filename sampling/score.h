/* score.h - how well a model predicts a text. */
#ifndef TRIL_SCORE_H
#define TRIL_SCORE_H

#include "data/data.h"
#include "model/model.h"

/* What to do with characters that are not in the model's vocabulary of V characters. */
typedef enum {
    UNKNOWN_REFUSE,
    UNKNOWN_SKIP,   /* score the text without them */
    UNKNOWN_UNIFORM /* the same, and each of them costs ln(V + 1) nats */
} Unknown;

typedef struct {
    size_t characters, unknown; /* of the whole text, the unknown ones included */
    double nats;                /* the mean over the characters that count, but the first */
} Score;

/* Scores a file. The model never sees an unknown character: it reads the known ones, cut into
 * windows of its context, as if nothing had stood between them. Refused: a file that cannot be
 * read, or is not UTF-8; fewer than two known characters; unknown ones, with UNKNOWN_REFUSE; no
 * memory. */
bool score_file(Score *score, const char *path, Model *model, const Vocab *vocab, Unknown unknown,
                int threads, Precision precision, Error *err);

/* Sets *nats to the mean loss over ids[count], in windows of the model's context; count >= 2.
 * Refused: what run_open refuses. */
bool score_tokens(double *nats, const int32_t *ids, size_t count, Model *model, int threads,
                  Precision precision, Error *err);

#endif
