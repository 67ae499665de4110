/* generate.c - generates text: one, character by character, or many at a time. Each text grows in a
 * slot of a decoder, and depends only on its number, not on the texts beside it. */
#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/threads.h"
#include "library/handles.h"
#include "model/generation.h"

#include <limits.h>
#include <string.h>

/* ---- settings ---- */

/* Reading weights from memory takes most of the time of generation. int8 reads a quarter. */
TrilSampling tril_sampling(void) {
    return (TrilSampling){.length = 500,
                          .temperature = 0.8,
                          .top_p = 1,
                          .counts = 1,
                          .seed = 1337,
                          .precision = "int8"};
}

/* Sets *sampler to the settings of `s`. Fails for one outside the ranges of ./sample. */
static bool read_sampler(Sampler *sampler, const TrilSampling *s, Error *err) {
    *sampler = (Sampler){s->temperature, s->top_k, s->top_p, s->seed, NULL};
    return sampler_prepare(sampler, err) && in_range(s->temperature, 0, 100, "temperature", err) &&
           in_range(s->top_k, 0, INT_MAX, "top_k", err) && in_range(s->top_p, 0, 1, "top_p", err) &&
           in_range(s->counts, 0, 1, "counts", err) &&
           (s->top_p > 0 || fail(err, "top_p: 0 leaves no character to choose"));
}

TrilStatus tril_probabilities(const TrilSampling *sampling, const float *logits, int size,
                              double *p, Error *err) {
    Sampler sampler;
    double *scratch;
    if (!sampling || !logits || !p || !err) return null_argument(err);
    if (!read_sampler(&sampler, sampling, err) ||
        !in_range(size, 1, MAX_VOCABULARY, "the size of the vocabulary", err) ||
        !memory_alloc(&scratch, SAMPLER_SCRATCH * (size_t)size, sizeof *scratch, "sampling", err))
        return err->status;
    sampler_probabilities(&sampler, logits, size, p, scratch);
    memory_free(scratch);
    return TRIL_OK;
}

/* ---- the decoder ---- */

enum { SLOTS = 64 }; /* the most texts that share a decoder */

typedef struct {
    uint64_t number, place; /* of the text; of its next choice: the characters written so far */
    size_t matched;         /* bytes of the stop text with which they end */
    bool stopped;           /* they end with all of it */
    bool diverged;          /* the next character could not be chosen */
    Buffer written;         /* of many texts: characters that were not passed on */
} Text;

/* Continues texts, each in its slot. Owns all but the vocabulary, which is the model's, and the
 * texts. */
typedef struct {
    Generator generator;
    const Vocab *vocab;
    Sampler sampler;
    double *scratch;    /* the sampler's */
    char *stop;         /* the stop text; empty if there is none */
    Text *texts[SLOTS]; /* by slot; NULL in a free one */
} Decoder;

/* Sets how characters are chosen. */
static bool decoder_set(Decoder *d, const TrilSampling *s, Error *err) {
    Run *run = d->generator.run;
    Sampler sampler;
    if (!read_sampler(&sampler, s, err)) return false;
    if (s->counts != 1 && !run_model(run)->ngram)
        return fail(err, "counts: %g has no effect on %s, which has no counts; leave it out",
                    s->counts, run_model(run)->config.model);
    d->sampler = sampler;
    run_weigh_counts(run, s->counts);
    return true;
}

/* Opens a decoder, which is all zero, with free slots. Uses the packed weights of `first`, unless
 * it is NULL. decoder_close releases it, also after a failure. */
static bool decoder_open(Decoder *d, const TrilModel *model, const TrilSampling *s, int slots,
                         const Decoder *first, Error *err) {
    const size_t V = (size_t)model->vocab.size;
    Precision precision;
    int threads;
    d->vocab = &model->vocab;
    return precision_read(&precision, s->precision, err) &&
           threads_wanted(s->threads, &threads, err) &&
           memory_copy(&d->stop, s->stop ? s->stop : "", err) &&
           memory_alloc(&d->scratch, SAMPLER_SCRATCH * V, sizeof *d->scratch, "sampling", err) &&
           generator_open(&d->generator, to_read(model), slots, first ? 1 : threads, precision,
                          first ? first->generator.run : NULL, err) &&
           decoder_set(d, s, err);
}

static void decoder_close(Decoder *d) {
    generator_close(&d->generator);
    memory_free(d->stop);
    memory_free(d->scratch);
}

/* Returns how many bytes of the stop text a text ends with after `byte`, if before it ended with
 * `matched` of them, fewer than all. */
static size_t match(const char *stop, size_t matched, char byte) {
    size_t now = *stop ? matched + 1 : 0;
    while (now > 0 &&
           (stop[now - 1] != byte || memcmp(stop, stop + matched + 1 - now, now - 1) != 0))
        now--;
    return now;
}

/* Chooses the next character of a text that has been read to its end, and appends it. Returns its
 * number of bytes, or 0 if the predictions are not finite numbers. */
static int decoder_write(Decoder *d, int slot, char character[UTF8_MAX]) {
    const int V = d->vocab->size;
    const float *logits = generator_logits(&d->generator, slot);
    Text *text = d->texts[slot];
    text->diverged = !floats_finite(logits, (size_t)V);
    if (text->diverged) return 0;
    const int32_t id =
        sampler_pick(&d->sampler, logits, V, text->number, text->place++, d->scratch);
    const int bytes = vocab_text(d->vocab, id, character);
    generator_append(&d->generator, slot, &id, 1);
    for (int i = 0; i < bytes; i++) text->matched = match(d->stop, text->matched, character[i]);
    text->stopped = text->matched > 0 && !d->stop[text->matched];
    if (text->stopped) text->matched = 0;
    return bytes;
}

/* ---- one text ---- */

struct TrilWriter {
    const TrilModel *model; /* borrowed */
    Uses uses;
    Decoder decoder; /* of one slot */
    Text text;
};

/* Begins to use the writer and to read its model, until `leave`, which returns `ok`. */
static bool enter(TrilWriter *w, Error *err) {
    if (!use_begin(&w->uses, true, "writer", err)) return false;
    if (model_lock_shared(w->model, err)) return true;
    use_end(&w->uses);
    return false;
}

static bool leave(TrilWriter *w, bool ok) {
    model_unlock(w->model, ok);
    use_end(&w->uses);
    return ok;
}

void tril_writer_close(TrilWriter *w) {
    if (!w) return;
    decoder_close(&w->decoder);
    memory_free(w);
}

TrilStatus tril_writer_open(TrilWriter **writer, const TrilModel *model,
                            const TrilSampling *sampling, Error *err) {
    TrilWriter *w = NULL;
    if (writer) *writer = NULL;
    if (!writer || !model || !sampling || !err) return null_argument(err);
    const bool ok =
        model_lock_shared(model, err) &&
        model_unlock(model, memory_alloc(&w, 1, sizeof *w, "the writer", err) &&
                                decoder_open(&w->decoder, model, sampling, 1, NULL, err));
    if (ok) {
        w->model = model;
        w->decoder.texts[0] = &w->text;
        *writer = w;
    } else {
        tril_writer_close(w);
    }
    return result(ok, err);
}

TrilStatus tril_writer_set(TrilWriter *writer, const TrilSampling *sampling, Error *err) {
    if (!writer || !sampling || !err) return null_argument(err);
    return result(enter(writer, err) && leave(writer, decoder_set(&writer->decoder, sampling, err)),
                  err);
}

static bool read_text(TrilWriter *writer, const char *text, size_t length, Error *err) {
    Decoder *d = &writer->decoder;
    int32_t *ids;
    size_t count;
    if (!vocab_encode(d->vocab, text, length, &ids, &count, NULL, err)) return false;
    generator_append(&d->generator, 0, ids, count);
    writer->text.matched = 0;
    writer->text.stopped = false;
    memory_free(ids);
    return true;
}

TrilStatus tril_writer_append(TrilWriter *writer, const char *text, size_t length, Error *err) {
    if (!writer || (length > 0 && !text) || !err) return null_argument(err);
    return result(length == 0 ||
                      (enter(writer, err) && leave(writer, read_text(writer, text, length, err))),
                  err);
}

int tril_writer_write(TrilWriter *writer, char text[UTF8_MAX]) {
    Decoder *d = &writer->decoder;
    const int32_t start = vocab_start(d->vocab);
    if (!enter(writer, &(Error){0})) return 0;
    if (d->generator.texts[0].length == 0) generator_append(&d->generator, 0, &start, 1);
    while (!generator_logits(&d->generator, 0)) generator_read(&d->generator);
    const int bytes = decoder_write(d, 0, text);
    leave(writer, true);
    return bytes;
}

bool tril_writer_stopped(const TrilWriter *writer) {
    return writer->text.stopped;
}

/* ---- many texts ----
 *
 * Each thread has a decoder with some of the texts: their rows share each read of the weights, and
 * threads never wait for each other within a pass. After every round of some milliseconds the
 * caller gets the characters that are ready, text after text. */

/* AHEAD: texts in memory for each slot, so that a long one does not stop the others. */
enum { AHEAD = 4, KEPT_BYTES = 1 << 28 };
static const double round_seconds = 0.02;

typedef struct {
    int32_t *prompt; /* owned */
    size_t prompt_count, length, count;
    Text *ring; /* [most]: text n is at n % most; owned */
    size_t most;
    size_t first;       /* the text that is passed on next */
    atomic_size_t next; /* the text that begins next */
    double end;         /* of this round, in seconds of the clock */
    Decoder *decoders;  /* [threads]; owned */
    int threads;
    Error err; /* set if a buffer lacked memory */
} Texts;

/* Begins the next text in a slot. Returns false if there is none, or if too many are in memory. */
static bool begin_text(Texts *t, Decoder *d, int slot) {
    size_t number = atomic_load(&t->next);
    do
        if (number >= min_size(t->count, t->first + t->most)) return false;
    while (!atomic_compare_exchange_strong(&t->next, &number, number + 1));
    Text *text = d->texts[slot] = &t->ring[number % t->most];
    *text = (Text){.number = number, .written = text->written};
    generator_append(&d->generator, slot, t->prompt, t->prompt_count);
    return true;
}

static bool has_ended(const Texts *t, const Text *text) {
    return text->diverged || text->stopped || text->place == t->length;
}

/* Writes the next character of a text. Frees its slot after the last one. */
static void continue_text(const Texts *t, Decoder *d, int slot) {
    Text *text = d->texts[slot];
    char character[UTF8_MAX];
    buffer_put(&text->written, character, (size_t)decoder_write(d, slot, character));
    if (!has_ended(t, text) && !text->written.failed) return;
    d->texts[slot] = NULL;
    generator_begin(&d->generator, slot);
}

/* The work of a round: continues the texts of a thread until its time is over. */
static void write_round(void *argument, int index, int count) {
    Texts *t = argument;
    Decoder *d = &t->decoders[index];
    (void)count;
    do {
        bool any = false;
        for (int i = 0; i < d->generator.slots; i++)
            any = d->texts[i] || begin_text(t, d, i) || any;
        if (!any) return;
        generator_read(&d->generator);
        for (int i = 0; i < d->generator.slots; i++)
            if (generator_logits(&d->generator, i)) continue_text(t, d, i);
    } while (clock_seconds() < t->end);
}

/* Passes on the new characters of the first text; once it has ended, of the next one. */
static bool pass_on(Texts *t, TrilOnText on_text, void *user, Error *err) {
    for (; t->first < atomic_load(&t->next); t->first++) {
        Text *text = &t->ring[t->first % t->most];
        const size_t more = text->written.length;
        const bool ended = has_ended(t, text);
        if (text->written.failed) {
            *err = t->err;
            return false;
        }
        if (text->diverged) return fail_diverged(err);
        if ((more > 0 || ended) && on_text(t->first, text->written.bytes, more, ended, user) != 0)
            return fail_as(TRIL_STOPPED, err, "stopped in text %zu of %zu", t->first + 1, t->count);
        text->written.length = 0;
        if (!ended) break;
    }
    return true;
}

static bool write_texts(Texts *t, TrilOnText on_text, void *user, Error *err) {
    Threads *team;
    bool ok = true;
    if (!threads_open(&team, t->threads, err)) return false;
    while (ok && t->first < t->count) {
        t->end = clock_seconds() + round_seconds;
        int count = threads_begin(team, t->threads, write_round, t);
        write_round(t, 0, count);
        threads_end(team);
        ok = pass_on(t, on_text, user, err);
    }
    threads_close(team);
    return ok;
}

/* Sets *size to the number of slots of a decoder. Its texts share each read of the weights, so the
 * more the better. But if the weights fit the L2 cache, it has only as many slots as fit it, too:
 * reads are then several times as fast. */
static bool choose_slots(const TrilModel *model, Precision precision, size_t count, int threads,
                         int *size, Error *err) {
    const size_t cache = memory_cache() / 4 * 3;
    RunOptions options = {.batch = 1,
                          .length = model->model.config.T,
                          .threads = 1,
                          .precision = precision,
                          .slots = 1};
    RunMemory memory;
    size_t each = ceil_div(count, (size_t)threads);
    if (!run_estimate(&model->model.config, &options, &memory, err)) return false;
    const size_t activations = (size_t)memory.activations,
                 packed = (size_t)memory.weights - model->model.weights_size * sizeof(float);
    /* a quarter of the memory is read: half of the values, and one of two copies of the keys */
    size_t most = packed < cache ? (cache - packed) / (activations / 4) : SLOTS;
    most = most < 1 ? 1 : most > SLOTS ? SLOTS : most;
    if (most * activations > KEPT_BYTES) most = 1 + KEPT_BYTES / activations;
    *size = (int)min_size(each, most);
    return true;
}

static bool open_texts(Texts *t, const TrilModel *model, const TrilSampling *sampling, Error *err) {
    Precision precision;
    int size;
    if (!precision_read(&precision, sampling->precision, err) ||
        !threads_wanted(sampling->threads, &t->threads, err) ||
        !choose_slots(model, precision, t->count, t->threads, &size, err))
        return false;
    /* texts in memory have space for all their characters */
    const size_t space = 1 + KEPT_BYTES / UTF8_MAX / t->length;
    t->most = min_size(t->count, min_size((size_t)size * (size_t)t->threads * AHEAD, space));
    t->threads = (int)min_size((size_t)t->threads, t->most);
    if (!memory_alloc(&t->ring, t->most, sizeof *t->ring, "the texts", err) ||
        !memory_alloc(&t->decoders, (size_t)t->threads, sizeof *t->decoders, "the texts", err))
        return false;
    for (int i = 0; i < t->threads; i++)
        if (!decoder_open(&t->decoders[i], model, sampling, size, i > 0 ? t->decoders : NULL, err))
            return false;
    for (size_t i = 0; i < t->most; i++) t->ring[i].written = buffer_begin("the texts", &t->err);
    return true;
}

static void close_texts(Texts *t) {
    for (size_t i = 0; t->ring && i < t->most; i++) buffer_end(&t->ring[i].written);
    for (int i = t->decoders ? t->threads : 0; i-- > 0;) decoder_close(&t->decoders[i]);
    memory_free(t->ring);
    memory_free(t->decoders);
    memory_free(t->prompt);
}

TrilStatus tril_generate(const TrilModel *model, const char *prompt, size_t length,
                         const TrilSampling *sampling, size_t count, TrilOnText on_text, void *user,
                         Error *err) {
    if (!model || (length > 0 && !prompt) || !sampling || !on_text || !err)
        return null_argument(err);
    Texts t = {.length = sampling->length, .count = sampling->length > 0 ? count : 0};
    if (!model_lock_shared(model, err)) return err->status;
    const bool ok = vocab_prompt(&model->vocab, prompt, length, &t.prompt, &t.prompt_count, err) &&
                    (t.count == 0 ||
                     (open_texts(&t, model, sampling, err) && write_texts(&t, on_text, user, err)));
    close_texts(&t);
    return result(model_unlock(model, ok), err);
}
