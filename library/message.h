/* message.h - what the library (library/tril.h) says, in the words of a program. */
#ifndef TRIL_LIBRARY_MESSAGE_H
#define TRIL_LIBRARY_MESSAGE_H

#include "base/error.h"
#include "library/tril.h"

/* Takes a sentence of the library. `name`, unless it is NULL, replaces "the text" or "the prompt"
 * at its beginning. Returns false. */
bool message_take(Error *err, const TrilError *error, const char *name);

/* Does the model know all characters of a text? If not, the message begins with `name` and says
 * which it does not know. */
bool message_knows(const TrilModel *model, const char *name, const char *text, size_t length,
                   Error *err);

#endif
