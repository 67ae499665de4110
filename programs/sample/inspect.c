#include "base/array.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/terminal.h"
#include "programs/common.h"
#include "programs/sample/sample.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the contents of a file ---- */

/* Prints a line if there is a value; a number that is not whole with at most six decimals. */
static void put(const char *name, const char *value) {
    if (!value || !*value) return;
    char *end;
    const double x = number_read(value, &end);
    printf("%-16s ", name);
    if (*end || !strchr(value, '.'))
        escape_print(stdout, value, strlen(value), "");
    else
        printf("%.10g", round(x * 1e6) / 1e6);
    putchar('\n');
}

/* Prints the vocabulary: its size, whether it is of bytes, and its characters. */
static void put_vocabulary(const TrilTokenizer *tokenizer) {
    const int32_t size = tokenizer->size;
    const bool bytes = tokenizer->bytes;
    printf("%-16s %d %s\n", "vocabulary", (int)size, bytes ? "byte values" : "characters");
    if (bytes) return;
    for (int32_t id = 0; id < size; id++) {
        char text[4];
        size_t length = 0;
        tril_decode(tokenizer, &id, 1, text, sizeof text, &length, &(TrilError){0});
        escape_print(stdout, text, length, "");
    }
    putchar('\n');
}

static void put_tensors(TrilModel *model) {
    TrilTensor tensor;
    puts("tensors");
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++) {
        printf("  %-44s %d", tensor.name, tensor.rows);
        if (tensor.rank == 2) printf(" x %d", tensor.columns);
        putchar('\n');
    }
}

void inspect_file(TrilModel *model, const char *path) {
    static const char *const keys[] = {"hidden", "val_file", "step", "best_loss"};
    char date[FILE_DATE], key[TRIL_OPTION_SIZE];
    size_t counted;
    const int order = tril_model_counted(model, &counted);
    for (int i = 0; tril_option(i); i++) { /* some are metadata of the model */
        snprintf(key, sizeof key, "%s", tril_option(i)->name);
        for (char *c = key; *c; c++)
            if (*c == '-') *c = '_';
        put(key, tril_model_metadata(model, key));
    }
    for (int i = 0; i < COUNT(keys); i++) put(keys[i], tril_model_metadata(model, keys[i]));
    printf("%-16s %zu\n", "parameters", tril_model_parameters(model));
    if (order > 0) printf("%-16s %zu characters, up to %d at a time\n", "counted", counted, order);
    put("held_out_loss", tril_model_metadata(model, "validation_loss"));
    put("text", tril_model_metadata(model, "text_name"));
    file_date(path, date);
    put("date", date);
    put("command", tril_model_metadata(model, "command"));
    put("digest", digest_text(tril_model_digest(model)).text);
    put_vocabulary(tril_model_tokenizer(model));
    put_tensors(model);
}

/* ---- the score ---- */

/* Scores a model on the text [length]. */
static bool score(const char *path, const char *text, size_t length, const Arguments *a,
                  TrilScore *found, Error *err) {
    TrilModel *model;
    if (tril_model_load(&model, path, err) != TRIL_OK) return false;
    TrilStatus status = tril_score(model, text, length, a->precision ? a->precision : "f32",
                                   a->sampling.threads, found, err);
    tril_model_free(model);
    if (status == TRIL_OK) return true;
    if (status == TRIL_TEXT) message_of(err, program_source(a->score));
    return a->count > 1 && message_of(err, path);
}

static const struct {
    const char *name;
    int width, digits;
} score_columns[] = {{"characters", 10, 0},
                     {"unknown", 7, 0},
                     {"nats_per_char", 13, 6},
                     {"bits_per_char", 13, 6},
                     {"perplexity", 10, 4}};

/* Prints the scores as lines, or as a row of a table. */
static void show_score(const char *path, const TrilScore *s, const Arguments *a) {
    const double numbers[] = {(double)s->characters, (double)s->unknown, s->nats,
                              s->nats / log(2.0), exp(s->nats)};
    for (int i = 0; i < COUNT(numbers); i++) {
        const int digits = score_columns[i].digits;
        if (a->count <= 1)
            printf("%s %.*f\n", score_columns[i].name, digits, numbers[i]);
        else
            printf("%*.*f  ", score_columns[i].width, digits, numbers[i]);
    }
    if (a->count <= 1) return;
    escape_print(stdout, path, strlen(path), "");
    putchar('\n');
}

bool inspect_score(const Arguments *a, Error *err) {
    char *text;
    size_t length;
    TrilScore found;
    const bool table = a->count > 1;
    if (!program_read(a->score, &text, &length, err)) return false;
    for (int i = 0; table && i < COUNT(score_columns); i++)
        printf("%*s  ", score_columns[i].width, score_columns[i].name);
    if (table) puts("file");
    bool ok = true, unknown = false;
    for (int i = 0; ok && (i == 0 || i < a->count); i++) {
        char path[PROGRAM_PATH];
        ok = arguments_checkpoint(a, i, path, err) && score(path, text, length, a, &found, err);
        if (ok) show_score(path, &found, a);
        unknown = unknown || (ok && found.unknown > 0);
    }
    memory_free(text);
    ok = ok && file_flush_output(err);
    if (ok && unknown) fputs("sample: the unknown characters are left out of the score\n", stderr);
    return ok;
}
