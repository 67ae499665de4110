/* test_exchange.c - folders of Hugging Face transformers. That library wrote
 * extras/formats/tests/golden, with its own results (extras/formats/tests/exchange.py); in
 * qwen3-shared six heads of queries share two of keys and values, and the MLP has 19 channels.
 * Exported models are read back, and a folder that is not one of our models is an error with a
 * message. */
#include "tests/state.h"
#include "base/array.h"
#include "extras/formats/tests/folder_model.h"
#include "tests/table.h"
#include "tests/decimal.h"
#include "base/order.h"
#include "extras/formats/quantize.h"
#include "library/formats.h"
#include "library/tril.h"

#define GOLDEN "extras/formats/tests/golden/"
enum { CHARACTERS = 9, TEXT = 11 };
static const char *const kinds[] = {"gpt2", "qwen3", "qwen3-shared"};
static const uint32_t codes[CHARACTERS] = {'\n', ' ', '!', '"', 'a', 'b', 0xE9, 0x4E2D, 0x1D11E};

static Trained *golden(const char *kind) {
    return trained_of(formatted(GOLDEN "%s", kind));
}

/* ---- results of the library ---- */

/* Reads the recorded text, as code points, and the logits after each character. */
static void read_golden(const char *kind, unsigned text[TEXT], float logits[TEXT][CHARACTERS]) {
    FILE *file = fopen(formatted(GOLDEN "%s/logits.txt", kind), "r");
    assert_non_null(file);
    for (int t = 0; t < TEXT; t++) {
        assert_int_equal(fscanf(file, "%u", &text[t]), 1);
        for (int v = 0; v < CHARACTERS; v++) assert_int_equal(fscanf(file, "%f", &logits[t][v]), 1);
    }
    fclose(file);
}

/* Checks for the same characters, sorted, and the same logits. */
static void assert_golden(Trained *trained, const char *kind) {
    unsigned text[TEXT];
    float logits[TEXT][CHARACTERS];
    int32_t ids[TEXT];
    Model *model = &trained->model;
    RunOptions options = {.batch = 1, .length = model->config.T, .threads = 2};
    read_golden(kind, text, logits);
    assert_int_equal(trained->vocab.size, CHARACTERS);
    assert_memory_equal(trained->vocab.codes, codes, sizeof codes);
    for (int t = 0; t < TEXT; t++) ids[t] = vocab_id(&trained->vocab, text[t]);
    Run *run = open_run(model, &options);
    for (int from = 0; from < TEXT; from += model->config.T) {
        int window = TEXT - from < model->config.T ? TEXT - from : model->config.T;
        const float *ours = run_forward(run, ids + from, 1, window);
        for (int i = 0; i < window * CHARACTERS; i++)
            assert_near(ours[i], logits[from + i / CHARACTERS][i % CHARACTERS], 1e-5);
    }
}

TEST(golden) {
    static const char *const rungs[] = {"gpt", "modern", "modern"};
    for (int i = 0; i < COUNT(kinds); i++) {
        Trained *trained = golden(kinds[i]);
        assert_string_equal(trained->model.config.model, rungs[i]);
        assert_golden(trained, kinds[i]);
    }
}

/* ---- round trip ---- */

static void assert_same(const Trained *a, const Trained *b) {
    const Model *x = &a->model, *y = &b->model;
    assert_int_equal(a->vocab.size, b->vocab.size);
    assert_int_equal(a->vocab.bytes, b->vocab.bytes);
    assert_memory_equal(a->vocab.codes, b->vocab.codes,
                        (size_t)a->vocab.size * sizeof *a->vocab.codes);
    assert_string_equal(x->config.model, y->config.model);
    assert_int_equal(x->weights_size, y->weights_size);
    assert_memory_equal(x->weights, y->weights, x->weights_size * sizeof(float));
}

/* Checks that reading an export gives the same model to the bit. */
static void assert_returns(const Trained *trained, const char *name) {
    assert_ok(export_to(trained, scratch(name), "f32"), err);
    assert_same(trained, trained_of(scratch(name)));
}

TEST(return ) {
    for (int i = 0; i < COUNT(kinds); i++) {
        const Trained *trained = golden(kinds[i]);
        assert_returns(trained, kinds[i]);
        /* a second export would overwrite files */
        assert_false(export_to(trained, scratch(kinds[i]), "f32"));
        expect_error(err, "");
    }
}

/* A program may have set a locale in which numbers have a decimal comma: the files are the same. */
TEST(decimal_comma) {
    size_t length;
    Trained *trained = golden("gpt2");
    trained->model.config.dropout = 0.25;
    assert_ok(export_to(trained, scratch("dot"), "f32"), err);
    char *config = slurp(scratch("dot/config.json"), &length);
    assert_non_null(strstr(config, ": 0.25"));
    if (!decimal_point(",", "")) skip();
    assert_returns(trained, "comma");
    setlocale(LC_ALL, "C");
    scratch_expect("comma/config.json", config, length);
}

/* Vocabularies with characters that JSON escapes, and with bytes. */
TEST(vocabularies) {
    static const char odd[] = "\0\x01\t\n\x1F \"'/\\\x7F\xC2\x80\xC2\xAD\xEF\xBF\xBD";
    for (int rung = 0; kind_name(rung); rung++)
        for (int bytes = 0; bytes < 2; bytes++) {
            const Trained *trained = trained_new(kind_name(rung), 12, odd, sizeof odd - 1, bytes);
            const char *model = trained->model.config.model;
            const char *name = formatted("%s%d", kind_name(rung), bytes);
            if (strcmp(model, "gpt") == 0 || strcmp(model, "modern") == 0) {
                assert_returns(trained, name);
            } else {
                assert_false(export_to(trained, scratch(name), "f32"));
                expect_case(NULL, err, "");
                assert_false(scratch_has(name));
            }
        }
}

/* ---- other programs' files ---- */

static const char *const files[] = {"config.json", "tokenizer.json", "model.safetensors"};

static void fresh_copy(const char *kind) {
    for (int i = 0; i < COUNT(files); i++) {
        size_t length;
        char *bytes = slurp(formatted(GOLDEN "%s/%s", kind, files[i]), &length);
        scratch_put(formatted("edited/%s", files[i]), bytes, length);
    }
}

/* Replaces the only `from` in a file of the copy by `to`. ' means ". */
static void edit(const char *file, const char *from, const char *to) {
    char old[512], new[512];
    size_t length, olds = strlen(from), news = strlen(to);
    assert_true(olds < sizeof old && news < sizeof new);
    for (size_t i = 0; i <= olds; i++) old[i] = (char)(from[i] == '\'' ? '"' : from[i]);
    for (size_t i = 0; i <= news; i++) new[i] = (char)(to[i] == '\'' ? '"' : to[i]);
    const char *name = formatted("edited/%s", file);
    char *bytes = slurp(scratch(name), &length), *place = NULL;
    for (size_t i = 0; i + olds <= length && !place; i++)
        if (memcmp(bytes + i, old, olds) == 0) place = bytes + i;
    if (!place) fail_msg("%s: there is no %s", file, old);
    size_t before = (size_t)(place - bytes);
    char *edited = scrap(length + news, 1);
    memcpy(edited, bytes, before);
    memcpy(edited + before, new, news);
    memcpy(edited + before + news, place + olds, length - before - olds);
    scratch_put(name, edited, length - olds + news);
}

/* Checks that loading the folder fails with a message that has `name`. `subject` is the case
 * (expect_case). */
static void assert_refused(const char *subject, const char *name) {
    Trained trained;
    err = (Error){0};
    if (trained_load(&trained, scratch("edited"))) fail_msg("loaded: %s", subject ? subject : name);
    assert_null(trained.model.weights);
    assert_null(trained.vocab.codes);
    expect_case(subject, err, "edited/", name);
}

typedef struct {
    const char *kind, *file, *from, *to, *name;
} Edit;

/* clang-format off */
static const Edit bad[] = {
    {"gpt2", "config.json", "'gpt2'", "'llama'", ""},
    {"gpt2", "config.json", "'model_type'", "'modeltype'", "'model_type'"},
    {"gpt2", "config.json", "'gpt2'", "2", "'model_type'"},
    {"gpt2", "config.json", "'gpt2'", "'gpt\\n2'", ""},
    {"gpt2", "config.json", "gelu_new", "relu", "'activation_function'"},
    {"gpt2", "config.json", "1e-05", "1e-06", "'layer_norm_epsilon'"},
    {"gpt2", "config.json", "'n_inner': null", "'n_inner': 47", "'n_inner'"},
    {"gpt2", "config.json", "'n_inner': null", "'n_inner': '48'", "'n_inner'"},
    {"gpt2", "config.json", "'tie_word_embeddings': true", "'tie_word_embeddings': false", "'tie_word_embeddings'"},
    {"gpt2", "config.json", "'scale_attn_weights': true", "'scale_attn_weights': false", "'scale_attn_weights'"},
    {"gpt2", "config.json", "'scale_attn_by_inverse_layer_idx': false", "'scale_attn_by_inverse_layer_idx': true", ""},
    {"gpt2", "config.json", "'add_cross_attention': false", "'add_cross_attention': true", "'add_cross_attention'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': 3", "28"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': 2.5", "'n_layer'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': '2'", "'n_layer'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': 1e99", "'n_layer'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': -2", "'n_layer'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': true", "'n_layer'"},
    {"gpt2", "config.json", "'n_layer'", "'layers'", "'n_layer'"},
    {"gpt2", "config.json", "'n_head': 3", "'n_head': 5", "12"},
    {"gpt2", "config.json", "'n_embd': 12", "'n_embd': 15", ""},
    {"gpt2", "config.json", "'n_positions': 10", "'n_positions': 11", "wpe.weight"},
    {"gpt2", "config.json", "'vocab_size': 9", "'vocab_size': 10", "tokenizer.json"},
    {"gpt2", "config.json", "{", "[", "']'"},
    {"gpt2", "config.json", "'vocab_size': 9\n}", "'vocab_size': 9\n", ""},
    {"gpt2", "config.json", "'vocab_size': 9\n}", "'vocab_size': 9\n}}", ""},
    {"qwen3", "config.json", "'silu'", "'gelu'", "'hidden_act'"},
    {"qwen3", "config.json", "1e-06", "1e-05", "'rms_norm_eps'"},
    {"qwen3", "config.json", "'rope_theta': 10000.0", "'rope_theta': 1000000.0", "'rope_parameters.rope_theta'"},
    {"qwen3", "config.json", "'rope_theta': 10000.0", "'rope_theta': '10000'", "'rope_parameters.rope_theta'"},
    {"qwen3", "config.json", "'rope_type': 'default'", "'rope_type': 'yarn'", "'rope_parameters.rope_type'"},
    {"qwen3", "config.json", "'use_cache'", "'rope_scaling': {'rope_type': 'linear'}, 'use_cache'", "'rope_scaling'"},
    {"qwen3", "config.json", "'rope_parameters': {", "'rope_parameters': 'x', 'other': {", "'rope_parameters'"},
    {"qwen3", "config.json", "'rope_parameters': {", "'rope_parameters': 0, 'other': {", "'rope_parameters'"},
    {"qwen3", "config.json", "'rope_parameters': {", "'rope_parameters': true, 'other': {", "'rope_parameters'"},
    {"qwen3", "config.json", "'rope_parameters': {", "'rope_parameters': [], 'other': {", "'rope_parameters'"},
    {"qwen3", "config.json", "'rope_type'", "'factor': 4.0, 'rope_type'", ".factor'"},
    {"qwen3", "config.json", "'rope_type'", "'type': 'linear', 'rope_type'", ".type'"},
    {"qwen3", "config.json", "'rope_type'", "'list': [1], 'rope_type'", ".list'"},
    {"qwen3", "config.json", "'rms_norm_eps': 1e-06", "'rms_norm_eps': 1e-06, 'rms_norm_eps': 1", "'rms_norm_eps'"},
    {"gpt2", "config.json", "'n_head': 3", "'num_attention_heads': 2, 'n_head': 3", "'num_attention_heads'"},
    {"gpt2", "config.json", "'scale_attn_weights': true", "'scale_attn_weights': null", "'scale_attn_weights'"},
    {"gpt2", "config.json", "'tie_word_embeddings': true", "'tie_word_embeddings': null", "'tie_word_embeddings'"},
    {"gpt2", "config.json", "'n_layer': 2", "'n_layer': [2]", "'n_layer'"},
    {"qwen3", "config.json", "'attention_bias': false", "'attention_bias': true", "'attention_bias'"},
    {"qwen3", "config.json", "'num_key_value_heads': 3", "'num_key_value_heads': 1", "k_proj.weight"},
    {"qwen3", "config.json", "'num_key_value_heads': 3", "'num_key_value_heads': 2", "2"},
    {"qwen3", "config.json", "'num_key_value_heads': 3", "'num_key_value_heads': 6", "6"},
    {"qwen3", "config.json", "'num_key_value_heads': 3", "'num_key_value_heads': null", "'num_key_value_heads'"},
    {"qwen3-shared", "config.json", "'num_key_value_heads': 2", "'num_key_value_heads': 6", "k_proj.weight"},
    {"qwen3", "config.json", "'head_dim': 4", "'head_dim': 8", "'head_dim'"},
    {"qwen3", "config.json", "'head_dim'", "'headdim'", "'head_dim'"},
    {"qwen3", "config.json", "'intermediate_size': 32", "'intermediate_size': 64", "gate_proj.weight"},
    {"qwen3", "config.json", "'intermediate_size': 32", "'intermediate_size': 1048577", "1048577"},
    {"qwen3", "config.json", "'intermediate_size': 32", "'intermediate_size': 32.5", "'intermediate_size'"},
    {"qwen3-shared", "config.json", "'intermediate_size': 19", "'intermediate_size': 20", "gate_proj.weight"},
    {"qwen3", "config.json", "'tie_word_embeddings': true,", "", "'tie_word_embeddings'"},
    {"qwen3", "config.json", "'use_sliding_window': false", "'use_sliding_window': true", "'use_sliding_window'"},
    {"qwen3", "model.safetensors", "q_proj", "q_prof", "q_proj.weight"},
    {"qwen3", "model.safetensors", "F32", "I32", ""},
    {"gpt2", "tokenizer.json", "'WordLevel'", "'Unigram'", ""},
    {"gpt2", "tokenizer.json", "'WordLevel'", "'BPE', 'merges': ['a b']", ""},
    {"gpt2", "tokenizer.json", "'normalizer': null", "'normalizer': {'type': 'Lowercase'}", ""},
    {"gpt2", "tokenizer.json", "'special_tokens': {}", "'special_tokens': {'!': {'id': '!', 'ids': [8], 'tokens': ['!']}}", "post_processor"},
    {"gpt2", "tokenizer.json", "'TemplateProcessing'", "'BertProcessing'", "post_processor"},
    {"gpt2", "tokenizer.json", "'post_processor': {", "'post_processor': {'type': 'Sequence', 'processors': []}, 'other': {", "post_processor"},
    {"gpt2", "tokenizer.json", "'post_processor': {", "'post_processor': 5, 'other': {", "post_processor"},
    {"gpt2", "tokenizer.json", "'truncation': null", "'truncation': {'max_length': 4}", ""},
    {"gpt2", "tokenizer.json", "'padding': null", "'padding': {'strategy': 'BatchLongest'}", ""},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'the'}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a'}, {'id': 9, 'content': '<s>'}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 4, 'content': 'a'}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 9, 'content': 'z'}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': ''}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a', 'rstrip': true}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a', 'lstrip': true}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'content': 'a'}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3}]", "added_tokens"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a'}], 'added_tokens': []", "'added_tokens'"},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': null", "added_tokens"},
    {"gpt2", "tokenizer.json", "'Split'", "'Whitespace'", ""},
    {"gpt2", "tokenizer.json", "'Isolated'", "'Removed'", ""},
    {"gpt2", "tokenizer.json", "'invert': false", "'invert': true", ""},
    {"gpt2", "tokenizer.json", "'String': ''", "'String': 'x'", ""},
    {"gpt2", "tokenizer.json", "'pre_tokenizer': {", "'pre_tokenizer': 5, 'other': {", ""},
    {"gpt2", "tokenizer.json", "'pre_tokenizer': {", "'pre_tokenizer': null, 'other': {", ""},
    {"gpt2", "tokenizer.json", "'Split'", "'ByteLevel'", ""},
    {"gpt2", "tokenizer.json", "'WordLevel'", "'BPE', 'end_of_word_suffix': '</w>'", ""},
    {"gpt2", "tokenizer.json", "'a'", "'<unk>'", "'<unk>'"},
    {"gpt2", "tokenizer.json", "'a'", "''", ""},
    {"gpt2", "tokenizer.json", "'a'", "'b'", "'b'"},
    {"gpt2", "tokenizer.json", "'!': 8", "'!': 7", "0"},
    {"gpt2", "tokenizer.json", "'!': 8", "'!': 9", "0"},
    {"gpt2", "tokenizer.json", "'!': 8", "'!': -8", ""},
    {"gpt2", "tokenizer.json", "'vocab'", "'vocabulary'", ""},
    {"gpt2", "tokenizer.json", "'unk_token': ", "'vocab': {}, 'vocab': ", "'vocab'"},
    {"gpt2", "tokenizer.json", "'model': {", "'model': [", "']'"},
};

/* Other spellings with the same meaning. */
static const Edit good[] = {
    {"gpt2", "config.json", "'n_inner': null", "'n_inner': 48", ""},
    {"gpt2", "config.json", "'layer_norm_epsilon': 1e-05,", "", ""},
    {"gpt2", "config.json", "1e-05", "0.00001", ""},
    {"gpt2", "config.json", "{", "{'task_specific_params': {'rope_theta': 3, 'x': [1, {}]},", ""},
    {"qwen3", "config.json", "'rope_theta': 10000.0", "'rope_theta': 1e4", ""},
    {"qwen3", "config.json", "'use_cache'", "'rope_scaling': null, 'use_cache'", ""},
    {"qwen3", "config.json", "'rope_parameters': {", "'rope_parameters': null, 'other': {", ""},
    {"gpt2", "config.json", "'n_head': 3", "'num_attention_heads': 3, 'n_head': 3", ""},
    {"gpt2", "tokenizer.json", "'WordLevel'", "'BPE', 'merges': [], 'end_of_word_suffix': ''", ""},
    {"gpt2", "tokenizer.json", "'String': ''", "'Regex': ''", ""},
    {"gpt2", "tokenizer.json", "'a'", "'\\u0061'", ""},
    {"gpt2", "tokenizer.json", "'post_processor': {", "'post_processor': null, 'other': {", ""},
    {"gpt2", "tokenizer.json", "'TemplateProcessing'", "'ByteLevel'", ""},
    {"gpt2", "tokenizer.json", "'added_tokens': []", "'added_tokens': [{'id': 3, 'content': 'a', 'special': true, 'lstrip': false}, {'content': '\xC3\xA9', 'id': 1}]", ""},
};
/* clang-format on */

TEST(edits) {
    make_folder(scratch("edited"));
    for (int i = 0; i < COUNT(bad); i++) {
        fresh_copy(bad[i].kind);
        edit(bad[i].file, bad[i].from, bad[i].to);
        assert_refused(formatted("%s: %s", bad[i].from, bad[i].to), bad[i].name);
    }
    for (int i = 0; i < COUNT(good); i++) {
        fresh_copy(good[i].kind);
        edit(good[i].file, good[i].from, good[i].to);
        assert_golden(trained_of(scratch("edited")), good[i].kind);
    }
}

/* docs/checkpoints.md lists every setting that can make a folder invalid. */
TEST(listed) {
    int listed = 0;
    char *page = slurp("docs/checkpoints.md", NULL);
    for (int i = 0; i < COUNT(bad); i++) {
        char key[64];
        if (strcmp(bad[i].file, "config.json") != 0 || sscanf(bad[i].name, "'%63[a-z_.]", key) != 1)
            continue;
        if (!strstr(page, formatted("`%s`", key)))
            fail_msg("docs/checkpoints.md does not name `%s`", key);
        listed++;
    }
    assert_true(listed > 15);
}

/* Weights that are not finite, in the last tensor of the file. */
TEST(not_finite) {
    static const char *const last[] = {"transformer.wte.weight", "model.norm.weight",
                                       "model.norm.weight"};
    const float worst[] = {INFINITY, -INFINITY, NAN};
    for (int kind = 0; kind < COUNT(kinds); kind++)
        for (int i = 0; i < COUNT(worst); i++) {
            size_t length;
            fresh_copy(kinds[kind]);
            char *bytes = slurp(scratch("edited/model.safetensors"), &length);
            memcpy(bytes + length - sizeof *worst, &worst[i], sizeof *worst);
            little_endian(bytes + length - sizeof *worst, sizeof *worst, sizeof *worst);
            scratch_put("edited/model.safetensors", bytes, length);
            assert_refused("", last[kind]);
        }
}

/* With each file missing, cut anywhere, or with any byte changed, a folder is an error or is read,
 * but never crashes. */
TEST(damage) {
    for (int i = 0; i < COUNT(files); i++) {
        size_t length;
        const char *name = formatted("edited/%s", files[i]);
        fresh_copy("qwen3");
        char *bytes = slurp(scratch(name), &length);
        assert_int_equal(remove(scratch(name)), 0);
        assert_refused("", files[i]);
        size_t step = i == 2 ? 997 : 1, whole = length;
        while (whole > 0 && bytes[whole - 1] == '\n') whole--;
        for (size_t cut = 0; cut < whole; cut += step) {
            scratch_put(name, bytes, cut);
            assert_refused(NULL, files[i]);
        }
        for (size_t at = 0; at < length; at += step) {
            Trained trained;
            char kept_byte = bytes[at];
            bytes[at] = (char)(kept_byte ^ (1 << at % 8));
            scratch_put(name, bytes, length);
            bytes[at] = kept_byte;
            if (trained_load(&trained, scratch("edited"))) trained_free(&trained);
        }
    }
}

/* ---- other precisions, several files ---- */

/* Rounds the weights of a copy's model to the 16 bits of the type, and writes them as `count`
 * files with an index, or as one. */
static void rewrite(const char *type, int count) {
    const SafeTensors *file = tensors_of(scratch("edited/model.safetensors"));
    uint16_t *numbers[64];
    for (int i = 0; i < file->tensor_count; i++) {
        SafeTensor *tensor = &file->tensors[i];
        numbers[i] = scrap(tensor->bytes / 2, 1);
        for (size_t n = 0; n < tensor->bytes / sizeof(float); n++) {
            float x;
            uint32_t bits;
            memcpy(&x, (const char *)tensor->data + n * sizeof x, sizeof x);
            memcpy(&bits, &x, sizeof bits);
            numbers[i][n] = *type == 'B' ? (uint16_t)(bits >> 16) : half_of(x);
        }
        tensor->type = type;
        tensor->data = numbers[i];
        tensor->bytes /= 2;
    }
    assert_int_equal(remove(scratch("edited/model.safetensors")), 0);
    char index[8192] = "{\"metadata\": {\"total_size\": 5}, \"weight_map\": {";
    for (int part = 0; part < count; part++) {
        const int begin = part * file->tensor_count / count;
        const int end = (part + 1) * file->tensor_count / count;
        const SafeTensors some = {.tensors = file->tensors + begin, .tensor_count = end - begin};
        const char *name =
            count > 1 ? formatted("edited/part-%d.safetensors", part) : "edited/model.safetensors";
        assert_ok(safetensors_write(&some, scratch(name), &err), err);
        for (int i = 0; i < some.tensor_count; i++)
            snprintf(index + strlen(index), sizeof index - strlen(index), "%s\"%s\": \"%s\"",
                     part + i > 0 ? ", " : "", some.tensors[i].name, name + 7);
    }
    snprintf(index + strlen(index), sizeof index - strlen(index), "}}");
    if (count > 1) scratch_put("edited/model.safetensors.index.json", index, strlen(index));
}

/* Returns the largest distance of a weight from the original, as a share of it. */
static double distance(const Model *a, const Model *b) {
    double worst = 0;
    for (size_t i = 0; i < a->weights_size; i++)
        worst = fmax(worst, fabs((double)a->weights[i] - (double)b->weights[i]) /
                                fmax(1e-3, fabs((double)b->weights[i])));
    return worst;
}

TEST(precisions) {
    for (int kind = 0; kind < COUNT(kinds); kind++)
        for (int i = 0; i < 4; i++) {
            fresh_copy(kinds[kind]);
            rewrite(i % 2 ? "BF16" : "F16", i < 2 ? 1 : 3);
            double far =
                distance(&trained_of(scratch("edited"))->model, &golden(kinds[kind])->model);
            assert_true(far > 1e-5 && far < (i % 2 ? 1.0 / 128 : 1.0 / 2048));
        }
}

/* An index that is wrong, or whose files are. */
TEST(index) {
    static const char index[] = "model.safetensors.index.json";
    fresh_copy("gpt2");
    rewrite("F16", 3);
    edit(index, "'weight_map'", "'weights'");
    assert_refused("", index);
    edit(index, "'weights'", "'weight_map': {'a': '../part-0.safetensors'}, 'other'");
    assert_refused("", index);
    edit(index, "'a': '../part-0.safetensors'", "'a': 'part-0.safetensors'");
    assert_refused("", "part-0.safetensors");
    edit(index, "'a': 'part-0.safetensors'", "'a': 'part-7.safetensors'");
    assert_refused("", "part-7.safetensors");
    edit(index, "'a': 'part-7.safetensors'", "");
    assert_refused("", index);
    assert_int_equal(remove(scratch("edited/model.safetensors.index.json")), 0);
    assert_refused("", "model.safetensors");
}

/* ---- the programs ---- */

#define TINY "-l 1 -w 16 -H 2 -c 16 -b 4 -j 1 -q --eval-every 20 "

static void expect_same_score(const char *text, const char *model, const char *other) {
    must_run("sample --score %s %s", text, model);
    keep();
    must_run("sample --score %s %s", text, other);
    assert_string_equal(ran.out, kept);
}

TEST(export) {
    must_run("train " TINY "-s 20 -o @there/m.safetensors " ACT);
    must_run("sample --export @folder/within @there/m.safetensors");
    expect_same_score(ACT, "@there/m.safetensors", "@folder/within");
    must_run("sample --info @folder/within");
    expect_line("modern");
    expect_line("1");
    expect_line("2");
    expect_line("16");
    expect_line("62");
    must_fail(1, "sample --export @folder/within @there/m.safetensors", "folder/within: ");
    must_run("train " TINY "-s 2 -o @trained/model.safetensors " ACT);
    must_fail(1, "sample @trained", "trained/config.json: ", "trained/model.safetensors");
    run("sample --export @there/m.safetensors @there/m.safetensors");
    expect_failure(1, "there/m.safetensors: ");
    make_folder(scratch("mine")); /* a failed export removes the folders that it made, no other */
    run("sample --export @deep/./er/../../mine/new/%0300d @there/m.safetensors", 0);
    assert_true(ran.status == 1 && scratch_has("mine") && !scratch_has("mine/new"));
    run("sample --export @high//er/%0300d @there/m.safetensors", 0);
    assert_true(ran.status == 1 && !scratch_has("high"));
    must_fail(1, "sample --export @none @there/bigram.safetensors", "bigram");
    assert_false(scratch_has("none"));
}

/* The library exports what ./sample exports. */
TEST(library) {
    static const char *const types[] = {"f32", "f16", "q8_0"};
    TrilModel *model, *again;
    must_run("train " TINY "-s 20 -o @library/m.safetensors " ACT);
    assert_int_equal(tril_model_load(&model, scratch("library/m.safetensors"), &error), TRIL_OK);
    for (int i = 0; i < COUNT(types); i++) {
        const char *name = formatted("%s.gguf", types[i]);
        const char *program = formatted("program-%s", name);
        must_run("sample --export @%s --precision %s @library/m.safetensors", program, types[i]);
        assert_int_equal(tril_model_export(model, scratch(name), types[i], &error), TRIL_OK);
        scratch_expect_same(program, name);
        assert_int_equal(tril_model_export(model, scratch(name), types[i], &error), TRIL_FILE);
    }
    assert_int_equal(tril_model_export(model, scratch("exported"), "f32", &error), TRIL_OK);
    assert_int_equal(tril_model_load(&again, scratch("exported"), &error), TRIL_OK);
    assert_int_equal(tril_model_digest(again), tril_model_digest(model));
    tril_model_free(again);
    assert_int_equal(tril_model_export(model, scratch("other"), "f16", &error), TRIL_ARGUMENT);
    assert_int_equal(tril_model_export(model, scratch("x.gguf"), "f64", &error), TRIL_ARGUMENT);
    tril_model_free(model);
}

static double loss_of(const char *model) {
    return row_of(model).validation;
}

/* A training run that starts from a model has its loss at the start, and continues as usual. */
TEST(init) {
    must_run("train " TINY "-s 300 -o @first/m.safetensors " ACT);
    double first = loss_of("modern");
    make_folder(scratch("first/folder")); /* an empty one may be there */
    must_run("sample --export @first/folder @first/m.safetensors");
    must_run("train --init @first/folder -b 4 -j 1 -s 200 -o @next/m.safetensors " ACT);
    assert_near(first_loss(), first, 2e-3); /* in bf16 */
    assert_true(loss_of("modern") < first);
    must_run("train --init @first/m.safetensors -b 4 -j 1 -s 200 -o @same/m.safetensors " ACT);
    /* from the folder, or from its checkpoint */
    expect_same_model("next/m.safetensors", "same/m.safetensors");
    /* if the loss never falls, the model stays as it was */
    must_run("train -q --init @first/folder -b 4 -j 1 -s 3 --lr 1 -o @worse/m.safetensors " ACT);
    assert_near(loss_of("modern"), first, 1e-4);
}

/* A model whose heads share keys and values is trained further: its loss falls, and its shape
 * stays, also in a training run that is resumed and in the folder that is exported. */
TEST(shared_heads) {
    static const char text[] = "a\nb \xC3\xA9\xE4\xB8\xAD!ab\"\n";
    char many[100 * (sizeof text - 1)] = {0};
    for (size_t i = 0; i < sizeof many; i++) many[i] = text[i % (sizeof text - 1)];
    scratch_put("many.txt", many, sizeof many);
    must_run("train -b 4 -j 1 -s 60 -o @shared/m.safetensors --init " GOLDEN
             "qwen3-shared @many.txt");
    double before = first_loss();
    double then = loss_of("modern");
    assert_true(then < before);
    must_run("sample --info @shared/m.safetensors");
    assert_true(atoi(after("\nkv_heads ")) == 2 && atoi(after("\nhidden ")) == 19);
    must_run("train -q -r -s 120 -o @shared/m.safetensors @many.txt");
    assert_true(loss_of("modern") < then);
    must_run("sample --export @shared/folder @shared/m.safetensors");
    expect_same_score("@many.txt", "@shared/m.safetensors", "@shared/folder");
    must_run("sample --info @shared/folder");
    assert_true(atoi(after("\nkv_heads ")) == 2 && atoi(after("\nhidden ")) == 19);
    /* with other arguments for the same sizes, or without any */
    must_run("train -q -s 1 --init " GOLDEN "qwen3-shared --kv-heads 2 --hidden 19 @many.txt "
             "-o @words/m.safetensors");
    must_run("train " TINY "-s 1 --kv-heads 2 --hidden 64 -o @usual/m.safetensors @many.txt");
    must_run("sample --info @usual/m.safetensors");
    assert_null(strstr(ran.out, "kv_heads"));
}

/* After an interruption --resume no longer needs the folder, trains no baseline that was not there,
 * and ends with the same bits. */
TEST(init_resumed) {
    static const char how[] = "-b 4 -j 1 -s 200 --eval-every 50 -d 0.1";
    skip_without(SIGNALS);
    must_run("train " TINY "-s 100 -o @base/m.safetensors " ACT);
    must_run("sample --export @base/folder @base/m.safetensors");
    must_run("train -q %s --init @base/folder -o @whole/m.safetensors " ACT, how);
    run_clocked(0.01, " 15@2", "train %s --init @base/folder -o @parts/m.safetensors " ACT, how);
    expect_success();
    expect_line("train --resume --out ");
    scratch_remove(scratch("base"));
    must_run("train -r -j 1 -o @parts/m.safetensors " ACT);
    assert_false(scratch_has("parts/bigram.safetensors"));
    expect_same_model("whole/m.safetensors", "parts/m.safetensors");
}

TEST(bad_init) {
    static const struct {
        int status;
        const char *words, *name, *other;
    } refused[] = {
        {1, "--init @none " ACT, "/none: ", ""},
        {1, "--init @init " ACT, "/init/tokenizer.json: ", ""},
        {1, "--init " ACT " " ACT, "act.txt: ", ""},
        {1, "--init @init/m.safetensors -m gpt " ACT, " --model ", " gpt"},
        {1, "--init @init/m.safetensors -w 32 " ACT, " --width ", " 32"},
        {1, "--init @init/m.safetensors -c 32 " ACT, " --context ", " 32"},
        {1, "--init @init/m.safetensors --bytes " ACT, "--bytes", ""},
        {1, "--init @init/m.safetensors -o @init/m.safetensors " ACT, "init/", "--init"},
        {1, "--init @init/m.safetensors --log @init/m.safetensors " ACT, "init/", "--init"},
        {1, "--init @init/folder --log @init/folder/config.json " ACT, "init/", "--init"},
        {1, "--init @init/m.last.safetensors -o @init/m.safetensors " ACT, "init/", "--init"},
        {1, "-m bigram -c 8 --log @more.txt @more.txt", "more.txt: ", ""},
        {2, "--init @init/m.safetensors --preset quick " ACT, "--init", "--preset"},
        {1, "--init " GOLDEN "gpt2 -H 4 " ACT, " --heads ", " 4"},
        {1, "--init " GOLDEN "qwen3-shared --kv-heads 3 " ACT, " --kv-heads ", " 3"},
        {1, "--init " GOLDEN "qwen3-shared --hidden 64 " ACT, " --hidden ", " 64"},
        {2, "--init @init/m.safetensors --ladder " ACT, "--init", "--ladder"},
    };
    must_run("train " TINY "-s 20 -o @init/m.safetensors " ACT);
    must_run("sample --export @init/folder @init/m.safetensors");
    static const char some[] = "a+b or é: not all of these does it know";
    scratch_put("more.txt", some, sizeof some - 1);
    for (int i = 0; i < COUNT(refused); i++) {
        run("train -q -s 5 -o @out/m.safetensors %s", refused[i].words);
        expect_failure(refused[i].status, refused[i].name, refused[i].other);
    }
}

FIXTURE(scratch_open, scratch_close)
