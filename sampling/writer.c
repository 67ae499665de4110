#include "sampling/writer.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/terminal.h"

#include <stdio.h>
#include <string.h>

struct Writer {
    const Vocab *vocab;
    WriterOptions options;
    Generator generator;
    int32_t *order;      /* scratch for the sampler; owned */
    const float *logits; /* for the next character; NULL: nothing read yet */
    int32_t unread;      /* an id written but not yet read; negative: none */
    int32_t last_id;     /* the text's last id; negative: none */
    uint64_t stream, place;
    /* output is flushed, but not so often that a fast model waits for the terminal */
    bool terminal;      /* shows whole characters, escaped */
    Utf8Stream pending; /* bytes of an incomplete character */
    double flushed;
    char last; /* the last byte printed */
    /* the stop text */
    char *tail; /* the last stop_length bytes written; owned */
    size_t stop_length, tail_seen;
};

bool writer_open(Writer **opened, Model *model, const Vocab *vocab, const WriterOptions *options,
                 Error *err) {
    Writer *w;
    *opened = NULL;
    if (!memory_alloc(&w, 1, sizeof *w, "the writer", err)) return false;
    w->vocab = vocab;
    w->options = *options;
    w->terminal = terminal_is(stdout);
    w->stop_length = options->stop ? strlen(options->stop) : 0;
    if (!memory_alloc(&w->order, (size_t)vocab->size, sizeof *w->order, "sampling", err) ||
        !memory_alloc(&w->tail, w->stop_length, 1, "sampling", err) ||
        !generator_open(&w->generator, model, options->threads, options->precision, err)) {
        writer_close(w);
        return false;
    }
    run_pace(w->generator.run);
    writer_begin(w, 0);
    *opened = w;
    return true;
}

void writer_close(Writer *w) {
    if (!w) return;
    generator_close(&w->generator);
    memory_free(w->order);
    memory_free(w->tail);
    memory_free(w);
}

void writer_set_sampler(Writer *w, const Sampler *sampler) {
    w->options.sampler = *sampler;
}

void writer_begin(Writer *w, int stream) {
    generator_reset(&w->generator);
    w->logits = NULL;
    w->unread = w->last_id = -1;
    w->stream = (uint64_t)stream;
    w->place = 0;
    w->pending = (Utf8Stream){0};
    w->last = '\n';
}

/* ---- printing ---- */

static void put(Writer *w, const char *text, int length) {
    if (length == 0) return;
    if (w->terminal)
        escape_text(stdout, text, (size_t)length);
    else
        fwrite(text, 1, (size_t)length, stdout);
    w->last = text[length - 1];
    double now = clock_seconds();
    if (now - w->flushed < 0.02) return;
    fflush(stdout);
    w->flushed = now;
}

static void put_id(Writer *w, int id) {
    char text[4 * UTF8_MAX];
    if (w->vocab->bytes && w->terminal)
        put(w, text, utf8_stream(&w->pending, (char)w->vocab->codes[id], text));
    else
        put(w, text, vocab_text(w->vocab, id, text));
}

void writer_end_line(Writer *w) {
    if (w->last != '\n') put(w, "\n", 1);
    fflush(stdout);
}

void writer_end_text(Writer *w) {
    if (w->terminal || !w->vocab->bytes) writer_end_line(w);
    fflush(stdout);
}

/* ---- writing ---- */

static void read_ids(Writer *w, const int32_t *ids, size_t count) {
    if (w->unread >= 0) generator_feed(&w->generator, &w->unread, 1);
    w->unread = -1;
    w->logits = generator_feed(&w->generator, ids, count);
}

void writer_say(Writer *w, const int32_t *ids, size_t count) {
    for (size_t i = 0; i < count; i++) put_id(w, ids[i]);
    if (count == 0) return;
    read_ids(w, ids, count);
    w->last_id = ids[count - 1];
}

void writer_new_line(Writer *w) {
    int32_t end = vocab_id(w->vocab, '\n');
    writer_end_line(w);
    if (end < 0 || w->last_id < 0 || w->last_id == end) return;
    read_ids(w, &end, 1);
    w->last_id = end;
}

/* Appends a character's text to the tail. True if the tail is now the stop text. */
static bool stop_after(Writer *w, int id) {
    char text[UTF8_MAX];
    int length = w->stop_length > 0 ? vocab_text(w->vocab, id, text) : 0;
    for (int i = 0; i < length; i++) {
        memmove(w->tail, w->tail + 1, w->stop_length - 1);
        w->tail[w->stop_length - 1] = text[i];
        w->tail_seen++;
    }
    return w->stop_length > 0 && w->tail_seen >= w->stop_length &&
           memcmp(w->tail, w->options.stop, w->stop_length) == 0;
}

void writer_go_on(Writer *w, int length, const volatile sig_atomic_t *interrupted) {
    const int32_t start = vocab_start(w->vocab);
    w->tail_seen = 0;
    if (!w->logits) read_ids(w, &start, 1);
    for (int i = 0; i < length && !ferror(stdout) && !(interrupted && *interrupted); i++) {
        if (w->unread >= 0) w->logits = generator_feed(&w->generator, &w->unread, 1);
        w->unread = sampler_pick(&w->options.sampler, w->logits, w->vocab->size, w->stream,
                                 w->place++, w->order);
        w->last_id = w->unread;
        put_id(w, w->unread);
        if (stop_after(w, w->unread)) return;
    }
}
