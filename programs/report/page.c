#include "programs/report/page.h"
#include "base/file.h"
#include "base/shell.h"
#include "programs/report/figure.h"
#include "programs/report/html.h"
#include "programs/report/map.h"
#include "programs/report/markup.h"
#include "programs/report/textfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { META_SIZE = 80 };

/* ---- the top of the page ---- */

/* Returns the length without the table. */
static int write_meta(char meta[META_SIZE], uint64_t training, uint64_t table) {
    int length =
        snprintf(meta, META_SIZE, "<meta name=\"training\" content=\"%016" PRIx64, training);
    snprintf(meta + length, META_SIZE - (size_t)length, " %016" PRIx64 "\">\n", table);
    return length;
}

static void write_head(FILE *out, const Page *page) {
    char meta[META_SIZE], title[512];
    write_meta(meta, page->training, page->table);
    snprintf(title, sizeof title, "%s, trained on %s", page->model, page->text);
    html_begin(out, meta, title);
    fputs("<header>\n<h1>", out);
    markup_text(out, page->model);
    fputs(", trained on <bdi>", out);
    markup_text(out, page->text);
    fputs("</bdi></h1>\n<p>", out);
    markup_text(out, page->model);
    fputs(" is ", out);
    markup_text(out, page->idea);
    fprintf(out,
            ". The text has %zu characters, %d of them distinct. A loss is how surprised a model "
            "is by each next character, in nats: the lower, the better.</p>\n</header>\n<main>\n",
            page->characters, page->vocabulary);
}

/* page.js reloads the page by the attributes, and adds how old it is. */
static void write_live(FILE *out, const PageLive *live) {
    if (!live) return;
    fprintf(out, "<div id=\"live\" data-every=\"%.3g\" data-version=\"%d\">", live->every,
            live->version);
    markup_text(out, live->status);
    fprintf(out,
            "<progress max=\"1\" value=\"%.3f\" aria-label=\"the training so far\"></progress>"
            "</div>\n",
            live->share);
}

/* Writes a blank and then each word of a sentence; options of a program as code, which no line
 * breaks. */
static void write_words(FILE *out, const char *text) {
    while (*text) {
        size_t length = strcspn(text, " "), at = strspn(text, "("), option = 0;
        if (strncmp(text + at, "--", 2) == 0)
            option = strspn(text + at, "abcdefghijklmnopqrstuvwxyz-");
        putc(' ', out);
        markup_bytes(out, text, at);
        if (option > 0) {
            fputs("<code>", out);
            markup_bytes(out, text + at, option);
            fputs("</code>", out);
        }
        markup_bytes(out, text + at + option, length - at - option);
        text += length;
        text += strspn(text, " ");
    }
}

static void write_verdicts(FILE *out, const Page *page) {
    if (page->failure) {
        fputs("<p id=\"failure\"><strong>The training ended before its time:</strong> ", out);
        markup_text(out, page->failure);
        fputs("</p>\n", out);
    }
    if (page->verdict_count == 0) return;
    fputs("<section id=\"section-verdicts\">\n<h2>What happened</h2>\n<ul class=\"verdicts\">\n",
          out);
    for (int i = 0; i < page->verdict_count; i++) {
        fputs("<li><strong>", out);
        markup_text(out, page->verdicts[i].rung);
        fputs(":</strong>", out);
        write_words(out, page->verdicts[i].text);
        fputs("</li>\n", out);
    }
    fputs("</ul>\n</section>\n", out);
}

/* ---- losses and models ---- */

static void write_losses(FILE *out, const Page *page) {
    fputs("<section id=\"section-losses\">\n<h2>Losses</h2>\n", out);
    figure_chart(out, &page->losses);
    fputs("<p class=\"hint\" hidden>Point at the chart, or select it and use the arrow keys: the "
          "table then has the values at that place. Escape brings the last ones back.</p>\n"
          "<p>A strong curve is the loss on the held-out text, which never trains; a thin one is "
          "the loss on the batches that train. The gap between the two is what the model learnt by "
          "heart: where the thin curve still falls and the strong one no longer does, it memorises "
          "its text, which is called overfitting.</p>\n"
          "<p>Broken lines need no training: every character as likely as the other, as frequent "
          "as it is, as frequent as it is after the one before.</p>\n</section>\n",
          out);
}

/* A table that may be wider than the window, and scrolls. `id`: a plain word. */
static void begin_table(FILE *out, const char *id) {
    fprintf(out, "<div class=\"wide\" id=\"table-%s\"><table>\n", id);
}

static void end_table(FILE *out) {
    fputs("</tbody>\n</table></div>\n", out);
}

/* Begins the next table cell. Leaves it empty if the figure is NaN. */
__attribute__((format(printf, 2, 0))) static void write_figure(FILE *out, const char *format,
                                                               double figure) {
    fputs("</td><td>", out);
    if (!isnan(figure)) fprintf(out, format, figure);
}

static void write_models(FILE *out, const Page *page) {
    fputs("<section id=\"section-models\">\n<h2>Models</h2>\n", out);
    begin_table(out, "models");
    fputs("<thead><tr><th scope=\"col\">model</th><th scope=\"col\">parameters</th>"
          "<th scope=\"col\">train</th><th scope=\"col\">validation</th>"
          "<th scope=\"col\">bits/char</th><th scope=\"col\">TFLOP</th>"
          "<th scope=\"col\">seconds</th></tr></thead>\n<tbody>\n",
          out);
    bool falling = false;
    for (int i = 0; i < page->model_count; i++) {
        const PageModel *m = &page->models[i];
        bool trained = m->seconds >= 0;
        falling = falling || m->falling;
        fputs("<tr><th scope=\"row\">", out);
        markup_text(out, m->name);
        fputs(m->falling ? " \u2193</th><td>" : "</th><td>", out);
        if (trained) fprintf(out, "%zu", m->parameters);
        write_figure(out, "%.4f", m->train);
        write_figure(out, "%.4f", m->validation);
        write_figure(out, "%.3f", m->validation / log(2.0));
        write_figure(out, "%.3g", trained ? m->compute / 1e12 : NAN);
        fputs("</td><td>", out);
        if (trained) fprintf(out, "%.1f", m->seconds);
        fputs("</td></tr>\n", out);
    }
    end_table(out);
    fputs("<p>train: the loss on a part of the training text; validation: that on all of the "
          "held-out text. A bit is ln 2 nats. TFLOP: a million million operations, multiplications "
          "and additions, that the training took.",
          out);
    if (falling) fputs(" \u2193: was still falling at its end; more steps would lower it.", out);
    fputs("</p>\n</section>\n", out);
}

/* ---- what the models wrote ---- */

static void write_writings(FILE *out, const Page *page) {
    if (page->writing_count == 0) return;
    fputs("<section id=\"section-writings\">\n<h2>What each of them writes</h2>\n<p>All continue "
          "the same line of the held-out text, <span class=\"prompt\"><bdi>",
          out);
    markup_bytes(out, page->prompt, page->prompt_length);
    fputs("</bdi></span>, with the same random choices.</p>\n<div class=\"writings\">\n", out);
    for (int i = 0; i < page->writing_count; i++) {
        const PageWriting *w = &page->writings[i];
        fputs("<article class=\"writing\"><h3>", out);
        markup_text(out, w->name);
        fputs("</h3><p>", out);
        markup_text(out, w->note);
        fputs("</p><blockquote dir=\"auto\"><span class=\"prompt\">", out);
        markup_bytes(out, page->prompt, page->prompt_length);
        fputs("</span>", out);
        markup_bytes(out, w->text, w->length);
        fputs("</blockquote></article>\n", out);
    }
    fputs("</div>\n</section>\n", out);
}

static void write_samples(FILE *out, const Page *page) {
    if (page->sample_count == 0) return;
    fputs("<section id=\"section-samples\">\n<h2>How ", out);
    markup_text(out, page->model);
    fputs(" learnt to write</h2>\n<p>After each evaluation, from an empty page, with the same "
          "random choices; ↵ is the end of a line.</p>\n",
          out);
    begin_table(out, "samples");
    fputs("<thead><tr><th scope=\"col\">step</th><th scope=\"col\">validation</th>"
          "<th scope=\"col\" class=\"text\">text</th></tr></thead>\n<tbody>\n",
          out);
    for (int i = 0; i < page->sample_count; i++) {
        const PageSample *s = &page->samples[i];
        fprintf(out, "<tr><th scope=\"row\">%d</th><td>%.4f</td><td class=\"text\"><bdi>", s->step,
                s->validation);
        markup_text(out, s->text);
        fputs("</bdi></td></tr>\n", out);
    }
    end_table(out);
    fputs("</section>\n", out);
}

/* ---- the rest ---- */

static void write_head_map(FILE *out, const Page *page, const PageHead *head) {
    char id[64], caption[64], title[64];
    snprintf(id, sizeof id, "map-%d-%d", head->layer, head->head);
    snprintf(caption, sizeof caption, "head %d", head->head);
    snprintf(title, sizeof title, "layer %d, head %d", head->layer, head->head);
    figure_map(out, id, caption, title, head->weights, page->tokens, page->glyphs);
}

static void write_heads(FILE *out, const Page *page) {
    if (page->head_count == 0) return;
    fputs("<section id=\"section-attention\">\n<h2>Attention of ", out);
    markup_text(out, page->model);
    fputs("</h2>\n<p>Each map is a head, on a line that it was not trained on. A row is a "
          "character, and shows which characters before it, and which of them most, it listens "
          "to. The weights of a row add up to 1.</p>\n<p class=\"hint\" hidden>Point at a cell, or "
          "select a map and use the arrow keys, to read its weight.</p>\n",
          out);
    map_draw_scale(out);
    for (int i = 0; i < page->head_count; i++) {
        const PageHead *h = &page->heads[i];
        bool first = i == 0 || h->layer != page->heads[i - 1].layer;
        bool last = i + 1 == page->head_count || h->layer != page->heads[i + 1].layer;
        if (first)
            fprintf(out, "<h3>Layer %d</h3>\n<div class=\"maps\" id=\"layer-%d\">\n", h->layer,
                    h->layer);
        write_head_map(out, page, h);
        if (last) fputs("</div>\n", out);
    }
    if (page->left_out > 0)
        fprintf(out,
                "<p>%d more heads are left out here; <code>./sample --explain</code> shows "
                "them.</p>\n",
                page->left_out);
    fputs("</section>\n", out);
}

static void write_curves(FILE *out, const Page *page) {
    if (page->curve_count == 0) return;
    fputs("<section id=\"section-curves\">\n<h2>Training curves</h2>\n<div class=\"curves\">\n",
          out);
    for (int i = 0; i < page->curve_count; i++) figure_chart(out, &page->curves[i]);
    fputs("</div>\n</section>\n", out);
}

static void write_command(FILE *out, const Page *page) {
    fputs("<section id=\"section-command\">\n<h2>The command</h2>\n<pre><code>", out);
    for (char *const *word = page->command; *word; word++) {
        if (word != page->command) putc(' ', out);
        shell_word(out, *word, markup_bytes);
    }
    fputs("</code></pre>\n", out);
    begin_table(out, "settings");
    fputs("<tbody>\n", out);
    for (int i = 0; i < page->setting_count; i++) {
        fputs("<tr><th scope=\"row\">", out);
        markup_text(out, page->settings[i].name);
        fputs("</th><td>", out);
        markup_text(out, page->settings[i].value);
        fputs("</td></tr>\n", out);
    }
    end_table(out);
    fputs("</section>\n", out);
}

static void write_page(FILE *out, const void *what) {
    const Page *page = what;
    write_head(out, page);
    write_live(out, page->live);
    write_verdicts(out, page);
    write_losses(out, page);
    write_models(out, page);
    write_writings(out, page);
    write_samples(out, page);
    write_heads(out, page);
    write_curves(out, page);
    write_command(out, page);
    fputs("</main>\n", out);
    html_end(out);
}

bool page_write(const char *path, const Page *page, Error *err) {
    return textfile_write(path, write_page, page, err);
}

bool page_is_of(const char *path, uint64_t training, uint64_t table) {
    char meta[META_SIZE], begin[sizeof HTML_BEGIN + META_SIZE];
    int length = write_meta(meta, training, table);
    snprintf(begin, sizeof begin, "%s%.*s", HTML_BEGIN, table ? META_SIZE : length, meta);
    return file_begins(path, begin);
}
