/* gguf.c - exports a model and its vocabulary as one GGUF file, which llama.cpp and programs built
 * on it load: gpt as llama.cpp's architecture gpt2, and modern as its qwen3.
 *
 * The format (Gerganov et al., "GGUF", version 3, 2023): counts; a list of keys and values; a list
 * of tensors; then their numbers, each tensor at a multiple of 32 bytes. The tokenizer is
 * llama.cpp's tokenizer of RWKV, which only looks up the longest token. So each character (or byte)
 * stays a token, blanks stay blanks, and no character is taken for the end of a text. */
#include "library/formats.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/order.h"
#include "extras/formats/quantize.h"
#include "model/rungs/rung.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { ALIGNMENT = 32, NAME_SIZE = 64, PIECE_SIZE = 8 };

/* ---- architectures ---- */

/* The part of a tensor's name after the block's prefix, in tril and in llama.cpp. */
typedef struct {
    const char *ours, *theirs;
} Renamed;

static const Renamed gpt2_tensors[] = {
    {"wte", "token_embd"}, {"wpe", "position_embd"},    {"ln_f", "output_norm"},
    {"ln_1", "attn_norm"}, {"attn.c_attn", "attn_qkv"}, {"attn.c_proj", "attn_output"},
    {"ln_2", "ffn_norm"},  {"mlp.c_fc", "ffn_up"},      {"mlp.c_proj", "ffn_down"},
};
static const Renamed qwen3_tensors[] = {
    {"embed_tokens", "token_embd"},      {"norm", "output_norm"},
    {"input_layernorm", "attn_norm"},    {"self_attn.q_proj", "attn_q"},
    {"self_attn.k_proj", "attn_k"},      {"self_attn.v_proj", "attn_v"},
    {"self_attn.q_norm", "attn_q_norm"}, {"self_attn.k_norm", "attn_k_norm"},
    {"self_attn.o_proj", "attn_output"}, {"post_attention_layernorm", "ffn_norm"},
    {"mlp.gate_proj", "ffn_gate"},       {"mlp.up_proj", "ffn_up"},
    {"mlp.down_proj", "ffn_down"},
};

typedef struct {
    const char *rung, *name;    /* the rung, and llama.cpp's architecture */
    const char *prefix, *block; /* of the names of all tensors, and of those of a block */
    const Renamed *tensors;
    int tensor_count;
    Size feed_forward;
    const char *epsilon_key;
    float epsilon; /* of the norms */
    bool rotary;
} Architecture;

static const Architecture architectures[] = {
    {"gpt", "gpt2", "transformer.", "transformer.h.%d.", gpt2_tensors, COUNT(gpt2_tensors), SIZE_4C,
     ".attention.layer_norm_epsilon", 1e-5f, false},
    {"modern", "qwen3", "model.", "model.layers.%d.", qwen3_tensors, COUNT(qwen3_tensors), SIZE_H,
     ".attention.layer_norm_rms_epsilon", 1e-6f, true},
};

static const Architecture *architecture_of(const char *rung) {
    for (int i = 0; i < COUNT(architectures); i++)
        if (strcmp(rung, architectures[i].rung) == 0) return &architectures[i];
    return NULL;
}

/* ---- keys and values ---- */

/* The types of values, with the numbers that the format gives them. */
enum {
    VALUE_UINT32 = 4,
    VALUE_INT32 = 5,
    VALUE_FLOAT32 = 6,
    VALUE_BOOL = 7,
    VALUE_STRING = 8,
    VALUE_ARRAY = 9
};

/* The file up to the numbers of the tensors. */
typedef struct {
    Buffer out;
    const Architecture *a;
    uint64_t keys; /* so far */
} Header;

static void put_number(Header *h, void *number, size_t width) {
    little_endian(number, width, width);
    buffer_put(&h->out, number, width);
}

static void put_u32(Header *h, uint32_t number) {
    put_number(h, &number, sizeof number);
}

static void put_u64(Header *h, uint64_t number) {
    put_number(h, &number, sizeof number);
}

static void put_string(Header *h, const char *text) {
    put_u64(h, strlen(text));
    buffer_put(&h->out, text, strlen(text));
}

/* Begins a key. One that begins with a dot belongs to the architecture. */
static void begin(Header *h, const char *key, uint32_t type) {
    char name[NAME_SIZE];
    snprintf(name, sizeof name, "%s%s", *key == '.' ? h->a->name : "", key);
    put_string(h, name);
    put_u32(h, type);
    h->keys++;
}

static void add_number(Header *h, const char *key, uint32_t number) {
    begin(h, key, VALUE_UINT32);
    put_u32(h, number);
}

static void add_real(Header *h, const char *key, float number) {
    begin(h, key, VALUE_FLOAT32);
    put_number(h, &number, sizeof number);
}

static void add_text(Header *h, const char *key, const char *text) {
    begin(h, key, VALUE_STRING);
    put_string(h, text);
}

static void add_false(Header *h, const char *key) {
    begin(h, key, VALUE_BOOL);
    buffer_put(&h->out, "", 1);
}

static void add_sizes(Header *h, const Config *config) {
    const struct {
        const char *key;
        Size size;
    } sizes[] = {{".context_length", SIZE_T},
                 {".embedding_length", SIZE_C},
                 {".block_count", SIZE_L},
                 {".feed_forward_length", h->a->feed_forward},
                 {".attention.head_count", SIZE_NH},
                 {".attention.head_count_kv", SIZE_NKV},
                 {".attention.key_length", SIZE_HS},
                 {".attention.value_length", SIZE_HS},
                 {".vocab_size", SIZE_V}};
    for (int i = 0; i < COUNT(sizes); i++)
        add_number(h, sizes[i].key, (uint32_t)size_of(config, sizes[i].size));
    add_real(h, h->a->epsilon_key, h->a->epsilon);
    if (h->a->rotary) add_real(h, ".rope.freq_base", 10000);
}

/* ---- the tokenizer ---- */

/* Writes the text of a token. A backslash begins an escape; bytes that are neither printable ASCII
 * nor part of a longer character are written as \x and two digits. */
static void token_text(const Vocab *vocab, int id, char text[PIECE_SIZE]) {
    char bytes[UTF8_MAX];
    int length = vocab_text(vocab, id, bytes);
    unsigned char first = (unsigned char)bytes[0];
    if (length == 1 && (first < 0x20 || first >= 0x7F))
        snprintf(text, PIECE_SIZE, "\\x%02x", first);
    else
        snprintf(text, PIECE_SIZE, "%s%.*s", first == '\\' ? "\\" : "", length, bytes);
}

static void add_tokenizer(Header *h, const Vocab *vocab) {
    enum { NORMAL = 1 };
    add_text(h, "tokenizer.ggml.model", "rwkv");
    begin(h, "tokenizer.ggml.tokens", VALUE_ARRAY);
    put_u32(h, VALUE_STRING);
    put_u64(h, (uint64_t)vocab->size);
    for (int id = 0; id < vocab->size; id++) {
        char text[PIECE_SIZE];
        token_text(vocab, id, text);
        put_string(h, text);
    }
    begin(h, "tokenizer.ggml.token_type", VALUE_ARRAY);
    put_u32(h, VALUE_INT32);
    put_u64(h, (uint64_t)vocab->size);
    for (int id = 0; id < vocab->size; id++) put_u32(h, NORMAL);
    add_false(h, "tokenizer.ggml.add_bos_token");
    add_false(h, "tokenizer.ggml.add_eos_token");
}

/* ---- tensors ---- */

/* Writes llama.cpp's name of a tensor: the block's prefix, the part, .weight or .bias. */
static void rename_tensor(const Architecture *a, const Tensor *tensor, char name[NAME_SIZE]) {
    char prefix[NAME_SIZE], block[NAME_SIZE] = "";
    snprintf(prefix, sizeof prefix, "%s", a->prefix);
    if (tensor->block != NO_BLOCK) {
        snprintf(prefix, sizeof prefix, a->block, tensor->block);
        snprintf(block, sizeof block, "blk.%d.", tensor->block);
    }
    const char *part = tensor->name + strlen(prefix), *kind = strrchr(tensor->name, '.');
    for (int i = 0; i < a->tensor_count; i++)
        if (strlen(a->tensors[i].ours) == (size_t)(kind - part) &&
            strncmp(part, a->tensors[i].ours, (size_t)(kind - part)) == 0)
            snprintf(name, NAME_SIZE, "%s%s%s", block, a->tensors[i].theirs, kind);
}

/* The types of tensors, with the numbers of the format. If Q8_0 is requested, a matrix whose rows
 * are not a multiple of 32 numbers is stored as F16. Vectors are F32. */
typedef enum { F32 = 0, F16 = 1, Q8_0 = 8 } Type;

/* llama.cpp adds the table of positions as float32. */
static Type type_of(const Tensor *tensor, Type type) {
    if (tensor->rank < 2 || strstr(tensor->name, ".wpe.")) return F32;
    return type == Q8_0 && tensor->shape[1] % Q8_NUMBERS != 0 ? F16 : type;
}

static size_t bytes_of(const Tensor *tensor, Type type) {
    switch (type_of(tensor, type)) {
        case F16: return tensor->size * sizeof(uint16_t);
        case Q8_0: return tensor->size / Q8_NUMBERS * sizeof(Q8Block);
        default: return tensor->size * sizeof(float);
    }
}

static size_t aligned(size_t offset) {
    return (offset + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

/* Lists the tensors, and returns the bytes of their numbers. Dimensions are written from the last
 * to the first. */
static size_t list_tensors(Header *h, const Model *model, Type type) {
    size_t offset = 0;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        char name[NAME_SIZE];
        rename_tensor(h->a, tensor, name);
        put_string(h, name);
        put_u32(h, (uint32_t)tensor->rank);
        for (int d = tensor->rank; d-- > 0;) put_u64(h, (uint64_t)tensor->shape[d]);
        put_u32(h, (uint32_t)type_of(tensor, type));
        put_u64(h, offset);
        offset = aligned(offset + bytes_of(tensor, type));
    }
    return offset;
}

static bool store_tensors(char *to, const Model *model, Type type, Error *err) {
    const float too_large = 65520;
    for (int t = 0; t < model->tensor_count; t++) {
        const Tensor *tensor = &model->tensors[t];
        const float *from = model->weights + tensor->offset;
        const Type own = type_of(tensor, type);
        for (size_t i = 0; own != F32 && i < tensor->size; i++)
            if (!(fabsf(from[i]) < too_large))
                return fail(err, "%s: the weight %g is too large for 16 bits; choose f32",
                            tensor->name, (double)from[i]);
        if (own == F32) memcpy(to, from, tensor->size * sizeof *from);
        if (own == Q8_0) quantize_q8((Q8Block *)(void *)to, from, tensor->size);
        const size_t width = own == F32 ? sizeof *from : sizeof(uint16_t);
        for (size_t i = 0; own == F16 && i < tensor->size; i++)
            ((uint16_t *)(void *)to)[i] = half_of(from[i]);
        if (own != Q8_0) little_endian(to, tensor->size * width, width);
        to += aligned(bytes_of(tensor, type));
    }
    return true;
}

/* ---- the file ---- */

/* Writes the header. Returns the size of the tensors' numbers in bytes. */
static size_t write_header(Header *h, const Model *model, const Vocab *vocab, Type type) {
    /* the format's name for "mostly of this type" */
    const uint32_t file_type = type == Q8_0 ? 7 : (uint32_t)type;
    buffer_put(&h->out, "GGUF", 4);
    put_u32(h, 3);
    put_u64(h, (uint64_t)model->tensor_count);
    const size_t count_at = h->out.length;
    put_u64(h, 0);
    add_text(h, "general.architecture", h->a->name);
    add_text(h, "general.type", "model");
    add_text(h, "general.name", h->a->rung);
    add_number(h, "general.file_type", file_type);
    add_number(h, "general.quantization_version", 2);
    add_number(h, "general.alignment", ALIGNMENT);
    add_sizes(h, &model->config);
    add_tokenizer(h, vocab);
    little_endian(&h->keys, sizeof h->keys, sizeof h->keys);
    if (!h->out.failed) memcpy(h->out.bytes + count_at, &h->keys, sizeof h->keys);
    size_t bytes = list_tensors(h, model, type);
    while (!h->out.failed && h->out.length % ALIGNMENT != 0) buffer_put(&h->out, "", 1);
    return bytes;
}

static bool write_file(const Model *model, const Vocab *vocab, const char *name, const char *path,
                       Error *err) {
    Type type = strcmp(name, "f16") == 0 ? F16 : strcmp(name, "q8_0") == 0 ? Q8_0 : F32;
    Header h = {.out = buffer_begin(path, err), .a = architecture_of(model->config.model)};
    char *numbers = NULL;
    if (!h.a)
        return fail(
            err,
            "llama.cpp has no architecture for %s; train one that it has: train --model modern FILE, "
            "or --model gpt",
            model->config.model);
    if (file_is_taken(path)) return fail(err, "%s: already exists; choose another name", path);
    size_t bytes = write_header(&h, model, vocab, type);
    bool ok = !h.out.failed && memory_alloc(&numbers, bytes, 1, path, err) &&
              store_tensors(numbers, model, type, err);
    const FilePart parts[] = {{h.out.bytes, h.out.length}, {numbers, bytes}};
    ok = ok && file_write(path, parts, COUNT(parts), err);
    memory_free(numbers);
    buffer_end(&h.out);
    return ok;
}

static bool names_file(const char *path) {
    const char *end = strrchr(path, '.');
    return end && end > path && strcmp(end, ".gguf") == 0;
}

const Format gguf_format = {
    .names = names_file,
    .write = write_file,
    .types = (const char *const[]){"f32", "f16", "q8_0", NULL},
};
