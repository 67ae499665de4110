/* explaining.h - ./sample --explain: how a text leads to the next character. */
#ifndef TRIL_PROGRAMS_SAMPLE_EXPLAINING_H
#define TRIL_PROGRAMS_SAMPLE_EXPLAINING_H

#include "programs/sample/request.h"

/* Explains the text of the request with one model, or compares the next characters of several.
 * Refused: a model that cannot be read, a text that it does not know, what explain refuses. */
bool explaining(const SampleRequest *request, Error *err);

#endif
