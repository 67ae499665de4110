#include "extras/web/look.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "extras/page/figure.h"
#include "programs/report/explain.h"

#include <math.h>
#include <string.h>

Look look_open(TrilModel *model) {
    return (Look){.model = model};
}

static void forget_line(Look *l) {
    tril_reading_close(l->reading);
    l->reading = NULL;
}

void look_close(Look *l) {
    forget_line(l);
    tril_writer_close(l->writer);
    *l = (Look){0};
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
    return tril_reading_open(&l->reading, l->model, line, length, 1, error) == TRIL_OK;
}

/* ---- the next character ---- */

static void write_glyph(const Look *l, int32_t id, Buffer *out) {
    const Glyph glyph = glyph_of(tril_model_tokenizer(l->model), id);
    json_quote(out, glyph.text, strlen(glyph.text));
}

static int likeliest(const double *p, int V) {
    int best = 0;
    for (int v = 1; v < V; v++)
        if (p[v] > p[best]) best = v;
    return best;
}

static void write_line(const Look *l, Buffer *out) {
    const int32_t *ids = tril_reading_ids(l->reading);
    const int count = tril_reading_tokens(l->reading);
    double nats = tril_reading_loss(l->reading);
    buffer_printf(out, "{\"glyphs\":[");
    for (int t = 0; t < count; t++) {
        if (t) buffer_printf(out, ",");
        write_glyph(l, ids[t], out);
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
    size_t size = (size_t)V, last = (size_t)tril_reading_tokens(l->reading) - 1;
    const float *logits = tril_reading_logits(l->reading) + last * size;
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
    const size_t T = (size_t)tril_reading_tokens(l->reading);
    return tril_reading_attention(l->reading, layer, head, weights, T * T, &error) == TRIL_OK ||
           fail(err, "there is no such head");
}

bool look_draw_map(const Look *l, int layer, int head, FILE *out, Error *err) {
    const TrilTokenizer *tokenizer = tril_model_tokenizer(l->model);
    const int32_t *ids = tril_reading_ids(l->reading);
    const int count = tril_reading_tokens(l->reading);
    const size_t T = (size_t)count;
    float *weights = NULL;
    Glyph *glyphs = NULL;
    bool ok = memory_alloc(&weights, T * T, sizeof *weights, "the map", err) &&
              memory_alloc(&glyphs, T, sizeof *glyphs, "the map", err) &&
              read_weights(l, layer, head, weights, err);
    if (ok) {
        for (int t = 0; t < count; t++) glyphs[t] = glyph_of(tokenizer, ids[t]);
        figure_map(out, "map", &(HeadMap){layer, head, weights}, count, glyphs);
    }
    memory_free(weights);
    memory_free(glyphs);
    return ok;
}

/* ---- the steps ---- */

/* Reads the line once more, with the present weights, and keeps all that is computed. */
static bool trace(const Look *l, TrilReading **reading, Error *err) {
    const size_t T = (size_t)tril_reading_tokens(l->reading);
    char *text;
    size_t length;
    TrilError error;
    *reading = NULL;
    if (!memory_alloc(&text, T, UTF8_MAX, "the line", err)) return false;
    bool ok = (tril_decode(tril_model_tokenizer(l->model), tril_reading_ids(l->reading), T, text,
                           T * UTF8_MAX, &length, &error) == TRIL_OK &&
               tril_reading_trace(reading, l->model, text, length, 1, &error) == TRIL_OK) ||
              fail(err, "%s", error.text);
    memory_free(text);
    return ok;
}

bool look_explain(const Look *l, int layer, int head, FILE *out, Error *err) {
    TrilReading *reading;
    if (!trace(l, &reading, err)) return false;
    const Explained explained = {
        .name = tril_model_sizes(l->model).rung, .model = l->model, .reading = reading};
    Sheet sheet = sheet_html(out);
    bool ok = explain(&sheet, &explained, 1, layer, head, err);
    tril_reading_close(reading);
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
