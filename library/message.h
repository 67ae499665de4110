/* message.h - turns an error of the library (library/tril.h) into one of a program. */
#ifndef TRIL_LIBRARY_MESSAGE_H
#define TRIL_LIBRARY_MESSAGE_H

#include "base/error.h"
#include "library/tril.h"

/* Copies the library's message to *err, after `name` and a colon unless `name` is NULL. Returns
 * false. */
static inline bool message_take(Error *err, const TrilError *error, const char *name) {
    return name ? fail(err, "%s: %s", name, error->text) : fail(err, "%s", error->text);
}

#endif
