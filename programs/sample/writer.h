/* writer.h - generates text and prints each character as soon as it is chosen.
 *
 * A pipe or a file gets the text unchanged; from a byte model, exactly its bytes. A terminal gets
 * whole characters, U+FFFD for bytes that are not UTF-8, and escaped control characters. */
#ifndef TRIL_PROGRAMS_SAMPLE_WRITER_H
#define TRIL_PROGRAMS_SAMPLE_WRITER_H

#include "base/error.h"
#include "library/tril.h"

#include <signal.h>

typedef struct Writer Writer;

/* Opens a writer, which borrows the model. `sampling` is NULL if the writer only prints. The caller
 * closes it. On failure *writer is NULL. */
bool writer_open(Writer **writer, const TrilModel *model, const TrilSampling *sampling, Error *err);
void writer_close(Writer *writer);

/* Begins to print another text. */
void writer_begin(Writer *writer);

/* Prints a text of known characters. */
void writer_print(Writer *writer, const char *text, size_t length);

/* Prints a text of known characters, and appends it to the text that the model has read. */
void writer_say(Writer *writer, const char *text, size_t length);

/* Generates `length` more characters. Stops early at the stop text, if printing fails, or once
 * *interrupted, unless that is NULL, is true. An empty text begins after the start of every text
 * (TrilReading), which is not printed. Fails if the model's predictions are not finite numbers. */
bool writer_continue(Writer *writer, int length, const volatile sig_atomic_t *interrupted,
                     Error *err);

/* Prints a newline if the last line has none; the text itself does not change. writer_end_text does
 * the same at the end of a text, except when a pipe or a file gets the text of a byte model. */
void writer_end_line(Writer *writer);
void writer_end_text(Writer *writer);

/* Ends the line, and appends the newline to the text if the vocabulary has one. */
void writer_new_line(Writer *writer);

/* Checks that the model knows all characters of a text. The message begins with `name`. */
bool writer_knows(const TrilModel *model, const char *name, const char *text, size_t length,
                  Error *err);

#endif
