#include "web/look.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "report/figure.h"

#include <math.h>
#include <string.h>

Look look_open(TrilModel *model) {
    return (Look){.model = model};
}

static void forget_line(Look *l) {
    tril_reading_close(l->reading);
    memory_free(l->all);
    l->reading = NULL;
    l->all = NULL;
    l->count = 0;
}

void look_close(Look *l) {
    forget_line(l);
    tril_writer_close(l->writer);
    *l = (Look){0};
}

static TrilStatus read_ids(Look *l, const char *line, size_t length, TrilError *error) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(l->model);
    Error err;
    size_t count;
    if (!memory_alloc(&l->all, length, sizeof *l->all, "the line", &err)) {
        snprintf(error->text, sizeof error->text, "%s", err.text);
        return TRIL_NO_MEMORY;
    }
    TrilStatus status = tril_encode(tokenizer, line, length, l->all, length, &count, error);
    if (status == TRIL_OK)
        status = tril_reading_open(&l->reading, l->model, line, length, 1, error);
    if (status != TRIL_OK) return status;
    l->count = tril_reading_tokens(l->reading);
    l->ids = l->all + count - (size_t)l->count;
    return status;
}

bool look_read(Look *l, const char *line, size_t length, TrilError *error) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(l->model);
    const int32_t first = tril_tokenizer_start(tokenizer);
    char start[UTF8_MAX];
    forget_line(l);
    if (length == 0) {
        tril_decode(tokenizer, &first, 1, start, sizeof start, &length, error);
        line = start;
    }
    if (read_ids(l, line, length, error) == TRIL_OK) return true;
    forget_line(l);
    return false;
}

/* ---- the next character ---- */

static void glyph(const Look *l, int32_t id, char to[GLYPH_SIZE]) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(l->model);
    char text[UTF8_MAX];
    size_t length;
    tril_decode(tokenizer, &id, 1, text, sizeof text, &length, NULL);
    bool byte = tril_tokenizer_has_bytes(tokenizer);
    glyph_of_code(glyph_code(text, length, byte), byte, to);
}

static void write_glyph(const Look *l, int32_t id, Buffer *out) {
    char text[GLYPH_SIZE];
    glyph(l, id, text);
    json_quote(out, text, strlen(text));
}

static int likeliest(const double *p, int V) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (p[v] > p[best]) best = v;
    return best;
}

static void write_line(const Look *l, Buffer *out) {
    double nats = tril_reading_loss(l->reading);
    buffer_printf(out, "{\"glyphs\":[");
    for (int t = 0; t < l->count; t++) {
        if (t) buffer_printf(out, ",");
        write_glyph(l, l->ids[t], out);
    }
    buffer_printf(out, isnan(nats) ? "],\"nats\":null" : "],\"nats\":%.4f", nats);
}

static void write_likeliest(const Look *l, double *p, const double *picked, int V, int most,
                            Buffer *out) {
    int shown = most < V ? most : V;
    buffer_printf(out, ",\"next\":[");
    for (int i = 0; i < shown; i++) {
        int id = likeliest(p, V);
        buffer_printf(out, "%s{\"p\":%.6g,\"picked\":%.6g,\"glyph\":", i ? "," : "", p[id],
                      picked[id]);
        write_glyph(l, id, out);
        buffer_printf(out, "}");
        p[id] = -1;
    }
    buffer_printf(out, "]}");
}

bool look_write_next(const Look *l, const TrilSampling *sampling, int most, Buffer *out,
                     TrilError *error) {
    const TrilSampling plain = {.temperature = 1, .top_p = 1};
    int V = tril_tokenizer_size(tril_model_tokenizer(l->model));
    size_t size = (size_t)V;
    const float *logits = tril_reading_logits(l->reading) + (size_t)(l->count - 1) * size;
    double *p = NULL, *picked = NULL;
    Error err;
    bool ok = memory_alloc(&p, size, sizeof *p, "the line", &err) &&
              memory_alloc(&picked, size, sizeof *picked, "the line", &err);
    if (!ok) snprintf(error->text, sizeof error->text, "%s", err.text);
    ok = ok && tril_probabilities(&plain, logits, V, p, error) == TRIL_OK &&
         tril_probabilities(sampling, logits, V, picked, error) == TRIL_OK;
    if (ok) {
        write_line(l, out);
        write_likeliest(l, p, picked, V, most, out);
    }
    memory_free(p);
    memory_free(picked);
    return ok;
}

/* ---- attention ---- */

static bool read_weights(const Look *l, int layer, int head, float *weights, Error *err) {
    TrilError error;
    size_t T = (size_t)l->count;
    return tril_reading_attention(l->reading, layer, head, weights, T * T, &error) == TRIL_OK ||
           fail(err, "there is no such head");
}

bool look_draw_map(const Look *l, int layer, int head, FILE *out, Error *err) {
    size_t T = (size_t)l->count;
    float *weights = NULL;
    char(*glyphs)[GLYPH_SIZE] = NULL, id[40], caption[40], title[64];
    bool ok = memory_alloc(&weights, T * T, sizeof *weights, "the map", err) &&
              memory_alloc(&glyphs, T, sizeof *glyphs, "the map", err) &&
              read_weights(l, layer, head, weights, err);
    if (ok) {
        for (int t = 0; t < l->count; t++) glyph(l, l->ids[t], glyphs[t]);
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

bool look_prompt(Look *l, const char *line, size_t length, const TrilSampling *sampling,
                 TrilError *error) {
    tril_writer_close(l->writer);
    if (tril_writer_open(&l->writer, l->model, sampling, error) != TRIL_OK) return false;
    if (tril_writer_read(l->writer, line, length, error) == TRIL_OK) return true;
    tril_writer_close(l->writer);
    l->writer = NULL;
    return false;
}
