/* logits.c - writes logits for extras/bench/peers/exchange.py to compare with another library.
 * `logits CHECKPOINT FILE` writes the logits after each character of a text as float32. Windows of
 * the context length lie end to end, and the last one may be shorter. */
#include "base/file.h"
#include "base/memory.h"
#include "library/handles.h"

#include <stdio.h>
#include <stdlib.h>

static bool write_logits(Trained *trained, const char *path, Error *err) {
    Model *model = &trained->checkpoint.model;
    char *text;
    size_t length, count;
    int32_t *ids = NULL;
    Run *run = NULL;
    RunOptions options = {
        .batch = 1, .length = model->config.T, .threads = 1, .precision = FLOAT32};
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = vocab_encode(&trained->vocab, text, length, &ids, &count, NULL, err) &&
              run_open(&run, model, &options, err);
    size_t T = (size_t)model->config.T, V = (size_t)model->config.V;
    for (size_t i = 0; ok && i < count; i += T) {
        size_t window = count - i < T ? count - i : T;
        const float *logits = run_forward(run, ids + i, 1, (int)window, 0);
        fwrite(logits, sizeof *logits, window * V, stdout);
    }
    run_close(run);
    memory_free(ids);
    memory_free(text);
    return ok && file_flush_output(err);
}

int main(int argc, char **argv) {
    Trained trained;
    Error err = {0};
    if (argc != 3) return 2;
    bool ok = trained_load(&trained, argv[1], &err);
    ok = ok && write_logits(&trained, argv[2], &err);
    trained_free(&trained);
    if (!ok) fprintf(stderr, "logits: %s\n", err.text);
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
