/* names.h - finds a name in a list. */
#ifndef TRIL_BASE_NAMES_H
#define TRIL_BASE_NAMES_H

#include "base/error.h"

/* Sets *index to the place of `name` in names, which NULL ends. Fails if it is not there; the
 * message begins with `what`, and lists the names. */
bool name_find(const char *const *names, const char *name, int *index, const char *what,
               Error *err);

#endif
