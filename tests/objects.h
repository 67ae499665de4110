/* objects.h - for tests of the library: options in one expression, and objects that are released at
 * the end of the test. */
#ifndef TRIL_OBJECTS_H
#define TRIL_OBJECTS_H

#include "tests/support.h"
#include "base/file.h"
#include "library/programs.h"

static TrilError error; /* of the last call that failed */

/* Fails the test unless the call succeeds. */
#define must(call) assert_ok((call) == TRIL_OK, error)

/* The defaults with these sizes. */
static inline TrilOptions sized(const char *rung, int layers, int heads, int width, int context) {
    TrilOptions options = tril_options();
    options.rung = rung;
    options.layers = layers;
    options.heads = heads;
    options.width = width;
    options.context = context;
    return options;
}

/* ---- objects ---- */

RELEASE(model, tril_model_free)
RELEASE(tokenizer, tril_tokenizer_free)
RELEASE(text, tril_text_free)
RELEASE(training, tril_training_close)
RELEASE(reading, tril_reading_close)
RELEASE(writer, tril_writer_close)

/* A tokenizer of the characters of a text; NULL: of bytes. */
static inline TrilTokenizer *tokenizer_of(const char *text) {
    TrilTokenizer *tokenizer;
    must(tril_tokenizer_make(&tokenizer, text, text ? strlen(text) : 0, &error));
    at_end(release_tokenizer, tokenizer);
    return tokenizer;
}

static inline TrilText *text_of(const TrilTokenizer *tokenizer, const char *characters,
                                size_t length, double held_out) {
    TrilText *text;
    must(tril_text_make(&text, tokenizer, characters, length, held_out, &error));
    at_end(release_text, text);
    return text;
}

static inline TrilModel *model_of(const TrilTokenizer *tokenizer, const TrilOptions *sizes) {
    TrilModel *model;
    must(tril_model_make(&model, tokenizer, sizes, &error));
    at_end(release_model, model);
    return model;
}

/* Adds noise to all weights: as they start, biases are 0 and norms change nothing. */
static inline void shake(TrilModel *model) {
    TrilTensor tensor;
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++) {
        size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
        float *noise = random_floats(7 + (uint64_t)i, count);
        for (size_t j = 0; j < count; j++) tensor.data[j] += 0.3f * noise[j];
    }
}

/* The model of a file, or of the folder of a run. */
static inline TrilModel *load_model(const char *path) {
    TrilModel *model;
    const char *file =
        file_kind(path) == FILE_FOLDER ? formatted("%s/model.safetensors", path) : path;
    must(tril_model_load(&model, file, &error));
    at_end(release_model, model);
    return model;
}

static inline TrilTraining *begin_on(TrilModel *model, const TrilText *text,
                                     const TrilOptions *options) {
    TrilTraining *training;
    must(tril_training_open(&training, model, text, options, &error));
    at_end(release_training, training);
    return training;
}

/* Takes all steps that are left. */
static inline TrilStatus take_steps(TrilTraining *training) {
    TrilStatus status = TRIL_OK;
    for (TrilProgress p = tril_training_progress(training); p.step < p.steps && status == TRIL_OK;
         p = tril_training_progress(training))
        status = tril_training_step(training, &error);
    return status;
}

static inline TrilReading *read_with(const TrilModel *model, const char *text, size_t length,
                                     bool lines, int threads) {
    TrilReading *reading;
    must(tril_reading_open(&reading, model, text, length, lines, threads, &error));
    at_end(release_reading, reading);
    return reading;
}

static inline TrilWriter *write_with(const TrilModel *model, const TrilSampling *sampling) {
    TrilWriter *writer;
    must(tril_writer_open(&writer, model, sampling, &error));
    at_end(release_writer, writer);
    return writer;
}

/* ---- numbers of a reading ---- */

static inline double at(const TrilArray *array, int t, int column) {
    return (double)array->data[(size_t)t * array->row + (size_t)column];
}

/* The score of tokens t and s in a head, before it is scaled. Heads share keys and values. */
static inline double score(const TrilLine *line, int head, int t, int s) {
    const TrilArray *q = &line->inputs[0], *k = &line->inputs[1];
    const int heads = line->heads > 0 ? line->heads : 1, size = q->width / heads;
    const int shared = head / (heads / (k->width / size));
    double sum = 0;
    for (int i = 0; i < size; i++) sum += at(q, t, head * size + i) * at(k, s, shared * size + i);
    return sum;
}

#endif
