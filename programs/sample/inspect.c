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

/* Each of these prints a line if there is a value. */

static void put_text(const char *name, const char *value) {
    if (!value || !*value) return;
    printf("%-16s ", name);
    escape_line(stdout, value, strlen(value));
    putchar('\n');
}

static void put_number(const char *name, double value) {
    if (!isnan(value)) printf("%-16s %.*g\n", name, value == floor(value) ? 17 : 10, value);
}

/* Prints a number of the file's metadata, of any length, such as a seed. */
static void put_note(const TrilModel *model, const char *key) {
    const char *value = tril_model_note(model, key);
    const char *name = strcmp(key, "validation_loss") == 0 ? "held_out_loss" : key;
    const bool whole = value && *value && strspn(value, "0123456789") == strlen(value);
    char *end = NULL;
    const double x = value ? number_read(value, &end) : NAN;
    if (end > value && !*end && !whole)
        put_number(name, round(x * 1e6) / 1e6);
    else
        put_text(name, value);
}

/* Prints the vocabulary: its size, whether it is of bytes, and its characters. */
static void put_vocabulary(const TrilTokenizer *tokenizer) {
    const int32_t size = tril_tokenizer_size(tokenizer);
    const bool bytes = tril_tokenizer_has_bytes(tokenizer);
    printf("%-16s %d %s\n", "vocabulary", (int)size, bytes ? "byte values" : "characters");
    if (bytes) return;
    for (int32_t id = 0; id < size; id++) {
        char text[4];
        size_t length = 0;
        tril_decode(tokenizer, &id, 1, text, sizeof text, &length, NULL);
        escape_line(stdout, text, length);
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
    static const char *const notes[] = {"step", "seed", "validation_loss", "best_loss"};
    const TrilOptions s = tril_model_sizes(model);
    const char *dropout = tril_model_note(model, "dropout");
    char date[FILE_DATE];
    size_t counted;
    const int order = tril_model_counted(model, &counted);
    const struct {
        const char *name;
        double number; /* if the rung has it */
    } sizes[] = {{"parameters", (double)tril_model_parameters(model)},
                 {"layers", s.layers},
                 {"heads", s.heads},
                 {"width", s.width},
                 {"context", s.context},
                 {"dropout", dropout ? number_read(dropout, NULL) : 0},
                 {"kv_heads", s.kv_heads},
                 {"hidden", s.hidden}};
    put_text("model", s.rung);
    for (int i = 0; i < COUNT(sizes); i++) put_number(sizes[i].name, sizes[i].number);
    if (order > 0) printf("%-16s %zu characters, up to %d at a time\n", "counted", counted, order);
    for (int i = 0; i < COUNT(notes); i++) put_note(model, notes[i]);
    put_text("text", tril_model_note(model, "text_name"));
    file_date(path, date);
    put_text("date", date);
    put_text("command", tril_model_note(model, "command"));
    put_text("digest", digest_text(tril_model_digest(model)).text);
    put_vocabulary(tril_model_tokenizer(model));
    put_tensors(model);
}

/* ---- the score ---- */

/* Scores a model on the text [length]. */
static bool score(const char *path, const char *text, size_t length, const Arguments *a,
                  TrilScore *found, Error *err) {
    TrilModel *model;
    if (tril_model_load(&model, path, err) != TRIL_OK) return false;
    TrilStatus status = tril_score(model, text, length, &a->scoring, found, err);
    tril_model_free(model);
    if (status == TRIL_OK) return true;
    if (status == TRIL_TEXT)
        message_of(err, strcmp(a->score, "-") == 0 ? "standard input" : a->score);
    Error own = *err;
    return a->count > 1 ? fail(err, "%s: %s", path, own.text) : false;
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
    escape_line(stdout, path, strlen(path));
    putchar('\n');
}

bool inspect_score(const Arguments *a, Error *err) {
    char *text;
    size_t length;
    TrilScore found;
    const bool table = a->count > 1, input = strcmp(a->score, "-") == 0;
    if (!(input ? file_read_input(&text, &length, err) : file_read(a->score, &text, &length, err)))
        return false;
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
