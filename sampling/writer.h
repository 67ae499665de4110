/* writer.h - generates text: a model continues what it was given, and each character is printed as
 * soon as it is chosen.
 *
 * A pipe or a file gets the text itself; from a model of bytes, exactly these bytes. A terminal
 * gets whole characters, U+FFFD for bytes that are not UTF-8, and control sequences written out
 * (base/escape.h). */
#ifndef TRIL_WRITER_H
#define TRIL_WRITER_H

#include "data/data.h"
#include "model/model.h"

#include <signal.h>

typedef struct {
    Sampler sampler;
    const char *stop; /* a text ends after this; NULL: it does not */
    int threads;
    Precision precision;
} WriterOptions;

typedef struct Writer Writer;

/* Opens a writer. It borrows the model, the vocabulary and options->stop. The caller closes it; on
 * failure *writer is NULL. */
bool writer_open(Writer **writer, Model *model, const Vocab *vocab, const WriterOptions *options,
                 Error *err);
void writer_close(Writer *writer);

/* Begins a new text, with the random numbers of this stream. */
void writer_begin(Writer *writer, int stream);

/* Prints ids [count], which the model reads as part of the text. */
void writer_say(Writer *writer, const int32_t *ids, size_t count);

/* Writes `length` more characters: fewer if the stop text comes, if printing fails, or if
 * *interrupted becomes true (NULL: it never does). An empty text begins after vocab_start, which is
 * not printed. */
void writer_go_on(Writer *writer, int length, const volatile sig_atomic_t *interrupted);

/* Prints the end of a line, if the last line has none; the text itself does not change. */
void writer_end_line(Writer *writer);

/* The same at the end of a text; but a pipe or a file gets the bytes of a model of bytes unchanged.
 */
void writer_end_text(Writer *writer);

/* The same, and the text gets the end of a line, too, if the vocabulary has one. */
void writer_new_line(Writer *writer);

#endif
