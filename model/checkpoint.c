/* checkpoint.c - a model <-> named tensors and notes. */
#include "model/run.h"
#include "model/safetensors.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char version[] = "2"; /* of the notes below; a reader refuses others */

/* The notes that describe a Config, each with the member that it sets. */
static const struct {
    const char *key;
    size_t member;
} sizes[] = {
    {"vocabulary_size", offsetof(Config, V)}, {"context", offsetof(Config, T)},
    {"layers", offsetof(Config, L)},          {"heads", offsetof(Config, NH)},
    {"width", offsetof(Config, C)},
};

enum { OWN_NOTES = 4 + COUNT(sizes), NUMBER = 32 };

static Note note_of(const char *key, const char *value) {
    return (Note){key, value, strlen(value)};
}

/* What stands for all that a checkpoint says, whatever its order: the sum of the digests of its
 * tensors and of its notes, but for the digest itself. */
static void digest_of(const SafeTensors *file, char text[NUMBER]) {
    uint64_t sum = 0;
    for (int i = 0; i < file->note_count; i++) {
        const Note *note = &file->notes[i];
        if (strcmp(note->key, "digest") == 0) continue;
        Digest digest = digest_start();
        digest_add(&digest, note->key, strlen(note->key) + 1);
        digest_add(&digest, note->value, note->length);
        sum += digest_value(&digest);
    }
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        Digest digest = digest_start();
        digest_add(&digest, tensor->name, strlen(tensor->name) + 1);
        digest_add(&digest, tensor->shape, (size_t)tensor->rank * sizeof *tensor->shape);
        digest_add(&digest, tensor->data, tensor->bytes);
        sum += digest_value(&digest);
    }
    snprintf(text, NUMBER, "%016" PRIx64, sum);
}

bool checkpoint_save(const char *path, const Model *model, const Note *notes, int count,
                     Error *err) {
    SafeTensors file = {0};
    char numbers[OWN_NOTES][NUMBER];
    size_t note_room = OWN_NOTES + (size_t)count;
    bool ok = false;
    if (!memory_alloc(&file.notes, note_room, sizeof *file.notes, path, err) ||
        !memory_alloc(&file.tensors, (size_t)model->tensor_count, sizeof *file.tensors, path, err))
        goto done;
    file.notes[file.note_count++] = note_of("tril", version);
    file.notes[file.note_count++] = note_of("model", model->config.model);
    for (int i = 0; i < COUNT(sizes); i++) {
        int value;
        memcpy(&value, (const char *)&model->config + sizes[i].member, sizeof value);
        snprintf(numbers[i], NUMBER, "%d", value);
        file.notes[file.note_count++] = note_of(sizes[i].key, numbers[i]);
    }
    snprintf(numbers[COUNT(sizes)], NUMBER, "%.17g", model->config.dropout);
    file.notes[file.note_count++] = note_of("dropout", numbers[COUNT(sizes)]);
    for (int i = 0; i < count; i++) file.notes[file.note_count++] = notes[i];

    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        file.tensors[file.tensor_count++] =
            (SafeTensor){.name = tensor->name,
                         .type = "F32",
                         .rank = tensor->rank,
                         .shape = {(size_t)tensor->shape[0], (size_t)tensor->shape[1]},
                         .data = model->weights + tensor->offset,
                         .bytes = tensor->size * sizeof(float)};
    }
    digest_of(&file, numbers[OWN_NOTES - 1]);
    file.notes[file.note_count++] = note_of("digest", numbers[OWN_NOTES - 1]);
    ok = safetensors_write(&file, path, err);
done:
    safetensors_free(&file);
    return ok;
}

static const Note *find_note(const SafeTensors *file, const char *key) {
    for (int i = 0; i < file->note_count; i++)
        if (strcmp(file->notes[i].key, key) == 0) return &file->notes[i];
    return NULL;
}

/* A note that is a whole number, plainly written, from 1 to the largest size there is. */
static bool read_size(const Note *note, int *size) {
    char *end;
    if (!note || *note->value < '1' || *note->value > '9' || strlen(note->value) != note->length)
        return false;
    errno = 0;
    long value = strtol(note->value, &end, 10);
    *size = (int)value;
    return !errno && !*end && value <= MAX_VOCABULARY;
}

static bool read_config(const SafeTensors *file, const char *path, Config *config, Error *err) {
    *config = (Config){0};
    const Note *note = find_note(file, "tril");
    if (!note) return fail(err, "%s: was not written by tril: its metadata has no 'tril'", path);
    if (strcmp(note->value, version) != 0)
        return fail(err, "%s: has format %s, but this program reads %s", path, note->value,
                    version);
    note = find_note(file, "model");
    if (!note || note->length >= sizeof config->model)
        return fail(err, "%s: its metadata has no valid 'model'", path);
    strcpy(config->model, note->value);
    for (int i = 0; i < COUNT(sizes); i++) {
        note = find_note(file, sizes[i].key);
        int member;
        if (!read_size(note, &member))
            return fail(err, "%s: its metadata has no valid '%s'", path, sizes[i].key);
        memcpy((char *)config + sizes[i].member, &member, sizeof member);
    }
    note = find_note(file, "dropout");
    char *end = NULL;
    config->dropout = note ? strtod(note->value, &end) : 0;
    if (!note || end == note->value || *end)
        return fail(err, "%s: its metadata has no valid 'dropout'", path);
    return true;
}

static const SafeTensor *find_tensor(const SafeTensors *file, const char *name) {
    for (int i = 0; i < file->tensor_count; i++)
        if (strcmp(file->tensors[i].name, name) == 0) return &file->tensors[i];
    return NULL;
}

static bool check_tensor(const Tensor *tensor, const SafeTensor *stored, const char *path,
                         Error *err) {
    if (!stored) return fail(err, "%s: tensor %s is missing", path, tensor->name);
    if (strcmp(stored->type, "F32") != 0)
        return fail(err, "%s: tensor %s is %s, not F32", path, tensor->name, stored->type);
    if (stored->rank != tensor->rank || stored->shape[0] != (size_t)tensor->shape[0] ||
        (stored->rank == 2 && stored->shape[1] != (size_t)tensor->shape[1]))
        return fail(err, "%s: tensor %s has another shape than its metadata's sizes give", path,
                    tensor->name);
    return true;
}

static bool load_model(Model *model, const SafeTensors *file, const char *path, Error *err) {
    Config config;
    Error why;
    if (!read_config(file, path, &config, err)) return false;
    if (!model_lay_out(model, &config, &why)) return fail(err, "%s: %.400s", path, why.text);
    bool ok = file->tensor_count == model->tensor_count ||
              fail(err, "%s: has %d tensors, but a %s of its sizes has %d", path,
                   file->tensor_count, config.model, model->tensor_count);
    for (int i = 0; i < model->tensor_count && ok; i++)
        ok = check_tensor(&model->tensors[i], find_tensor(file, model->tensors[i].name), path, err);
    ok = ok && model_make_room(model, err);
    for (int i = 0; i < model->tensor_count && ok; i++) {
        const Tensor *tensor = &model->tensors[i];
        const SafeTensor *stored = find_tensor(file, tensor->name);
        memcpy(model->weights + tensor->offset, stored->data, stored->bytes);
    }
    if (!ok) model_free(model);
    return ok;
}

static bool check_digest(const SafeTensors *file, const char *path, Error *err) {
    char digest[NUMBER];
    const Note *note = find_note(file, "digest");
    if (!note) return fail(err, "%s: its metadata has no 'digest'", path);
    digest_of(file, digest);
    return strcmp(digest, note->value) == 0 ||
           fail(err, "%s: damaged: its contents are not those that were written", path);
}

bool checkpoint_load(Checkpoint *checkpoint, const char *path, Error *err) {
    *checkpoint = (Checkpoint){0};
    SafeTensors file = {0};
    size_t length;
    bool ok = file_read(path, &checkpoint->file, &length, err) &&
              safetensors_read(&file, path, checkpoint->file, length, err) &&
              load_model(&checkpoint->model, &file, path, err) && check_digest(&file, path, err);
    if (ok) {
        checkpoint->notes = file.notes; /* they change hands */
        checkpoint->note_count = file.note_count;
        file.notes = NULL;
    } else {
        checkpoint_free(checkpoint);
    }
    safetensors_free(&file);
    return ok;
}

void checkpoint_free(Checkpoint *checkpoint) {
    model_free(&checkpoint->model);
    memory_free(checkpoint->file);
    memory_free(checkpoint->notes);
    *checkpoint = (Checkpoint){0};
}

const Note *checkpoint_note(const Checkpoint *checkpoint, const char *key) {
    for (int i = 0; i < checkpoint->note_count; i++)
        if (strcmp(checkpoint->notes[i].key, key) == 0) return &checkpoint->notes[i];
    return NULL;
}
