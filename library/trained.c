#include "library/trained.h"
#include "extras/formats/huggingface.h"
#include "extras/formats/tokenizer_json.h"
#include "base/file.h"
#include "base/memory.h"

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

static bool load_folder(Trained *trained, const char *path, Error *err) {
    int32_t *rows;
    if (!tokenizer_import(&trained->vocab, path, &rows, err)) return false;
    bool ok = model_import(&trained->checkpoint.model, path, rows, trained->vocab.size, err);
    memory_free(rows);
    return ok;
}

bool trained_load(Trained *trained, const char *path, Error *err) {
    *trained = (Trained){0};
    bool ok = file_is_directory(path)
                  ? load_folder(trained, path, err)
                  : checkpoint_load(&trained->checkpoint, path, err) &&
                        trained_vocab(&trained->checkpoint, path, &trained->vocab, err);
    if (!ok) trained_free(trained);
    return ok;
}

void trained_free(Trained *trained) {
    checkpoint_free(&trained->checkpoint);
    vocab_free(&trained->vocab);
}

bool trained_extend(Trained *trained, const Vocab *vocab, uint64_t seed, Error *err) {
    Checkpoint *checkpoint = &trained->checkpoint;
    Vocab larger;
    int32_t *sources;
    if (!vocab_copy(&larger, vocab, err)) return false;
    bool ok = memory_alloc(&sources, (size_t)vocab->size, sizeof *sources, "the vocabulary", err);
    for (int id = 0; ok && id < vocab->size; id++)
        sources[id] = vocab_id(&trained->vocab, vocab->codes[id]);
    ok = ok && model_extend(&checkpoint->model, vocab->size, sources, seed, err);
    memory_free(sources);
    if (!ok) {
        vocab_free(&larger);
        return false;
    }
    vocab_free(&trained->vocab);
    trained->vocab = larger;
    memory_free(checkpoint->first_moments);
    memory_free(checkpoint->second_moments);
    checkpoint->first_moments = checkpoint->second_moments = NULL;
    return true;
}

static bool export_folder(const Trained *trained, const char *directory, Error *err) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    const Model *model = &trained->checkpoint.model;
    if (!model_check_export(model, err) || !file_make_directory(directory, err)) return false;
    if (tokenizer_export(&trained->vocab, model->config.T, directory, err) &&
        model_export(model, directory, err))
        return true;
    file_remove_directory(directory, files, sizeof files / sizeof *files);
    return false;
}

bool trained_export(const Trained *trained, const char *path, GgufType type, Error *err) {
    static const char gguf[] = ".gguf";
    size_t length = strlen(path), end = sizeof gguf - 1;
    if (length > end && strcmp(path + length - end, gguf) == 0)
        return gguf_export(&trained->checkpoint.model, &trained->vocab, type, path, err);
    if (type != GGUF_F32)
        return fail(err, "%s: a folder for transformers is in f32; a file NAME.gguf may be smaller",
                    path);
    return export_folder(trained, path, err);
}
