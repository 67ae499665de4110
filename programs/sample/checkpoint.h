/* checkpoint.h - which model ./sample reads. */
#ifndef TRIL_PROGRAMS_SAMPLE_CHECKPOINT_H
#define TRIL_PROGRAMS_SAMPLE_CHECKPOINT_H

#include "programs/sample/request.h"

/* The path of model i of those that were named, or of the usual one. NULL if that is missing: the
 * message says where one may come from. */
const char *checkpoint_path(const SampleRequest *request, int i, Error *err);

#endif
