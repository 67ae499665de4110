/* writer.h - generates text and prints each character as soon as it is chosen.
 *
 * A pipe or a file gets the text unchanged; from a byte model, exactly its bytes. A terminal gets
 * whole characters, U+FFFD for bytes that are not UTF-8, and escaped control characters
 * (base/escape.h). */
#ifndef TRIL_WRITER_H
#define TRIL_WRITER_H

#include "data/data.h"
#include "model/model.h"

#include <signal.h>

typedef struct {
    Sampler sampler;
    const char *stop; /* the text ends after this; NULL: no stop text */
    int threads;
    Precision precision;
} WriterOptions;

typedef struct Writer Writer;

/* Opens a writer. It borrows the model, the vocabulary and options->stop. The caller closes it. On
 * failure *writer is NULL. */
bool writer_open(Writer **writer, Model *model, const Vocab *vocab, const WriterOptions *options,
                 Error *err);
void writer_close(Writer *writer);

/* Chooses characters by *sampler from now on. */
void writer_set_sampler(Writer *writer, const Sampler *sampler);

/* Begins a new text with random stream number `stream`. */
void writer_begin(Writer *writer, int stream);

/* Prints ids [count] and appends them to the model's context. */
void writer_say(Writer *writer, const int32_t *ids, size_t count);

/* Generates `length` more characters. Stops early at the stop text, if printing fails, or if
 * *interrupted becomes true (NULL: never). An empty text begins after vocab_start, which is not
 * printed. */
void writer_go_on(Writer *writer, int length, const volatile sig_atomic_t *interrupted);

/* Prints a newline if the last line has none. The text itself does not change. */
void writer_end_line(Writer *writer);

/* writer_end_line at the end of a text. A pipe or a file gets no newline from a byte model. */
void writer_end_text(Writer *writer);

/* writer_end_line, and appends the newline to the text if the vocabulary has one. */
void writer_new_line(Writer *writer);

#endif
