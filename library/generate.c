/* generate.c - the text that a model writes. */
#include "base/memory.h"
#include "library/handles.h"
#include "sampling/request.h"

#include <string.h>

TrilSampling tril_sampling(void) {
    char name[] = "sample", *command[] = {name, NULL};
    SampleRequest usual;
    Error none;
    sample_request_read(&usual, 1, command, &none);
    return (TrilSampling){.length = (size_t)usual.length,
                          .temperature = usual.sampler.temperature,
                          .top_k = usual.sampler.top_k,
                          .top_p = usual.sampler.top_p,
                          .seed = usual.sampler.seed,
                          .precision = sample_precision_name(usual.weights)};
}

/* The ranges are those of ./sample. */
static bool check_sampling(const TrilSampling *s, Precision *precision, int *threads, Error *err) {
    const double warm = 100;
    const char *name = s->precision;
    if (!name) return fail(err, "the precision is NULL");
    if (!sample_precision_read(precision, name))
        return fail(err, "the precision of the weights is f32, bf16 or int8, not '%.64s'", name);
    if (!(s->temperature >= 0 && s->temperature <= warm))
        return fail(err, "the temperature is 0 to %g, not %g", warm, s->temperature);
    if (s->top_k < 0) return fail(err, "top_k is 0 or more, not %d", s->top_k);
    if (!(s->top_p > 0 && s->top_p <= 1))
        return fail(err, "top_p is more than 0 and at most 1, not %g", s->top_p);
    return threads_wanted(s->threads, threads, err);
}

/* A text that is being written. */
typedef struct {
    const Vocab *vocab;
    Sampler sampler;
    Generator generator;
    int32_t *prompt; /* owned, as is the scratch of the sampler */
    int32_t *order;
    size_t prompt_length;
} Text;

static TrilStatus open_text(Text *text, const TrilModel *model, const char *prompt, size_t length,
                            const TrilSampling *s, Error *err) {
    Precision precision;
    int threads;
    *text =
        (Text){.vocab = vocab_of(model), .sampler = {s->temperature, s->top_k, s->top_p, s->seed}};
    if (!check_sampling(s, &precision, &threads, err) ||
        !memory_alloc(&text->order, (size_t)text->vocab->size, sizeof *text->order, "sampling",
                      err) ||
        !generator_open(&text->generator, to_read(model), threads, precision, err))
        return TRIL_ARGUMENT;
    run_pace(text->generator.run);
    return vocab_encode(text->vocab, "the prompt", prompt, length, &text->prompt,
                        &text->prompt_length, err)
               ? TRIL_OK
               : TRIL_TEXT;
}

static void close_text(Text *text) {
    generator_close(&text->generator);
    memory_free(text->prompt);
    memory_free(text->order);
}

static TrilStatus write_text(Text *text, size_t length, TrilOnText on_text, void *user,
                             Error *err) {
    const int32_t start = vocab_start(text->vocab);
    const float *logits = text->prompt_length > 0
                              ? generator_feed(&text->generator, text->prompt, text->prompt_length)
                              : generator_feed(&text->generator, &start, 1);
    for (size_t i = 0; i < length; i++) {
        char one[UTF8_MAX];
        int32_t id = sampler_pick(&text->sampler, logits, text->vocab->size, 0, i, text->order);
        int bytes = vocab_text(text->vocab, id, one);
        if (on_text(one, (size_t)bytes, user) != 0) {
            fail(err, "stopped after %zu characters of %zu", i + 1, length);
            return TRIL_STOPPED;
        }
        if (i + 1 < length) logits = generator_feed(&text->generator, &id, 1);
    }
    return TRIL_OK;
}

TrilStatus tril_generate(const TrilModel *model, const char *prompt, size_t length,
                         const TrilSampling *sampling, TrilOnText on_text, void *user,
                         TrilError *error) {
    Error err = {0};
    Text text;
    if (!given(model, "the model", &err) || !given(sampling, "the sampling", &err) ||
        (length > 0 && !given(prompt, "the prompt", &err)) ||
        (!on_text && !fail(&err, "there is no callback for the text")))
        return refusal(TRIL_ARGUMENT, &err, error);
    TrilStatus status = open_text(&text, model, length > 0 ? prompt : "", length, sampling, &err);
    if (status == TRIL_OK) status = write_text(&text, sampling->length, on_text, user, &err);
    close_text(&text);
    return status == TRIL_OK ? status : refusal(status, &err, error);
}
