/* folder_model.h - a model and its vocabulary, as a Format reads and writes them. */
#ifndef TRIL_EXTRAS_FORMATS_TESTS_FOLDER_MODEL_H
#define TRIL_EXTRAS_FORMATS_TESTS_FOLDER_MODEL_H

#include "tests/support.h"
#include "library/formats.h"

typedef struct {
    Model model;
    Vocab vocab;
} Trained;

static inline void trained_free(void *object) {
    Trained *trained = object;
    model_free(&trained->model);
    vocab_free(&trained->vocab);
}

static inline bool trained_load(Trained *trained, const char *path) {
    *trained = (Trained){.vocab = {0}};
    return format_to_read(path)->read(&trained->model, &trained->vocab, path, &err);
}

/* The model of a file or folder, which must be valid, until the end of the test. */
static inline Trained *trained_of(const char *path) {
    Trained *trained = scrap(1, sizeof *trained);
    assert_ok(trained_load(trained, path), err);
    at_end(trained_free, trained);
    return trained;
}

/* A new model that knows the characters of a text, or bytes, until the end of the test. */
static inline Trained *trained_new(const char *kind, int width, const char *text, size_t length,
                                   bool bytes) {
    Trained *trained = scrap(1, sizeof *trained);
    at_end(trained_free, trained);
    assert_ok(vocab_build(&trained->vocab, text, length, bytes, &err), err);
    Config config = {.V = trained->vocab.size, .T = 8, .L = 2, .NH = 2, .C = width};
    kind_set(&config, kind);
    assert_ok(model_build(&trained->model, &config, 3, &err), err);
    return trained;
}

static inline bool export_to(const Trained *trained, const char *path, const char *type) {
    const Format *format = format_to_write(path, type, &err);
    return format && format->write(&trained->model, &trained->vocab, type, path, &err);
}

#endif
