/* tokenizer_json.c - converts a vocabulary to and from the files of a Hugging Face tokenizer: a BPE
 * without merges, so that each character stays a token. Bytes are written as in GPT-2 (Radford et
 * al., 2019): a visible byte as its own character, the others as U+0100 and up. */
#include "extras/formats/tokenizer_json.h"
#include "extras/formats/folder.h"
#include "base/array.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BYTE_VALUES = 256 };

const char tokenizer_claim[] = "not a tokenizer of single characters";

static bool is_seen(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/* Sets the character of each byte value. */
static void byte_characters(uint32_t characters[BYTE_VALUES]) {
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++)
        characters[byte] = is_seen(byte) ? byte : next++;
}

/* ---- export ---- */

static bool write_tokenizer(const Vocab *vocab, const char *directory, Error *err) {
    static const char byte_level[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                                     "\"trim_offsets\": true, \"use_regex\": false}";
    Buffer text = buffer_begin(directory, err);
    buffer_printf(&text,
                  "{\n  \"version\": \"1.0\",\n  \"truncation\": null,\n  \"padding\": null,\n"
                  "  \"added_tokens\": [],\n  \"normalizer\": null,\n  \"pre_tokenizer\": %s,\n"
                  "  \"post_processor\": null,\n  \"decoder\": %s,\n"
                  "  \"model\": {\n    \"type\": \"BPE\",\n    \"dropout\": null,\n"
                  "    \"unk_token\": null,\n    \"continuing_subword_prefix\": null,\n"
                  "    \"end_of_word_suffix\": null,\n    \"fuse_unk\": false,\n"
                  "    \"byte_fallback\": false,\n    \"merges\": [],\n    \"vocab\": {",
                  vocab->bytes ? byte_level : "null",
                  vocab->bytes ? byte_level : "{\"type\": \"Fuse\"}");
    uint32_t bytes[BYTE_VALUES];
    byte_characters(bytes);
    for (int id = 0; id < vocab->size; id++) {
        char character[UTF8_MAX];
        int length =
            vocab->bytes ? utf8_encode(bytes[id], character) : vocab_text(vocab, id, character);
        buffer_printf(&text, "%s\n      ", id > 0 ? "," : "");
        json_quote(&text, character, (size_t)length);
        buffer_printf(&text, ": %d", id);
    }
    buffer_printf(&text, "\n    }\n  }\n}\n");
    return folder_write(&text, directory, "tokenizer.json", err);
}

bool tokenizer_export(const Vocab *vocab, int context, const char *directory, Error *err) {
    if (!write_tokenizer(vocab, directory, err)) return false;
    Buffer text = buffer_begin(directory, err);
    buffer_printf(&text,
                  "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                  "  \"model_input_names\": [\"input_ids\", \"attention_mask\"],\n"
                  "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": %d\n}\n",
                  context);
    return folder_write(&text, directory, "tokenizer_config.json", err);
}

/* ---- import ---- */

typedef struct {
    const char *text; /* points into the file's text */
    size_t length, id;
    uint32_t code;
} Token;

typedef struct {
    const char *path;
    const JsonValue *root;
    Token *tokens; /* [count], owned; by their ids, then by their codes */
    size_t count;
    bool bytes; /* text as bytes, which are written as characters */
} Reading;

static bool is_nothing(const JsonValue *value) {
    return !value || json_is(value, "null");
}

static bool is_empty(const JsonValue *value) {
    return is_nothing(value) || json_says(value, "") ||
           (value->kind == JSON_ARRAY && !json_first(value));
}

static bool is_model(const JsonValue *value) {
    return !value || json_says(value, "BPE") || json_says(value, "WordLevel");
}

/* Returns true for a post-processor that adds no tokens. A ByteLevel only moves token offsets. A
 * template adds its special tokens, so it must have none. */
static bool keeps_ids(const JsonValue *value) {
    const JsonValue *type = json_member(value, "type");
    return is_nothing(value) || json_says(type, "ByteLevel") ||
           (json_says(type, "TemplateProcessing") &&
            !json_first(json_member(value, "special_tokens")));
}

static bool is_off(const JsonValue *value) {
    return !value || json_is(value, "false");
}

/* Returns true for {"String": ""} and for an empty Regex. */
static bool is_empty_pattern(const JsonValue *value) {
    const JsonValue *only = json_first(value);
    return only && !json_next(value, only) && json_says(only, "");
}

/* Returns true for no pre-tokenizer, a Split into characters, or a ByteLevel. An empty pattern
 * matches everywhere and so separates all characters. */
static bool splits(const JsonValue *value) {
    const JsonValue *type = json_member(value, "type");
    if (is_empty(value)) return true;
    return is_off(json_member(value, "invert")) && is_off(json_member(value, "add_prefix_space")) &&
           (json_says(type, "ByteLevel") ||
            (json_says(type, "Split") && json_says(json_member(value, "behavior"), "Isolated") &&
             is_empty_pattern(json_member(value, "pattern"))));
}

static bool is_list(const JsonValue *value) {
    return !value || value->kind == JSON_ARRAY;
}

/* The parts of a tokenizer that maps each character by itself. */
static const struct {
    const char *key;
    bool (*allowed)(const JsonValue *value);
    const char *wrong;
} parts[] = {
    {"normalizer", is_nothing, "a normalizer"},
    {"truncation", is_nothing, "truncation"},
    {"padding", is_nothing, "padding"},
    {"model.type", is_model, "a model that is neither BPE nor WordLevel"},
    {"model.merges", is_empty, "merges"},
    {"model.continuing_subword_prefix", is_empty, "a prefix for subwords"},
    {"model.end_of_word_suffix", is_empty, "a suffix for words"},
    {"pre_tokenizer", splits, "a pre_tokenizer that splits into neither characters nor bytes"},
    {"post_processor", keeps_ids, "a post_processor that adds tokens"},
    {"added_tokens", is_list, "added_tokens that are not a list"},
};

static bool fail_for(const Reading *r, const char *what, Error *err) {
    return fail(err, "%s: %s: it has %s", r->path, tokenizer_claim, what);
}

static bool read_parts(Reading *r, Error *err) {
    const JsonValue *step = json_member(r->root, "pre_tokenizer.type");
    for (int i = 0; i < COUNT(parts); i++)
        if (!parts[i].allowed(json_member(r->root, parts[i].key)))
            return fail_for(r, parts[i].wrong, err);
    r->bytes = json_says(step, "ByteLevel");
    return json_says(step, "Split") ||
           !json_says(json_member(r->root, "model.type"), "WordLevel") ||
           fail_for(r, "a WordLevel model without a Split pre_tokenizer", err);
}

static bool read_vocabulary(Reading *r, Error *err) {
    const JsonValue *vocab = json_member(r->root, "model.vocab");
    json_each(entry, vocab) r->count++;
    if (r->count == 0) return fail(err, "%s: has no vocabulary", r->path);
    if (!memory_alloc(&r->tokens, r->count, sizeof *r->tokens, r->path, err)) return false;
    json_each(entry, vocab) {
        size_t id;
        if (!json_size(entry, &id)) return fail_for(r, "an id that is not a whole number", err);
        if (id >= r->count || r->tokens[id].text)
            return fail(err, "%s: the ids of its %zu tokens are not 0 to %zu, each once", r->path,
                        r->count, r->count - 1);
        r->tokens[id] = (Token){.text = entry->key, .length = entry->key_length, .id = id};
    }
    return true;
}

/* Sets token->code to its character or, with r->bytes, to its byte. */
static bool find_code(const Reading *r, Token *token, Error *err) {
    int taken = utf8_decode(token->text, token->length, &token->code);
    if (taken <= 0 || (size_t)taken != token->length)
        return fail(err, "%s: its token %zu, '%.*s', is not one character", r->path, token->id,
                    (int)min_size(token->length, 32), token->text);
    if (!r->bytes) return true;
    uint32_t bytes[BYTE_VALUES], byte = 0;
    byte_characters(bytes);
    while (byte < BYTE_VALUES && bytes[byte] != token->code) byte++;
    token->code = byte;
    return byte < BYTE_VALUES ||
           fail(err, "%s: its token %zu does not stand for a byte", r->path, token->id);
}

static int compare_codes(const void *a, const void *b) {
    const Token *x = a, *y = b;
    return (x->code > y->code) - (x->code < y->code);
}

/* Checks an added token, which is matched before all others: it must be in the vocabulary with the
 * same id, and must not strip spaces. */
static bool check_added(const Reading *r, const JsonValue *entry, Error *err) {
    const JsonValue *content = json_member(entry, "content"), *id = json_member(entry, "id");
    Token added = {.code = 0};
    if (!content || content->kind != JSON_STRING || !id || !json_size(id, &added.id))
        return fail_for(r, "added_tokens without content or id", err);
    if (!is_off(json_member(entry, "lstrip")) || !is_off(json_member(entry, "rstrip")))
        return fail_for(r, "added_tokens that strip spaces", err);
    int taken = utf8_decode(content->text, content->length, &added.code);
    const Token *token = NULL;
    if (taken > 0 && (size_t)taken == content->length && (!r->bytes || added.code < 0x80))
        token = bsearch(&added, r->tokens, r->count, sizeof added, compare_codes);
    return (token && token->id == added.id) ||
           fail(err, "%s: one of its added_tokens, '%.32s', is not a character of its vocabulary",
                r->path, content->text);
}

static bool number_tokens(Reading *r, Vocab *vocab, int32_t **rows, Error *err) {
    const JsonValue *added = json_member(r->root, "added_tokens");
    size_t count = r->count;
    if (r->bytes && count != BYTE_VALUES)
        return fail(err, "%s: has %zu tokens for 256 bytes", r->path, count);
    for (size_t i = 0; i < count; i++)
        if (!find_code(r, &r->tokens[i], err)) return false;
    qsort(r->tokens, count, sizeof *r->tokens, compare_codes);
    json_each(entry, added)
        if (!check_added(r, entry, err)) return false;
    if (!memory_alloc(&vocab->codes, count, sizeof *vocab->codes, r->path, err) ||
        !memory_alloc(rows, count, sizeof **rows, r->path, err))
        return false;
    for (size_t i = 0; i < count; i++) {
        const Token *token = &r->tokens[i];
        if (i > 0 && token->code == token[-1].code)
            return fail(err, "%s: two of its tokens are U+%04X", r->path, (unsigned)token->code);
        vocab->codes[i] = token->code;
        (*rows)[i] = (int32_t)token->id;
    }
    vocab->size = (int)count;
    vocab->bytes = r->bytes;
    return true;
}

bool tokenizer_read(Vocab *vocab, const char *name, const JsonValue *root, int32_t **rows,
                    Error *err) {
    Reading r = {.path = name, .root = root};
    *vocab = (Vocab){0};
    *rows = NULL;
    bool ok =
        read_parts(&r, err) && read_vocabulary(&r, err) && number_tokens(&r, vocab, rows, err);
    memory_free(r.tokens);
    if (ok) return true;
    vocab_free(vocab);
    memory_free(*rows);
    *rows = NULL;
    return false;
}

bool tokenizer_import(Vocab *vocab, const char *directory, int32_t **rows, Error *err) {
    JsonFile file;
    bool ok = folder_open(&file, directory, "tokenizer.json", tokenizer_claim, err) &&
              tokenizer_read(vocab, file.path, file.root, rows, err);
    folder_close(&file);
    return ok;
}
