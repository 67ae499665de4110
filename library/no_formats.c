/* no_formats.c - the empty list of formats for a build without extras/formats. */
#include "library/formats.h"

const Format *const formats[] = {NULL};
