#include "programs/report/explanation.h"
#include "base/array.h"
#include "base/memory.h"

#include <stdio.h>
#include <string.h>

#define say(e, ...) sheet_say((e)->sheet, __VA_ARGS__)

/* ---- selection ---- */

/* Returns the line of attention or of the mean of a layer, or with ANY of the first layer that has
 * one; NULL if there is none. */
static const TrilLine *attention_of(const Explanation *e, int layer) {
    for (int i = 0; i < e->line_count; i++)
        if (e->lines[i].attends && (layer < 0 || e->lines[i].layer == layer)) return &e->lines[i];
    return NULL;
}

static bool fail_number(Error *err, const char *what, int number, int count) {
    if (count == 1) return fail(err, "--%s %d: the model has only %s 0", what, number, what);
    return fail(err, "--%s %d: the model has %ss 0 %s %d", what, number, what,
                count == 2 ? "and" : "to", count - 1);
}

/* Sets the layer and head to write out; with ANY, those that moved the prediction most. Fails if
 * the model does not have them. */
static bool choose(Explanation *e, int layer, int head, Error *err) {
    const TrilLine *first = attention_of(e, ANY);
    if (!first && (layer >= 0 || head >= 0))
        return fail(err, "--layer and --head: %s has no attention", e->sizes.rung);
    if (layer >= 0 && !attention_of(e, layer))
        return fail_number(err, "layer", layer, (int)e->sizes.layers);
    if (head > 0 && !line_has_heads(first))
        return fail(err, "--head: %s has no heads, only the mean of the past", e->sizes.rung);
    if (head >= 0 && head >= line_heads(first))
        return fail_number(err, "head", head, line_heads(first));
    e->all_heads = head < 0;
    for (int i = 0; i < e->part_count && (layer < 0 || head < 0); i++) { /* the largest first */
        const Part *part = &e->parts[i];
        if (part->head < 0 || (layer >= 0 && part->layer != layer) ||
            (head >= 0 && part->head != head))
            continue;
        layer = part->layer;
        head = part->head;
    }
    e->layer = layer < 0 ? 0 : layer;
    e->head = head < 0 ? 0 : head;
    return true;
}

/* ---- one model ---- */

static void write_title(Explanation *e, bool chosen) {
    const size_t skipped = tril_reading_skipped(e->reading), T = (size_t)e->T;
    const TrilLine *line = attention_of(e, e->layer);
    const bool heads = line && line_has_heads(line);
    char layer[32] = "", head[32] = "";
    if (line) snprintf(layer, sizeof layer, ", layer %d of %g", e->layer, e->sizes.layers);
    if (heads) snprintf(head, sizeof head, ", head %d of %d", e->head, line_heads(line));
    say(e, "# %s%s%s", e->sizes.rung, layer, head);
    if (skipped > 0)
        say(e, "The text has %zu characters; here are the last %zu, all that the model reads.",
            skipped + T, T);
    if (chosen && e->part_count > 0)
        say(e, heads ? "The layer and head below moved the prediction most; --layer and --head "
                       "choose others."
                     : "The layer below moved the prediction most; --layer chooses another.");
}

static void show_bars(Explanation *e, const Bar *bars, int count, bool shares, bool logits) {
    e->sheet->kind->bars(e->sheet, &(Bars){NULL, bars, count, shares, logits}, 1);
}

static void write_next(Explanation *e) {
    const Ranking *next = &e->next;
    double rest = 1;
    for (int i = 0; i < next->count; i++) rest -= next->bars[i].value;
    say(e,
        "## The next character: the softmax of the logits.\n"
        "probability = e^logit / the sum of e^logit over all %d characters = e^(logit - %.4f). The "
        "likeliest, with their logits:",
        e->V, next->log_sum);
    show_bars(e, next->bars, next->count, true, true);
    if (next->count < e->V)
        say(e, "The other %d characters have %.1f%% together.", e->V - next->count,
            rest > 0 ? 100 * rest : 0);
}

/* Writes the logit lens and the parts. */
static void write_lens(Explanation *e) {
    enum { PARTS = 12 }; /* shown, of possibly hundreds */
    const Glyph first = glyph_of(e->tokenizer, e->next.ids[0]);
    const int shown = min_int(e->part_count, PARTS);
    const double logit = e->next.bars[0].logit;
    Bar bars[PARTS];
    double rest = 0;
    say(e,
        "## The logit lens: what the model would predict if it ended earlier.\n"
        "The last steps, applied to x of '%s' after the embedding and after each sum "
        "(nostalgebraist, "
        "2020). Each row has the character that would be the likeliest there, and the probability "
        "of "
        "'%s':",
        e->glyph, first.text);
    show_bars(e, e->lens, e->branch_count + 1, true, false);
    say(e,
        "## What moved the logit of '%s'.\nx is the sum of the embedding and of everything that "
        "heads and MLPs added to it. The last steps are linear once the norm's divisor %s fixed, "
        "so each part adds its own share to the logit (Elhage et al., 2021). Each row: how much "
        "that part raises the logit of '%s' above the mean of all logits; head 1.0 is head 0 of "
        "layer 1%s:",
        first.text, e->trusted ? "and the trust are" : "is", first.text,
        e->trusted ? "; count vectors are the counts as the network reads them, counted logits are "
                     "(1 + trust) ln p, added at the end"
                   : "");
    for (int i = 0; i < shown; i++) bars[i] = e->parts[i].bar;
    for (int i = shown; i < e->part_count; i++) rest += e->parts[i].bar.value;
    show_bars(e, bars, shown, false, false);
    if (shown < e->part_count) say(e, "The other %d parts: %+.2f.", e->part_count - shown, rest);
    say(e,
        "The sum of all parts is %+.2f: the logit of '%s', %.3f, minus the mean of all logits, "
        "%.3f.",
        e->above_mean, first.text, logit, logit - e->above_mean);
}

/* Writes the likeliest characters, and the parts that moved the first of them most. */
static void write_conclusion(Explanation *e) {
    enum { FACTS = 3 };
    char facts[FACTS * 64] = "";
    const Glyph first = glyph_of(e->tokenizer, e->next.ids[0]);
    say(e, "The likeliest next characters:");
    show_bars(e, e->next.bars, e->next.count, true, false);
    for (int i = 0; i < e->part_count && i < FACTS; i++) {
        const size_t length = strlen(facts);
        snprintf(facts + length, sizeof facts - length, "%s%s %+.2f", i > 0 ? ", " : "",
                 e->parts[i].bar.label, e->parts[i].bar.value);
    }
    if (*facts) say(e, "What moved the logit of '%s' most: %s.", first.text, facts);
}

static bool explain_one(Sheet *sheet, const Question *q, Error *err) {
    Explanation e;
    if (!explanation_open(&e, sheet, q->models, err)) return false;
    const bool ok = choose(&e, q->layer, q->head, err);
    if (ok) {
        write_title(&e, q->layer < 0 || q->head < 0);
        write_conclusion(&e);
        say(&e, "## Tokens: each character is a number, its id in the vocabulary of %d.", e.V);
        for (int t = 0; t < e.T; t++) e.numbers[t] = (float)e.ids[t];
        sheet->kind->table(sheet, &(Table){NULL, (const char *[]){"id"}, e.numbers, (size_t)e.T, 1,
                                           e.T, .across = TOKENS, .whole = true});
        for (int i = 0; i < e.line_count; i++) {
            const bool inside = i >= e.begin && i < e.tail;
            if (inside && i == e.begin) steps_in_short(&e, 0, e.layer - 1);
            if (!inside && i == e.tail) steps_in_short(&e, e.layer + 1, (int)e.sizes.layers - 1);
            if (!inside || e.lines[i].layer == e.layer) steps_line(&e, i);
        }
        write_next(&e);
        if (e.has_lens) write_lens(&e);
    }
    explanation_close(&e);
    return ok;
}

/* ---- several models ---- */

static bool compare(Sheet *sheet, const Question *q, Error *err) {
    const Explained *models = q->models;
    const int count = q->count;
    Ranking *next = NULL;
    Bars *bars = NULL;
    int cuts = 0;
    bool ok = memory_alloc(&next, (size_t)count, sizeof *next, "the models", err) &&
              memory_alloc(&bars, (size_t)count, sizeof *bars, "the models", err);
    for (int i = 0; i < count && ok; i++) {
        next[i] = ranking_of(&models[i]);
        bars[i] = (Bars){models[i].name, next[i].bars, next[i].count, .shares = true};
        cuts += tril_reading_skipped(models[i].reading) > 0;
    }
    if (ok) sheet_say(sheet, "# The likeliest next character");
    if (cuts > 0)
        sheet_say(sheet, "%s of the models read only the end of the text.",
                  cuts == count ? "All" : "Some");
    if (ok) sheet->kind->bars(sheet, bars, count);
    memory_free(next);
    memory_free(bars);
    return ok;
}

bool explain(Sheet *sheet, const Question *question, Error *err) {
    return (question->count == 1 ? explain_one : compare)(sheet, question, err);
}
