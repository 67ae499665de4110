/* checkpoint.c - a model <-> named tensors and notes. */
#include "library/checkpoint.h"
#include "library/safetensors.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The versions of the format, in the note "tril". The last one is written. Models are the same in
 * both. Of version 2 were the files of tril 0.1. */
static const char *const versions[] = {"2", "3"};

/* The notes of the sizes in a Config, each with its member. */
static const struct {
    const char *key;
    size_t member;
} sizes[] = {
    {"vocabulary_size", offsetof(Config, V)}, {"context", offsetof(Config, T)},
    {"layers", offsetof(Config, L)},          {"heads", offsetof(Config, NH)},
    {"width", offsetof(Config, C)},           {"kv_heads", offsetof(Config, NKV)},
    {"hidden", offsetof(Config, H)},
};
enum { SOMETIMES = 2 }; /* the last so many, which are left out where they are 0 */

enum { OWN_NOTES = 4 + COUNT(sizes), NUMBER = 32, NAME = 80 };

bool checkpoint_has_key(const char *key) {
    static const char *const others[] = {"tril", "model", "dropout", "digest"};
    for (int i = 0; i < COUNT(sizes); i++)
        if (strcmp(key, sizes[i].key) == 0) return true;
    for (int i = 0; i < COUNT(others); i++)
        if (strcmp(key, others[i]) == 0) return true;
    return false;
}

/* The prefixes of the tensor sets: weights and, for a training run, the optimizer's moments. */
static const char *const sets[] = {"", "first_moment.", "second_moment."};
enum { SETS = COUNT(sets) };

static void name_of(const Tensor *tensor, int set, char name[NAME]) {
    snprintf(name, NAME, "%s%s", sets[set], tensor->name);
}

static Note note_of(const char *key, const char *value) {
    return (Note){key, value, strlen(value)};
}

/* The digest of a checkpoint: the sum of the digests of its tensors and its notes, except the
 * digest itself. It does not depend on their order. */
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
        for (int j = 0; j < tensor->rank; j++) {
            uint64_t rows = tensor->shape[j]; /* of eight bytes on every machine */
            digest_add(&digest, &rows, sizeof rows);
        }
        digest_add(&digest, tensor->data, tensor->bytes);
        sum += digest_value(&digest);
    }
    snprintf(text, NUMBER, "%016" PRIx64, sum);
}

/* Adds the notes that describe the model. They point into `numbers`. */
static void add_own_notes(SafeTensors *file, const Config *config, char numbers[][NUMBER]) {
    file->notes[file->note_count++] = note_of("tril", versions[COUNT(versions) - 1]);
    file->notes[file->note_count++] = note_of("model", config->model);
    for (int i = 0; i < COUNT(sizes); i++) {
        int value;
        memcpy(&value, (const char *)config + sizes[i].member, sizeof value);
        if (value == 0 && i >= COUNT(sizes) - SOMETIMES) continue;
        snprintf(numbers[i], NUMBER, "%d", value);
        file->notes[file->note_count++] = note_of(sizes[i].key, numbers[i]);
    }
    number_write(numbers[COUNT(sizes)], NUMBER, 'g', 17, config->dropout);
    file->notes[file->note_count++] = note_of("dropout", numbers[COUNT(sizes)]);
}

/* Adds one set of tensors. `numbers` are laid out like the model's weights. The tensors' names
 * point into `names`. */
static void add_tensors(SafeTensors *file, const Model *model, int set, const float *numbers,
                        char names[][NAME]) {
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        name_of(tensor, set, names[i]);
        file->tensors[file->tensor_count++] =
            (SafeTensor){.name = names[i],
                         .type = "F32",
                         .rank = tensor->rank,
                         .shape = {(size_t)tensor->shape[0], (size_t)tensor->shape[1]},
                         .data = numbers + tensor->offset,
                         .bytes = tensor->size * sizeof(float)};
    }
}

/* numbers[0] are the weights. Sets that are NULL are left out. */
static bool save(const char *path, const Model *model, const float *const numbers[SETS],
                 const Note *notes, int count, Error *err) {
    SafeTensors file = {0};
    char own[OWN_NOTES][NUMBER], (*names)[NAME] = NULL;
    size_t note_capacity = OWN_NOTES + (size_t)count, tensors = (size_t)model->tensor_count;
    bool ok = memory_alloc(&file.notes, note_capacity, sizeof *file.notes, path, err) &&
              memory_alloc(&file.tensors, SETS * tensors, sizeof *file.tensors, path, err) &&
              memory_alloc(&names, SETS * tensors, sizeof *names, path, err);
    if (ok) {
        add_own_notes(&file, &model->config, own);
        for (int i = 0; i < count; i++) file.notes[file.note_count++] = notes[i];
        for (int set = 0; set < SETS; set++)
            if (numbers[set])
                add_tensors(&file, model, set, numbers[set], names + (size_t)set * tensors);
        digest_of(&file, own[OWN_NOTES - 1]);
        file.notes[file.note_count++] = note_of("digest", own[OWN_NOTES - 1]);
        ok = safetensors_write(&file, path, err);
    }
    memory_free(names);
    safetensors_free(&file);
    return ok;
}

bool checkpoint_save(const char *path, const Model *model, const Note *notes, int count,
                     Error *err) {
    return save(path, model, (const float *const[SETS]){model->weights}, notes, count, err);
}

bool checkpoint_save_run(const char *path, const Run *run, const Note *notes, int count,
                         Error *err) {
    const Model *model = run_model(run);
    const float *numbers[SETS] = {model->weights};
    run_moments(run, &numbers[1], &numbers[2]);
    return save(path, model, numbers, notes, count, err);
}

/* Reads a note that is a whole number from 1 to MAX_VOCABULARY, the largest size. */
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
    const Note *note = safetensors_note(file, "tril");
    if (!note) return fail(err, "%s: was not written by tril: its metadata has no 'tril'", path);
    int known = 0;
    while (known < COUNT(versions) && strcmp(note->value, versions[known]) != 0) known++;
    if (known == COUNT(versions))
        return fail(err,
                    "%s: has format '%.16s', which this program does not know: it reads 2 and 3",
                    path, note->value);
    note = safetensors_note(file, "model");
    if (!note || note->length >= sizeof config->model)
        return fail(err, "%s: its metadata has no valid 'model'", path);
    memcpy(config->model, note->value, note->length); /* the rest stays 0 */
    for (int i = 0; i < COUNT(sizes); i++) {
        note = safetensors_note(file, sizes[i].key);
        int member;
        if (!note && i >= COUNT(sizes) - SOMETIMES) continue;
        if (!read_size(note, &member))
            return fail(err, "%s: its metadata has no valid '%s'", path, sizes[i].key);
        memcpy((char *)config + sizes[i].member, &member, sizeof member);
    }
    note = safetensors_note(file, "dropout");
    char *end = NULL;
    config->dropout = note ? number_read(note->value, &end) : 0;
    if (!note || end == note->value || *end)
        return fail(err, "%s: its metadata has no valid 'dropout'", path);
    return true;
}

/* Does the file have the tensors of `count` sets, and no others? */
static bool check_tensors(const Model *model, const SafeTensors *file, int count, const char *path,
                          Error *err) {
    char name[NAME];
    if (file->tensor_count != count * model->tensor_count)
        return fail(err, "%s: has %d tensors, but a %s of its sizes has %d", path,
                    file->tensor_count, model->config.model, model->tensor_count);
    for (int i = 0; i < file->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i % model->tensor_count];
        name_of(tensor, i / model->tensor_count, name);
        const SafeTensor *stored = safetensors_tensor(file, name);
        if (!stored) return fail(err, "%s: tensor %s is missing", path, name);
        if (strcmp(stored->type, "F32") != 0)
            return fail(err, "%s: tensor %s is %s, not F32", path, name, stored->type);
        if (stored->rank != tensor->rank || stored->shape[0] != (size_t)tensor->shape[0] ||
            (stored->rank == 2 && stored->shape[1] != (size_t)tensor->shape[1]))
            return fail(err, "%s: tensor %s has another shape than its metadata's sizes give", path,
                        name);
    }
    return true;
}

static void load_tensors(const Model *model, const SafeTensors *file, int set, float *to) {
    char name[NAME];
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        name_of(tensor, set, name);
        const SafeTensor *stored = safetensors_tensor(file, name);
        memcpy(to + tensor->offset, stored->data, stored->bytes);
    }
}

/* Reads the header: the configuration and the list of tensors. */
static bool lay_out(Model *model, const SafeTensors *file, int *sets_there, const char *path,
                    Error *err) {
    Config config;
    Error why;
    if (!read_config(file, path, &config, err)) return false;
    if (!model_lay_out(model, &config, &why)) {
        fail(err, "%s: %.400s", path, why.text);
        err->no_memory = why.no_memory;
        return false;
    }
    *sets_there = file->tensor_count == SETS * model->tensor_count ? SETS : 1;
    return check_tensors(model, file, *sets_there, path, err);
}

/* The data must be those that were written, and finite. */
static bool check_data(const SafeTensors *file, const char *path, Error *err) {
    char digest[NUMBER];
    const Note *note = safetensors_note(file, "digest");
    if (!note) return fail(err, "%s: its metadata has no 'digest'", path);
    digest_of(file, digest);
    if (strcmp(digest, note->value) != 0)
        return fail(err, "%s: damaged: its contents are not those that were written", path);
    for (int i = 0; i < file->tensor_count; i++)
        if (!safetensors_finite(&file->tensors[i]))
            return fail(err, "%s: tensor %s has numbers that are not finite", path,
                        file->tensors[i].name);
    return true;
}

static bool load(Checkpoint *c, const SafeTensors *file, int count, const char *path, Error *err) {
    float **const to[SETS] = {&c->model.weights, &c->first_moments, &c->second_moments};
    bool ok = model_allocate(&c->model, err);
    for (int set = 0; ok && set < count; set++) {
        if (set > 0) ok = memory_alloc(to[set], c->model.weights_size, sizeof(float), path, err);
        if (ok) load_tensors(&c->model, file, set, *to[set]);
    }
    return ok;
}

/* Reads the notes and, if `whole`, the model. */
static bool read_file(Checkpoint *c, const char *path, bool whole, Error *err) {
    *c = (Checkpoint){0};
    SafeTensors file = {0};
    File from;
    int count;
    if (!file_open(&from, path, err)) return false;
    bool ok = safetensors_open(&file, &from, err) &&
              (!whole || (lay_out(&c->model, &file, &count, path, err) &&
                          safetensors_fetch(&file, &from, err) && check_data(&file, path, err) &&
                          load(c, &file, count, path, err)));
    file_close(&from);
    if (ok) { /* the notes, and the header that they point into, move to the checkpoint */
        c->header = file.header;
        c->notes = file.notes;
        c->note_count = file.note_count;
        file.header = NULL;
        file.notes = NULL;
    } else {
        checkpoint_free(c);
    }
    safetensors_free(&file);
    return ok;
}

bool checkpoint_load(Checkpoint *checkpoint, const char *path, Error *err) {
    return read_file(checkpoint, path, true, err);
}

bool checkpoint_peek(Checkpoint *checkpoint, const char *path, Error *err) {
    return read_file(checkpoint, path, false, err);
}

void checkpoint_free(Checkpoint *checkpoint) {
    model_free(&checkpoint->model);
    memory_free(checkpoint->first_moments);
    memory_free(checkpoint->second_moments);
    memory_free(checkpoint->header);
    memory_free(checkpoint->notes);
    *checkpoint = (Checkpoint){0};
}

const Note *checkpoint_note(const Checkpoint *checkpoint, const char *key) {
    for (int i = 0; i < checkpoint->note_count; i++)
        if (strcmp(checkpoint->notes[i].key, key) == 0) return &checkpoint->notes[i];
    return NULL;
}
