/* info.h - ./sample --info: what is in the file of a model. */
#ifndef TRIL_PROGRAMS_SAMPLE_INFO_H
#define TRIL_PROGRAMS_SAMPLE_INFO_H

#include "base/error.h"

/* Prints what is in the file or folder. Refused: one that is not a model. */
bool info_print(const char *path, Error *err);

#endif
