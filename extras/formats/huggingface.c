/* huggingface.c - converts models to and from folders of Hugging Face transformers: gpt as GPT-2
 * (whose Conv1D stores a linear layer's matrix transposed), modern as Qwen3. */
#include "library/formats.h"
#include "library/safetensors.h"
#include "extras/formats/quantize.h"
#include "extras/formats/folder.h"
#include "extras/formats/tokenizer_json.h"
#include "model/rungs/rung.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A line of config.json: a fixed value, written as JSON, or a size. */
typedef struct {
    const char *key; /* a nested member is OUTER.INNER */
    const char *value;
    Size size;
    unsigned flags;
} Field;
enum {
    USUAL = 1,     /* may be missing: the library's default is the same */
    NULLABLE = 2,  /* may be null, with the same meaning */
    UNREAD = 4,    /* we write it, but ignore it when reading */
    UNWRITTEN = 8, /* we check it when reading, but do not write it */
};

static const Field gpt2_fields[] = {
    {"vocab_size", NULL, SIZE_V, 0},
    {"n_positions", NULL, SIZE_T, 0},
    {"n_embd", NULL, SIZE_C, 0},
    {"n_layer", NULL, SIZE_L, 0},
    {"n_head", NULL, SIZE_NH, 0},
    {"n_inner", NULL, SIZE_4C, USUAL | NULLABLE},
    /* the same sizes under the names that the library prefers */
    {"max_position_embeddings", NULL, SIZE_T, USUAL | UNWRITTEN},
    {"hidden_size", NULL, SIZE_C, USUAL | UNWRITTEN},
    {"num_hidden_layers", NULL, SIZE_L, USUAL | UNWRITTEN},
    {"num_attention_heads", NULL, SIZE_NH, USUAL | UNWRITTEN},
    {"activation_function", "\"gelu_new\"", SIZE_1, USUAL},
    {"layer_norm_epsilon", "1e-05", SIZE_1, USUAL},
    {"tie_word_embeddings", "true", SIZE_1, USUAL},
    {"add_cross_attention", "false", SIZE_1, USUAL},
    {"scale_attn_weights", "true", SIZE_1, USUAL},
    {"scale_attn_by_inverse_layer_idx", "false", SIZE_1, USUAL},
};

static const Field qwen3_fields[] = {
    {"vocab_size", NULL, SIZE_V, 0},
    {"max_position_embeddings", NULL, SIZE_T, 0},
    {"hidden_size", NULL, SIZE_C, 0},
    {"num_hidden_layers", NULL, SIZE_L, 0},
    {"num_attention_heads", NULL, SIZE_NH, 0},
    {"num_key_value_heads", NULL, SIZE_NKV, 0},
    {"head_dim", NULL, SIZE_HS, 0},
    {"intermediate_size", NULL, SIZE_H, 0},
    {"hidden_act", "\"silu\"", SIZE_1, USUAL},
    {"rms_norm_eps", "1e-06", SIZE_1, USUAL},
    {"tie_word_embeddings", "true", SIZE_1, 0},
    {"attention_bias", "false", SIZE_1, USUAL},
    {"use_sliding_window", "false", SIZE_1, USUAL},
    {"rope_theta", "10000.0", SIZE_1, USUAL},
    {"rope_parameters", "{\"rope_type\": \"default\", \"rope_theta\": 10000.0}", SIZE_1, UNREAD},
    {"rope_parameters.rope_type", "\"default\"", SIZE_1, USUAL | UNWRITTEN},
    {"rope_parameters.rope_theta", "10000.0", SIZE_1, USUAL | UNWRITTEN},
    {"rope_scaling", "null", SIZE_1, USUAL | UNWRITTEN},
};

typedef struct {
    const char *rung, *type, *class; /* our name; model_type and architectures in config.json */
    const char *dropout[3];          /* the keys that hold our dropout */
    const char *embedding;           /* the tensor with one row per token */
    bool transposed;                 /* the matrices of its blocks are transposed */
    const Field *fields;
    int field_count;
} Architecture;

static const Architecture architectures[] = {
    {.rung = "gpt",
     .type = "gpt2",
     .class = "GPT2LMHeadModel",
     .dropout = {"embd_pdrop", "attn_pdrop", "resid_pdrop"},
     .embedding = "transformer.wte.weight",
     .transposed = true,
     .fields = gpt2_fields,
     .field_count = COUNT(gpt2_fields)},
    {.rung = "modern",
     .type = "qwen3",
     .class = "Qwen3ForCausalLM",
     .dropout = {"attention_dropout"},
     .embedding = "model.embed_tokens.weight",
     .fields = qwen3_fields,
     .field_count = COUNT(qwen3_fields)},
};

static const Architecture *architecture_of(const char *name) {
    for (int i = 0; i < COUNT(architectures); i++)
        if (strcmp(name, architectures[i].rung) == 0 || strcmp(name, architectures[i].type) == 0)
            return &architectures[i];
    return NULL;
}

static bool is_transposed(const Architecture *a, const Tensor *tensor) {
    return a->transposed && tensor->rank == 2 && tensor->block != NO_BLOCK;
}

/* Sets to[columns, rows] to from[rows, columns], transposed. */
static void transpose(float *to, const float *from, int rows, int columns) {
    for (size_t i = 0; i < (size_t)rows; i++)
        for (size_t j = 0; j < (size_t)columns; j++)
            to[j * (size_t)rows + i] = from[i * (size_t)columns + j];
}

/* ---- export ---- */

static bool write_config(const Architecture *a, const Config *config, const char *directory,
                         Error *err) {
    Buffer text = buffer_begin(directory, err);
    /* our vocabularies have no token for the beginning or end of a text */
    buffer_printf(&text,
                  "{\n  \"model_type\": \"%s\",\n  \"architectures\": [\"%s\"],\n"
                  "  \"dtype\": \"float32\",\n  \"torch_dtype\": \"float32\",\n"
                  "  \"bos_token_id\": null,\n  \"eos_token_id\": null,\n"
                  "  \"pad_token_id\": null",
                  a->type, a->class);
    for (int i = 0; i < a->field_count; i++) {
        const Field *field = &a->fields[i];
        if (field->flags & UNWRITTEN) continue;
        buffer_printf(&text, ",\n  \"%s\": ", field->key);
        if (field->value)
            buffer_printf(&text, "%s", field->value);
        else
            buffer_printf(&text, "%d", size_of(config, field->size));
    }
    char dropout[NUMBER_SIZE];
    number_write(dropout, sizeof dropout, 'g', 9, config->dropout);
    for (int i = 0; i < COUNT(a->dropout) && a->dropout[i]; i++)
        buffer_printf(&text, ",\n  \"%s\": %s", a->dropout[i], dropout);
    buffer_printf(&text, "\n}\n");
    return folder_write(&text, directory, "config.json", err);
}

/* Returns a tensor as the library stores it. A transposed copy is written to `transposed`. */
static SafeTensor tensor_for(const Architecture *a, const Model *model, int i, float *transposed) {
    const Tensor *tensor = &model->tensors[i];
    const float *data = model->weights + tensor->offset;
    size_t rows = (size_t)tensor->shape[0], columns = (size_t)tensor->shape[1];
    SafeTensor theirs = {.name = tensor->name,
                         .type = "F32",
                         .rank = tensor->rank,
                         .shape = {rows, columns},
                         .data = data,
                         .bytes = tensor->size * sizeof(float)};
    if (!is_transposed(a, tensor)) return theirs;
    transpose(transposed + tensor->offset, data, tensor->shape[0], tensor->shape[1]);
    theirs.data = transposed + tensor->offset;
    theirs.shape[0] = columns;
    theirs.shape[1] = rows;
    return theirs;
}

static bool write_tensors(const Architecture *a, const Model *model, const char *directory,
                          Error *err) {
    Note format = {"format", "pt", 2}; /* the library requires this note */
    SafeTensors file = {.notes = &format, .note_count = 1};
    float *transposed = NULL;
    char *path;
    bool ok =
        file_within(directory, "model.safetensors", &path, err) &&
        memory_alloc(&file.tensors, (size_t)model->tensor_count, sizeof *file.tensors, path, err) &&
        memory_alloc(&transposed, a->transposed ? model->weights_size : 0, sizeof *transposed, path,
                     err);
    if (ok) {
        file.tensor_count = model->tensor_count;
        for (int i = 0; i < model->tensor_count; i++)
            file.tensors[i] = tensor_for(a, model, i, transposed);
        ok = safetensors_write(&file, path, err);
    }
    memory_free(file.tensors);
    memory_free(transposed);
    memory_free(path);
    return ok;
}

static bool write_folder(const Model *model, const Vocab *vocab, const char *type,
                         const char *directory, Error *err) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json",
                                        "tokenizer_config.json"};
    const Architecture *a = architecture_of(model->config.model);
    (void)type;
    if (!a)
        return fail(err,
                    "Hugging Face transformers has no architecture for %s; train one that it has: "
                    "train --model modern FILE, or --model gpt",
                    model->config.model);
    size_t made;
    if (!folder_make(directory, &made, err)) return false;
    if (tokenizer_export(vocab, model->config.T, directory, err) &&
        write_config(a, &model->config, directory, err) && write_tensors(a, model, directory, err))
        return true;
    folder_remove(directory, made, files, COUNT(files));
    return false;
}

/* ---- import: the configuration ---- */

/* Returns true if the entry has this value, written as JSON. Compares numbers by value. */
static bool says(const JsonValue *entry, const char *value) {
    if (entry->kind == JSON_STRING)
        return *value == '"' && entry->length == strlen(value) - 2 &&
               memcmp(entry->text, value + 1, entry->length) == 0;
    if (entry->kind != JSON_LITERAL) return false;
    if (strchr("tfn", *value)) return json_is(entry, value);
    bool number = *entry->text == '-' || (*entry->text >= '0' && *entry->text <= '9');
    return number && *value != '"' && number_read(entry->text, NULL) == number_read(value, NULL);
}

static bool check_field(const JsonFile *from, const Field *field, const Config *config,
                        Error *err) {
    char size[16];
    const char *value = field->value;
    if (!value) {
        snprintf(size, sizeof size, "%d", size_of(config, field->size));
        value = size;
    }
    const JsonValue *entry = json_member(from->root, field->key);
    if (!entry)
        return field->flags & USUAL || fail(err, "%s: has no '%s'; tril's %s needs %s", from->path,
                                            field->key, config->model, value);
    if (says(entry, value) || (field->flags & NULLABLE && json_is(entry, "null"))) return true;
    const char *quote = entry->kind == JSON_STRING ? "\"" : "";
    const char *shown = entry->kind == JSON_ARRAY    ? "an array"
                        : entry->kind == JSON_OBJECT ? "an object"
                                                     : entry->text;
    size_t length = entry->text == shown ? entry->length : strlen(shown);
    return fail(err, "%s: '%s' is %s%.*s%s, but tril's %s needs %s", from->path, field->key, quote,
                (int)min_size(length, 64), shown, quote, config->model, value);
}

/* Checks each field that matters. Fails for members of rope_parameters that no field names. */
static bool check_fields(const JsonFile *from, const Architecture *a, const Config *config,
                         Error *err) {
    for (int i = 0; i < a->field_count; i++) {
        const Field *field = &a->fields[i];
        if (!(field->flags & UNREAD) && !check_field(from, field, config, err)) return false;
    }
    const JsonValue *rope = json_member(from->root, "rope_parameters");
    if (rope && rope->kind != JSON_OBJECT && !json_is(rope, "null"))
        return fail(err, "%s: 'rope_parameters' is not an object", from->path);
    json_each(entry, rope) {
        char key[64];
        int known = 0;
        snprintf(key, sizeof key, "rope_parameters.%s", entry->key);
        while (known < a->field_count && strcmp(a->fields[known].key, key) != 0) known++;
        if (known == a->field_count)
            return fail(err, "%s: '%s' is not supported by tril's %s", from->path, key,
                        config->model);
    }
    return true;
}

/* Reads each size from its first field. check_fields then checks the other fields against it. */
static bool read_sizes(const JsonFile *from, const Architecture *a, Config *config, Error *err) {
    const struct {
        Size size;
        int *member;
    } own[] = {{SIZE_V, &config->V},   {SIZE_T, &config->T}, {SIZE_L, &config->L},
               {SIZE_NH, &config->NH}, {SIZE_C, &config->C}, {SIZE_NKV, &config->NKV},
               {SIZE_H, &config->H}};
    for (int i = 0; i < COUNT(own); i++) {
        int at = 0;
        while (at < a->field_count && (a->fields[at].value || a->fields[at].size != own[i].size))
            at++;
        if (at == a->field_count) continue;
        const char *key = a->fields[at].key;
        const JsonValue *entry = json_member(from->root, key);
        double size = entry && entry->kind == JSON_LITERAL ? number_read(entry->text, NULL) : 0;
        if (!(size >= 1 && size <= MAX_VOCABULARY) || size != (int)size)
            return fail(err, "%s: has no valid '%s'", from->path, key);
        *own[i].member = (int)size;
    }
    return true;
}

static bool choose(const JsonFile *from, const Architecture **a, Config *config, Error *err) {
    const JsonValue *type = json_member(from->root, "model_type");
    const char *name;
    Error why;
    if (!type || !json_name(type, &name)) return fail(err, "%s: has no 'model_type'", from->path);
    *a = architecture_of(name);
    if (!*a)
        return fail(err, "%s: 'model_type' is '%.64s', but only gpt2 and qwen3 can be read",
                    from->path, name);
    *config = (Config){0};
    snprintf(config->model, sizeof config->model, "%s", (*a)->rung);
    if (!read_sizes(from, *a, config, err)) return false;
    if (!model_check(config, &why)) return fail(err, "%s: %.400s", from->path, why.text);
    return check_fields(from, *a, config, err);
}

/* ---- import: the weights ---- */

static bool is_float(const SafeTensor *tensor) {
    return strcmp(tensor->type, "F32") == 0 || strcmp(tensor->type, "F16") == 0 ||
           strcmp(tensor->type, "BF16") == 0;
}

/* Converts all numbers of a tensor to floats. Returns false if one of them is not finite. */
static bool read_floats(const SafeTensor *tensor, float *to) {
    if (strcmp(tensor->type, "F32") == 0) {
        memcpy(to, tensor->data, tensor->bytes);
        return safetensors_finite(tensor->data, tensor->bytes);
    }
    bool half = strcmp(tensor->type, "F16") == 0, finite = true;
    for (size_t i = 0; i < tensor->bytes / sizeof(uint16_t); i++) {
        uint16_t bits;
        memcpy(&bits, (const char *)tensor->data + i * sizeof bits, sizeof bits);
        to[i] = half ? half_value(bits) : bfloat_value(bits);
        finite = finite && isfinite(to[i]);
    }
    return finite;
}

static bool check_tensors(const Architecture *a, const Model *model, const Shards *shards,
                          Error *err) {
    if (shards->tensor_count != model->tensor_count)
        return fail(err, "%s: has %d tensors, but %s with these sizes has %d", shards->list[0].path,
                    shards->tensor_count, model->config.model, model->tensor_count);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        const char *path, *name = tensor->name;
        const SafeTensor *stored = shards_tensor(shards, name, &path);
        if (!stored) return fail(err, "%s: tensor %s is missing", path, name);
        if (!is_float(stored))
            return fail(err, "%s: tensor %s is %s, not F32, F16 or BF16", path, name, stored->type);
        bool transposed = is_transposed(a, tensor);
        if (stored->rank != tensor->rank || stored->shape[0] != (size_t)tensor->shape[transposed] ||
            (stored->rank == 2 && stored->shape[1] != (size_t)tensor->shape[!transposed]))
            return fail(err, "%s: the shape of tensor %s contradicts the sizes in config.json",
                        path, name);
    }
    return true;
}

/* Copies the `numbers` of a stored tensor to their place in the model. */
static void place_tensor(const Architecture *a, const Model *model, const Tensor *tensor,
                         const float *numbers, const int32_t *rows) {
    float *to = model->weights + tensor->offset;
    size_t width = (size_t)tensor->shape[1];
    if (is_transposed(a, tensor))
        transpose(to, numbers, tensor->shape[1], tensor->shape[0]);
    else if (strcmp(tensor->name, a->embedding) == 0)
        for (int row = 0; row < tensor->shape[0]; row++)
            memcpy(to + (size_t)row * width, numbers + (size_t)rows[row] * width,
                   width * sizeof *to);
    else
        memcpy(to, numbers, tensor->size * sizeof *to);
}

static bool read_tensors(const Architecture *a, const Model *model, const Shards *shards,
                         const int32_t *rows, Error *err) {
    size_t largest = 0;
    float *numbers;
    for (int i = 0; i < model->tensor_count; i++)
        if (model->tensors[i].size > largest) largest = model->tensors[i].size;
    if (!memory_alloc(&numbers, largest, sizeof *numbers, "a tensor", err)) return false;
    bool ok = true;
    for (int i = 0; ok && i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        const char *path;
        ok = read_floats(shards_tensor(shards, tensor->name, &path), numbers) ||
             fail(err, "%s: tensor %s has numbers that are not finite", path, tensor->name);
        if (ok) place_tensor(a, model, tensor, numbers, rows);
    }
    memory_free(numbers);
    return ok;
}

static bool read_weights(Model *model, const Architecture *a, const Config *config,
                         const int32_t *rows, const char *directory, Error *err) {
    Shards shards;
    bool ok = shards_open(&shards, directory, err) && model_lay_out(model, config, err) &&
              check_tensors(a, model, &shards, err) && shards_fetch(&shards, err) &&
              model_allocate(model, err) && read_tensors(a, model, &shards, rows, err);
    shards_free(&shards);
    return ok;
}

/* Fails if the folder is that of a training run: it has a model, but no config.json. */
static bool check_folder(const char *directory, Error *err) {
    char *config = NULL, *model = NULL;
    bool ok = file_within(directory, "config.json", &config, err) &&
              file_within(directory, "model.safetensors", &model, err);
    if (ok && !file_exists(config) && file_exists(model))
        ok =
            fail(err, "%s: there is no such file; to read a model of tril, name %s", config, model);
    memory_free(config);
    memory_free(model);
    return ok;
}

static bool read_folder(Model *model, Vocab *vocab, const char *directory, Error *err) {
    int32_t *rows;
    JsonFile file;
    const Architecture *a = NULL;
    Config config;
    *model = (Model){0};
    if (!check_folder(directory, err) || !tokenizer_import(vocab, directory, &rows, err))
        return false;
    bool ok = folder_open(&file, directory, "config.json", "not valid JSON", err) &&
              choose(&file, &a, &config, err);
    if (ok && config.V != vocab->size)
        ok = fail(err, "%s: has a vocabulary of %d, but tokenizer.json has %d tokens", file.path,
                  config.V, vocab->size);
    ok = ok && read_weights(model, a, &config, rows, directory, err);
    folder_close(&file);
    memory_free(rows);
    if (ok) return true;
    model_free(model);
    vocab_free(vocab);
    return false;
}

static bool names_folder(const char *path) {
    (void)path;
    return true;
}

const Format huggingface_format = {
    .recognizes = file_is_directory,
    .read = read_folder,
    .names = names_folder,
    .write = write_folder,
    .types = (const char *const[]){"f32", NULL},
};
