#include "programs/sample/inspect.h"
#include "base/array.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "library/message.h"
#include "programs/report/explain.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what is in a file ---- */

static void print_vocabulary(const TrilTokenizer *tokenizer) {
    const int32_t size = tril_tokenizer_size(tokenizer);
    bool bytes = tril_tokenizer_has_bytes(tokenizer);
    printf("%-16s %d %s\n", "vocabulary", (int)size, bytes ? "byte values" : "characters");
    for (int32_t id = 0; id < size && !bytes; id++) {
        char text[4];
        size_t length = 0;
        tril_decode(tokenizer, &id, 1, text, sizeof text, &length, NULL);
        escape_line(stdout, text, length);
    }
    if (!bytes) putchar('\n');
}

void inspect_file(TrilModel *model) {
    static const char *const keys[] = {"step", "seed", "validation_loss", "best_loss"};
    const TrilOptions s = tril_model_sizes(model);
    const char *dropout = tril_model_note(model, "dropout"); /* a folder has none */
    TrilTensor tensor;
    size_t counted;
    const int order = tril_model_counted(model, &counted);
    printf("%-16s %s\n%-16s %zu\n", "model", s.rung, "parameters", tril_model_parameters(model));
    printf("%-16s %g\n%-16s %g\n", "layers", s.layers, "heads", s.heads);
    printf("%-16s %.0f\n%-16s %g\n", "width", s.width, "context", s.context);
    printf("%-16s %g\n", "dropout", dropout ? number_read(dropout, NULL) : 0);
    if (!isnan(s.kv_heads)) printf("%-16s %g\n", "kv_heads", s.kv_heads);
    if (!isnan(s.hidden)) printf("%-16s %.0f\n", "hidden", s.hidden);
    if (order > 0) printf("%-16s %zu characters, up to %d at a time\n", "counted", counted, order);
    for (int i = 0; i < COUNT(keys); i++) {
        const char *value = tril_model_note(model, keys[i]);
        if (!value) continue;
        printf("%-16s ", keys[i]);
        escape_line(stdout, value, strlen(value));
        putchar('\n');
    }
    printf("%-16s %016" PRIx64 "\n", "digest", tril_model_digest(model));
    print_vocabulary(tril_model_tokenizer(model));
    puts("tensors");
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++) {
        printf("  %-44s %d", tensor.name, tensor.rows);
        if (tensor.rank == 2) printf(" x %d", tensor.columns);
        putchar('\n');
    }
}

/* ---- the score ---- */

bool inspect_score(const TrilModel *model, const Arguments *a, Error *err) {
    TrilError error;
    TrilScore score;
    char *text, first[151];
    size_t length;
    if (!file_read(a->score, &text, &length, err)) return false;
    TrilStatus status = tril_score(model, text, length, &a->scoring, &score, &error);
    bool ok = status == TRIL_OK || message_take(err, &error, status == TRIL_TEXT ? a->score : NULL);
    memory_free(text);
    if (!ok && a->scoring.unknown == TRIL_REFUSE && score.unknown > 0) {
        /* shortens a long file name without splitting a character */
        escape_copy(first, sizeof first, err->text);
        fail(err,
             "%s; use --unknown skip to leave such characters out, or --unknown uniform to count "
             "them",
             first);
    }
    if (ok)
        printf("characters %zu\nunknown %zu\nnats_per_char %.6f\nbits_per_char %.6f\n"
               "perplexity %.4f\n",
               score.characters, score.unknown, score.nats, score.nats / log(2.0), exp(score.nats));
    return ok;
}

/* ---- the way to the next character ---- */

/* One of the models of --explain. */
typedef struct {
    TrilModel *model;
    TrilReading *reading;
    char name[4096];
} Subject;

/* Reads model i and the text, in one thread. The caller releases both, also after a failure. With
 * several models, a message begins with the file's name. */
static bool open_subject(Subject *subject, const Arguments *a, int i, Error *err) {
    const char *path = arguments_checkpoint(a, i, err);
    TrilError error;
    Error own;
    if (!path) return false;
    escape_copy(subject->name, sizeof subject->name, path);
    if (tril_model_load(&subject->model, path, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    TrilStatus status;
    if (!*a->explain)
        fail(&own, "--explain: the text is empty; give at least one character");
    else if ((status = tril_reading_open(&subject->reading, subject->model, a->explain,
                                         strlen(a->explain), 1, 1, &error)) == TRIL_OK)
        return true;
    else
        message_take(&own, &error, status == TRIL_TEXT ? "--explain" : NULL);
    return a->count > 1 ? fail(err, "%s: %s", path, own.text) : fail(err, "%s", own.text);
}

bool inspect_steps(const Arguments *a, Error *err) {
    int count = a->count > 0 ? a->count : 1;
    Sheet sheet = screen_of(stdout);
    Subject *subjects = NULL;
    Explained *models = NULL;
    bool ok = memory_alloc(&subjects, (size_t)count, sizeof *subjects, "the models", err) &&
              memory_alloc(&models, (size_t)count, sizeof *models, "the models", err);
    for (int i = 0; i < count && ok; i++) {
        ok = open_subject(&subjects[i], a, i, err);
        models[i] = (Explained){subjects[i].name, subjects[i].model, subjects[i].reading};
    }
    ok = ok && (a->html ? explain_page(a->html, models, count, a->layer, a->head, err)
                        : explain(&sheet, models, count, a->layer, a->head, err));
    for (int i = 0; i < count && subjects; i++) {
        tril_reading_close(subjects[i].reading);
        tril_model_free(subjects[i].model);
    }
    memory_free(subjects);
    memory_free(models);
    return ok;
}
