#include "programs/report/explain.h"
#include "base/memory.h"
#include "programs/report/steps.h"

#include <stdio.h>
#include <math.h>
#include <string.h>

/* ---- which layer and head ---- */

/* Returns the line of attention, or the mean, of a layer; of any layer the first; NULL: none. */
static const TrilLine *attention_of(const Explanation *e, int layer) {
    for (int i = 0; i < e->line_count; i++)
        if (line_reads_past(&e->lines[i]) && (layer < 0 || e->lines[i].layer == layer))
            return &e->lines[i];
    return NULL;
}

static bool fail_number(Error *err, const char *what, int number, int count) {
    if (count == 1) return fail(err, "--%s %d: the model has only %s 0", what, number, what);
    return fail(err, "--%s %d: the model has %ss 0 %s %d", what, number, what,
                count == 2 ? "and" : "to", count - 1);
}

/* Fails if the model does not have that layer or head. */
static bool check(const Explanation *e, int layer, int head, Error *err) {
    const TrilLine *first = attention_of(e, ANY);
    if (!first)
        return (layer < 0 && head < 0) ||
               fail(err, "--layer and --head: %s has no attention", e->sizes.rung);
    if (layer >= 0 && !attention_of(e, layer))
        return fail_number(err, "layer", layer, (int)e->sizes.layers);
    if (head > 0 && !line_has_heads(first))
        return fail(err, "--head: %s takes the mean of the past, without heads", e->sizes.rung);
    return head < line_heads(first) || fail_number(err, "head", head, line_heads(first));
}

/* Sets *layer and *head where they are negative: to those that moved the prediction most. */
static void choose(const Explanation *e, int *layer, int *head) {
    int i = 0; /* the largest part comes first */
    while (i < e->part_count &&
           (e->parts[i].head < 0 || (*layer >= 0 && e->parts[i].layer != *layer) ||
            (*head >= 0 && e->parts[i].head != *head)))
        i++;
    if (*layer < 0) *layer = i < e->part_count ? e->parts[i].layer : 0;
    if (*head < 0) *head = i < e->part_count ? e->parts[i].head : 0;
}

/* ---- the beginning ---- */

static void write_title(Steps *s, bool chosen) {
    const Explanation *e = s->e;
    const size_t skipped = tril_reading_skipped(e->reading), T = (size_t)e->T;
    const TrilLine *line = attention_of(e, s->layer);
    const bool heads = line && line_has_heads(line);
    if (!line)
        sheet_say(s->sheet, "# %s", e->sizes.rung);
    else if (!heads)
        sheet_say(s->sheet, "# %s, layer %d of %g", e->sizes.rung, s->layer, e->sizes.layers);
    else
        sheet_say(s->sheet, "# %s, layer %d of %g, head %d of %d", e->sizes.rung, s->layer,
                  e->sizes.layers, s->head, line_heads(line));
    if (skipped > 0)
        sheet_say(s->sheet,
                  "The text has %zu characters; here are the last %zu, the context of the model.",
                  skipped + T, T);
    if (chosen && e->part_count > 0)
        sheet_say(s->sheet,
                  heads ? "The layer and the head written out moved the prediction most (--layer "
                          "and --head choose others)."
                        : "The layer written out moved the prediction most (--layer chooses "
                          "another).");
    sheet_say(s->sheet, "## Tokens: each character is a number, its id in the vocabulary of %d.",
              e->V);
    for (int t = 0; t < e->T; t++) s->numbers[t] = (float)e->ids[t];
    show_table(s, (Table){NULL, (const char *[]){"id"}, s->numbers, T, 1, e->T, .across = TOKENS,
                          .whole = true});
}

/* ---- the end: the next character, and what led to it ---- */

static void show_bars(Steps *s, const Bar *bars, int count, bool shares, bool logits) {
    s->sheet->kind->bars(s->sheet, &(Bars){NULL, bars, count, shares, logits}, 1);
}

static void write_next(Steps *s) {
    const Explanation *e = s->e;
    double rest = 1;
    for (int i = 0; i < e->likeliest_count; i++) rest -= e->likeliest[i].value;
    sheet_say(s->sheet,
              "## The next character: the softmax of the logits.\n"
              "probability = e^logit / the sum of e^logit over all %d characters = e^(logit - "
              "%.4f). The likeliest, with their logits:",
              e->V, e->log_sum);
    show_bars(s, e->likeliest, e->likeliest_count, true, true);
    if (e->likeliest_count < e->V)
        sheet_say(s->sheet, "The other %d characters have %.1f%% together.",
                  e->V - e->likeliest_count, rest > 0 ? 100 * rest : 0);
}

/* Writes the logit lens and the parts. */
static void write_lens(Steps *s) {
    enum { PARTS = 12 }; /* shown, of possibly hundreds */
    const Explanation *e = s->e;
    const Glyph first = glyph_of(e->tokenizer, e->first);
    Bar bars[PARTS];
    int shown = e->part_count < PARTS ? e->part_count : PARTS;
    double rest = 0, logit = (double)e->logits[e->first];
    sheet_say(s->sheet,
              "## The logit lens: what the model would predict if it ended earlier.\n"
              "The last steps, applied to x of '%s' after the embedding and after each sum "
              "(nostalgebraist, 2020). Each row has the character that would be the likeliest "
              "there, and the probability of '%s':",
              s->glyph, first.text);
    show_bars(s, e->lens, e->branch_count + 1, true, false);
    sheet_say(s->sheet,
              "## What moved the logit of '%s'.\n"
              "x is a sum: of the embedding and of what each head and each MLP added. The last "
              "steps are linear, once the norm's divisor is given. So each part adds its own to "
              "the logit (Elhage et al., 2021). Here is by how much each raises '%s' above the "
              "mean of all logits; head 1.0 is head 0 of layer 1:",
              first.text, first.text);
    for (int i = 0; i < shown; i++) bars[i] = e->parts[i].bar;
    for (int i = shown; i < e->part_count; i++) rest += e->parts[i].bar.value;
    show_bars(s, bars, shown, false, false);
    if (shown < e->part_count)
        sheet_say(s->sheet, "The other %d parts: %+.2f.", e->part_count - shown, rest);
    sheet_say(s->sheet,
              "The sum of all parts is %+.2f: the logit of '%s', %.3f, minus the mean of all "
              "logits, %.3f.",
              e->above_mean, first.text, logit, logit - e->above_mean);
}

/* ---- one model ---- */

/* Writes all steps: from the ids of the tokens to the logits, the next character, the lens and the
 * parts. */
static void write_steps(Steps *s) {
    const Explanation *e = s->e;
    bool before = false;
    for (int i = 0; i < e->line_count; i++) {
        bool inside = i > 0 && i < e->tail;
        if (inside && !before) steps_in_short(s, 0, s->layer - 1);
        if (!inside && before) steps_in_short(s, s->layer + 1, (int)e->sizes.layers - 1);
        before = inside;
        if (!inside || e->lines[i].layer == s->layer) steps_line(s, i);
    }
    write_next(s);
    if (e->lens) write_lens(s);
}

static bool explain_one(Sheet *sheet, const Explained *what, int layer, int head, Error *err) {
    Explanation e;
    Glyph *glyphs = NULL;
    Steps s = {.sheet = sheet, .e = &e, .all_heads = head < 0};
    if (!explanation_open(&e, what->model, what->reading, err)) return false;
    const bool chosen = layer < 0 || head < 0;
    size_t T = (size_t)e.T, heads = 1, widest = T;
    for (int i = 0; i < e.line_count; i++) {
        const size_t width = (size_t)e.lines[i].output.width, own = (size_t)line_heads(&e.lines[i]);
        if (width > widest) widest = width;
        if (line_reads_past(&e.lines[i]) && own > heads) heads = own;
    }
    bool ok = check(&e, layer, head, err) &&
              memory_alloc(&glyphs, T, sizeof *glyphs, "the text", err) &&
              memory_alloc(&s.numbers, TABLE_ROWS * widest, sizeof(float), "the steps", err) &&
              memory_alloc(&s.square, T * T, sizeof(float), "the steps", err) &&
              memory_alloc(&s.weights, T * T * heads, sizeof(float), "the steps", err) &&
              memory_alloc(&s.maps, heads, sizeof *s.maps, "the steps", err);
    if (ok) {
        for (int t = 0; t < e.T; t++) glyphs[t] = glyph_padded(e.tokenizer, e.ids[t]);
        sheet->T = e.T;
        sheet->glyphs = glyphs;
        choose(&e, &layer, &head);
        s.layer = layer;
        s.head = head;
        s.last = e.T - 1;
        snprintf(s.glyph, sizeof s.glyph, "%s", glyph_of(e.tokenizer, e.ids[s.last]).text);
        write_title(&s, chosen);
        write_steps(&s);
        sheet->glyphs = NULL;
    }
    memory_free(glyphs);
    memory_free(s.numbers);
    memory_free(s.square);
    memory_free(s.weights);
    memory_free(s.maps);
    explanation_close(&e);
    return ok;
}

/* ---- several models ---- */

/* Returns the bytes that all names begin with, up to a folder's end; something of each is left. */
static size_t common_folder(const Explained *models, int count) {
    size_t folder = 0;
    for (size_t n = 0;; n++) {
        bool ends = models[0].name[n] == '/';
        for (int i = 0; i < count; i++) {
            if (!models[i].name[n] || models[i].name[n] != models[0].name[n]) return folder;
            ends = ends && models[i].name[n + 1];
        }
        if (ends) folder = n + 1;
    }
}

/* Returns the bytes that all names end with, from a slash or a file's extension on; something of
 * each is left. `folder` bytes at their beginnings do not count. */
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

static void write_comparison(Sheet *sheet, const Explained *models, const Bars *bars, int count) {
    const TrilReading *any = models[0].reading;
    int cuts = 0;
    for (int i = 0; i < count; i++) cuts += tril_reading_skipped(models[i].reading) > 0;
    sheet_say(sheet, "# The likeliest next character");
    if (cuts > 0)
        sheet_say(sheet,
                  "The text has %zu characters; %s of the models read only its end, as much as "
                  "their context holds.",
                  tril_reading_skipped(any) + (size_t)tril_reading_tokens(any),
                  cuts == count ? "all" : "some");
    sheet->kind->bars(sheet, bars, count);
}

static bool compare(Sheet *sheet, const Explained *models, int count, Error *err) {
    enum { NAME = 256 };
    char(*names)[NAME] = NULL;
    Explanation *e = NULL;
    Bars *bars = NULL;
    size_t folder = common_folder(models, count), ending = common_ending(models, count, folder);
    bool ok = memory_alloc(&names, (size_t)count, sizeof *names, "the models", err) &&
              memory_alloc(&e, (size_t)count, sizeof *e, "the models", err) &&
              memory_alloc(&bars, (size_t)count, sizeof *bars, "the models", err);
    for (int i = 0; i < count && ok; i++) {
        const char *name = models[i].name + folder;
        size_t length = strlen(name) - ending, cut = length < NAME ? 0 : length + 1 - NAME;
        ok = explanation_open(&e[i], models[i].model, models[i].reading, err);
        snprintf(names[i], NAME, "%.*s", (int)(length - cut), name + cut);
        bars[i] = (Bars){names[i], e[i].likeliest, e[i].likeliest_count, .shares = true};
    }
    if (ok) write_comparison(sheet, models, bars, count);
    for (int i = 0; i < count && bars; i++) explanation_close(&e[i]);
    memory_free(names);
    memory_free(e);
    memory_free(bars);
    return ok;
}

bool explain(Sheet *sheet, const Explained *models, int count, int layer, int head, Error *err) {
    return count == 1 ? explain_one(sheet, models, layer, head, err)
                      : compare(sheet, models, count, err);
}
