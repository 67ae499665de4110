#include "report/explain.h"
#include "base/memory.h"
#include "report/heat.h"

#include <math.h>
#include <string.h>

enum { MAX_ROWS = 8, MAX_COLUMNS = 8 }; /* of a table of numbers */

typedef struct {
    const Screen *screen;
    FILE *out;
    const Model *model;
    const Vocab *vocab;
    Run *run;
    const int32_t *ids;
    int T;
    char (*glyphs)[GLYPH_SIZE]; /* of the tokens; owned */
    float *table;               /* [T, T]; owned */
    float *weights;             /* of all heads, [heads, T, T]; owned */
    HeatMap *maps;              /* [heads]; owned */
    int heads;
    AttentionView head; /* the head whose numbers are shown */
    int layer;
} Explanation;

static int min(int a, int b) {
    return a < b ? a : b;
}

/* ---- tables of numbers ---- */

static void show_rows(const Explanation *e, const float *numbers, size_t row, int columns,
                      const char *masked) {
    int rows = min(e->T, MAX_ROWS), shown = min(columns, MAX_COLUMNS);
    for (int t = 0; t < rows; t++) {
        fprintf(e->out, "  %s", e->glyphs[t]);
        for (int i = 0; i < shown; i++)
            if (masked && i > t)
                fprintf(e->out, " %7s", masked);
            else
                fprintf(e->out, " %7.3f", (double)numbers[(size_t)t * row + (size_t)i]);
        fprintf(e->out, "%s\n", shown < columns ? "  ..." : "");
    }
    if (rows < e->T) fputs("  ...\n", e->out);
}

/* Shows a row of `columns` numbers for each token. Rows are `row` floats apart. */
static void show_vectors(const Explanation *e, const char *name, const float *numbers, size_t row,
                         int columns) {
    if (*name) fprintf(e->out, "   %s\n", name);
    show_rows(e, numbers, row, columns, NULL);
}

/* Shows numbers [T, T], token by token. `masked` replaces those of later tokens; NULL: shows
 * them. */
static void show_square(const Explanation *e, const float *numbers, const char *masked) {
    fputs("    ", e->out);
    for (int s = 0; s < min(e->T, MAX_COLUMNS); s++) fprintf(e->out, "     %s ", e->glyphs[s]);
    fputc('\n', e->out);
    show_rows(e, numbers, (size_t)e->T, e->T, masked);
}

/* ---- the steps ---- */

static void show_tokens(const Explanation *e) {
    fprintf(e->out, "1. The tokens: %d characters, each an id, then a vector of %d numbers.\n",
            e->T, e->model->config.C);
    enum { CELL = 9 }; /* two blanks, a glyph, an id */
    int column = 0;
    for (int t = 0; t < e->T; t++) {
        if (column + CELL > e->screen->columns) {
            fputc('\n', e->out);
            column = 0;
        }
        fprintf(e->out, "  %s%-5d", e->glyphs[t], (int)e->ids[t]);
        column += CELL;
    }
    fputs("\n\n", e->out);
}

static void show_query_key_value(const Explanation *e) {
    const AttentionView *h = &e->head;
    bool modern = strcmp(e->model->config.model, "modern") == 0;
    fprintf(e->out,
            "2. Query, key and value: each vector times three matrices. The query is what a\n   "
            "character looks for, the key what it offers, the value what it passes on.\n   This "
            "head has %d x %d numbers of each%s.\n",
            e->T, h->dk, modern ? "; query and key after norm and rotation" : "");
    show_vectors(e, "query", h->query, h->query_row, h->dk);
    show_vectors(e, "key", h->key, h->key_row, h->dk);
    show_vectors(e, "value", h->value, h->value_row, h->dv);
}

static void show_scores(const Explanation *e) {
    const AttentionView *h = &e->head;
    size_t T = (size_t)e->T;
    for (int t = 0; t < e->T; t++) attention_scores(h, t, e->table + (size_t)t * T);
    fputs("\n3. Scores: query . key, of each character (row) with each (column). A high\n   "
          "score: the key offers what the query looks for.\n",
          e->out);
    show_square(e, e->table, NULL);
    fprintf(e->out, "\n4. Scaled: times 1/sqrt(%d) = %.4f, so that the softmax is not too sharp.\n",
            h->dk, (double)h->scale);
    for (size_t i = 0; i < T * T; i++) e->table[i] *= h->scale;
    show_square(e, e->table, NULL);
    fputs("\n5. Masked by the tril matrix: later characters get -inf.\n", e->out);
    show_square(e, e->table, "-inf");
}

static void show_weights(const Explanation *e, const float *weights) {
    fprintf(e->out, "\n6. Softmax: the weights. Each row sums to 1%s.\n",
            e->head.query ? "" : "; here all earlier ones are equal");
    show_square(e, weights, "0");
}

static void show_context(const Explanation *e) {
    const AttentionView *h = &e->head;
    fprintf(
        e->out,
        "\n7. Context: the weighted sum of the values: %d x %d numbers, what each\n   character "
        "has read.\n",
        e->T, h->dv);
    show_vectors(e, "", h->context, h->context_row, h->dv);
}

/* Multiplies the concatenated context of all heads by the projection. Attention adds the result to
 * each token's vector. */
static void show_projection(const Explanation *e) {
    int C = e->model->config.C, shown = min(C, MAX_COLUMNS);
    float out[MAX_ROWS * MAX_COLUMNS] = {0};
    for (int n = 0; n < e->heads; n++) {
        AttentionView h;
        run_attention(e->run, e->layer, n, &h);
        for (int t = 0; t < min(e->T, MAX_ROWS); t++)
            for (int c = 0; c < shown; c++) {
                const float *context = h.context + (size_t)t * h.context_row;
                const float *row = h.projection + (size_t)c * h.projection_row;
                float sum = n == 0 && h.bias ? h.bias[c] : 0;
                for (int i = 0; i < h.dv; i++) sum += row[i] * context[i];
                out[t * MAX_COLUMNS + c] += sum;
            }
    }
    fprintf(
        e->out,
        "\n8. Projection: the context%s times a matrix of\n   %d x %d: what attention adds to each "
        "character's vector.\n",
        e->heads > 1 ? ", all heads side by side," : "", C, C);
    show_vectors(e, "", out, MAX_COLUMNS, C);
}

static float *weights_of(const Explanation *e, int head) {
    return e->weights + (size_t)head * (size_t)e->T * (size_t)e->T;
}

static void show_maps(const Explanation *e, int first, int count) {
    fputs("\nThe weights as a map: a row is a character, and how it hears those before it.\n\n",
          e->out);
    heat_draw(e->screen, e->maps + first, count, e->T, (const char(*)[GLYPH_SIZE])e->glyphs);
}

/* ---- without attention ---- */

/* For the bigram: shows the likeliest characters to follow each character. */
static void show_followers(const Explanation *e, const float *logits) {
    enum { FOLLOWERS = 8 };
    int V = e->model->config.V;
    fputs("What follows each character, the likeliest first, whatever stood before it:\n\n",
          e->out);
    for (int t = 0; t < e->T; t++) {
        const float *row = logits + (size_t)t * (size_t)V;
        double sum = 0, above = INFINITY, max = -INFINITY;
        for (int i = 0; i < V; i++) /* not fmax: gcc 12 for 64-bit ARM fails on it here */
            if ((double)row[i] > max) max = (double)row[i];
        for (int i = 0; i < V; i++) sum += exp((double)row[i] - max);
        fprintf(e->out, "  %s ", e->glyphs[t]);
        for (int n = 0, last = -1; n < min(FOLLOWERS, V); n++) {
            int next = -1; /* the next largest logit; equal ones in the order of their ids */
            for (int i = 0; i < V; i++) {
                double own = (double)row[i];
                bool left = own < above || (own >= above && own <= above && i > last);
                if (left && (next < 0 || row[i] > row[next])) next = i;
            }
            if (next < 0) break; /* the rest are NaN */
            char glyph[GLYPH_SIZE];
            glyph_padded(e->vocab, next, glyph);
            fprintf(e->out, "  %s%4.1f%%", glyph, 100 * exp((double)row[next] - max) / sum);
            above = (double)row[next];
            last = next;
        }
        fputc('\n', e->out);
    }
}

/* ---- all steps ---- */

static void show_steps(const Explanation *e, int head) {
    int first = head < 0 ? 0 : head;
    fprintf(e->out, "%s, layer %d of %d, head %d of %d\n\n", e->model->config.model, e->layer,
            e->model->config.L, first, e->heads);
    show_tokens(e);
    if (e->head.query) {
        show_query_key_value(e);
        show_scores(e);
    }
    show_weights(e, weights_of(e, first));
    show_maps(e, first, head < 0 ? e->heads : 1);
    show_context(e);
    show_projection(e);
}

/* Reads the weights of every head of the layer. */
static bool read_heads(Explanation *e, int head, Error *err) {
    size_t square = (size_t)e->T * (size_t)e->T;
    while (run_attention(e->run, e->layer, e->heads, &e->head)) e->heads++;
    if (e->heads == 0)
        return fail(err, "--layer %d: the model has %d, counted from 0", e->layer,
                    e->model->config.L);
    if (head >= e->heads)
        return fail(err, "--head %d: the model has %d, counted from 0", head, e->heads);
    if (!memory_alloc(&e->table, square, sizeof(float), "attention", err) ||
        !memory_alloc(&e->weights, square * (size_t)e->heads, sizeof(float), "attention", err) ||
        !memory_alloc(&e->maps, (size_t)e->heads, sizeof *e->maps, "attention", err))
        return false;
    for (int h = 0; h < e->heads; h++) {
        run_attention(e->run, e->layer, h, &e->head);
        for (int t = 0; t < e->T; t++)
            attention_weights(&e->head, t, weights_of(e, h) + (size_t)t * (size_t)e->T);
        e->maps[h].weights = weights_of(e, h);
        snprintf(e->maps[h].title, sizeof e->maps[h].title, "head %d", h);
    }
    return run_attention(e->run, e->layer, head < 0 ? 0 : head, &e->head);
}

bool explain_attention(const Screen *screen, Model *model, const Vocab *vocab, const int32_t *ids,
                       int T, int layer, int head, Error *err) {
    Explanation e = {.screen = screen,
                     .out = screen->out,
                     .model = model,
                     .vocab = vocab,
                     .ids = ids,
                     .T = T,
                     .layer = layer};
    RunOptions options = {.batch = 1, .length = T, .frozen = true, .threads = 1};
    AttentionView any;
    bool ok = memory_alloc(&e.glyphs, (size_t)T, sizeof *e.glyphs, "the text", err) &&
              run_open(&e.run, model, &options, err);
    if (ok) {
        for (int t = 0; t < T; t++) glyph_padded(vocab, ids[t], e.glyphs[t]);
        const float *logits = run_forward(e.run, ids, 1, T, 0);
        if (!run_attention(e.run, 0, 0, &any)) {
            ok = (layer <= 0 && head <= 0) ||
                 fail(err, "a %s has no layers or heads of attention", model->config.model);
            if (ok) show_followers(&e, logits);
        } else {
            ok = read_heads(&e, head, err);
            if (ok) show_steps(&e, head);
        }
    }
    run_close(e.run);
    memory_free(e.glyphs);
    memory_free(e.table);
    memory_free(e.weights);
    memory_free(e.maps);
    return ok;
}
