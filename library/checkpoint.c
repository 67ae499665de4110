/* checkpoint.c - a model <-> named tensors and metadata. */
#include "library/checkpoint.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* The versions of the format, in the entry "tril". The last one is written. Models are the same in
 * both; tril 0.1 wrote version 2. */
static const char *const versions[] = {"2", "3"};

/* The model's numbers in a Config. */
static const Number sizes[] = {
    {"vocabulary_size", offsetof(Config, V), .type = INT, .least = 1},
    {"context", offsetof(Config, T), .type = INT, .least = 1},
    {"layers", offsetof(Config, L), .type = INT, .least = 1},
    {"heads", offsetof(Config, NH), .type = INT, .least = 1},
    {"width", offsetof(Config, C), .type = INT, .least = 1},
    {"kv_heads", offsetof(Config, NKV), .type = INT, .may_lack = true, .least = 1},
    {"hidden", offsetof(Config, H), .type = INT, .may_lack = true, .least = 1},
};
enum { NAME = 80 };

/* Returns the number of a record as an option, which has a notation and a range. */
static Option option_of(const Number *n, const void *record) {
    return (Option){.kind = n->type == DOUBLE_6 ? OPTION_REAL : (OptionKind)n->type,
                    .value = (char *)record + n->member,
                    .min = n->least,
                    .max = n->type == INT ? 1e9 : DBL_MAX};
}

bool numbers_put(MetadataList *metadata, const Number *list, int count, const void *record,
                 Error *err) {
    bool ok = true;
    for (const Number *n = list; n < list + count && ok; n++) {
        const Option option = option_of(n, record);
        char text[NUMBER_SIZE];
        const double x = option.kind == OPTION_INT    ? *(int *)option.value
                         : option.kind == OPTION_REAL ? *(double *)option.value
                                                      : n->least;
        if (n->may_lack && !(x >= n->least)) continue;
        if (n->type == DIGEST)
            snprintf(text, sizeof text, "%s", digest_text(*(uint64_t *)option.value).text);
        else if (n->type == DOUBLE_6)
            number_write(text, sizeof text, 'f', 6, x);
        else
            option_write(&option, text, sizeof text);
        ok = metadata_text(metadata, n->key, text, err);
    }
    return ok;
}

const char *numbers_read(const SafeTensors *file, const Number *list, int count, void *record) {
    for (const Number *n = list; n < list + count; n++) {
        const Metadata *entry = safetensors_metadata(file, n->key);
        const Option option = option_of(n, record);
        if (!entry && n->may_lack && option.kind == OPTION_REAL) *(double *)option.value = NAN;
        if (!entry && n->may_lack) continue;
        if (!entry || strlen(entry->value) != entry->length ||
            !(n->type == DIGEST ? digest_read(entry->value, option.value)
                                : option_read(&option, entry->value, &(Error){0})))
            return n->key;
    }
    return NULL;
}

bool numbers_have(const Number *list, int count, const char *key) {
    for (const Number *n = list; n < list + count; n++)
        if (strcmp(key, n->key) == 0) return true;
    return false;
}

bool checkpoint_has_key(const char *key) {
    return numbers_have(sizes, COUNT(sizes), key) || strcmp(key, "tril") == 0 ||
           strcmp(key, "model") == 0 || strcmp(key, "digest") == 0;
}

/* The prefixes of the tensor sets: weights and, of a training run, the optimizer's moments. Muon
 * has no second moments; states of earlier versions have zeros for them. */
static const char *const sets[] = {"", "first_moment.", "second_moment."};
enum { SECOND = 2, SETS = COUNT(sets) };

/* Returns a tensor of a set as a file has it, and writes its name. `numbers` are laid out like the
 * weights, or NULL. */
static SafeTensor in_file(const Tensor *tensor, int set, const float *numbers, char name[NAME]) {
    snprintf(name, NAME, "%s%s", sets[set], tensor->name);
    return (SafeTensor){.name = name,
                        .type = "F32",
                        .rank = tensor->rank,
                        .shape = {(size_t)tensor->shape[0], (size_t)tensor->shape[1]},
                        .data = numbers ? numbers + tensor->offset : NULL,
                        .bytes = tensor->size * sizeof(float)};
}

/* ---- the counted text ----
 * A model that counts has one tensor more: the ids of the text that it counted, in as few bytes as
 * the vocabulary allows. The counts follow from it. */

static const char text_name[] = "ngram.text";

/* The type of ids below V. */
static const char *text_type(int V) {
    return V <= 1 << 8 ? "U8" : V <= 1 << 16 ? "U16" : "U32";
}

/* Sets *text to the tensor of the model's counted text. The caller releases its data. */
static bool pack_text(const Model *model, SafeTensor *text, const char *path, Error *err) {
    const char *type = text_type(model->config.V);
    const size_t bytes = safetensors_width(type);
    const NgramFacts own = ngram_facts(model->ngram);
    char *packed;
    *text = (SafeTensor){.name = text_name,
                         .type = type,
                         .rank = 1,
                         .shape = {own.count},
                         .bytes = own.count * bytes};
    if (!memory_alloc(&packed, own.count, bytes, path, err)) return false;
    for (size_t i = 0; i < own.count; i++) memcpy(packed + i * bytes, &own.ids[i], bytes);
    text->data = packed;
    return true;
}

static bool check_text(const Model *model, const SafeTensor *text, const char *path, Error *err) {
    const char *type = text_type(model->config.V);
    if (!model_has_ngram(&model->config))
        return fail(err, "%s: has a tensor %s, but %s does not count its text", path, text_name,
                    model->config.model);
    if (strcmp(text->type, type) != 0 || text->rank != 1 || text->bytes == 0)
        return fail(err, "%s: tensor %s is not a list of ids of type %s", path, text_name, type);
    return true;
}

/* Counts the text of a file that was checked. */
static bool take_text(Model *model, const SafeTensor *text, const char *path, Error *err) {
    const size_t bytes = safetensors_width(text->type), count = text->shape[0];
    const char *packed = text->data;
    int32_t *ids;
    bool ok = memory_alloc(&ids, count, sizeof *ids, path, err);
    for (size_t i = 0; ok && i < count; i++) {
        memcpy(&ids[i], packed + i * bytes, bytes);
        if (ids[i] < 0 || ids[i] >= model->config.V)
            ok = fail(err, "%s: %s[%zu] is %u, but the ids of the vocabulary are 0 to %d", path,
                      text_name, i, (unsigned)ids[i], model->config.V - 1);
    }
    ok = ok && model_count(model, ids, count, false, err);
    memory_free(ids);
    return ok;
}

/* Adds a tensor's data. Returns false if they have numbers that are not finite. Looks for them
 * while the data are in the cache. */
static bool digest_data(Digest *digest, const SafeTensor *tensor) {
    enum { PART = 1 << 15 };
    const char *data = tensor->data;
    bool finite = true, floats = strcmp(tensor->type, "F32") == 0;
    for (size_t at = 0; at < tensor->bytes; at += PART) {
        const size_t bytes = tensor->bytes - at < PART ? tensor->bytes - at : PART;
        digest_add(digest, data + at, bytes);
        finite = finite && (!floats || floats_finite(data + at, bytes / sizeof(float)));
    }
    return finite;
}

/* Sets *sum to the digest of a checkpoint: the sum of the digests of its tensors and its metadata,
 * except the digest itself. It does not depend on their order. Returns the first tensor that is not
 * finite, or NULL. */
static const SafeTensor *digest_of(const SafeTensors *file, uint64_t *sum) {
    const SafeTensor *wrong = NULL;
    *sum = 0;
    for (int i = 0; i < file->metadata_count; i++) {
        const Metadata *entry = &file->metadata[i];
        if (strcmp(entry->key, "digest") == 0) continue;
        Digest digest = digest_start();
        digest_add(&digest, entry->key, strlen(entry->key) + 1);
        digest_add(&digest, entry->value, entry->length);
        *sum += digest_value(&digest);
    }
    for (int i = 0; i < file->tensor_count; i++) {
        const SafeTensor *tensor = &file->tensors[i];
        Digest digest = digest_start();
        digest_add(&digest, tensor->name, strlen(tensor->name) + 1);
        for (int j = 0; j < tensor->rank; j++) {
            uint64_t rows = tensor->shape[j]; /* of eight bytes on every machine */
            digest_add(&digest, &rows, sizeof rows);
        }
        if (!digest_data(&digest, tensor) && !wrong) wrong = tensor;
        *sum += digest_value(&digest);
    }
    return wrong;
}

/* ---- writing ---- */

/* Adds the metadata that describe the model. */
static bool describe(MetadataList *metadata, const Config *config, Error *err) {
    return metadata_text(metadata, "tril", versions[COUNT(versions) - 1], err) &&
           metadata_text(metadata, "model", config->model, err) &&
           numbers_put(metadata, sizes, COUNT(sizes), config, err);
}

/* Fails if a file that tril did not write is at `path`: a checkpoint would replace it. */
static bool replaces_own(const char *path, Error *err) {
    File from;
    SafeTensors old = {0};
    Error why = {0};
    if (file_kind(path) == FILE_NONE) return true;
    if (!file_can_be_replaced(path, "a model", err) || !file_open(&from, path, err)) return false;
    const bool own = from.length == 0 ||
                     (safetensors_open(&old, &from, &why) && safetensors_value(&old, "tril"));
    file_close(&from);
    safetensors_free(&old);
    *err = why;
    return own || (why.status != TRIL_NO_MEMORY &&
                   fail(err,
                        "%s: tril did not write this file, so a model cannot be "
                        "written there; move it, or choose another path",
                        path));
}

bool checkpoint_save(const char *path, const Model *model, const Run *run, const Metadata *metadata,
                     int count, Error *err) {
    MetadataList all = {.count = 0};
    SafeTensors file = {.metadata = all.list};
    const float *numbers[SETS] = {model->weights};
    const size_t tensors = (size_t)model->tensor_count;
    char(*names)[NAME] = NULL;
    uint64_t digest = 0;
    SafeTensor text = {.data = NULL};
    if (run) run_moments(run, &numbers[1], &numbers[2]);
    bool ok = or_as(replaces_own(path, err), TRIL_FILE, err) &&
              memory_alloc(&file.tensors, SETS * tensors + 1, sizeof *file.tensors, path, err) &&
              memory_alloc(&names, SETS * tensors, sizeof *names, path, err) &&
              describe(&all, &model->config, err) &&
              (!model->ngram || pack_text(model, &text, path, err));
    for (int i = 0; ok && i < count; i++)
        ok = metadata_put(&all, metadata[i].key, metadata[i].value, metadata[i].length, err);
    for (int set = 0; ok && set < SETS && numbers[set]; set++)
        for (int i = 0; i < model->tensor_count; i++) {
            const int at = file.tensor_count;
            if (set == SECOND && model->tensors[i].muon) continue;
            file.tensors[at] = in_file(&model->tensors[i], set, numbers[set], names[at]);
            file.tensor_count++;
        }
    if (text.data) file.tensors[file.tensor_count++] = text;
    file.metadata_count = all.count;
    const SafeTensor *wrong = ok ? digest_of(&file, &digest) : NULL;
    if (wrong)
        ok = fail_as(TRIL_DIVERGED, err,
                     "%s: not written: tensor %s has numbers that are not finite", path,
                     wrong->name);
    ok = ok && metadata_text(&all, "digest", digest_text(digest).text, err);
    file.metadata_count = all.count;
    ok = ok && or_as(safetensors_write(&file, path, err), TRIL_FILE, err);
    memory_free((void *)text.data);
    memory_free(names);
    memory_free(file.tensors);
    metadata_free(&all);
    return ok;
}

/* ---- reading ---- */

static bool read_config(const SafeTensors *file, const char *path, Config *config, Error *err) {
    *config = (Config){0};
    const Metadata *entry = safetensors_metadata(file, "tril");
    if (!entry)
        return fail(err,
                    "%s: was not written by tril; for a model of transformers, first run: tril "
                    "import FOLDER MODEL",
                    path);
    int known = 0;
    while (known < COUNT(versions) && strcmp(entry->value, versions[known]) != 0) known++;
    if (known == COUNT(versions))
        return fail(err,
                    "%s: has format '%.16s', which this program does not know: it reads 2 and 3",
                    path, entry->value);
    entry = safetensors_metadata(file, "model");
    if (!entry || entry->length >= sizeof config->model)
        return fail(err, "%s: its metadata has no valid 'model'", path);
    memcpy(config->model, entry->value, entry->length); /* the rest stays 0 */
    const char *bad = numbers_read(file, sizes, COUNT(sizes), config);
    return !bad || fail(err, "%s: its metadata has no valid '%s'", path, bad);
}

/* Checks the tensors of a set, and sets where they are read to. */
static bool match_set(const Model *model, const SafeTensors *file, int set, float *numbers,
                      const char *path, Error *err) {
    char name[NAME];
    for (int i = 0; i < model->tensor_count; i++) {
        const SafeTensor own = in_file(&model->tensors[i], set, numbers, name);
        SafeTensor *stored = safetensors_tensor(file, name);
        if (!stored && set == SECOND && model->tensors[i].muon) continue;
        if (!stored) return fail(err, "%s: tensor %s is missing", path, name);
        if (strcmp(stored->type, own.type) != 0)
            return fail(err, "%s: tensor %s is %s, not F32", path, name, stored->type);
        if (stored->rank != own.rank || stored->shape[0] != own.shape[0] ||
            (stored->rank == 2 && stored->shape[1] != own.shape[1]))
            return fail(err, "%s: the shape of tensor %s contradicts the sizes in its metadata",
                        path, name);
        stored->data = own.data;
    }
    return true;
}

/* Lays the model out by the file's metadata. Checks that the file has its tensors, and no others;
 * only then gets the memory that they are read to. */
static bool lay_out(Model *model, float *moments[2], const SafeTensors *file, const char *path,
                    Error *err) {
    float **const to[SETS] = {&model->weights, &moments[0], &moments[1]};
    Config config;
    if (!read_config(file, path, &config, err)) return false;
    if (safetensors_metadata(file, "lines")) /* written by earlier versions */
        return fail(
            err,
            "%s: was trained line by line, which tril no longer does; train a model on the list "
            "as on any text",
            path);
    if (!model_lay_out(model, &config, err)) return message_of(err, path);
    const SafeTensor *text = safetensors_tensor(file, text_name);
    const int found = file->tensor_count - (text != NULL), own = model->tensor_count;
    const int count = found > 2 * own ? SETS : 1;
    int muon = 0;
    for (int i = 0; i < own; i++) muon += model->tensors[i].muon;
    if (text && !check_text(model, text, path, err)) return false;
    if (found != count * own && (count == 1 || found != count * own - muon))
        return fail(err, "%s: has %d tensors, but %s with these sizes has %d", path,
                    file->tensor_count, model->config.model, model->tensor_count);
    bool ok = true;
    for (int set = 0; ok && set < count; set++) ok = match_set(model, file, set, NULL, path, err);
    for (int set = 0; ok && set < count; set++)
        ok = memory_alloc(to[set], model->weights_size, sizeof(float), path, err) &&
             match_set(model, file, set, *to[set], path, err);
    return ok;
}

/* Checks that the data are those that were written, and finite. */
static bool check_data(const SafeTensors *file, const char *path, Error *err) {
    uint64_t digest;
    const char *value = safetensors_value(file, "digest");
    if (!value) return fail(err, "%s: its metadata has no 'digest'", path);
    const SafeTensor *wrong = digest_of(file, &digest);
    if (strcmp(digest_text(digest).text, value) != 0)
        return fail(err, "%s: damaged: its contents do not match its digest", path);
    return !wrong || fail(err, "%s: tensor %s has numbers that are not finite", path, wrong->name);
}

bool checkpoint_load(Model *model, float *moments[2], SafeTensors *file, const char *path,
                     Error *err) {
    File from;
    bool ok = file_open(&from, path, err) && safetensors_open(file, &from, err) &&
              lay_out(model, moments, file, path, err) && safetensors_fetch(file, &from, err) &&
              check_data(file, path, err);
    const SafeTensor *text = ok ? safetensors_tensor(file, text_name) : NULL;
    ok = ok && (!text || take_text(model, text, path, err));
    file_close(&from);
    memory_free(file->data);
    file->data = NULL;
    for (int i = 0; i < file->tensor_count; i++) file->tensors[i].data = NULL;
    return ok;
}
