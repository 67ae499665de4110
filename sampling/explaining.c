/* Below library/tril.h: the lines of a model's program, with all that they computed, are for who
 * teaches, and a library that showed them could never change them. */
#include "sampling/explaining.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "formats/trained.h"
#include "report/explain.h"
#include "sampling/checkpoint.h"

#include <string.h>

enum { NAME = 4096 };

/* One of the models that --explain is about. */
typedef struct {
    Trained trained;
    int32_t *ids; /* the text in the model's ids */
    char name[NAME];
} Subject;

/* Encodes the text with the model's vocabulary. Of a text longer than the context, the end counts:
 * its last character is the one that predicts. */
static bool read_text(Subject *subject, const char *text, Explained *explained, Error *err) {
    Model *model = &subject->trained.checkpoint.model;
    const Vocab *vocab = &subject->trained.vocab;
    size_t count, T = (size_t)model->config.T;
    if (!vocab_encode(vocab, "--explain", text, strlen(text), &subject->ids, &count, err))
        return false;
    if (count == 0) return fail(err, "--explain wants a text of a character or more");
    size_t cut = count > T ? count - T : 0;
    *explained =
        (Explained){subject->name, model, vocab, subject->ids + cut, (int)(count - cut), (int)cut};
    return true;
}

/* Reads model i of those that were named, or the usual one, and the text. close_subject releases
 * it, also after a failure. A message about one of several models begins with its file. */
static bool open_subject(Subject *subject, const SampleRequest *r, int i, Explained *explained,
                         Error *err) {
    const char *path = i > 0 ? r->checkpoints[i] : r->checkpoint;
    Error own;
    escape_copy(subject->name, sizeof subject->name, path);
    if (!checkpoint_path(r, i, err) || !trained_load(&subject->trained, path, err)) return false;
    if (read_text(subject, r->explain, explained, &own)) return true;
    *err = own;
    return r->checkpoint_count > 1 ? fail(err, "%s: %s", path, own.text) : false;
}

static void close_subject(Subject *subject) {
    memory_free(subject->ids);
    trained_free(&subject->trained);
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
    for (int i = 0; i < count && ok; i++) ok = open_subject(&subjects[i], r, i, &explained[i], err);
    ok = ok && explain_all(r, explained, count, err) && file_flush_output(err);
    for (int i = 0; i < count && subjects; i++) close_subject(&subjects[i]);
    memory_free(subjects);
    memory_free(explained);
    return ok;
}
