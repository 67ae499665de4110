/* test_gguf.c - GGUF files, read back by a separate reader: sizes, names, shapes, numbers, tokens.
 * extras/formats/tests/llama.py compares the results of llama.cpp. */
#include "extras/formats/tests/folder_model.h"
#include "tests/command.h"
#include "base/array.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/order.h"
#include "extras/formats/quantize.h"
#include "library/formats.h"

#include <float.h>

/* The types of matrices, with the numbers of the format. */
typedef enum { GGUF_F32 = 0, GGUF_F16 = 1, GGUF_Q8_0 = 8 } GgufType;

/* ---- halves ---- */

/* Returns a half's value by the standard's formula. */
static double value_of_half(unsigned half) {
    int exponent = half >> 10 & 31;
    double mantissa = half & 1023, sign = half & 0x8000 ? -1 : 1;
    if (exponent == 31) return mantissa > 0 ? NAN : sign * INFINITY;
    return sign * (exponent ? ldexp(1024 + mantissa, exponent - 25) : ldexp(mantissa, -24));
}

/* Each half is nearest to itself. Between two neighbors the nearer one is chosen, in the middle the
 * even one. */
TEST(halves) {
    for (unsigned half = 0; half < 0x7C00; half++) {
        double low = value_of_half(half),
               high = half + 1 == 0x7C00 ? 65536 : value_of_half(half + 1);
        float middle = (float)((low + high) / 2);
        assert_int_equal(half_of((float)low), half);
        assert_true((double)half_value((uint16_t)half) == low);
        assert_true((double)half_value((uint16_t)(half | 0x8000)) == -low);
        assert_int_equal(half_of((float)-low), half | 0x8000);
        assert_int_equal(half_of(middle), half + (half & 1));
        assert_int_equal(half_of(nextafterf(middle, 0)), half);
        assert_int_equal(half_of(nextafterf(middle, INFINITY)), half + 1);
    }
    assert_int_equal(half_of(INFINITY), 0x7C00);
    assert_int_equal(half_of(-FLT_MAX), 0xFC00);
    assert_int_equal(half_of(FLT_TRUE_MIN), 0);
    assert_true(isnan(half_value(half_of(NAN))));
    assert_true(isinf(half_value(0xFC00)));
}

TEST(q8) {
    enum { BLOCKS = 9 };
    float *numbers = random_floats(5, BLOCKS * Q8_NUMBERS);
    Q8Block blocks[BLOCKS];
    for (int i = 0; i < Q8_NUMBERS; i++) {
        numbers[3 * Q8_NUMBERS + i] = 0;                  /* a block of zeros */
        numbers[5 * Q8_NUMBERS + i] = 142 * FLT_TRUE_MIN; /* with a scale of FLT_TRUE_MIN */
    }
    numbers[7] = -9;
    quantize_q8(blocks, numbers, BLOCKS * Q8_NUMBERS);
    for (int b = 0; b < BLOCKS; b++) {
        little_endian(&blocks[b].scale, sizeof blocks[b].scale, sizeof blocks[b].scale);
        const double scale = value_of_half(blocks[b].scale);
        /* half a step, and 127 steps of the rounding of the scale */
        for (int i = 0; i < Q8_NUMBERS; i++)
            assert_near(scale * blocks[b].multiples[i], numbers[b * Q8_NUMBERS + i],
                        scale * (0.5 + 127.0 / 2048) + 1e-40);
    }
    assert_int_equal(blocks[0].multiples[7], -127);
    assert_int_equal(blocks[5].multiples[0], 0);
}

/* ---- a reader ---- */

typedef struct {
    char *bytes, *at;
    size_t length;
} Reader;

static uint64_t take(Reader *r, size_t bytes) {
    uint64_t number = 0;
    assert_true(r->at + bytes <= r->bytes + r->length);
    for (size_t i = bytes; i-- > 0;) number = number << 8 | (unsigned char)r->at[i];
    r->at += bytes;
    return number;
}

static void take_string(Reader *r, char *text, size_t size) {
    size_t length = (size_t)take(r, 8);
    assert_true(length < size && r->at + length <= r->bytes + r->length);
    memcpy(text, r->at, length);
    text[length] = 0;
    r->at += length;
}

/* One key with its value: a number (of a real: its bits), a text, or the texts of an array. */
typedef struct {
    char key[64], text[64];
    uint64_t number;
    char (*texts)[16]; /* owned */
    size_t count;
} Entry;

enum { MAX_ENTRIES = 32 };
typedef struct {
    Reader reader;
    Entry entries[MAX_ENTRIES];
    int count, tensors;
} Gguf;

static void take_array(Reader *r, Entry *entry) {
    uint64_t type = take(r, 4);
    entry->count = (size_t)take(r, 8);
    assert_true(type == 8 || type == 5);
    entry->texts = type == 8 ? scrap(entry->count, sizeof *entry->texts) : NULL;
    for (size_t i = 0; i < entry->count; i++)
        if (type == 8)
            take_string(r, entry->texts[i], sizeof *entry->texts);
        else
            assert_int_equal(take(r, 4), 1);
}

static void take_entry(Reader *r, Entry *entry) {
    take_string(r, entry->key, sizeof entry->key);
    switch (take(r, 4)) {
        case 4:
        case 6: entry->number = take(r, 4); break;
        case 7: entry->number = take(r, 1); break;
        case 8: take_string(r, entry->text, sizeof entry->text); break;
        case 9: take_array(r, entry); break;
        default: fail_msg("%s has a type that is not expected", entry->key);
    }
}

/* Reads all keys. The reader is then at the list of tensors. */
static Gguf gguf_open(const char *path) {
    Gguf g = {.count = 0};
    assert_ok(file_read(path, &g.reader.bytes, &g.reader.length, &err), err);
    g.reader.at = g.reader.bytes;
    assert_memory_equal(g.reader.at, "GGUF\3\0\0\0", 8);
    g.reader.at += 8;
    g.tensors = (int)take(&g.reader, 8);
    g.count = (int)take(&g.reader, 8);
    assert_in_range(g.count, 1, MAX_ENTRIES);
    for (int i = 0; i < g.count; i++) take_entry(&g.reader, &g.entries[i]);
    return g;
}

static const Entry *entry_of(const Gguf *g, const char *key) {
    for (int i = 0; i < g->count; i++)
        if (strcmp(g->entries[i].key, key) == 0) return &g->entries[i];
    fail_msg("no key %s", key);
    return NULL;
}

static void gguf_close(Gguf *g) {
    memory_free(g->reader.bytes);
}

/* ---- the contents of a file ---- */

static void assert_sizes(const Gguf *g, const char *name, const Config *c, int kv_heads,
                         int feed_forward) {
    const struct {
        const char *key;
        int value;
    } sizes[] = {{"context_length", c->T},
                 {"embedding_length", c->C},
                 {"block_count", c->L},
                 {"feed_forward_length", feed_forward},
                 {"attention.head_count", c->NH},
                 {"attention.head_count_kv", kv_heads},
                 {"attention.key_length", c->C / c->NH},
                 {"attention.value_length", c->C / c->NH},
                 {"vocab_size", c->V}};
    assert_string_equal(entry_of(g, "general.architecture")->text, name);
    for (int i = 0; i < COUNT(sizes); i++) {
        char key[64];
        snprintf(key, sizeof key, "%s.%s", name, sizes[i].key);
        assert_int_equal(entry_of(g, key)->number, sizes[i].value);
    }
}

/* Returns the distance of a stored matrix or vector from the model's. */
static double distance_of(const char *stored, int type, const float *weights, size_t count) {
    double worst = 0;
    for (size_t i = 0; i < count; i++) {
        const size_t bytes = type == GGUF_F32   ? i * sizeof(float)
                             : type == GGUF_F16 ? i * sizeof(uint16_t)
                                                : i / Q8_NUMBERS * sizeof(Q8Block);
        float own = 0;
        uint16_t half;
        if (type == GGUF_F32) memcpy(&own, stored + bytes, sizeof own);
        memcpy(&half, stored + bytes, sizeof half);
        little_endian(&own, sizeof own, sizeof own);
        little_endian(&half, sizeof half, sizeof half);
        double value = type == GGUF_F32 ? (double)own : value_of_half(half);
        if (type == GGUF_Q8_0)
            value *= ((const Q8Block *)(const void *)(stored + bytes))->multiples[i % Q8_NUMBERS];
        worst = fmax(worst, fabs(value - (double)weights[i]));
    }
    return worst;
}

/* Checks a line of the list of tensors, and the distance of its numbers from the model's. Our
 * tensors are in the same order. */
static void assert_tensor(Gguf *g, const Tensor *ours, const Model *model, const char *name,
                          int type, const char *data, double tolerance) {
    Reader *r = &g->reader;
    char found[64];
    take_string(r, found, sizeof found);
    assert_string_equal(found, name);
    assert_int_equal(take(r, 4), ours->rank);
    for (int d = ours->rank; d-- > 0;) assert_int_equal(take(r, 8), ours->shape[d]);
    assert_int_equal(take(r, 4), type);
    uint64_t offset = take(r, 8);
    assert_int_equal(offset % 32, 0);
    double distance = distance_of(data + offset, type, model->weights + ours->offset, ours->size);
    if (distance > tolerance) fail_msg("%s differs by %g", name, distance);
}

/* Returns the start of the numbers, behind the list, whose end a second reader finds. */
static const char *data_of(const Gguf *g) {
    Reader r = g->reader;
    char name[64];
    for (int i = 0; i < g->tensors; i++) {
        take_string(&r, name, sizeof name);
        size_t rank = (size_t)take(&r, 4);
        r.at += 8 * rank + 4 + 8;
    }
    return r.bytes + ((size_t)(r.at - r.bytes) + 31) / 32 * 32;
}

/* ---- models ---- */

static const char text[] = "a\\ \n\t\x7F\"xyz\xC3\xA9\xE2\x96\x81\xF0\x9D\x84\x9E";
static const char *const tokens[] = {
    "\\x09",        "\\x0a",           " ", "\"", "\\\\", "a", "x", "y", "z", "\\x7f", "\xC3\xA9",
    "\xE2\x96\x81", "\xF0\x9D\x84\x9E"};

static Trained *build(const char *rung, int width, bool bytes) {
    Trained *trained = trained_new(rung, width, text, sizeof text - 1, bytes);
    Model *model = &trained->model;
    float *noise = random_floats(4, model->weights_size);
    for (size_t i = 0; i < model->weights_size; i++) model->weights[i] += 0.1f * noise[i];
    return trained;
}

/* The names of tensors here and in llama.cpp; # is the number of the block. */
static const char *const names[][2] = {
    {"transformer.wte", "token_embd"},
    {"transformer.wpe", "position_embd"},
    {"transformer.h.#.ln_1", "blk.#.attn_norm"},
    {"transformer.h.#.attn.c_attn", "blk.#.attn_qkv"},
    {"transformer.h.#.attn.c_proj", "blk.#.attn_output"},
    {"transformer.h.#.ln_2", "blk.#.ffn_norm"},
    {"transformer.h.#.mlp.c_fc", "blk.#.ffn_up"},
    {"transformer.h.#.mlp.c_proj", "blk.#.ffn_down"},
    {"transformer.ln_f", "output_norm"},
    {"model.embed_tokens", "token_embd"},
    {"model.layers.#.input_layernorm", "blk.#.attn_norm"},
    {"model.layers.#.self_attn.q_proj", "blk.#.attn_q"},
    {"model.layers.#.self_attn.k_proj", "blk.#.attn_k"},
    {"model.layers.#.self_attn.v_proj", "blk.#.attn_v"},
    {"model.layers.#.self_attn.q_norm", "blk.#.attn_q_norm"},
    {"model.layers.#.self_attn.k_norm", "blk.#.attn_k_norm"},
    {"model.layers.#.self_attn.o_proj", "blk.#.attn_output"},
    {"model.layers.#.post_attention_layernorm", "blk.#.ffn_norm"},
    {"model.layers.#.mlp.gate_proj", "blk.#.ffn_gate"},
    {"model.layers.#.mlp.up_proj", "blk.#.ffn_up"},
    {"model.layers.#.mlp.down_proj", "blk.#.ffn_down"},
    {"model.norm", "output_norm"},
};

static void name_of(const Tensor *tensor, char name[64]) {
    const char *kind = strrchr(tensor->name, '.');
    char ours[64];
    snprintf(ours, sizeof ours, "%.*s", (int)(kind - tensor->name), tensor->name);
    if (tensor->block >= 0) *strpbrk(ours, "01") = '#'; /* the block's number comes first */
    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(ours, names[i][0]) == 0) {
            snprintf(name, 64, "%s%s", names[i][1], kind);
            if (strchr(name, '#')) *strchr(name, '#') = (char)('0' + tensor->block);
            return;
        }
    fail_msg("%s has no name there", tensor->name);
}

static void assert_file(const Trained *trained, const char *path, GgufType type) {
    const Model *model = &trained->model;
    const Config *c = &model->config;
    bool gpt = strcmp(c->model, "gpt") == 0;
    int usual = gpt ? 4 * c->C : (8 * c->C / 3 + 31) / 32 * 32;
    Gguf g = gguf_open(path);
    const char *data = data_of(&g);
    assert_sizes(&g, gpt ? "gpt2" : "qwen3", c, c->NKV > 0 ? c->NKV : c->NH,
                 c->H > 0 ? c->H : usual);
    assert_int_equal(g.tensors, model->tensor_count);
    for (int i = 0; i < g.tensors; i++) {
        const Tensor *tensor = &model->tensors[i];
        char name[64];
        name_of(tensor, name);
        bool plain = tensor->rank < 2 || strcmp(name, "position_embd.weight") == 0;
        bool ragged = tensor->rank == 2 && tensor->shape[1] % 32 != 0;
        int stored = plain ? GGUF_F32 : type == GGUF_Q8_0 && ragged ? GGUF_F16 : (int)type;
        assert_tensor(&g, tensor, model, name, stored, data,
                      stored == GGUF_F32   ? 0
                      : stored == GGUF_F16 ? 0x1p-11
                                           : 9e-3);
    }
    gguf_close(&g);
}

TEST(models) {
    static const char *const rungs[] = {"gpt", "modern", "shared heads"};
    static const struct {
        const char *name;
        GgufType number;
    } types[] = {{"f32", GGUF_F32}, {"f16", GGUF_F16}, {"q8_0", GGUF_Q8_0}};
    for (int i = 0; i < 3 * 2 * COUNT(types); i++) {
        const char *type = types[i / 6].name;
        const Trained *trained = build(rungs[i % 3], i / 3 % 2 ? 32 : 12, false);
        assert_ok(export_to(trained, scratch("m.gguf"), type), err);
        assert_file(trained, scratch("m.gguf"), types[i / 6].number);
        /* an existing file is not overwritten */
        assert_false(export_to(trained, scratch("m.gguf"), type));
        expect_error(err, "");
        unlink(scratch("m.gguf"));
    }
}

/* ---- tokens ---- */

TEST(tokens) {
    for (int bytes = 0; bytes < 2; bytes++) {
        assert_ok(export_to(build("modern", 12, bytes), scratch("t.gguf"), "f32"), err);
        Gguf g = gguf_open(scratch("t.gguf"));
        const Entry *list = entry_of(&g, "tokenizer.ggml.tokens");
        assert_string_equal(entry_of(&g, "tokenizer.ggml.model")->text, "rwkv");
        assert_int_equal(entry_of(&g, "tokenizer.ggml.token_type")->count, list->count);
        assert_int_equal(entry_of(&g, "tokenizer.ggml.add_bos_token")->number, 0);
        assert_int_equal(list->count, bytes ? 256 : COUNT(tokens));
        for (int i = 0; !bytes && i < COUNT(tokens); i++)
            assert_string_equal(list->texts[i], tokens[i]);
        if (bytes) {
            assert_string_equal(list->texts[0], "\\x00");
            assert_string_equal(list->texts['~'], "~");
            assert_string_equal(list->texts[0xE9], "\\xe9");
        }
        gguf_close(&g);
        unlink(scratch("t.gguf"));
    }
}

/* ---- refusals ---- */

TEST(refusals) {
    assert_false(export_to(build("head", 12, false), scratch("r.gguf"), "f32"));
    expect_error(err, "");

    const Trained *trained = build("gpt", 12, false);
    trained->model.weights[5] = 70000;
    assert_false(export_to(trained, scratch("r.gguf"), "f16"));
    expect_error(err, "transformer.wte.weight: ", "70000");
    assert_false(export_to(trained, scratch("folder"), "f16"));
    expect_error(err, "f32", "'f16'");
    assert_false(scratch_has("r.gguf") || scratch_has("folder"));
}

TEST(program) {
    must_run("train -q -s 2 -l 1 -w 32 -H 1 -c 8 -b 2 -o @gguf/m.safetensors data/sample.txt");
    must_run("sample --export @gguf/m.gguf --precision q8_0 @gguf/m.safetensors");
    Gguf g = gguf_open(scratch("gguf/m.gguf"));
    assert_int_equal(entry_of(&g, "general.file_type")->number, 7);
    gguf_close(&g);
    must_fail(1, "sample --export @gguf/m.gguf @gguf/m.safetensors", "gguf/m.gguf: ");
    if (make_symbolic_link("nowhere", scratch("gguf/link.gguf")))
        must_fail(1, "sample --export @gguf/link.gguf @gguf/m.safetensors", "gguf/link.gguf: ");
    run("sample --export @gguf/x.gguf --precision bf16 @gguf/m.safetensors");
    expect_failure(1, "gguf/x.gguf: ", "'bf16'");
    must_fail(1, "sample --export @gguf/x.gguf @gguf/bigram.safetensors", "bigram");
}

FIXTURE(scratch_open, scratch_close)
