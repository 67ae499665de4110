#include "programs/sample/writer.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "base/utf8.h"

#include <stdio.h>

struct Writer {
    TrilWriter *text;
    bool bytes; /* ids stand for byte values */
    char end;   /* the last byte of the text; a newline before the first */
    /* output is flushed, but not so often that a fast model waits for the terminal */
    bool terminal;          /* shows whole characters, escaped */
    Utf8Stream pending;     /* bytes of an incomplete character */
    double flushed, looked; /* when it was flushed, and when the clock was read */
    int unlooked;           /* characters to print before the clock is read again */
    char last;              /* the last byte printed */
};

bool writer_open(Writer **opened, const TrilModel *model, const TrilSampling *sampling,
                 Error *err) {
    Writer *w;
    *opened = NULL;
    if (!memory_alloc(&w, 1, sizeof *w, "the writer", err)) return false;
    w->bytes = tril_tokenizer_has_bytes(tril_model_tokenizer(model));
    w->terminal = terminal_is(stdout);
    if (sampling && tril_writer_open(&w->text, model, sampling, err) != TRIL_OK) {
        writer_close(w);
        return false;
    }
    writer_begin(w);
    *opened = w;
    return true;
}

void writer_close(Writer *w) {
    if (!w) return;
    tril_writer_close(w->text);
    memory_free(w);
}

void writer_begin(Writer *w) {
    w->pending = (Utf8Stream){0};
    w->end = w->last = '\n';
}

/* ---- printing ---- */

/* Prints a whole character, or a byte of a byte model; anywhere but on a terminal, any text. */
static void put(Writer *w, const char *text, int length) {
    char whole[4 * UTF8_MAX];
    if (w->bytes && w->terminal) {
        length = utf8_stream(&w->pending, *text, whole);
        text = whole;
    }
    if (length == 0) return;
    if (w->terminal)
        escape_text(stdout, text, (size_t)length);
    else if (length == 1)
        putchar(*text);
    else
        fwrite(text, 1, (size_t)length, stdout);
    w->last = text[length - 1];
    if (w->unlooked-- > 0) return;
    double now = clock_seconds();
    w->unlooked = now - w->looked < 0.001 ? 16 : 0;
    w->looked = now;
    if (now - w->flushed < 0.02) return;
    fflush(stdout);
    w->flushed = now;
}

void writer_end_line(Writer *w) {
    if (w->last != '\n') putchar(w->last = '\n');
    fflush(stdout);
}

void writer_end_text(Writer *w) {
    if (w->terminal || !w->bytes) writer_end_line(w);
    fflush(stdout);
}

void writer_print(Writer *w, const char *text, size_t length) {
    uint32_t any;
    for (size_t i = 0; i < length;) {
        int bytes = !w->terminal ? (int)length
                    : w->bytes   ? 1
                                 : utf8_decode(text + i, length - i, &any);
        put(w, text + i, bytes);
        i += (size_t)bytes;
    }
    w->unlooked = 0; /* a text that was there already says nothing of the model's speed */
}

/* ---- writing ---- */

void writer_say(Writer *w, const char *text, size_t length) {
    writer_print(w, text, length);
    if (length == 0) return;
    tril_writer_read(w->text, text, length, &(TrilError){0});
    w->end = text[length - 1];
}

void writer_new_line(Writer *w) {
    writer_end_line(w);
    if (w->end != '\n' && tril_writer_read(w->text, "\n", 1, &(TrilError){0}) == TRIL_OK)
        w->end = '\n';
}

bool writer_continue(Writer *w, int length, const volatile sig_atomic_t *interrupted, Error *err) {
    for (int i = 0; i < length && !ferror(stdout) && !(interrupted && *interrupted); i++) {
        char text[UTF8_MAX];
        int bytes = tril_writer_write(w->text, text);
        if (bytes == 0)
            return fail(err, "the model's predictions are not finite numbers: its weights are too "
                             "large");
        w->end = text[bytes - 1];
        put(w, text, bytes);
        if (tril_writer_stopped(w->text)) break;
    }
    return true;
}

bool writer_knows(const TrilModel *model, const char *name, const char *text, size_t length,
                  Error *err) {
    size_t count;
    return tril_encode(tril_model_tokenizer(model), text, length, NULL, 0, &count, err) ==
               TRIL_OK ||
           message_of(err, name);
}
