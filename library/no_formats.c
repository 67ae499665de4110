/* no_formats.c - a tril that knows no files of other programs. */
#include "library/formats.h"

const Format *const formats[] = {NULL};
