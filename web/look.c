#include "web/look.h"
#include "base/memory.h"
#include "report/figure.h"

#include <math.h>
#include <string.h>

bool look_open(Look *l, Model *model, const Vocab *vocab, Error *err) {
    size_t T = (size_t)model->config.T, V = (size_t)model->config.V;
    RunOptions options = {.batch = 1, .length = model->config.T, .threads = 1};
    *l = (Look){.model = model, .vocab = vocab};
    return run_open(&l->run, model, &options, err) &&
           generator_open(&l->generator, model, 1, FLOAT32, err) &&
           memory_alloc(&l->ids, T, sizeof *l->ids, "the line", err) &&
           memory_alloc(&l->logits, V, sizeof *l->logits, "the line", err) &&
           memory_alloc(&l->p, V, sizeof *l->p, "the line", err) &&
           memory_alloc(&l->picked, V, sizeof *l->picked, "the line", err) &&
           memory_alloc(&l->order, V, sizeof *l->order, "the line", err);
}

void look_close(Look *l) {
    run_close(l->run);
    generator_close(&l->generator);
    memory_free(l->ids);
    memory_free(l->logits);
    memory_free(l->p);
    memory_free(l->picked);
    memory_free(l->order);
    *l = (Look){0};
}

/* Reads a line as ids: never none, and of many only the last `most`. */
static bool encode(const Look *l, const char *line, size_t length, size_t most, int32_t *to,
                   int *count, Error *err) {
    int32_t *ids;
    size_t all;
    to[0] = vocab_start(l->vocab);
    *count = 1;
    if (length == 0) return true;
    if (!vocab_encode(l->vocab, "the line", line, length, &ids, &all, err)) return false;
    size_t kept = all < most ? all : most;
    memcpy(to, ids + all - kept, kept * sizeof *ids);
    *count = (int)kept;
    memory_free(ids);
    return true;
}

bool look_read(Look *l, const char *line, size_t length, Error *err) {
    size_t V = (size_t)l->model->config.V;
    l->count = 0;
    if (!encode(l, line, length, (size_t)l->model->config.T, l->ids, &l->count, err)) return false;
    const float *logits = run_forward(l->run, l->ids, 1, l->count, 0);
    memcpy(l->logits, logits + (size_t)(l->count - 1) * V, V * sizeof *logits);
    l->nats = l->count > 1 ? run_evaluate(l->run, l->ids, (size_t)l->count, 1) : NAN;
    run_forward(l->run, l->ids, 1, l->count, 0); /* again, for the maps */
    return true;
}

/* ---- the next character ---- */

static void write_glyph(const Look *l, int id, JsonText *out) {
    char glyph[GLYPH_SIZE];
    glyph_of(l->vocab, id, glyph);
    json_quote(out, glyph, strlen(glyph));
}

static int likeliest(const double *p, int V) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (p[v] > p[best]) best = v;
    return best;
}

void look_write_next(Look *l, const Sampler *sampler, int most, JsonText *out) {
    const Sampler plain = {.temperature = 1, .top_p = 1};
    int V = l->model->config.V, shown = most < V ? most : V;
    json_printf(out, "{\"glyphs\":[");
    for (int t = 0; t < l->count; t++) {
        if (t) json_printf(out, ",");
        write_glyph(l, l->ids[t], out);
    }
    json_printf(out, isnan(l->nats) ? "],\"nats\":null,\"next\":[" : "],\"nats\":%.4f,\"next\":[",
                l->nats);
    sampler_probabilities(&plain, l->logits, V, l->p, l->order);
    sampler_probabilities(sampler, l->logits, V, l->picked, l->order);
    for (int i = 0; i < shown; i++) {
        int id = likeliest(l->p, V);
        json_printf(out, "%s{\"p\":%.6g,\"picked\":%.6g,\"glyph\":", i ? "," : "", l->p[id],
                    l->picked[id]);
        write_glyph(l, id, out);
        json_printf(out, "}");
        l->p[id] = -1;
    }
    json_printf(out, "]}");
}

/* ---- attention ---- */

bool look_weights(const Look *l, int layer, int head, float *weights) {
    AttentionView view;
    if (!run_attention(l->run, layer, head, &view)) return false;
    for (int t = 0; t < l->count; t++)
        attention_weights(&view, t, weights + (size_t)t * (size_t)l->count);
    return true;
}

bool look_draw_map(const Look *l, int layer, int head, FILE *out, Error *err) {
    size_t T = (size_t)l->count;
    float *weights = NULL;
    char(*glyphs)[GLYPH_SIZE] = NULL, id[40], caption[40], title[64];
    bool ok = memory_alloc(&weights, T * T, sizeof *weights, "the map", err) &&
              memory_alloc(&glyphs, T, sizeof *glyphs, "the map", err) &&
              (look_weights(l, layer, head, weights) || fail(err, "there is no such head"));
    if (ok) {
        for (int t = 0; t < l->count; t++) glyph_of(l->vocab, l->ids[t], glyphs[t]);
        snprintf(id, sizeof id, "map-%d-%d", layer, head);
        snprintf(caption, sizeof caption, "head %d", head);
        snprintf(title, sizeof title, "layer %d, head %d", layer, head);
        figure_map(out, id, caption, title, weights, l->count, (const char(*)[GLYPH_SIZE])glyphs);
    }
    memory_free(weights);
    memory_free(glyphs);
    return ok;
}

/* ---- writing ---- */

bool look_prompt(Look *l, const char *line, size_t length, Error *err) {
    int count;
    if (!encode(l, line, length, (size_t)l->model->config.T, l->ids, &count, err)) return false;
    run_freeze(l->generator.run, true);
    generator_reset(&l->generator);
    l->next = generator_feed(&l->generator, l->ids, (size_t)count);
    l->written = 0;
    return true;
}

int look_write(Look *l, const Sampler *sampler, char text[UTF8_MAX]) {
    int32_t id = sampler_pick(sampler, l->next, l->model->config.V, 0, l->written++, l->order);
    l->next = generator_feed(&l->generator, &id, 1);
    return vocab_text(l->vocab, id, text);
}
