/* preset.h - recipes by name: sizes and budgets that belong together. */
#ifndef TRIL_PRESET_H
#define TRIL_PRESET_H

#include "base/error.h"

/* The settings of a preset, as words of the command line parted by spaces; NULL with a message that
 * names all presets if there is none of that name. */
const char *preset_words(const char *name, Error *err);

#endif
