/* steps_next.c - the end of an explanation: the next character, and what led to it. */
#include "programs/report/steps.h"

#include <math.h>
#include <stdio.h>

void next_characters(const Explanation *e, NextCharacters *next) {
    next->count = e->V < LIKELIEST ? e->V : LIKELIEST;
    next->rest = 1;
    for (int i = 0; i < next->count; i++) {
        int id = e->order[i];
        glyph_padded(e->tokenizer, id, next->labels[i]);
        next->shares[i] = e->probabilities[id];
        next->logits[i] = (double)e->logits[id];
        next->rest -= next->shares[i];
    }
    if (next->rest < 0) next->rest = 0;
}

Bars next_bars(const NextCharacters *next, const char *title) {
    return (Bars){.title = title,
                  .labels = next->labels,
                  .values = next->shares,
                  .count = next->count,
                  .shares = true};
}

/* The logarithm of the sum of e^logit. */
static double log_sum(const Explanation *e) {
    int first = e->order[0];
    return (double)e->logits[first] - log(e->probabilities[first]);
}

static void write_probabilities(Steps *s) {
    const Explanation *e = s->e;
    NextCharacters next;
    next_characters(e, &next);
    Bars bars = next_bars(&next, NULL);
    bars.logits = next.logits;
    sheet_heading(s->sheet, "The next character: the softmax of the logits.");
    sheet_say(s->sheet,
              "probability = e^logit / the sum of e^logit over all %d characters = e^(logit - "
              "%.4f). The likeliest, with their logits:",
              e->V, log_sum(e));
    s->sheet->kind->bars(s->sheet, &bars, 1);
    if (next.count < e->V)
        sheet_say(s->sheet, "The other %d characters have %.1f%% together.", e->V - next.count,
                  100 * next.rest);
}

/* ---- the logit lens ---- */

static int likeliest(const double *probabilities, int V) {
    int first = 0;
    for (int v = 1; v < V; v++)
        if (probabilities[v] > probabilities[first]) first = v;
    return first;
}

static void set_state(Steps *s, int state) {
    const Explanation *e = s->e;
    const double *p = e->lens + (size_t)state * (size_t)e->V;
    const Branch *b = state > 0 ? &e->branches[state - 1] : NULL;
    char glyph[GLYPH_SIZE], name[16] = "embed";
    glyph_padded(e->tokenizer, likeliest(p, e->V), glyph);
    if (b) snprintf(name, sizeof name, "%s %d", b->reads_past ? "attn" : "MLP", b->layer);
    snprintf(s->labels[state], BAR_LABEL, "%s %s", glyph, name);
    s->values[state] = p[e->order[0]];
}

static void write_lens(Steps *s) {
    const Explanation *e = s->e;
    char glyph[GLYPH_SIZE];
    glyph_of(e->tokenizer, e->order[0], glyph);
    for (int i = 0; i <= e->branch_count; i++) set_state(s, i);
    sheet_heading(s->sheet, "The logit lens: what the model would predict if it ended earlier.");
    sheet_say(s->sheet,
              "The last steps, applied to x of '%s' after the embedding and after each sum "
              "(nostalgebraist, 2020). Each row has the character that would be the likeliest "
              "there, and the probability of '%s':",
              s->last, glyph);
    Bars bars = {
        .labels = s->labels, .values = s->values, .count = e->branch_count + 1, .shares = true};
    s->sheet->kind->bars(s->sheet, &bars, 1);
}

/* ---- parts ---- */

enum { PARTS = 12 }; /* shown, of possibly hundreds */

static void write_parts(Steps *s) {
    const Explanation *e = s->e;
    int shown = e->part_count < PARTS ? e->part_count : PARTS;
    double rest = 0;
    char glyph[GLYPH_SIZE];
    glyph_of(e->tokenizer, e->order[0], glyph);
    for (int i = 0; i < e->part_count; i++) {
        if (i >= shown) {
            rest += e->parts[i].logit;
            continue;
        }
        snprintf(s->labels[i], BAR_LABEL, "%s", e->parts[i].name);
        s->values[i] = e->parts[i].logit;
    }
    sheet_heading(s->sheet, "What moved the logit of '%s'.", glyph);
    sheet_say(s->sheet,
              "x is a sum: of the embedding and of what each head and each MLP added. The last "
              "steps are linear, once the norm's divisor is given. So each part adds its own to "
              "the logit (Elhage et al., 2021). Here is by how much each raises '%s' above the "
              "mean of all logits; head 1.0 is head 0 of layer 1:",
              glyph);
    Bars bars = {.labels = s->labels, .values = s->values, .count = shown};
    s->sheet->kind->bars(s->sheet, &bars, 1);
    if (shown < e->part_count)
        sheet_say(s->sheet, "The other %d parts: %+.2f.", e->part_count - shown, rest);
    sheet_say(s->sheet,
              "The sum of all parts is %+.2f: the logit of '%s', %.3f, minus the mean of all "
              "logits, %.3f.",
              e->above_mean, glyph, (double)e->logits[e->order[0]],
              (double)e->logits[e->order[0]] - e->above_mean);
}

void steps_next(Steps *s) {
    write_probabilities(s);
    if (!s->e->lens) return;
    write_lens(s);
    write_parts(s);
}
