#include "library/trained.h"
#include "base/memory.h"
#include "library/formats.h"

#include <stdio.h>
#include <string.h>

bool trained_vocab(const Checkpoint *checkpoint, const char *path, Vocab *vocab, Error *err) {
    const Note *kind = checkpoint_note(checkpoint, "characters");
    const Note *text = checkpoint_note(checkpoint, "vocabulary");
    *vocab = (Vocab){0};
    if (!kind || !text) return fail(err, "%s: holds no vocabulary", path);
    bool bytes = strcmp(kind->value, "bytes") == 0;
    if (!vocab_build(vocab, path, text->value, text->length, bytes, err)) return false;
    bool ok = vocab->size == checkpoint->model.config.V;
    if (ok && !bytes) { /* sorted and distinct, or the ids would mean other characters */
        char *joined;
        size_t length;
        if (!vocab_join(vocab, &joined, &length, err)) {
            vocab_free(vocab);
            return false;
        }
        ok = length == text->length && memcmp(joined, text->value, length) == 0;
        memory_free(joined);
    }
    if (ok) return true;
    vocab_free(vocab);
    return fail(err, "%s: its vocabulary and its model have different sizes", path);
}

bool trained_load(Trained *trained, const char *path, Error *err) {
    const Format *format = format_to_read(path);
    *trained = (Trained){0};
    if (format) return format->read(&trained->checkpoint.model, &trained->vocab, path, err);
    bool ok = checkpoint_load(&trained->checkpoint, path, err) &&
              trained_vocab(&trained->checkpoint, path, &trained->vocab, err);
    if (!ok) trained_free(trained);
    return ok;
}

void trained_free(Trained *trained) {
    checkpoint_free(&trained->checkpoint);
    vocab_free(&trained->vocab);
}

bool trained_extend(Trained *trained, const Vocab *vocab, uint64_t seed, Error *err) {
    Vocab larger;
    int32_t *sources;
    if (!vocab_copy(&larger, vocab, err)) return false;
    bool ok = memory_alloc(&sources, (size_t)vocab->size, sizeof *sources, "the vocabulary", err);
    for (int id = 0; ok && id < vocab->size; id++)
        sources[id] = vocab_id(&trained->vocab, vocab->codes[id]);
    ok = ok && model_extend(&trained->checkpoint.model, vocab->size, sources, seed, err);
    memory_free(sources);
    if (!ok) {
        vocab_free(&larger);
        return false;
    }
    vocab_free(&trained->vocab);
    trained->vocab = larger;
    return true;
}

/* ---- other programs' files ---- */

const Format *format_to_read(const char *path) {
    for (int i = 0; formats[i]; i++)
        if (formats[i]->read && formats[i]->recognizes(path)) return formats[i];
    return NULL;
}

const Format *format_to_write(const char *path, const char *type, Error *err) {
    char known[64] = "";
    int i = 0;
    while (formats[i] && !formats[i]->names(path)) i++;
    if (!formats[i]) {
        fail(err, "%s: this program writes no files of other programs", path);
        return NULL;
    }
    for (const char *const *name = formats[i]->types; *name; name++) {
        if (strcmp(*name, type) == 0) return formats[i];
        size_t length = strlen(known);
        snprintf(known + length, sizeof known - length, "%s%s",
                 !length   ? ""
                 : name[1] ? ", "
                           : " or ",
                 *name);
    }
    fail(err, "%s: its matrices can be in %s, not in '%.64s'", path, known, type);
    return NULL;
}
