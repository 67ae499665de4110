/* generate_texts.c - generates several texts at a time.
 *
 * Each thread has a group of texts, which it continues by a character in turn: so their rows share
 * each read of the weights, and threads never wait for each other within a pass. After every round
 * of some milliseconds the caller gets the characters that are ready, text after text. A text
 * depends only on its number, not on its group. */
#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/memory.h"
#include "base/threads.h"
#include "library/generate.h"
#include "model/generation.h"

#include <string.h>

/* SLOTS: the most texts in a group. AHEAD: texts in memory for each slot, so that a long one does
 * not stop the others. */
enum { SLOTS = 64, AHEAD = 4, KEPT_BYTES = 1 << 28 };
static const double round_seconds = 0.02;

/* A text that is not yet passed on. */
typedef struct {
    Buffer written; /* the last bytes; a stop text is looked for in them */
    size_t passed;  /* bytes of it that were passed on */
    size_t characters;
    bool ended, diverged; /* diverged: the next character could not be chosen */
} Text;

typedef struct {
    const Vocab *vocab;
    Sampler sampler;
    int32_t *prompt; /* owned */
    size_t prompt_count, length, count;
    const char *stop;
    size_t stop_length;
    Text *ring; /* [most]: text n is at n % most; owned */
    size_t most;
    size_t first;           /* the text that is passed on next */
    atomic_size_t next;     /* the text that begins next */
    double end;             /* of this round, in seconds of the clock */
    struct Worker *workers; /* [threads]; owned */
    int threads;
    Error err; /* set if a buffer lacked memory */
} Texts;

/* A thread with its group. Slots below `busy` of the list `slots` have a text. */
typedef struct Worker {
    Generator group;
    int *slots, busy; /* [size] */
    size_t *numbers;  /* [size]: by slot */
    double *scratch;  /* the sampler's */
    int size;
} Worker;

static Text *text_of(Texts *t, size_t number) {
    return &t->ring[number % t->most];
}

static bool worker_open(Worker *w, const Texts *t, const TrilModel *model, int size,
                        const TrilSampling *sampling, Precision precision, Error *err) {
    const size_t count = (size_t)size, V = (size_t)t->vocab->size;
    const Run *first = w == t->workers ? NULL : t->workers->group.run;
    w->size = size;
    if (!memory_alloc(&w->slots, count, sizeof *w->slots, "the texts", err) ||
        !memory_alloc(&w->numbers, count, sizeof *w->numbers, "the texts", err) ||
        !memory_alloc(&w->scratch, SAMPLER_SCRATCH * V, sizeof *w->scratch, "the texts", err) ||
        !generator_open(&w->group, to_read(model), size, 1, precision, first, err))
        return false;
    for (int i = 0; i < size; i++) w->slots[i] = i;
    return weigh_counts(w->group.run, sampling, err);
}

/* ---- in a thread ---- */

/* Sets *number to the next text to begin; false if there is none or too many are in memory. */
static bool take_number(Texts *t, size_t *number) {
    *number = atomic_load(&t->next);
    do
        if (*number >= t->count || *number >= t->first + t->most) return false;
    while (!atomic_compare_exchange_strong(&t->next, number, *number + 1));
    return true;
}

static void fill_slots(Texts *t, Worker *w) {
    for (size_t number; w->busy < w->size && take_number(t, &number); w->busy++) {
        int slot = w->slots[w->busy];
        Text *text = text_of(t, number);
        text->written.length = text->passed = text->characters = 0;
        text->ended = text->diverged = false;
        w->numbers[slot] = number;
        generator_begin(&w->group, slot);
        generator_append(&w->group, slot, t->prompt, t->prompt_count);
    }
}

static bool at_stop(const Texts *t, const Buffer *written) {
    size_t length = t->stop_length;
    return length > 0 && written->length >= length &&
           memcmp(written->bytes + written->length - length, t->stop, length) == 0;
}

/* Chooses the next character of a text by its logits. */
static void choose(const Texts *t, Worker *w, int slot, const float *logits, Text *text) {
    const int V = t->vocab->size;
    char one[UTF8_MAX];
    if (!are_finite(logits, (size_t)V)) {
        text->ended = text->diverged = true;
        return;
    }
    int32_t id =
        sampler_pick(&t->sampler, logits, V, w->numbers[slot], text->characters++, w->scratch);
    buffer_put(&text->written, one, (size_t)vocab_text(t->vocab, id, one));
    text->ended = text->characters == t->length || at_stop(t, &text->written);
    if (text->ended) return;
    generator_append(&w->group, slot, &id, 1);
}

/* The work of a round: continues the texts of a group until its time is over. */
static void write_round(void *argument, int index, int count) {
    Texts *t = argument;
    Worker *w = &t->workers[index];
    (void)count;
    const ptrdiff_t V = t->vocab->size;
    for (fill_slots(t, w); w->busy > 0; fill_slots(t, w)) {
        const float *logits = generator_read(&w->group, w->slots, w->busy);
        int busy = 0;
        for (int i = 0; i < w->busy; i++) {
            const int slot = w->slots[i];
            Text *text = text_of(t, w->numbers[slot]);
            if (generator_has_read(&w->group, slot)) choose(t, w, slot, logits + i * V, text);
            if (text->ended || text->written.failed) continue;
            w->slots[i] = w->slots[busy];
            w->slots[busy++] = slot;
        }
        w->busy = busy;
        if (clock_seconds() >= t->end) return;
    }
}

/* ---- passing on ---- */

/* Passes on the new characters of the first text; once it has ended, of the next one. */
static TrilStatus pass_on(Texts *t, TrilOnTexts on_text, void *user, Error *err) {
    for (; t->first < atomic_load(&t->next); t->first++) {
        Text *text = text_of(t, t->first);
        Buffer *written = &text->written;
        if (written->failed) {
            *err = t->err;
            return TRIL_NO_MEMORY;
        }
        const size_t more = written->length - text->passed;
        if ((more > 0 || text->ended) && !text->diverged &&
            on_text(t->first, written->bytes + text->passed, more, text->ended, user) != 0) {
            fail(err, "stopped in text %zu of %zu", t->first + 1, t->count);
            return TRIL_STOPPED;
        }
        size_t kept = min_size(written->length, t->stop_length);
        if (kept > 0) memmove(written->bytes, written->bytes + written->length - kept, kept);
        written->length = text->passed = kept;
        if (text->diverged) return diverged_model(err);
        if (!text->ended) break;
    }
    return TRIL_OK;
}

static TrilStatus write_texts(Texts *t, TrilOnTexts on_text, void *user, Error *err) {
    Threads *team;
    TrilStatus status = TRIL_OK;
    if (!threads_open(&team, t->threads, err)) return TRIL_NO_MEMORY;
    while (status == TRIL_OK && t->first < t->count) {
        t->end = clock_seconds() + round_seconds;
        int count = threads_begin(team, t->threads, write_round, t);
        write_round(t, 0, count);
        threads_end(team);
        status = pass_on(t, on_text, user, err);
    }
    threads_close(team);
    return status;
}

/* Sets *size to the number of texts in a group. All of them share each read of the weights, so the
 * more the better. But if the weights fit the L2 cache, a group has only as many texts as fit it,
 * too: its reads are several times as fast. */
static bool size_groups(const TrilModel *model, Precision precision, size_t count, int threads,
                        int *size, Error *err) {
    const size_t cache = memory_cache() / 4 * 3;
    RunOptions options = {.batch = 1,
                          .length = model->model.config.T,
                          .frozen = true,
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
    if (!read_sampler(&t->sampler, sampling, err) ||
        !precision_read(&precision, sampling->precision, err) ||
        !threads_wanted(sampling->threads, &t->threads, err) ||
        !size_groups(model, precision, t->count, t->threads, &size, err))
        return false;
    /* texts in memory have space for all their characters */
    size_t space = KEPT_BYTES / UTF8_MAX / t->length;
    t->most = (size_t)size * (size_t)t->threads * AHEAD;
    if (t->most > space) t->most = space > 0 ? space : 1;
    if (t->most > t->count) t->most = t->count;
    if (t->most < (size_t)t->threads) t->threads = (int)t->most;
    if (!memory_alloc(&t->ring, t->most, sizeof *t->ring, "the texts", err) ||
        !memory_alloc(&t->workers, (size_t)t->threads, sizeof *t->workers, "the texts", err))
        return false;
    for (int i = 0; i < t->threads; i++)
        if (!worker_open(&t->workers[i], t, model, size, sampling, precision, err)) return false;
    for (size_t i = 0; i < t->most; i++) t->ring[i].written = buffer_begin("the texts", &t->err);
    return true;
}

static void close_texts(Texts *t) {
    for (size_t i = 0; t->ring && i < t->most; i++) buffer_end(&t->ring[i].written);
    for (int i = t->workers ? t->threads : 0; i-- > 0;) {
        Worker *w = &t->workers[i];
        generator_close(&w->group);
        memory_free(w->slots);
        memory_free(w->numbers);
        memory_free(w->scratch);
    }
    memory_free(t->ring);
    memory_free(t->workers);
    memory_free(t->prompt);
}

TrilStatus tril_generate_texts(const TrilModel *model, const char *prompt, size_t length,
                               const TrilSampling *sampling, size_t count, const char *stop,
                               TrilOnTexts on_text, void *user, TrilError *error) {
    Error own = {0}, *err = error ? error : &own;
    if (!model || (length > 0 && !prompt) || !sampling || !on_text) return null_argument(error);
    Texts t = {.vocab = &model->vocab, .length = sampling->length, .count = count};
    t.stop = stop ? stop : "";
    t.stop_length = strlen(t.stop);
    if (t.length == 0) t.count = 0;
    TrilStatus status = model_read(model, error);
    if (status != TRIL_OK) return status;
    if (!encode_prompt(t.vocab, prompt, length, &t.prompt, &t.prompt_count, err))
        status = TRIL_TEXT;
    else if (t.count > 0 && !open_texts(&t, model, sampling, err))
        status = TRIL_ARGUMENT;
    else if (t.count > 0)
        status = write_texts(&t, on_text, user, err);
    close_texts(&t);
    model_leave(model);
    return outcome(status == TRIL_OK, status, err);
}
