/* ranks.c - a run that processes share, through the library alone: for extras/mpi/tests/test.
 *
 *     mpirun -n 2 processes TEXT MODEL
 *
 * Trains like the ./train that wrote MODEL there. Fails unless the weights have the same bits, and
 * if a text whose ids change their order is read in the old one. */
#include "base/file.h"
#include "base/memory.h"
#include "library/tril.h"

#include <stdio.h>
#include <stdlib.h>

static int failed(const char *what) {
    fprintf(stderr, "processes: %s\n", what);
    return EXIT_FAILURE;
}

/* The work of the first process. */
static int train(const char *path, const char *model_path) {
    TrilOptions options = tril_options();
    options.layers = options.heads = 2;
    options.width = options.context = 32;
    TrilError error = {""};
    TrilTokenizer *tokenizer = NULL;
    TrilModel *model = NULL, *expected = NULL;
    TrilText *made = NULL, *other = NULL;
    double nats[3] = {0};
    TrilTraining *training = NULL;
    Error err;
    size_t length;
    char *text;
    if (!file_read(path, &text, &length, &err)) return failed(err.text);
    options.steps = 60;
    options.batch = 10;
    options.dropout = 0.1;
    options.precision = "f32";
    int bad = tril_model_load(&expected, model_path, &error) ||
              tril_tokenizer_make(&tokenizer, text, length, &error) ||
              tril_model_make(&model, tokenizer, &options, &error) ||
              tril_text_make(&made, tokenizer, text, length, options.held_out, &error) ||
              tril_training_open(&training, model, made, &options, &error) ||
              tril_training_run(training, NULL, NULL, &error);
    if (!bad && tril_model_digest(model) != tril_model_digest(expected)) {
        snprintf(error.text, sizeof error.text, "its weights differ from those in %s", model_path);
        bad = 1;
    }
    tril_training_close(training);
    bad = bad || tril_text_make(&other, tokenizer, text, length / 2, 0.1, &error);
    for (int i = 0; i < 3 && !bad; i++)
        bad = tril_text_evaluate(i == 1 ? other : made, model, 0, 0, 10, 1, NULL, NULL, &nats[i],
                                 &error);
    if (!bad && nats[0] != nats[2]) {
        snprintf(error.text, sizeof error.text, "held-out %f, then %f", nats[0], nats[2]);
        bad = 1;
    }
    tril_text_free(other);
    tril_text_free(made);
    tril_model_free(model);
    tril_model_free(expected);
    tril_tokenizer_free(tokenizer);
    memory_free(text);
    return bad ? failed(error.text) : EXIT_SUCCESS;
}

int main(int argc, char **argv) {
    TrilError error;
    int number, status = EXIT_SUCCESS;
    if (argc != 3) return failed("expects two arguments: a text and a model");
    if (tril_processes_join(&number, &error) != TRIL_OK)
        status = number == 0 ? failed(error.text) : EXIT_FAILURE;
    else if (number == 0)
        status = train(argv[1], argv[2]);
    else
        tril_processes_serve();
    tril_processes_leave();
    return status;
}
