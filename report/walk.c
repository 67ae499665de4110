#include "report/walk.h"
#include "base/memory.h"
#include "report/heat.h"

#include <math.h>
#include <string.h>

enum { MOST_ROWS = 8, MOST_COLUMNS = 8 }; /* of numbers that are shown */

typedef struct {
    const Screen *screen;
    FILE *out;
    const Model *model;
    const Vocab *vocab;
    Run *run;
    const int32_t *ids;
    int T;
    char (*glyphs)[GLYPH_ROOM]; /* of the tokens; owned */
    float *table;               /* [T, T]; owned */
    float *weights;             /* of each head, [heads, T, T]; owned */
    HeatMap *maps;              /* [heads]; owned */
    int heads;
    HeadView head; /* whose numbers are shown */
    int layer;
} Walk;

static int smaller(int a, int b) {
    return a < b ? a : b;
}

/* ---- tables of numbers ---- */

static void show_rows(const Walk *w, const float *numbers, size_t row, int columns,
                      const char *masked) {
    int rows = smaller(w->T, MOST_ROWS), shown = smaller(columns, MOST_COLUMNS);
    for (int t = 0; t < rows; t++) {
        fprintf(w->out, "  %s", w->glyphs[t]);
        for (int i = 0; i < shown; i++)
            if (masked && i > t)
                fprintf(w->out, " %7s", masked);
            else
                fprintf(w->out, " %7.3f", (double)numbers[(size_t)t * row + (size_t)i]);
        fprintf(w->out, "%s\n", shown < columns ? "  ..." : "");
    }
    if (rows < w->T) fputs("  ...\n", w->out);
}

/* A row of `columns` numbers for each token, `row` floats apart: as many as the eye takes in. */
static void show_vectors(const Walk *w, const char *name, const float *numbers, size_t row,
                         int columns) {
    if (*name) fprintf(w->out, "   %s\n", name);
    show_rows(w, numbers, row, columns, NULL);
}

/* Numbers [T, T] of each token with each; `masked` stands for those of later ones, NULL: they
 * count, too. */
static void show_square(const Walk *w, const float *numbers, const char *masked) {
    fputs("    ", w->out);
    for (int s = 0; s < smaller(w->T, MOST_COLUMNS); s++) fprintf(w->out, "     %s ", w->glyphs[s]);
    fputc('\n', w->out);
    show_rows(w, numbers, (size_t)w->T, w->T, masked);
}

/* ---- the steps ---- */

static void show_tokens(const Walk *w) {
    fprintf(w->out, "1. The tokens: %d characters, each an id, then a vector of %d numbers.\n",
            w->T, w->model->config.C);
    enum { CELL = 9 }; /* two blanks, a glyph, an id */
    int column = 0;
    for (int t = 0; t < w->T; t++) {
        if (column + CELL > w->screen->columns) {
            fputc('\n', w->out);
            column = 0;
        }
        fprintf(w->out, "  %s%-5d", w->glyphs[t], (int)w->ids[t]);
        column += CELL;
    }
    fputs("\n\n", w->out);
}

static void show_questions(const Walk *w) {
    const HeadView *h = &w->head;
    bool modern = strcmp(w->model->config.model, "modern") == 0;
    fprintf(
        w->out,
        "2. Query, key and value: each vector times three matrices. Query: what a\n   character "
        "asks for; key: what it answers to; value: what it then says.\n   Of this head, %d x %d "
        "numbers each%s.\n",
        w->T, h->dk, modern ? "; query and key after their norm and turn" : "");
    show_vectors(w, "query", h->query, h->query_row, h->dk);
    show_vectors(w, "key", h->key, h->key_row, h->dk);
    show_vectors(w, "value", h->value, h->value_row, h->dv);
}

static void show_scores(const Walk *w) {
    const HeadView *h = &w->head;
    size_t T = (size_t)w->T;
    for (int t = 0; t < w->T; t++) head_scores(h, t, w->table + (size_t)t * T);
    fputs("\n3. Scores: query . key, of each character (row) with each (column). High: the\n   one "
          "finds in the other what it asks for.\n",
          w->out);
    show_square(w, w->table, NULL);
    fprintf(w->out,
            "\n4. Scaled: times 1/sqrt(%d) = %.4f, or the softmax would be too sharp to learn.\n",
            h->dk, (double)h->scale);
    for (size_t i = 0; i < T * T; i++) w->table[i] *= h->scale;
    show_square(w, w->table, NULL);
    fputs("\n5. Masked by the tril matrix: what comes later is -inf, out of reach.\n", w->out);
    show_square(w, w->table, "-inf");
}

static void show_weights(const Walk *w, const float *weights) {
    fprintf(w->out, "\n6. Softmax: the weights. Each row sums to 1%s.\n",
            w->head.query ? "" : "; here all before counts alike");
    show_square(w, weights, "0");
}

static void show_context(const Walk *w) {
    const HeadView *h = &w->head;
    fprintf(
        w->out,
        "\n7. Context: the values, weighted and added up: %d x %d numbers, what each\n   character "
        "has heard.\n",
        w->T, h->dv);
    show_vectors(w, "", h->context, h->context_row, h->dv);
}

/* What the heads have heard, concatenated, times a matrix: added to each token's vector. */
static void show_projection(const Walk *w) {
    int C = w->model->config.C, shown = smaller(C, MOST_COLUMNS);
    float out[MOST_ROWS * MOST_COLUMNS] = {0};
    for (int n = 0; n < w->heads; n++) {
        HeadView h;
        run_head(w->run, w->layer, n, &h);
        for (int t = 0; t < smaller(w->T, MOST_ROWS); t++)
            for (int c = 0; c < shown; c++) {
                const float *context = h.context + (size_t)t * h.context_row;
                const float *row = h.projection + (size_t)c * h.projection_row;
                float sum = n == 0 && h.bias ? h.bias[c] : 0;
                for (int i = 0; i < h.dv; i++) sum += row[i] * context[i];
                out[t * MOST_COLUMNS + c] += sum;
            }
    }
    fprintf(
        w->out,
        "\n8. Projection: the context%s times a matrix of\n   %d x %d: what attention adds to each "
        "character's vector.\n",
        w->heads > 1 ? ", all heads side by side," : "", C, C);
    show_vectors(w, "", out, MOST_COLUMNS, C);
}

static float *weights_of(const Walk *w, int head) {
    return w->weights + (size_t)head * (size_t)w->T * (size_t)w->T;
}

static void show_maps(const Walk *w, int first, int count) {
    fputs("\nThe weights as a map: a row is a character, and how it hears those before it.\n\n",
          w->out);
    heat_draw(w->screen, w->maps + first, count, w->T, (const char(*)[GLYPH_ROOM])w->glyphs);
}

/* ---- without attention ---- */

/* What may follow each character, the likeliest first: what a table of pairs knows. */
static void show_followers(const Walk *w, const float *logits) {
    enum { FOLLOWERS = 8 };
    int V = w->model->config.V;
    fputs("What follows each character, the likeliest first, whatever stood before it:\n\n",
          w->out);
    for (int t = 0; t < w->T; t++) {
        const float *row = logits + (size_t)t * (size_t)V;
        double sum = 0, above = INFINITY, most = -INFINITY;
        for (int i = 0; i < V; i++) /* not fmax: gcc 12 for 64-bit ARM fails on it here */
            if ((double)row[i] > most) most = (double)row[i];
        for (int i = 0; i < V; i++) sum += exp((double)row[i] - most);
        fprintf(w->out, "  %s ", w->glyphs[t]);
        for (int n = 0, last = -1; n < smaller(FOLLOWERS, V); n++) {
            int next = -1; /* the largest below what was shown, or equal and further on */
            for (int i = 0; i < V; i++) {
                double own = (double)row[i];
                bool left = own < above || (own >= above && own <= above && i > last);
                if (left && (next < 0 || row[i] > row[next])) next = i;
            }
            if (next < 0) break; /* the rest are no numbers */
            char glyph[GLYPH_ROOM];
            glyph_padded(w->vocab, next, glyph);
            fprintf(w->out, "  %s%4.1f%%", glyph, 100 * exp((double)row[next] - most) / sum);
            above = (double)row[next];
            last = next;
        }
        fputc('\n', w->out);
    }
}

/* ---- the walk ---- */

static void show_steps(const Walk *w, int head) {
    int first = head == ALL_HEADS ? 0 : head;
    fprintf(w->out, "%s, layer %d of %d, head %d of %d\n\n", w->model->config.model, w->layer,
            w->model->config.L, first, w->heads);
    show_tokens(w);
    if (w->head.query) {
        show_questions(w);
        show_scores(w);
    }
    show_weights(w, weights_of(w, first));
    show_maps(w, first, head == ALL_HEADS ? w->heads : 1);
    show_context(w);
    show_projection(w);
}

/* Looks at every head of the layer. */
static bool look(Walk *w, int head, Error *err) {
    size_t square = (size_t)w->T * (size_t)w->T;
    while (run_head(w->run, w->layer, w->heads, &w->head)) w->heads++;
    if (w->heads == 0)
        return fail(err, "--layer %d: the model has %d, counted from 0", w->layer,
                    w->model->config.L);
    if (head >= w->heads)
        return fail(err, "--head %d: the model has %d, counted from 0", head, w->heads);
    if (!memory_alloc(&w->table, square, sizeof(float), "attention", err) ||
        !memory_alloc(&w->weights, square * (size_t)w->heads, sizeof(float), "attention", err) ||
        !memory_alloc(&w->maps, (size_t)w->heads, sizeof *w->maps, "attention", err))
        return false;
    for (int h = 0; h < w->heads; h++) {
        run_head(w->run, w->layer, h, &w->head);
        for (int t = 0; t < w->T; t++)
            head_weights(&w->head, t, weights_of(w, h) + (size_t)t * (size_t)w->T);
        w->maps[h].weights = weights_of(w, h);
        snprintf(w->maps[h].title, sizeof w->maps[h].title, "head %d", h);
    }
    return run_head(w->run, w->layer, head == ALL_HEADS ? 0 : head, &w->head);
}

bool walk_attention(const Screen *screen, Model *model, const Vocab *vocab, const int32_t *ids,
                    int T, int layer, int head, Error *err) {
    Walk w = {.screen = screen,
              .out = screen->out,
              .model = model,
              .vocab = vocab,
              .ids = ids,
              .T = T,
              .layer = layer};
    RunOptions options = {.batch = 1, .length = T, .frozen = true, .threads = 1};
    HeadView any;
    bool ok = memory_alloc(&w.glyphs, (size_t)T, sizeof *w.glyphs, "the text", err) &&
              run_open(&w.run, model, &options, err);
    if (ok) {
        for (int t = 0; t < T; t++) glyph_padded(vocab, ids[t], w.glyphs[t]);
        const float *logits = run_forward(w.run, ids, 1, T, 0);
        if (!run_head(w.run, 0, 0, &any)) {
            ok = (layer <= 0 && head <= 0) ||
                 fail(err, "a %s has no layers or heads of attention", model->config.model);
            if (ok) show_followers(&w, logits);
        } else {
            ok = look(&w, head, err);
            if (ok) show_steps(&w, head);
        }
    }
    run_close(w.run);
    memory_free(w.glyphs);
    memory_free(w.table);
    memory_free(w.weights);
    memory_free(w.maps);
    return ok;
}
