/* tokenizer.c - a vocabulary <-> the files of a Hugging Face tokenizer: a BPE without merges, so
 * that each character stays a token. Bytes are written as in GPT-2 (Radford et al., 2019): a
 * visible byte as its own character, the others as U+0100 and up. */
#include "extras/formats/tokenizer_json.h"
#include "base/file.h"
#include "base/json.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { BYTE_VALUES = 256 };

static bool is_seen(uint32_t byte) {
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte != 0xAD);
}

/* The character for each byte value. */
static void byte_characters(uint32_t characters[BYTE_VALUES]) {
    uint32_t next = 0x100;
    for (uint32_t byte = 0; byte < BYTE_VALUES; byte++)
        characters[byte] = is_seen(byte) ? byte : next++;
}

/* ---- export ---- */

static bool write_text(Buffer *text, const char *path, Error *err) {
    bool ok = !text->failed && file_write(path, &(FilePart){text->bytes, text->length}, 1, err);
    buffer_end(text);
    return ok;
}

static bool write_tokenizer(const Vocab *vocab, const char *path, Error *err) {
    static const char byte_level[] = "{\"type\": \"ByteLevel\", \"add_prefix_space\": false, "
                                     "\"trim_offsets\": true, \"use_regex\": false}";
    Buffer text = buffer_begin(path, err);
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
    return write_text(&text, path, err);
}

static bool write_config(int context, const char *path, Error *err) {
    Buffer text = buffer_begin(path, err);
    buffer_printf(&text,
                  "{\n  \"tokenizer_class\": \"PreTrainedTokenizerFast\",\n"
                  "  \"model_input_names\": [\"input_ids\", \"attention_mask\"],\n"
                  "  \"clean_up_tokenization_spaces\": false,\n  \"model_max_length\": %d\n}\n",
                  context);
    return write_text(&text, path, err);
}

bool tokenizer_export(const Vocab *vocab, int context, const char *directory, Error *err) {
    char *tokenizer = NULL, *config = NULL;
    bool ok = file_within(directory, "tokenizer.json", &tokenizer, err) &&
              file_within(directory, "tokenizer_config.json", &config, err) &&
              write_tokenizer(vocab, tokenizer, err) && write_config(context, config, err);
    memory_free(tokenizer);
    memory_free(config);
    return ok;
}

/* ---- import ---- */

typedef struct {
    const char *text; /* points into the file's text */
    size_t length, id;
    uint32_t code;
} Token;

typedef struct {
    const char *path;
    Token *tokens;                 /* owned; added tokens are at the end, the first one last */
    size_t count, added, capacity; /* enough for any file: each token takes some bytes of it */
    bool bytes, split, words;      /* text as bytes; split into characters; WordLevel */
} Reading;

static bool read_tokens(Json *json, Reading *r) {
    if (r->count > 0) return json_refuse(json, "a second vocabulary");
    if (!json_expect(json, '{')) return false;
    if (json_take(json, '}')) return true;
    do {
        if (r->count + r->added == r->capacity) return json_refuse(json, "too many tokens");
        Token *token = &r->tokens[r->count++];
        char *text;
        if (!json_string(json, &text, &token->length) || !json_expect(json, ':') ||
            !json_size(json, &token->id))
            return false;
        token->text = text;
    } while (json_take(json, ','));
    return json_expect(json, '}');
}

/* Reads null or an empty string. */
static bool read_nothing(Json *json) {
    const char *text;
    size_t length;
    if (json_next(json) == '"') return json_name(json, &text) && !*text;
    return json_next(json) == 'n' && json_literal(json, &text, &length);
}

static bool read_model(Json *json, Reading *r) {
    if (!json_expect(json, '{')) return false;
    do {
        const char *key, *type;
        if (!json_name(json, &key) || !json_expect(json, ':')) return false;
        if (strcmp(key, "vocab") == 0) {
            if (!read_tokens(json, r)) return false;
        } else if (strcmp(key, "type") == 0) {
            if (!json_name(json, &type)) return false;
            r->words = strcmp(type, "WordLevel") == 0;
            if (!r->words && strcmp(type, "BPE") != 0)
                return json_refuse(json, "a model that is neither BPE nor WordLevel");
        } else if (strcmp(key, "continuing_subword_prefix") == 0 ||
                   strcmp(key, "end_of_word_suffix") == 0) {
            if (!read_nothing(json)) return json_refuse(json, "a prefix or suffix of characters");
        } else if (strcmp(key, "merges") == 0) {
            if (!json_expect(json, '[')) return false;
            if (!json_take(json, ']')) return json_refuse(json, "merges of characters");
        } else if (!json_skip(json)) {
            return false;
        }
    } while (json_take(json, ','));
    return json_expect(json, '}');
}

/* Reads {"String": ""} or a Regex. An empty pattern matches everywhere and so separates all
 * characters. */
static bool read_pattern(Json *json, bool *empty) {
    const char *kind, *pattern;
    if (!json_expect(json, '{') || !json_name(json, &kind) || !json_expect(json, ':') ||
        !json_name(json, &pattern))
        return false;
    *empty = !*pattern;
    return json_expect(json, '}');
}

/* Reads the pre_tokenizer: none, a Split into characters, or a ByteLevel, which writes bytes as
 * characters. */
static bool read_step(Json *json, Reading *r) {
    const char *key, *type = "", *behavior = "", *literal;
    bool empty = false, refused = false;
    size_t length;
    if (json_next(json) != '{')
        return read_nothing(json) || json_refuse(json, "no valid pre_tokenizer");
    json_expect(json, '{');
    do {
        bool ok = json_name(json, &key) && json_expect(json, ':');
        if (ok && strcmp(key, "type") == 0)
            ok = json_name(json, &type);
        else if (ok && strcmp(key, "behavior") == 0)
            ok = json_name(json, &behavior);
        else if (ok && strcmp(key, "pattern") == 0)
            ok = read_pattern(json, &empty);
        else if (ok && (strcmp(key, "invert") == 0 || strcmp(key, "add_prefix_space") == 0)) {
            ok = json_literal(json, &literal, &length);
            refused = refused || (ok && *literal != 'f');
        } else
            ok = ok && json_skip(json);
        if (!ok) return false;
    } while (json_take(json, ','));
    if (!json_expect(json, '}')) return false;
    r->bytes = strcmp(type, "ByteLevel") == 0;
    r->split = strcmp(type, "Split") == 0 && empty && strcmp(behavior, "Isolated") == 0;
    return (!refused && (r->bytes || r->split)) ||
           json_refuse(json, "a pre_tokenizer that neither splits into characters nor bytes");
}

/* Reads a token that is matched before all others. check_added later checks that it changes no ids.
 * One that also takes the blanks beside it is refused here. */
static bool read_added_token(Json *json, Reading *r) {
    if (r->count + r->added == r->capacity) return json_refuse(json, "too many tokens");
    Token *token = &r->tokens[r->capacity - ++r->added];
    bool has_text = false, has_id = false;
    if (!json_expect(json, '{')) return false;
    do {
        const char *key, *literal;
        char *text;
        size_t length;
        if (!json_name(json, &key) || !json_expect(json, ':')) return false;
        if (strcmp(key, "content") == 0) {
            if (!json_string(json, &text, &token->length)) return false;
            token->text = text;
            has_text = true;
        } else if (strcmp(key, "id") == 0) {
            if (!json_size(json, &token->id)) return false;
            has_id = true;
        } else if (strcmp(key, "lstrip") == 0 || strcmp(key, "rstrip") == 0) {
            if (!json_literal(json, &literal, &length)) return false;
            if (*literal != 'f') return json_refuse(json, "added_tokens that take blanks along");
        } else if (!json_skip(json)) {
            return false;
        }
    } while (json_take(json, ','));
    if (!json_expect(json, '}')) return false;
    return (has_text && has_id) || json_refuse(json, "added_tokens without content or id");
}

static bool read_added_tokens(Json *json, Reading *r) {
    if (r->added > 0) return json_refuse(json, "added_tokens for the second time");
    if (!json_expect(json, '[')) return false;
    if (json_take(json, ']')) return true;
    do
        if (!read_added_token(json, r)) return false;
    while (json_take(json, ','));
    return json_expect(json, ']');
}

/* Reads the post_processor, which must not add ids. A ByteLevel only moves token offsets. A
 * template adds its special tokens, so it must have none. */
static bool read_post_processor(Json *json) {
    const char *key, *type = "", *literal;
    bool template_adds = false;
    size_t length;
    if (json_next(json) == 'n') return json_literal(json, &literal, &length);
    if (!json_expect(json, '{')) return false;
    do {
        if (!json_name(json, &key) || !json_expect(json, ':')) return false;
        if (strcmp(key, "type") == 0) {
            if (!json_name(json, &type)) return false;
        } else if (strcmp(key, "special_tokens") == 0) {
            if (!json_expect(json, '{')) return false;
            template_adds = !json_take(json, '}');
            if (template_adds) break;
        } else if (!json_skip(json)) {
            return false;
        }
    } while (json_take(json, ','));
    bool keeps = strcmp(type, "ByteLevel") == 0 || strcmp(type, "TemplateProcessing") == 0;
    if (!keeps || template_adds) return json_refuse(json, "a post_processor that adds tokens");
    return json_expect(json, '}');
}

/* Reads a setting that must be null. */
static bool read_null(Json *json, const char *otherwise) {
    const char *literal;
    size_t length;
    if (json_next(json) != 'n') return json_refuse(json, otherwise);
    return json_literal(json, &literal, &length);
}

static bool read_file(Json *json, Reading *r) {
    if (!json_expect(json, '{')) return false;
    do {
        const char *key;
        if (!json_name(json, &key) || !json_expect(json, ':')) return false;
        if (strcmp(key, "model") == 0) {
            if (!read_model(json, r)) return false;
        } else if (strcmp(key, "pre_tokenizer") == 0) {
            if (!read_step(json, r)) return false;
        } else if (strcmp(key, "normalizer") == 0) {
            if (!read_null(json, "a normalizer")) return false;
        } else if (strcmp(key, "truncation") == 0) {
            if (!read_null(json, "a truncation")) return false;
        } else if (strcmp(key, "padding") == 0) {
            if (!read_null(json, "a padding")) return false;
        } else if (strcmp(key, "post_processor") == 0) {
            if (!read_post_processor(json)) return false;
        } else if (strcmp(key, "added_tokens") == 0) {
            if (!read_added_tokens(json, r)) return false;
        } else if (!json_skip(json)) {
            return false;
        }
    } while (json_take(json, ','));
    if (!json_expect(json, '}') || !json_close(json)) return false;
    return r->split || !r->words || json_refuse(json, "words that nothing splits");
}

/* Sets token->code to its character or, with r->bytes, to its byte. */
static bool find_code(const Reading *r, Token *token, Error *err) {
    int taken = utf8_decode(token->text, token->length, &token->code);
    if (taken <= 0 || (size_t)taken != token->length)
        return fail(err, "%s: its token %zu, '%.*s', is not one character", r->path, token->id,
                    (int)(token->length < 32 ? token->length : 32), token->text);
    if (!r->bytes) return true;
    uint32_t bytes[BYTE_VALUES], byte = 0;
    byte_characters(bytes);
    while (byte < BYTE_VALUES && bytes[byte] != token->code) byte++;
    token->code = byte;
    return byte < BYTE_VALUES ||
           fail(err, "%s: its token %zu stands for no byte", r->path, token->id);
}

static int compare_codes(const void *a, const void *b) {
    const Token *x = a, *y = b;
    return (x->code > y->code) - (x->code < y->code);
}

/* Each added token must be in the vocabulary with the same id. */
static bool check_added(const Reading *r, Error *err) {
    for (size_t i = 1; i <= r->added; i++) {
        Token added = r->tokens[r->capacity - i];
        int taken = utf8_decode(added.text, added.length, &added.code);
        const Token *token = NULL;
        if (taken > 0 && (size_t)taken == added.length && (!r->bytes || added.code < 0x80))
            token = bsearch(&added, r->tokens, r->count, sizeof added, compare_codes);
        if (!token || token->id != added.id)
            return fail(err,
                        "%s: one of its added_tokens, '%.*s', is not a character of its vocabulary",
                        r->path, (int)(added.length < 32 ? added.length : 32), added.text);
    }
    return true;
}

static bool number_tokens(Reading *r, Vocab *vocab, int32_t **rows, Error *err) {
    size_t count = r->count;
    if (count == 0) return fail(err, "%s: has no vocabulary", r->path);
    if (r->bytes && count != BYTE_VALUES)
        return fail(err, "%s: has %zu tokens for 256 bytes", r->path, count);
    for (size_t i = 0; i < count; i++)
        if (!find_code(r, &r->tokens[i], err)) return false;
    qsort(r->tokens, count, sizeof *r->tokens, compare_codes);
    if (!check_added(r, err)) return false;
    unsigned char *taken;
    if (!memory_alloc(&taken, count, 1, r->path, err)) return false;
    bool ok = memory_alloc(&vocab->codes, count, sizeof *vocab->codes, r->path, err) &&
              memory_alloc(rows, count, sizeof **rows, r->path, err);
    for (size_t i = 0; i < count && ok; i++) {
        const Token *token = &r->tokens[i];
        if (i > 0 && token->code == token[-1].code)
            ok = fail(err, "%s: two tokens are U+%04X", r->path, (unsigned)token->code);
        else if (token->id >= count || taken[token->id])
            ok = fail(err, "%s: its %zu tokens are not numbered from 0 to %zu, each once", r->path,
                      count, count - 1);
        if (!ok) break;
        taken[token->id] = 1;
        vocab->codes[i] = token->code;
        (*rows)[i] = (int32_t)token->id;
    }
    vocab->size = (int)count;
    vocab->bytes = r->bytes;
    memory_free(taken);
    return ok;
}

bool tokenizer_read(Vocab *vocab, const char *name, char *text, size_t length, int32_t **rows,
                    Error *err) {
    enum { SHORTEST = 6 }; /* bytes of the shortest token, "a":0, */
    Reading r = {.path = name, .capacity = length / SHORTEST};
    Json json = json_open(name, "not a tokenizer of single characters", text, length, err);
    *vocab = (Vocab){0};
    *rows = NULL;
    bool ok = memory_alloc(&r.tokens, r.capacity, sizeof *r.tokens, name, err) &&
              read_file(&json, &r) && number_tokens(&r, vocab, rows, err);
    if (!ok) {
        vocab_free(vocab);
        memory_free(*rows);
        *rows = NULL;
    }
    memory_free(r.tokens);
    return ok;
}

bool tokenizer_import(Vocab *vocab, const char *directory, int32_t **rows, Error *err) {
    char *path = NULL, *text = NULL;
    size_t length;
    *vocab = (Vocab){0};
    *rows = NULL;
    bool ok = file_within(directory, "tokenizer.json", &path, err) &&
              file_read(path, &text, &length, err) &&
              tokenizer_read(vocab, path, text, length, rows, err);
    memory_free(text);
    memory_free(path);
    return ok;
}
