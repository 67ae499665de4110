/* example.c - trains a small GPT on a text, and lets it write:
 * cc example.c $(pkg-config --cflags --libs tril) -o example && ./example FILE */
#include <stdio.h>
#include <stdlib.h>
#include <tril.h>

static char text[1 << 24]; /* of a longer file, the beginning */

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

static int show_text(size_t number, const char *written, size_t length, bool ended, void *user) {
    (void)number, (void)ended;
    return fwrite(written, 1, length, user) != length;
}

int main(int argc, char **argv) {
    FILE *file = argc == 2 ? fopen(argv[1], "rb") : NULL;
    if (!file) {
        fprintf(stderr, "usage: %s FILE, which can be read\n", argv[0]);
        return 2;
    }
    const size_t length = fread(text, 1, sizeof text, file);
    fclose(file);

    TrilError error;
    TrilTokenizer *tokenizer = NULL;
    TrilModel *model = NULL;
    TrilText *made = NULL;
    TrilTraining *training = NULL;
    TrilOptions options = tril_options();
    options.rung = "gpt";
    options.width = options.context = 32;
    options.steps = 100;
    TrilSampling sampling = tril_sampling();
    sampling.length = 200;
    double nats;
    int bad = tril_tokenizer_make(&tokenizer, text, length, &error) ||
              tril_model_make(&model, tokenizer, &options, &error) ||
              tril_text_make(&made, tokenizer, text, length, options.held_out, &error) ||
              tril_training_open(&training, model, made, &options, &error) ||
              train(training, &error) ||
              tril_training_evaluate(training, 0, NULL, NULL, &nats, &error);
    if (!bad) printf("held-out loss: %.3f nats per character\n", nats);
    bad = bad || tril_generate(model, "", 0, &sampling, 1, show_text, stdout, &error);
    if (bad) fprintf(stderr, "example: %s\n", error.text);
    tril_training_close(training);
    tril_text_free(made);
    tril_model_free(model);
    tril_tokenizer_free(tokenizer);
    return bad;
}
