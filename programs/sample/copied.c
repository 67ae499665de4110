#include "base/array.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/number.h"
#include "programs/common.h"
#include "programs/glyph.h"
#include "programs/sample/sample.h"

#include <string.h>

static const int32_t END = -1; /* after each text */

bool copies_open(Copies *c, const TrilModel *model, const char *path, Error *err) {
    char *files[] = {(char *)path};
    const char *val = tril_model_metadata(model, "val"),
               *val_file = tril_model_metadata(model, "val_file"),
               *digest = tril_model_metadata(model, "text"),
               *name = tril_model_metadata(model, "text_name"), *content = NULL;
    double held_out = val ? number_read(val, NULL) : tril_options().held_out;
    size_t length;
    *c = (Copies){.tokenizer = tril_model_tokenizer(model),
                  .trained_on = name,
                  .written = buffer_begin("the written text", &c->failed)};
    if (val_file && strcmp(val_file, "-") == 0)
        return fail(err, "--copied: the model's --val-file was standard input, which is gone");
    if (val_file && file_kind(val_file) == FILE_NONE)
        return fail(err, "--copied: the model's --val-file %s is not there; put it back", val_file);
    if (texts_find(&c->files, files, 1, val_file, err))
        content = texts_content(&c->files, c->tokenizer->bytes, &held_out, &length, err);
    if (!content)
        return message_of(err, val_file ? "--copied, with the model's --val-file" : "--copied");
    if (tril_text_make(&c->text, c->tokenizer, content, length, held_out, err) != TRIL_OK) {
        const Error own = *err;
        return fail(err, "--copied: %s: %s%s%s", c->files.name, own.text,
                    name ? "; the model was trained on " : "", name ? name : "");
    }
    texts_forget(&c->files);
    c->other = digest && strcmp(digest_text(c->text->digest).text, digest) != 0;
    return true;
}

void copies_take(Copies *c, const char *text, size_t length, bool ended) {
    Buffer *b = &c->written;
    size_t count;
    if (!buffer_reserve(b, length * sizeof END)) return;
    int32_t *ids = (int32_t *)(void *)(b->bytes + b->length);
    b->failed = tril_encode(c->tokenizer, text, length, ids, length, &count, b->err) != TRIL_OK;
    if (b->failed) return;
    b->length += count * sizeof END;
    c->characters += count;
    if (ended) buffer_put(b, &END, sizeof END);
}

/* ---- figures ---- */

enum { PASSAGE = 20, PIECES = 16, LONGEST = 1000 };

/* Of a text, or the means of several texts. */
typedef struct {
    double longest; /* the longest passage that is also in the training part */
    double share;   /* the share of the characters in passages of PASSAGE or more */
    size_t begin;   /* of the longest */
} Figures;

/* Returns the figures of texts of so many characters, from longest[count] of tril_text_copied. */
static Figures figures_of(const int32_t *longest, size_t count, size_t characters) {
    Figures f = {0};
    for (size_t i = 0; i < count; i++) {
        f.share += longest[i] >= PASSAGE;
        if (longest[i] <= f.longest) continue;
        f.longest = longest[i];
        f.begin = i;
    }
    f.share /= (double)characters;
    return f;
}

static void put_figures(const char *name, Figures f, int digits) {
    fprintf(stderr, "%-17s  %7.*f  %28.1f%%\n", name, digits, f.longest, 100 * f.share);
}

/* Shows the figures of the written text, and those of pieces of held-out text of this length. */
static void show(const Copies *c, Figures own, Figures usual, size_t pieces, size_t length) {
    char passage[4 * LONGEST], line[sizeof passage + 160];
    const int32_t *ids = (const int32_t *)(const void *)c->written.bytes + own.begin;
    fflush(stdout);
    fprintf(stderr, "\nPassages copied from the %s training characters of ",
            grouped((double)c->text->trained_on));
    escape_print(stderr, c->files.name, strlen(c->files.name), "");
    fprintf(stderr, ":\n%-17s  %7s  %29s\n", "", "longest", "share in those of 20 or more");
    put_figures("generated text", own, 0);
    put_figures("held-out text", usual, 1);
    const char *characters = count_of((double)length, "character");
    if (pieces > 1)
        fprintf(stderr, "(means of %zu pieces of %s)\n", pieces, characters);
    else
        fprintf(stderr, "(one piece of %s)\n", characters);
    glyph_line(c->tokenizer, ids, min_int((int)own.longest, LONGEST), passage, sizeof passage);
    if (own.longest > 0) {
        snprintf(line, sizeof line, "The longest: \"%s\"", passage);
        program_words(stderr, 0, 4, line);
    }
    if (c->other) {
        snprintf(line, sizeof line,
                 "The model was trained on another text%s%s, or on more than this one.",
                 c->trained_on ? ", " : "", c->trained_on ? c->trained_on : "");
        program_words(stderr, 0, 4, line);
    }
}

bool copies_show(Copies *c, Error *err) {
    Buffer *b = &c->written;
    const TrilText *text = c->text;
    const size_t count = b->length / sizeof END, rest = text->characters - text->trained_on;
    int32_t *longest;
    if (!b->failed && c->characters == 0) {
        fputs("\nNothing was written, so nothing is copied.\n", stderr);
        return true;
    }
    /* pieces of the held-out text, as long as the written one, follow it */
    const size_t length = min_size(c->characters, rest),
                 pieces = length > 0 ? min_size(PIECES, rest / length) : 0;
    for (size_t i = 0; i < pieces; i++) {
        const size_t from = pieces > 1 ? i * (rest - length) / (pieces - 1) : 0;
        buffer_put(b, text->ids + text->trained_on + from, length * sizeof END);
        buffer_put(b, &END, sizeof END);
    }
    const size_t all = b->length / sizeof END;
    if (b->failed) *err = c->failed;
    if (b->failed || !memory_alloc(&longest, all, sizeof *longest, "the passages", err))
        return false;
    const int32_t *ids = (const int32_t *)(const void *)b->bytes;
    const bool ok = tril_text_copied(text, ids, all, longest, err) == TRIL_OK;
    Figures usual = {0};
    for (size_t at = count; ok && at < all; at += length + 1) {
        const Figures f = figures_of(longest + at, length, length);
        usual.longest += f.longest / (double)pieces;
        usual.share += f.share / (double)pieces;
    }
    if (ok) show(c, figures_of(longest, count, c->characters), usual, pieces, length);
    memory_free(longest);
    return ok;
}

void copies_close(Copies *c) {
    tril_text_free(c->text);
    texts_free(&c->files);
    buffer_end(&c->written);
}
