/* preset.h - sizes and budgets that belong together, by name. */
#ifndef TRIL_PROGRAMS_TRAIN_PRESET_H
#define TRIL_PROGRAMS_TRAIN_PRESET_H

#include "base/error.h"

/* The options of a preset, as words of the command line with spaces between them: a constant. NULL
 * with a message that lists all presets if there is none of that name. */
const char *preset_words(const char *name, Error *err);

#endif
