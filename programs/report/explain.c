#include "programs/report/explain.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/textstream.h"
#include "programs/report/steps.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- which layer and head ---- */

/* The line of attention, or the mean, of a layer; -1: none. */
static int attention_of(const Explanation *e, int layer) {
    for (int i = 0; i < e->line_count; i++)
        if (e->lines[i].layer == layer && line_reads_past(&e->lines[i])) return i;
    return -1;
}

/* Sets *layer and *head where they are negative: to those that moved the prediction most. */
static void choose(const Explanation *e, int *layer, int *head) {
    const Part *most = NULL;
    for (int i = 0; i < e->part_count; i++) {
        const Part *part = &e->parts[i];
        bool fits = part->head >= 0 && (*layer < 0 || part->layer == *layer) &&
                    (*head < 0 || part->head == *head);
        if (fits && (!most || fabs(part->logit) > fabs(most->logit))) most = part;
    }
    if (*layer < 0) *layer = most ? most->layer : 0;
    if (*head < 0) *head = most ? most->head : 0;
}

/* Refuses a number of a layer or head, and says which ones there are. */
static bool fail_number(Error *err, const char *what, int number, int count) {
    if (count == 1) return fail(err, "--%s %d: the model has only %s 0", what, number, what);
    return fail(err, "--%s %d: the model has %ss 0 %s %d", what, number, what,
                count == 2 ? "and" : "to", count - 1);
}

/* Refuses a layer or a head that the model does not have. */
static bool check(const Explanation *e, int layer, int head, Error *err) {
    int first = -1;
    for (int i = e->line_count - 1; i >= 0; i--)
        if (line_reads_past(&e->lines[i])) first = i;
    if (first < 0)
        return (layer < 0 && head < 0) ||
               fail(err, "--layer and --head: %s has no attention", e->sizes.rung);
    if (layer >= 0 && attention_of(e, layer) < 0)
        return fail_number(err, "layer", layer, e->sizes.layers);
    if (head > 0 && !line_has_heads(&e->lines[first]))
        return fail(err, "--head: %s takes the mean of the past, without heads", e->sizes.rung);
    int heads = line_heads(&e->lines[first]);
    return head < heads || fail_number(err, "head", head, heads);
}

/* ---- one model ---- */

static bool glyphs_of(const Explanation *e, char (**glyphs)[GLYPH_SIZE], Error *err) {
    if (!memory_alloc(glyphs, (size_t)e->T, GLYPH_SIZE, "the text", err)) return false;
    for (int t = 0; t < e->T; t++) glyph_padded(e->tokenizer, e->ids[t], (*glyphs)[t]);
    return true;
}

static void write_steps(Steps *steps, int layer, int head) {
    const Explanation *e = steps->e;
    const size_t skipped = tril_reading_skipped(e->reading), T = (size_t)e->T;
    bool chosen = layer < 0 || head < 0;
    steps->all_heads = head < 0;
    choose(e, &layer, &head);
    steps->layer = layer;
    steps->head = head;
    int line = attention_of(e, layer);
    bool heads = line >= 0 && line_has_heads(&e->lines[line]);
    if (line < 0)
        sheet_title(steps->sheet, "%s", e->sizes.rung);
    else if (!heads)
        sheet_title(steps->sheet, "%s, layer %d of %d", e->sizes.rung, layer, e->sizes.layers);
    else
        sheet_title(steps->sheet, "%s, layer %d of %d, head %d of %d", e->sizes.rung, layer,
                    e->sizes.layers, head, line_heads(&e->lines[line]));
    if (skipped > 0)
        sheet_say(steps->sheet,
                  "The text has %zu characters; here are the last %zu, the context of the model.",
                  skipped + T, T);
    if (chosen && e->part_count > 0)
        sheet_say(steps->sheet, heads ? "The layer and the head written out moved the prediction "
                                        "most (--layer and --head choose others)."
                                      : "The layer written out moved the prediction most (--layer "
                                        "chooses another).");
    steps_write(steps);
}

/* Gathers, checks, then writes: to the screen or, without one, to the page. */
static bool explain_on(const Screen *screen, FILE *page, const Explained *what, int layer, int head,
                       Error *err) {
    Explanation e;
    char(*glyphs)[GLYPH_SIZE];
    if (!explanation_open(&e, what->model, what->reading, err)) return false;
    bool ok = check(&e, layer, head, err) && glyphs_of(&e, &glyphs, err);
    if (ok) {
        const char(*labels)[GLYPH_SIZE] = (const char(*)[GLYPH_SIZE])glyphs;
        Sheet sheet = screen ? sheet_text(screen, e.T, labels) : sheet_html(page, e.T, labels);
        Steps steps;
        ok = steps_open(&steps, &e, &sheet, err);
        if (ok) write_steps(&steps, layer, head);
        steps_close(&steps);
        memory_free(glyphs);
    }
    explanation_close(&e);
    return ok;
}

bool explain(const Screen *screen, const Explained *what, int layer, int head, Error *err) {
    return explain_on(screen, NULL, what, layer, head, err);
}

bool explain_part(FILE *out, const Explained *what, int layer, int head, Error *err) {
    return explain_on(NULL, out, what, layer, head, err);
}

/* ---- several models ---- */

enum { MODEL_NAME = 256 };

/* The bytes that all names begin with, up to a folder's end; something of each is left. */
static size_t common_folder(const Explained *models, int count) {
    size_t folder = 0;
    for (size_t n = 0;; n++) {
        for (int i = 0; i < count; i++)
            if (!models[i].name[n] || models[i].name[n] != models[0].name[n]) return folder;
        bool ends = models[0].name[n] == '/';
        for (int i = 0; i < count; i++) ends = ends && models[i].name[n + 1];
        if (ends) folder = n + 1;
    }
}

/* The bytes that all names end with, from a slash or a file's extension on; something of each is
 * left. `folder` bytes at their beginnings do not count. */
static size_t common_ending(const Explained *models, int count, size_t folder) {
    const char *first = models[0].name;
    size_t length = strlen(first), ending = 0;
    bool in_file = true; /* of its points, the last one begins the extension */
    for (size_t n = 1;; n++) {
        for (int i = 0; i < count; i++) {
            size_t own = strlen(models[i].name);
            if (own <= folder + n || models[i].name[own - n] != first[length - n]) return ending;
        }
        char c = first[length - n];
        if (c == '/' || (c == '.' && in_file)) ending = n;
        if (c == '/' || c == '.') in_file = false;
    }
}

/* The parts of the names that tell the models apart: a list of copies, in one block. */
static bool short_names(const Explained *models, int count, char (**names)[MODEL_NAME],
                        Error *err) {
    if (!memory_alloc(names, (size_t)count, MODEL_NAME, "the models", err)) return false;
    size_t folder = common_folder(models, count), ending = common_ending(models, count, folder);
    for (int i = 0; i < count; i++) {
        const char *own = models[i].name + folder;
        size_t length = strlen(own) - ending;
        if (length >= MODEL_NAME) own += length - MODEL_NAME + 1;
        snprintf((*names)[i], MODEL_NAME, "%.*s",
                 length < MODEL_NAME ? (int)length : MODEL_NAME - 1, own);
    }
    return true;
}

/* Says it where a model reads only the end of the text. */
static void say_cuts(Sheet *sheet, const Explained *models, int count) {
    const TrilReading *any = models[0].reading;
    size_t text = tril_reading_skipped(any) + (size_t)tril_reading_tokens(any);
    int cuts = 0;
    for (int i = 0; i < count; i++) cuts += tril_reading_skipped(models[i].reading) > 0;
    if (cuts > 0)
        sheet_say(sheet,
                  "The text has %zu characters; %s of the models read only its end, as much as "
                  "their context holds.",
                  text, cuts == count ? "all" : "some");
}

static bool write_comparison(Sheet *sheet, const Explained *models, int count, Error *err) {
    NextCharacters *next = NULL;
    Bars *bars = NULL;
    char(*names)[MODEL_NAME] = NULL;
    bool ok = short_names(models, count, &names, err) &&
              memory_alloc(&next, (size_t)count, sizeof *next, "the models", err) &&
              memory_alloc(&bars, (size_t)count, sizeof *bars, "the models", err);
    for (int i = 0; i < count && ok; i++) {
        Explanation e;
        ok = explanation_open(&e, models[i].model, models[i].reading, err);
        if (!ok) break;
        next_characters(&e, &next[i]);
        bars[i] = next_bars(&next[i], names[i]);
        explanation_close(&e);
    }
    if (ok) {
        sheet_title(sheet, "The likeliest next character");
        say_cuts(sheet, models, count);
        sheet->kind->bars(sheet, bars, count);
    }
    memory_free(names);
    memory_free(next);
    memory_free(bars);
    return ok;
}

bool explain_compare(const Screen *screen, const Explained *models, int count, Error *err) {
    Sheet sheet = sheet_text(screen, 0, NULL);
    return write_comparison(&sheet, models, count, err);
}
/* ---- as a page ---- */

static bool write_page(FILE *out, const Explained *models, int count, int layer, int head,
                       Error *err) {
    enum { COLUMNS = 60 };
    char text[256], title[320];
    glyph_line(tril_model_tokenizer(models->model), tril_reading_ids(models->reading),
               tril_reading_tokens(models->reading), COLUMNS, text, sizeof text);
    snprintf(title, sizeof title, "What follows “%s”", text);
    sheet_html_begin(out, title);
    Sheet sheet = sheet_html(out, 0, NULL);
    bool ok = count > 1 ? write_comparison(&sheet, models, count, err)
                        : explain_on(NULL, out, models, layer, head, err);
    sheet_html_end(out);
    return ok;
}

bool explain_page(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err) {
    TextStream stream;
    if (file_is_taken(path))
        return fail(err, "--html: %s exists already; give the page another name", path);
    if (!textstream_open(&stream)) return fail(err, "%s: no memory to write it", path);
    bool ok = write_page(stream.out, models, count, layer, head, err);
    bool whole = textstream_close(&stream);
    FilePart part = {stream.text, stream.length};
    ok = ok && (whole || fail(err, "%s: no memory to write it", path)) &&
         file_write(path, &part, 1, err);
    free(stream.text);
    return ok;
}
