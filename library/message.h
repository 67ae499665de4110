/* message.h - lets the library (library/tril.h) write its message into the Error of a program. */
#ifndef TRIL_LIBRARY_MESSAGE_H
#define TRIL_LIBRARY_MESSAGE_H

#include "base/error.h"
#include "library/tril.h"

#include <stddef.h>

_Static_assert(offsetof(Error, text) == 0 && sizeof((Error *)0)->text == sizeof(TrilError),
               "an Error begins with the text of a TrilError");

/* Returns the place in *err where the library writes its message. */
static inline TrilError *message(Error *err) {
    return (TrilError *)(void *)err;
}

/* Puts `name` and a colon before the message, all that the library sets. Returns false. */
static inline bool message_of(Error *err, const char *name) {
    const Error own = *err;
    return fail(err, "%s: %s", name, own.text);
}

#endif
