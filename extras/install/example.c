/* example.c - trains a small GPT on a text, and lets it write.
 *
 *     cc example.c $(pkg-config --cflags --libs tril) -o example && ./example FILE
 */
#include <stdio.h>
#include <stdlib.h>
#include <tril.h>

static char *read_text(const char *path, size_t *length) {
    enum { MOST = 1 << 24 };
    char *text = malloc(MOST);
    FILE *file = path ? fopen(path, "rb") : NULL;
    *length = text && file ? fread(text, 1, MOST, file) : 0;
    if (file) fclose(file);
    return text;
}

static TrilStatus train(TrilTraining *training, TrilError *error) {
    TrilProgress now = tril_training_progress(training);
    while (now.step < now.steps) {
        const TrilStatus status = tril_training_step(training, error);
        if (status != TRIL_OK) return status;
        now = tril_training_progress(training);
        if (now.step % 20 == 0) printf("step %d of %d: loss %.3f\n", now.step, now.steps, now.loss);
    }
    return TRIL_OK;
}

static int show_text(size_t number, const char *text, size_t length, bool ended, void *user) {
    (void)number, (void)ended;
    return fwrite(text, 1, length, user) != length;
}

int main(int argc, char **argv) {
    size_t length;
    char *text = read_text(argc > 1 ? argv[1] : NULL, &length);
    TrilError error;
    TrilTokenizer *tokenizer = NULL;
    TrilModel *model = NULL;
    TrilText *made = NULL;
    TrilTraining *training = NULL;
    TrilOptions options = tril_options();
    options.rung = "gpt";
    options.width = options.context = 32;
    TrilSampling sampling = tril_sampling();
    double nats;
    options.steps = 100;
    sampling.length = 200;
    int bad = tril_tokenizer_make(&tokenizer, text, length, &error) ||
              tril_model_make(&model, tokenizer, &options, &error) ||
              tril_text_make(&made, tokenizer, text, length, options.held_out, &error) ||
              tril_training_open(&training, model, made, &options, &error) ||
              train(training, &error) ||
              tril_training_evaluate(training, 0, NULL, NULL, &nats, &error);
    if (!bad) printf("held-out loss: %.3f nats per character\n", nats);
    bad = bad || tril_generate(model, "", 0, &sampling, 1, show_text, stdout, &error);
    tril_training_close(training);
    tril_text_free(made);
    tril_model_free(model);
    tril_tokenizer_free(tokenizer);
    free(text);
    if (bad) fprintf(stderr, "example: %s\n", error.text);
    return bad ? EXIT_FAILURE : EXIT_SUCCESS;
}
