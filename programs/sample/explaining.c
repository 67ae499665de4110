#include "programs/sample/explaining.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/message.h"
#include "programs/report/explain.h"
#include "programs/sample/checkpoint.h"

#include <string.h>

enum { NAME = 4096 };

/* One of the models that --explain is about. */
typedef struct {
    TrilModel *model;
    TrilReading *reading;
    char name[NAME];
} Subject;

/* Reads the text. The explanation takes one thread. */
static bool read_text(Subject *subject, const char *text, Error *err) {
    TrilError error;
    if (!*text) return fail(err, "--explain wants a text of a character or more");
    return tril_reading_trace(&subject->reading, subject->model, text, strlen(text), 1, &error) ==
               TRIL_OK ||
           message_take(err, &error, "--explain");
}

/* Reads model i of those that were named, or the usual one, and the text. close_subject releases
 * it, also after a failure. A message about one of several models begins with its file. */
static bool open_subject(Subject *subject, const SampleRequest *r, int i, Error *err) {
    const char *path = checkpoint_path(r, i, err);
    TrilError error;
    Error own;
    if (!path) return false;
    escape_copy(subject->name, sizeof subject->name, path);
    if (tril_model_load(&subject->model, path, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    if (read_text(subject, r->explain, &own)) return true;
    *err = own;
    return r->checkpoint_count > 1 ? fail(err, "%s: %s", path, own.text) : false;
}

static void close_subject(Subject *subject) {
    tril_reading_close(subject->reading);
    tril_model_free(subject->model);
}

static bool explain_all(const SampleRequest *r, const Explained *explained, int count, Error *err) {
    Screen screen = screen_of(stdout);
    if (r->html) return explain_page(r->html, explained, count, r->layer, r->head, err);
    if (count > 1) return explain_compare(&screen, explained, count, err);
    return explain(&screen, explained, r->layer, r->head, err);
}

bool explaining(const SampleRequest *r, Error *err) {
    int count = r->checkpoint_count > 0 ? r->checkpoint_count : 1;
    Subject *subjects = NULL;
    Explained *explained = NULL;
    bool ok = memory_alloc(&subjects, (size_t)count, sizeof *subjects, "the models", err) &&
              memory_alloc(&explained, (size_t)count, sizeof *explained, "the models", err);
    for (int i = 0; i < count && ok; i++) {
        ok = open_subject(&subjects[i], r, i, err);
        explained[i] = (Explained){subjects[i].name, subjects[i].model, subjects[i].reading};
    }
    ok = ok && explain_all(r, explained, count, err) && file_flush_output(err);
    for (int i = 0; i < count && subjects; i++) close_subject(&subjects[i]);
    memory_free(subjects);
    memory_free(explained);
    return ok;
}
