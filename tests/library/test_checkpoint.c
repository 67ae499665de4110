/* test_checkpoint.c - writes and reads checkpoints, and compares the file's bytes with those of a
 * stored one. A file that is cut, damaged or edited must be an error with a message, or be a
 * whole model. */
#include "tests/state.h"
#include "base/digest.h"
#include "base/memory.h"
#include "tests/objects.h"

enum { PREFIX = 8 };

static char path[SCRATCH_PATH]; /* of the checkpoint */

/* ---- files ---- */

/* Empties the directory. Returns the number of files. */
static int sweep(void) {
    int count = scratch_count(".");
    scratch_remove(scratch_directory());
    make_folder(scratch_directory());
    return count;
}

SET_UP {
    snprintf(path, sizeof path, "%s", scratch("model.safetensors"));
}

static void put_file(const char *bytes, size_t length) {
    remove(path); /* some file systems flush a file that is truncated and rewritten */
    scratch_put("model.safetensors", bytes, length);
}

/* The message names the file and `name`; `subject` is the case (expect_case). */
static void assert_not_loaded(const char *subject, const char *name) {
    err = (Error){0};
    Checkpoint checkpoint;
    if (checkpoint_read(&checkpoint, path)) fail_msg("loaded: %s", subject ? subject : name);
    expect_case(subject, err, path, name);
    checkpoint_free(&checkpoint);
}

/* ---- models ---- */

/* Any finite bits, including the largest and smallest numbers and both zeros. */
static float any_finite(uint64_t place) {
    uint32_t bits = (uint32_t)random_bits(7, place);
    float number;
    if ((bits & 0x7F800000) == 0x7F800000) bits ^= 0x00800000;
    memcpy(&number, &bits, sizeof number);
    return number;
}

static Model *build(const char *name, int layers) {
    Config config = {.V = 5, .T = 4, .L = layers, .NH = 2, .C = 6};
    kind_set(&config, name);
    /* rotary positions need pairs of channels; shared heads, a number that NKV divides */
    if (config.NKV > 0 || !model_check(&config, &err)) config.C = 8;
    Model *model = new_model(&config, 1);
    for (size_t i = 0; i < model->weights_size; i++) model->weights[i] = any_finite(i);
    count_letters(model);
    return model;
}

static const char *sizes_of(const Config *c) {
    return formatted("%s %d %d %d %d %d %d %d", c->model, c->V, c->T, c->L, c->NH, c->C, c->NKV,
                     c->H);
}

/* The file has this model. */
static Checkpoint *assert_loads(const Model *model) {
    Checkpoint *checkpoint = loaded(path);
    const Model *read = &checkpoint->model;
    assert_string_equal(sizes_of(&read->config), sizes_of(&model->config));
    assert_int_equal(read->parameters, model->parameters);
    assert_int_equal(read->tensor_count, model->tensor_count);
    assert_int_equal(model_digest(read), model_digest(model));
    return checkpoint;
}

static const char controls[] = "\b\f\n\r\t\1\2\37\177/\0after";
static const Metadata notes[] = {
    {"quoted", "say \"\\\" twice: \"\\\"", 18},
    {"controls", controls, sizeof controls - 1},
    {"zeros", "\0\0", 2},
    {"empty", "", 0},
    {"chinese", "\xE4\xB8\xAD\xE6\x96\x87\xEF\xBC\x81", 9},
    {"wide", "\xF0\x9F\x90\xA6\xF4\x8F\xBF\xBF", 8},
};

/* Saves a model with the first `metadata_count` entries of metadata and reads the bytes. */
static void save(const Model *model, int metadata_count, char **bytes, size_t *length) {
    assert_ok(checkpoint_save(path, model, NULL, notes, metadata_count, &err), err);
    assert_ok(file_read(path, bytes, length, &err), err);
    at_end(memory_free, *bytes);
}

/* ---- round trip ---- */

/* A run's checkpoint has moments, but no second ones of Muon; a model's has none. The loaded model
 * runs. */
TEST_OF_EACH(kind_name, round_trip) {
    Model *model = build(name, 3);
    RunOptions options = {.batch = 1, .length = 1, .training = true, .threads = 1};
    Run *run = open_run(model, &options);
    float *first = random_floats(3, model->weights_size),
          *second = random_floats(4, model->weights_size);
    run_restore(run, 7, first, second);
    assert_ok(checkpoint_save(path, run_model(run), run, notes, COUNT(notes), &err), err);
    Checkpoint *checkpoint = assert_loads(model);
    for (int j = 0; j < model->tensor_count; j++) {
        const Tensor *tensor = &model->tensors[j];
        size_t at = tensor->offset, bytes = tensor->size * sizeof(float);
        const char *second_name = formatted("second_moment.%s", tensor->name);
        assert_memory_equal(checkpoint->moments[0] + at, first + at, bytes);
        assert_int_equal(safetensors_tensor(&checkpoint->file, second_name) == NULL, tensor->muon);
        if (!tensor->muon) assert_memory_equal(checkpoint->moments[1] + at, second + at, bytes);
    }
    assert_ok(checkpoint_save(path, model, NULL, notes, COUNT(notes), &err), err);
    checkpoint = assert_loads(model);
    assert_true(!checkpoint->moments[0] && !checkpoint->moments[1]);
    for (int j = 0; j < COUNT(notes); j++) {
        const Metadata *note = safetensors_metadata(&checkpoint->file, notes[j].key);
        assert_non_null(note);
        assert_int_equal(note->length, notes[j].length);
        assert_memory_equal(note->value, notes[j].value, note->length + 1);
    }
    assert_string_equal(safetensors_metadata(&checkpoint->file, "model")->value,
                        model->config.model);
    assert_null(safetensors_metadata(&checkpoint->file, "nothing"));
    options.training = false;
    assert_non_null(run_forward(open_run(&checkpoint->model, &options), &(int32_t){4}, 1, 1));
    assert_int_equal(sweep(), 1);
}

TEST(any_order) {
    Model *model = build("gpt", 1);
    assert_ok(checkpoint_save(path, model, NULL, notes, COUNT(notes), &err), err);
    const SafeTensors *file = tensors_of(path);
    for (int i = 0, end = file->tensor_count - 1; i < end - i; i++) {
        SafeTensor tensor = file->tensors[i];
        file->tensors[i] = file->tensors[end - i];
        file->tensors[end - i] = tensor;
    }
    assert_ok(safetensors_write(file, path, &err), err);
    assert_loads(model);
}

/* Saves a stored file again: with the bytes that it had. */
static void check_bytes(const char *name) {
    enum { MOST = 20 };
    Checkpoint *stored = loaded(name);
    Metadata own[MOST];
    int count = 0;
    for (int i = 0; i < stored->file.metadata_count; i++)
        if (!checkpoint_has_key(stored->file.metadata[i].key))
            own[count++] = stored->file.metadata[i];
    char *before;
    size_t length;
    assert_ok(checkpoint_save(path, &stored->model, NULL, own, count, &err), err);
    assert_ok(file_read(name, &before, &length, &err), err);
    at_end(memory_free, before);
    scratch_expect("model.safetensors", before, length);
}

/* A stored file of every version loads and writes the same text. */
TEST(versions) {
    static const char written[] = ":\n     hathe  it cut, the ant louse in he wfwour fon a thadl";
    for (int version = 2; version <= 3; version++) {
        char one[4], text[sizeof written] = "";
        TrilSampling sampling = tril_sampling();
        sampling.precision = "f32";
        const TrilModel *model =
            load_model(formatted("tests/golden/formats/model-%d.safetensors", version));
        assert_string_equal(tril_model_metadata(model, "tril"), formatted("%d", version));
        assert_int_equal(tril_model_digest(model), 0x797a1682cb5f0ad7);
        assert_near(tril_model_loss(model), 2.267559, 0);
        TrilWriter *writer = write_with(model, &sampling);
        must(tril_writer_append(writer, "THE", 3, &error));
        for (size_t i = 0; i + 1 < sizeof text; i++) {
            assert_int_equal(tril_writer_write(writer, one), 1);
            text[i] = *one;
        }
        assert_string_equal(text, written);
    }
    check_bytes("tests/golden/formats/model-3.safetensors");
}

/* ---- a good file, changed ---- */

/* Cuts the file at many lengths, and changes each byte in three ways. No such file loads, be it
 * changed in metadata or in a weight. */
TEST(flips) {
    char *bytes;
    size_t length;
    Model *model = build("average", 1);
    save(model, 1, &bytes, &length);
    for (size_t cut = 0; cut < length; cut += 61) {
        put_file(bytes, cut);
        assert_not_loaded(NULL, "");
    }
    for (size_t i = 0; i < length; i++)
        for (int kind = 0; kind < 3; kind++) {
            char kept = bytes[i];
            bytes[i] = (char)(kind == 0 ? 0 : kind == 1 ? kept ^ 0x80 : kept ^ 1);
            put_file(bytes, length);
            if (bytes[i] != kept) assert_not_loaded(NULL, "");
            bytes[i] = kept;
        }
}

/* Edits of a good header: replace the first `from` by `to`. */
#define LAST  "'transformer.ln_f.bias':{'dtype':'F32','shape':[6],'data_offsets':[2280,2304]}"
#define EXTRA "'extra':{'dtype':'U8','shape':[0],'data_offsets':[2304,2304]}"

/* clang-format off */
typedef struct {
    const char *from, *to, *name;
} Edit;

static const Edit edits[] = {
    {"'tril':'3',", "", ""}, {"'tril':'3'", "'tril':''", "''"},
    {"'tril':'3'", "'tril':'4'", "'4'"},
    {"'tril':'3'", "'tril':'1'", "'1'"}, {"'tril':'3'", "'tril':'2'", ""},
    {"'model':'gpt',", "", "'model'"},
    {"'model':'gpt'", "'model':'sixteen letters!'", "'model'"},
    {"'model':'gpt'", "'model':'trigram'", "'trigram'"},
    {"'model':'gpt'", "'model':'bigram'", "16"},
    {"'vocabulary_size':'5',", "", "'vocabulary_size'"},
    {"_size':'5'", "_size':'0'", "'vocabulary_size'"}, {"_size':'5'", "_size':''", "'vocabulary_size'"},
    {"_size':'5'", "_size':'V'", "'vocabulary_size'"}, {"_size':'5'", "_size':'5x'", "'vocabulary_size'"},
    {"_size':'5'", "_size':'1114113'", "1114113"},
    {"_size':'5'", "_size':'1114112'", "wte.weight"},
    {"_size':'5'", "_size':'6'", "wte.weight"},
    {"'context':'4',", "", "'context'"},
    {"'context':'4'", "'context':'4294967300'", "'context'"}, /* 4 + 2^32 */
    {"'context':'4'", "'context':'18446744073709551620'", "'context'"},
    {"'context':'4'", "'context':'65537'", "65537"},
    {"'context':'4'", "'context':'3'", "wpe.weight"},
    {"'layers':'1',", "", "'layers'"},
    {"'layers':'1'", "'layers':'257'", "257"},
    {"'layers':'1'", "'layers':'2'", "16"},
    {"'heads':'2',", "", "'heads'"}, {"'heads':'2'", "'heads':'0'", "'heads'"},
    {"'heads':'2'", "'heads':'4'", "4"},
    {"'width':'6',", "", "'width'"}, {"'width':'6'", "'width':'6.5'", "'width'"},
    {"'width':'6'", "'width':'1048578'", "1048578"},
    {"'width':'6'", "'width':'8'", ""},
    {"[6],'data_offsets':[2256,2280]}," LAST, "[12],'data_offsets':[2256,2304]}",
     "15"},
    {LAST, LAST "," EXTRA, "17"},
    {"h.0.attn.c_attn.bias", "h.1.attn.c_attn.bias", "h.0.attn.c_attn.bias"},
    {"[18,6]", "[6,18]", "c_attn.weight"}, /* as in GPT-2's own files */
    {"[18,6]", "[9,12]", "c_attn.weight"}, {"[18,6]", "[108]", "c_attn.weight"},
    {"[18,6]", "[18,6,1]", "c_attn.weight"}, {"[18]", "[18,1]", "c_attn.bias"},
    {"F32','shape':[18,6]", "BF16','shape':[36,6]", "c_attn.weight"},
    {"F32','shape':[18,6]", "I32','shape':[18,6]", "c_attn.weight"},
    {"'shape':[18]", "'shape':[19]", ""},
    {"'digest'", "'diges'", "'digest'"}, {"'digest':'", "'digest':'0", ""},
    {"'heads':'2'", "'heads':'3'", ""},
    {"'heads':'2'", "'heads':'2','lines':'1'", "line by line"}, /* of an earlier version */
};
/* clang-format on */

/* Of a model whose heads share keys and values. */
static const Edit shared_edits[] = {
    {"'kv_heads':'1'", "'kv_heads':'2'", "k_proj.weight"},
    {"'kv_heads':'1',", "", "k_proj.weight"},
    {"'kv_heads':'1'", "'kv_heads':'0'", "'kv_heads'"},
    {"'kv_heads':'1'", "'kv_heads':'3'", "3"},
    {"'hidden':'13'", "'hidden':'14'", "gate_proj.weight"},
    {"'hidden':'13',", "", "gate_proj.weight"},
    {"'hidden':'13'", "'hidden':'-1'", "'hidden'"},
    {"'hidden':'13'", "'hidden':'1048577'", "1048577"},
    {"'hidden':'13'", "'hidden':'12'", "gate_proj.weight"},
};

static void check_edits(const char *kind, const Edit *list, int count) {
    char *bytes;
    size_t length;
    uint64_t header;
    Model *model = build(kind, 1);
    save(model, 0, &bytes, &length);
    char *edited = scrap(length + 200, 1);
    memcpy(&header, bytes, PREFIX);
    for (int i = 0; i < count; i++) {
        const char *old = quoted(list[i].from), *new = quoted(list[i].to);
        const size_t from = strlen(old), to = strlen(new);
        const char *place = strstr(bytes + PREFIX, old);
        if (!place) fail_msg("there is no %s in the header", old);
        uint64_t edited_header = header + to - from;
        size_t before = (size_t)(place - bytes);
        memcpy(edited, bytes, before);
        memcpy(edited, &edited_header, PREFIX);
        memcpy(edited + before, new, to);
        memcpy(edited + before + to, place + from, length - before - from);
        put_file(edited, length + to - from);
        assert_not_loaded(formatted("%s: %s", list[i].from, list[i].to), list[i].name);
    }
    put_file(bytes, length);
    assert_loads(model);
}

TEST(edits) {
    check_edits("gpt", edits, COUNT(edits));
    check_edits("shared heads", shared_edits, COUNT(shared_edits));
}

/* ---- the text of a model that counts ---- */

static const Edit text_edits[] = {
    {"'ngram.text'", "'ngram.next'", "19"},
    {"'U8','shape':[40]", "'U16','shape':[20]", "ngram.text"},
    {"'U8','shape':[40]", "'U8','shape':[8,5]", "ngram.text"},
    {"'model':'ngram'", "'model':'conv'", "ngram.text"},
};

/* Ids of the wrong type or number, beyond the vocabulary, or damaged. Without training: no text. */
TEST(counted_text) {
    static const int sizes[] = {5, 256, 257, 65536, 65537};
    char *bytes;
    size_t length;
    check_edits("ngram", text_edits, COUNT(text_edits));

    Model *model = build("ngram", 1);
    save(model, 0, &bytes, &length);
    bytes[length - 1] ^= 1;
    put_file(bytes, length);
    assert_not_loaded("damaged", "");
    bytes[length - 1] ^= 1;
    put_file(bytes, length);
    const SafeTensors *file = tensors_of(path);
    SafeTensor *text = &file->tensors[file->tensor_count - 1];
    text->shape[0] = text->bytes = 0;
    assert_ok(safetensors_write(file, path, &err), err);
    assert_not_loaded("empty", "ngram.text");

    int32_t *ids = random_ids(1, 9, model->config.V);
    ids[7] = model->config.V;
    ngram_free(model->ngram);
    assert_ok(ngram_count(&model->ngram, ids, 9, 9, 3, model->config.V + 1, &err), err);
    assert_ok(checkpoint_save(path, model, NULL, NULL, 0, &err), err);
    assert_not_loaded("beyond", "ngram.text");
    ngram_free(model->ngram);
    model->ngram = NULL;
    assert_ok(checkpoint_save(path, model, NULL, NULL, 0, &err), err);
    assert_loads(model);

    for (int i = 0; i < COUNT(sizes); i++) { /* of one, two and four bytes */
        Config config = {.model = "ngram", .V = sizes[i], .T = 2, .L = 1, .NH = 1, .C = 2};
        model = new_model(&config, 1);
        count_letters(model);
        assert_ok(checkpoint_save(path, model, NULL, NULL, 0, &err), err);
        assert_loads(model);
    }
}

/* ---- numbers that are not finite ---- */

/* Returns a tensor's part of the digest of its checkpoint. */
static uint64_t digest_of(const SafeTensor *tensor) {
    Digest digest = digest_start();
    digest_add(&digest, tensor->name, strlen(tensor->name) + 1);
    for (int i = 0; i < tensor->rank; i++) {
        const uint64_t size = tensor->shape[i];
        digest_add(&digest, &size, sizeof size);
    }
    digest_add(&digest, tensor->data, tensor->bytes);
    return digest_value(&digest);
}

/* Writes the file again, whose own digest is now larger by `more`. */
static void rewrite(const SafeTensors *file, uint64_t more) {
    Metadata *entry = (Metadata *)safetensors_metadata(file, "digest");
    const char *before = entry->value;
    uint64_t digest;
    assert_true(digest_read(before, &digest));
    const DigestText changed = digest_text(digest + more);
    entry->value = changed.text;
    assert_ok(safetensors_write(file, path, &err), err);
    entry->value = before;
}

/* Earlier versions wrote zeros as second moments of Muon: such a state is still a model. */
TEST(earlier_state) {
    Model *model = build("modern", 1);
    RunOptions options = {.batch = 1, .length = 1, .training = true, .threads = 1};
    assert_ok(checkpoint_save(path, model, open_run(model, &options), NULL, 0, &err), err);
    const SafeTensors *file = tensors_of(path);
    SafeTensors earlier = *file;
    const int count = file->tensor_count;
    uint64_t more = 0;
    earlier.tensors = scrap((size_t)(count + model->tensor_count), sizeof *earlier.tensors);
    memcpy(earlier.tensors, file->tensors, (size_t)count * sizeof *earlier.tensors);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (!tensor->muon) continue;
        SafeTensor *added = &earlier.tensors[earlier.tensor_count++];
        *added = (SafeTensor){.name = formatted("second_moment.%s", tensor->name),
                              .type = "F32",
                              .rank = tensor->rank,
                              .shape = {(size_t)tensor->shape[0], (size_t)tensor->shape[1]},
                              .data = scrap(tensor->size, sizeof(float)),
                              .bytes = tensor->size * sizeof(float)};
        more += digest_of(added);
    }
    assert_int_equal(earlier.tensor_count, 3 * model->tensor_count);
    rewrite(&earlier, more);
    assert_non_null(assert_loads(model)->moments[1]);
}

/* A number that is not finite, first or last in each tensor of each set: the message of the save
 * names it, and that of a file which has it anyway, as earlier versions wrote them. */
TEST(not_finite) {
    static const char *const sets[] = {"", "first_moment.", "second_moment."};
    const float worst[] = {NAN, INFINITY, -INFINITY};
    Model *model = build("gpt", 1);
    RunOptions options = {.batch = 1, .length = 1, .training = true, .threads = 1};
    Run *run = open_run(model, &options);
    float *moments[] = {random_floats(3, model->weights_size),
                        random_floats(4, model->weights_size)};
    run_restore(run, 7, moments[0], moments[1]);
    assert_ok(checkpoint_save(path, run_model(run), run, NULL, 0, &err), err);
    assert_loads(model);
    const SafeTensors *file = tensors_of(path);
    for (int i = 0; i < 3 * model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i / 3];
        const char *name = formatted("%s%s", sets[i % 3], tensor->name);
        const size_t place = i % 2 ? tensor->size - 1 : 0;
        float *numbers = i % 3 == 0 ? model->weights : moments[i % 3 - 1];
        float *one = numbers + tensor->offset + place, kept = *one;
        *one = worst[i / 2 % 3];
        run_restore(run, 7, moments[0], moments[1]);
        sweep();
        assert_false(checkpoint_save(path, run_model(run), run, NULL, 0, &err));
        expect_case(i == 0 ? "saved" : NULL, err, path, name);
        assert_int_equal(err.status, TRIL_DIVERGED);
        assert_int_equal(sweep(), 0);

        const SafeTensor *stored = safetensors_tensor(file, name);
        char *data = (char *)stored->data + place * sizeof *one;
        const uint64_t before = digest_of(stored);
        memcpy(data, one, sizeof *one);
        rewrite(file, digest_of(stored) - before);
        assert_not_loaded(i == 0 ? "" : NULL, formatted("%s ", name));
        memcpy(data, &kept, sizeof kept);
        *one = kept;
    }
}

/* ---- wrong headers of a large file ---- */

#define BIGRAM                                                                          \
    "{'__metadata__':{'tril':'3','model':'bigram','vocabulary_size':'5','context':'4'," \
    "'layers':'1','heads':'1','width':'1','digest':''},"
#define REST "'token_embedding_table.weight':{'dtype':'F32','shape':[%zu],'data_offsets':[0,%zu]}}"

/* A sparse file larger than the machine's memory with a wrong header: the rest must not be read. */
TEST(large_liars) {
    static const struct {
        const char *header, *name;
        uint64_t prefix; /* 0 for the header's length */
    } liars[] = {
        {"", "72057594037927935", UINT64_MAX >> 8},
        {"", "1073741824", 1 << 30},
        {"no JSON", " 0", 0},
        {"{}", "", 0},
        {"{" REST, "", 0},
        {BIGRAM REST, "token_embedding_table", 0},
        {BIGRAM "'more':{'dtype':'F32','shape':[0],'data_offsets':[0,0]}," REST, " 2 ", 0},
    };
    const size_t GiB = 1 << 30, memory = memory_installed();
    if (memory > SIZE_MAX / 4) skip();
    size_t data = (memory / GiB + 2) * GiB;
    for (int i = 0; i < COUNT(liars); i++) {
        char header[512];
        snprintf(header, sizeof header, quoted(liars[i].header), data / sizeof(float), data);
        uint64_t prefix = liars[i].prefix ? liars[i].prefix : strlen(header);
        FILE *file = fopen(path, "wb");
        assert_true(file && fwrite(&prefix, 1, PREFIX, file) == PREFIX);
        assert_true(fwrite(header, 1, strlen(header), file) == strlen(header));
        assert_int_equal(fclose(file), 0);
        if (!resize_file(path, PREFIX + strlen(header) + data)) skip();
        assert_not_loaded(liars[i].header, liars[i].name);
    }
    sweep();
}
