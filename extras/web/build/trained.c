/* trained.c - trains the models that are built into the page, with fixed seeds, and prints them as
 * one file.
 *
 * trained TEXT prints a line of JSON, an array with an object for each rung: its number, the bytes
 * of its model, its sizes, the step with the lowest loss, the steps and bytes of earlier models,
 * and the curve of losses until then; then the models, one after the other. Weights are rounded to
 * 8 bits, of earlier models to 6, and a power of two for each tensor, and the bytes of the whole
 * are in four planes: first those at 0, 4, 8 and so on, then those at 1, 5, 9 ... So the file
 * compresses to about a byte a weight. */
#include "library/tril.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STEPS = 3000, EVALUATIONS = 60, PATIENCE = 6 /* evaluations */, MOST_TEXT = 1 << 20 };

/* When the head begins to look for letters. */
enum { EARLIER = 2 };
static const int earlier[EARLIER] = {50, 200};

static char text[MOST_TEXT];
static TrilError error;

static void need(TrilStatus status) {
    if (status == TRIL_OK) return;
    fprintf(stderr, "trained: %s\n", error.text);
    exit(1);
}

/* Rounds the weights to -levels to levels times a power of two. */
static void round_weights(TrilModel *model, float levels) {
    TrilTensor tensor;
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++) {
        const size_t count = (size_t)tensor.rows * (size_t)tensor.columns;
        float most = 0;
        for (size_t n = 0; n < count; n++) most = fmaxf(most, fabsf(tensor.data[n]));
        const float unit = most > 0 ? exp2f(ceilf(log2f(most / levels))) : 1;
        for (size_t n = 0; n < count; n++) tensor.data[n] = rintf(tensor.data[n] / unit) * unit;
    }
}

/* Appends the bytes of a file to `to`. Returns their number. */
static size_t append(FILE *to, const char *path) {
    char bytes[4096];
    size_t count, sum = 0;
    FILE *from = fopen(path, "rb");
    while (from && (count = fread(bytes, 1, sizeof bytes, from)) > 0)
        sum += fwrite(bytes, 1, count, to);
    if (from) fclose(from);
    return sum;
}

/* Appends the model of a file, rounded. Returns its bytes. */
static size_t append_rounded(const char *path, float levels, FILE *models) {
    TrilModel *model;
    need(tril_model_load(&model, path, &error));
    round_weights(model, levels);
    need(tril_model_save(model, path, &error));
    tril_model_free(model);
    return append(models, path);
}

/* Trains a rung. Appends its object to `json` and its rounded model to `models`. */
static void train(int rung, size_t length, const char *path, FILE *json, FILE *models) {
    TrilOptions options = tril_options();
    TrilTokenizer *tokenizer;
    TrilText *whole;
    TrilModel *model;
    TrilTraining *training;
    double lowest = INFINITY, losses[EVALUATIONS + 1];
    int last = 0; /* the evaluation with the lowest loss */
    char kept[128] = "";
    size_t kept_length = 0;
    options.rung = tril_rung(rung);
    options.layers = 2, options.heads = 4, options.width = 32, options.context = 64;
    options.batch = 16, options.steps = STEPS, options.dropout = 0, options.precision = "f32";
    options.threads = 1;
    if (!strcmp(options.rung, "gpt"))
        options.learning_rate = 0.005; /* the usual rate suits wider ones */
    need(tril_tokenizer_make(&tokenizer, text, length, &error));
    need(tril_text_make(&whole, tokenizer, text, length, options.held_out, &error));
    need(tril_model_make(&model, tokenizer, &options, &error));
    need(tril_training_open(&training, model, whole, &options, &error));
    for (int n = 0; n <= EVALUATIONS && n - last <= PATIENCE; n++) {
        for (int i = 0; n > 0 && i < STEPS / EVALUATIONS; i++)
            need(tril_training_step(training, NULL, &error));
        need(tril_training_evaluate(training, 0, &losses[n], &error));
        if (losses[n] >= lowest) continue;
        lowest = losses[n];
        last = n;
        for (int i = 0; i < EARLIER && !strcmp(options.rung, "head"); i++)
            if (n * STEPS / EVALUATIONS == earlier[i]) {
                need(tril_model_save(model, path, &error));
                kept_length += (size_t)snprintf(kept + kept_length, sizeof kept - kept_length,
                                                "%s[%d,%zu]", kept_length > 0 ? "," : "",
                                                earlier[i], append_rounded(path, 31, models));
            }
        need(tril_model_save(model, path, &error));
    }
    tril_training_close(training);
    fprintf(json,
            "%s{\"rung\":%d,\"bytes\":%zu,\"step\":%d,\"layers\":%g,\"heads\":%g,\"width\":%g,"
            "\"context\":%g,\"batch\":%g,\"parameters\":%zu,\"earlier\":[%s],\"curve\":[",
            rung > 0 ? "," : "[", rung, append_rounded(path, 127, models),
            last * STEPS / EVALUATIONS, options.layers, options.heads, options.width,
            options.context, options.batch, tril_model_parameters(model), kept);
    for (int n = 0; n <= last; n++)
        fprintf(json, "%s[%d,%.4f]", n > 0 ? "," : "", n * STEPS / EVALUATIONS, losses[n]);
    fputs("]}", json);
    tril_model_free(model);
    tril_text_free(whole);
    tril_tokenizer_free(tokenizer);
}

int main(int argc, char **argv) {
    char *json_text, *models_text;
    size_t json_length, models_length;
    FILE *in = argc == 3 ? fopen(argv[1], "rb") : NULL;
    if (!in) {
        fputs("usage: trained TEXT MODEL; writes models to MODEL meanwhile\n", stderr);
        return 2;
    }
    const size_t length = fread(text, 1, sizeof text, in);
    FILE *json = open_memstream(&json_text, &json_length);
    FILE *models = open_memstream(&models_text, &models_length);
    fclose(in);
    for (int rung = 0; tril_rung(rung); rung++) train(rung, length, argv[2], json, models);
    fclose(models);
    fputs("]\n", json);
    fclose(json);
    remove(argv[2]);
    const size_t all = json_length + models_length;
    for (size_t plane = 0; plane < 4; plane++)
        for (size_t i = plane; i < (all + 3) / 4 * 4; i += 4)
            putchar(i < json_length ? json_text[i] : i < all ? models_text[i - json_length] : 0);
    return 0;
}
