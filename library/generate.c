/* generate.c - generates text, at once or character by character. */
#include "library/generate.h"
#include "base/memory.h"

#include <assert.h>
#include <limits.h>
#include <string.h>

/* Reading weights from memory takes most of the time of generation. int8 reads a quarter. */
TrilSampling tril_sampling(void) {
    return (TrilSampling){.length = 500,
                          .temperature = 0.8,
                          .top_p = 1,
                          .counts = 1,
                          .seed = 1337,
                          .precision = "int8"};
}

bool read_sampler(Sampler *sampler, const TrilSampling *s, Error *err) {
    *sampler = (Sampler){s->temperature, s->top_k, s->top_p, s->seed, NULL};
    return sampler_prepare(sampler, err) && in_range(s->temperature, 0, 100, "temperature", err) &&
           in_range(s->top_k, 0, INT_MAX, "top_k", err) && in_range(s->top_p, 0, 1, "top_p", err) &&
           in_range(s->counts, 0, 1, "counts", err) &&
           (s->top_p > 0 || fail(err, "top_p: 0 leaves no character to choose"));
}

TrilStatus tril_probabilities(const TrilSampling *sampling, const float *logits, int size,
                              double *p, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    Sampler sampler;
    double *scratch;
    if (!sampling || !logits || !p) return null_argument(error);
    if (!read_sampler(&sampler, sampling, err) ||
        !in_range(size, 1, MAX_VOCABULARY, "the size of the vocabulary", err) ||
        !memory_alloc(&scratch, SAMPLER_SCRATCH * (size_t)size, sizeof *scratch, "sampling", err))
        return failed(TRIL_ARGUMENT, err);
    sampler_probabilities(&sampler, logits, size, p, scratch);
    memory_free(scratch);
    return TRIL_OK;
}

bool weigh_counts(Run *run, const TrilSampling *s, Error *err) {
    const Model *model = run_model(run);
    run_weigh_counts(run, s->counts);
    return s->counts == 1 || model->ngram ||
           fail(err, "counts: %g has no effect on %s, which has no counts; leave it out", s->counts,
                model->config.model);
}

/* ---- character by character ---- */

bool encode_prompt(const Vocab *vocab, const char *text, size_t length, int32_t **ids,
                   size_t *count, Error *err) {
    if (!vocab_encode(vocab, text, length, ids, count, NULL, err)) return false;
    if (*count == 0) (*ids)[(*count)++] = vocab_start(vocab);
    return true;
}

struct TrilWriter {
    const TrilModel *model; /* borrowed */
    const Vocab *vocab;     /* the model's */
    Uses uses;
    Sampler sampler;
    Generator generator;
    double *scratch;        /* the sampler's; owned */
    const float *logits;    /* for the next character, once something is read */
    int32_t unread;         /* an id that was written but not yet read, or NO_ID */
    uint64_t number, place; /* the number of the text; that of the next choice in it */
};

/* Begins to use the writer and to read its model, until `leave`. */
static TrilStatus enter(TrilWriter *w, TrilError *error) {
    TrilStatus status = use_begin(&w->uses, true, "writer", error);
    if (status == TRIL_OK && (status = model_read(w->model, error)) != TRIL_OK) use_end(&w->uses);
    return status;
}

static void leave(TrilWriter *w) {
    model_leave(w->model);
    use_end(&w->uses);
}

void tril_writer_close(TrilWriter *w) {
    if (!w) return;
    generator_close(&w->generator);
    memory_free(w->scratch);
    memory_free(w);
}

TrilStatus tril_writer_open(TrilWriter **writer, const TrilModel *model,
                            const TrilSampling *sampling, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    TrilWriter *w = NULL;
    Precision precision;
    int threads;
    if (writer) *writer = NULL;
    if (!writer || !model || !sampling) return null_argument(error);
    TrilStatus status = model_read(model, error);
    if (status != TRIL_OK) return status;
    const size_t V = (size_t)model->vocab.size;
    bool ok = memory_alloc(&w, 1, sizeof *w, "the writer", err) &&
              read_sampler(&w->sampler, sampling, err) &&
              memory_alloc(&w->scratch, SAMPLER_SCRATCH * V, sizeof *w->scratch, "sampling", err) &&
              precision_read(&precision, sampling->precision, err) &&
              threads_wanted(sampling->threads, &threads, err) &&
              generator_open(&w->generator, to_read(model), 1, threads, precision, NULL, err) &&
              weigh_counts(w->generator.run, sampling, err);
    model_leave(model);
    if (ok) {
        w->model = model;
        w->vocab = &model->vocab;
        tril_writer_begin(w, 0);
        *writer = w;
    } else {
        tril_writer_close(w);
    }
    return outcome(ok, TRIL_ARGUMENT, err);
}

TrilStatus tril_writer_set(TrilWriter *writer, const TrilSampling *sampling, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    Sampler sampler;
    if (!writer || !sampling) return null_argument(error);
    TrilStatus status = enter(writer, error);
    if (status != TRIL_OK) return status;
    bool ok =
        read_sampler(&sampler, sampling, err) && weigh_counts(writer->generator.run, sampling, err);
    if (ok) writer->sampler = sampler;
    leave(writer);
    return outcome(ok, TRIL_ARGUMENT, err);
}

void tril_writer_begin(TrilWriter *w, uint64_t number) {
    if (enter(w, NULL) != TRIL_OK) return;
    generator_begin(&w->generator, 0);
    w->logits = NULL;
    w->unread = NO_ID;
    w->number = number;
    w->place = 0;
    leave(w);
}

static void feed(TrilWriter *w, const int32_t *ids, size_t count) {
    generator_append(&w->generator, 0, ids, count);
    while (!generator_has_read(&w->generator, 0))
        w->logits = generator_read(&w->generator, &(int){0}, 1);
}

/* Reads the last written character. */
static void catch_up(TrilWriter *w) {
    if (w->unread != NO_ID) feed(w, &w->unread, 1);
    w->unread = NO_ID;
}

TrilStatus tril_writer_read(TrilWriter *writer, const char *text, size_t length, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    int32_t *ids;
    size_t count;
    if (!writer || (length > 0 && !text)) return null_argument(error);
    if (length == 0) return TRIL_OK;
    if (!vocab_encode(writer->vocab, text, length, &ids, &count, NULL, err))
        return failed(TRIL_TEXT, err);
    TrilStatus status = TRIL_OK;
    if (count > 0 && (status = enter(writer, error)) == TRIL_OK) {
        catch_up(writer);
        feed(writer, ids, count);
        leave(writer);
    }
    memory_free(ids);
    return status;
}

int tril_writer_write(TrilWriter *w, char text[UTF8_MAX]) {
    const int V = w->vocab->size;
    int length = 0;
    if (enter(w, NULL) != TRIL_OK) return 0;
    catch_up(w);
    if (!w->logits) {
        const int32_t start = vocab_start(w->vocab);
        feed(w, &start, 1);
    }
    if (are_finite(w->logits, (size_t)V)) {
        w->unread = sampler_pick(&w->sampler, w->logits, V, w->number, w->place++, w->scratch);
        length = vocab_text(w->vocab, w->unread, text);
    }
    leave(w);
    return length;
}

/* ---- whole texts ---- */

TrilStatus tril_generate(const TrilModel *model, const char *prompt, size_t length,
                         const TrilSampling *sampling, TrilOnText on_text, void *user,
                         TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    TrilWriter *writer;
    if (!on_text) return null_argument(error);
    TrilStatus status = tril_writer_open(&writer, model, sampling, error);
    assert(status != TRIL_OK || writer);
    if (status == TRIL_OK) status = tril_writer_read(writer, prompt, length, error);
    for (size_t i = 0; status == TRIL_OK && i < sampling->length; i++) {
        char one[UTF8_MAX];
        const int bytes = tril_writer_write(writer, one);
        if (bytes == 0) {
            status = failed(diverged_model(err), err);
        } else if (on_text(one, (size_t)bytes, user) != 0) {
            fail(err, "stopped after %zu characters of %zu", i + 1, sampling->length);
            status = failed(TRIL_STOPPED, err);
        }
    }
    tril_writer_close(writer);
    return status;
}
