/* score.h - how well a model predicts the text in a file. */
#ifndef TRIL_PROGRAMS_SAMPLE_SCORE_H
#define TRIL_PROGRAMS_SAMPLE_SCORE_H

#include "base/error.h"
#include "library/tril.h"

/* Scores a file as tril_score does. Refused: also a file that cannot be read. */
bool score_file(TrilScore *score, const char *path, const TrilModel *model,
                const TrilScoring *scoring, Error *err);

#endif
