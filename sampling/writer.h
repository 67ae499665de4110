/* writer.h - text as it is made: a model goes on with what it was told, and each character is
 * printed at once.
 *
 * Into a pipe or a file goes the text itself; of a model of bytes just these bytes, and nothing
 * else. A terminal is shown whole characters, with U+FFFD for bytes that are none, and what it
 * would obey is written out (base/escape.h). */
#ifndef TRIL_WRITER_H
#define TRIL_WRITER_H

#include "data/data.h"
#include "model/model.h"

#include <signal.h>

typedef struct {
    Sampler sampler;
    const char *stop; /* ends a text once it has been written; NULL: nothing does */
    int threads;
    Precision precision;
} WriterOptions;

typedef struct Writer Writer;

/* Makes a writer over a model and its vocabulary, which it borrows, as it does options->stop. */
bool writer_open(Writer **writer, Model *model, const Vocab *vocab, const WriterOptions *options,
                 Error *err);
void writer_close(Writer *writer);

/* Begins anew, with a stream of random numbers of its own. */
void writer_begin(Writer *writer, int stream);

/* Prints ids [count] as if the model had written them. */
void writer_say(Writer *writer, const int32_t *ids, size_t count);

/* Writes `length` characters more: fewer if the stop text comes, if nothing can be printed any
 * more, or if *interrupted becomes true (NULL: it never does). Before anything was said the model
 * starts after vocab_start, which is not printed. */
void writer_go_on(Writer *writer, int length, const volatile sig_atomic_t *interrupted);

/* Ends what is printed with the end of a line, if it has none; the text itself does not change. */
void writer_end_line(Writer *writer);

/* The same where a text ends; but bytes that go into a pipe or a file stay as they are. */
void writer_end_text(Writer *writer);

/* The same for the text: what comes next begins a line, where the vocabulary has lines. */
void writer_new_line(Writer *writer);

#endif
