/* folder_model.h - a model and its vocabulary, as a Format reads and writes them. */
#ifndef TRIL_EXTRAS_FORMATS_TESTS_FOLDER_MODEL_H
#define TRIL_EXTRAS_FORMATS_TESTS_FOLDER_MODEL_H

#include "library/formats.h"

typedef struct {
    Model model;
    Vocab vocab;
} Trained;

static inline bool trained_load(Trained *trained, const char *path, Error *error) {
    *trained = (Trained){.vocab = {0}};
    return format_to_read(path)->read(&trained->model, &trained->vocab, path, error);
}

static inline void trained_free(Trained *trained) {
    model_free(&trained->model);
    vocab_free(&trained->vocab);
}

#endif
