#include "report/page.h"
#include "base/file.h"
#include "base/shell.h"
#include "report/map.h"
#include "report/markup.h"
#include "report/textfile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

enum { BEGIN_SIZE = 200 };

/* page.css and page.js, a string for each line: the Makefile makes them. */
static const char *const style[] = {
#include "report/page.css.inc"
};
static const char *const script[] = {
#include "report/page.js.inc"
};

static void write_lines(FILE *out, const char *const *lines, size_t count) {
    for (size_t i = 0; i < count; i++) fputs(lines[i], out);
}

/* ---- the parts of the page ---- */

/* The beginning of every page about this text. */
static void write_begin(char begin[BEGIN_SIZE], uint64_t digest) {
    snprintf(begin, BEGIN_SIZE,
             "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
             "<meta name=\"trained-on\" content=\"%016" PRIx64 "\">\n",
             digest);
}

static void write_head(FILE *out, const Page *page) {
    char begin[BEGIN_SIZE];
    write_begin(begin, page->digest);
    fputs(begin, out);
    fputs("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    markup_text(out, page->model);
    fputs(", trained on ", out);
    markup_text(out, page->text);
    fputs("</title>\n<style>\n", out);
    write_lines(out, style, sizeof style / sizeof *style);
    fputs("</style>\n</head>\n<body>\n<header>\n<h1>", out);
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

/* A drawing, and an output in which page.js shows the figures under the pointer. */
static void write_chart(FILE *out, const Chart *chart) {
    fputs("<figure tabindex=\"0\">\n<figcaption>", out);
    markup_text(out, chart->title);
    fputs("</figcaption>\n", out);
    chart_draw(out, chart);
    fputs("<output></output>\n</figure>\n", out);
}

static void write_losses(FILE *out, const Page *page) {
    fputs("<section>\n<h2>Losses</h2>\n", out);
    write_chart(out, &page->losses);
    fputs("<p>Strong lines with dots are losses on the held-out text, thin ones on the batches "
          "that train; broken lines need no training at all: every character as likely as the "
          "other, as frequent as it is, as frequent as it is after the one before.</p>\n"
          "</section>\n",
          out);
}

/* The next cell, empty if there is no figure. */
__attribute__((format(printf, 2, 0))) static void write_figure(FILE *out, const char *format,
                                                               double figure) {
    fputs("</td><td>", out);
    if (!isnan(figure)) fprintf(out, format, figure);
}

static void write_models(FILE *out, const Page *page) {
    fputs("<section>\n<h2>Models</h2>\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>"
          "<th scope=\"col\">model</th><th scope=\"col\">parameters</th>"
          "<th scope=\"col\">train</th><th scope=\"col\">validation</th>"
          "<th scope=\"col\">bits/char</th><th scope=\"col\">seconds</th></tr></thead>\n<tbody>\n",
          out);
    for (int i = 0; i < page->model_count; i++) {
        const PageModel *m = &page->models[i];
        bool trained = m->seconds >= 0;
        fputs("<tr><th scope=\"row\">", out);
        markup_text(out, m->name);
        fputs("</th><td>", out);
        if (trained) fprintf(out, "%zu", m->parameters);
        write_figure(out, "%.4f", m->train);
        write_figure(out, "%.4f", m->validation);
        write_figure(out, "%.3f", m->validation / log(2.0));
        fputs("</td><td>", out);
        if (trained) fprintf(out, "%.1f", m->seconds);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n</section>\n", out);
}

static void write_samples(FILE *out, const Page *page) {
    if (page->sample_count == 0) return;
    fputs(
        "<section>\n<h2>What it wrote</h2>\n<p>After each evaluation, from an empty page, with "
        "the same random choices; ↵ is the end of a line.</p>\n<div class=\"wide\" tabindex=\"0\"><table>\n<thead><tr>"
        "<th scope=\"col\">step</th><th scope=\"col\">validation</th>"
        "<th scope=\"col\" class=\"text\">text</th></tr></thead>\n<tbody>\n",
        out);
    for (int i = 0; i < page->sample_count; i++) {
        const PageSample *s = &page->samples[i];
        fprintf(out, "<tr><th scope=\"row\">%d</th><td>%.4f</td><td class=\"text\"><bdi>", s->step,
                s->validation);
        markup_text(out, s->text);
        fputs("</bdi></td></tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n</section>\n", out);
}

static void write_heads(FILE *out, const Page *page) {
    if (page->head_count == 0) return;
    fputs("<section>\n<h2>Attention</h2>\n<p>Each map is a head, on a line that it was not trained "
          "on. A row is a character, and shows which characters before it, and which of them most, "
          "it listens to.</p>\n",
          out);
    for (int i = 0; i < page->head_count; i++) {
        const PageHead *h = &page->heads[i];
        char id[64], title[64];
        bool first = i == 0 || h->layer != page->heads[i - 1].layer;
        bool last = i + 1 == page->head_count || h->layer != page->heads[i + 1].layer;
        if (first) fprintf(out, "<h3>Layer %d</h3>\n<div class=\"maps\">\n", h->layer);
        snprintf(id, sizeof id, "map-%d-%d", h->layer, h->head);
        snprintf(title, sizeof title, "layer %d, head %d", h->layer, h->head);
        fprintf(out, "<figure>\n<figcaption>head %d</figcaption>\n", h->head);
        map_draw(out, id, title, h->weights, page->tokens, page->glyphs);
        fputs("</figure>\n", out);
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
    fputs("<section>\n<h2>Training curves</h2>\n<div class=\"curves\">\n", out);
    for (int i = 0; i < page->curve_count; i++) write_chart(out, &page->curves[i]);
    fputs("</div>\n</section>\n", out);
}

static void write_command(FILE *out, const Page *page) {
    fputs("<section>\n<h2>The command</h2>\n<pre><code>", out);
    for (char *const *word = page->command; *word; word++) {
        if (word != page->command) putc(' ', out);
        shell_word(out, *word, markup_bytes);
    }
    fputs("</code></pre>\n<div class=\"wide\" tabindex=\"0\"><table>\n<tbody>\n", out);
    for (int i = 0; i < page->setting_count; i++) {
        fputs("<tr><th scope=\"row\">", out);
        markup_text(out, page->settings[i].name);
        fputs("</th><td>", out);
        markup_text(out, page->settings[i].value);
        fputs("</td></tr>\n", out);
    }
    fputs("</tbody>\n</table></div>\n</section>\n", out);
}

static void write_page(FILE *out, const void *what) {
    const Page *page = what;
    write_head(out, page);
    write_losses(out, page);
    write_models(out, page);
    write_samples(out, page);
    write_heads(out, page);
    write_curves(out, page);
    write_command(out, page);
    fputs("</main>\n<script>\n", out);
    write_lines(out, script, sizeof script / sizeof *script);
    fputs("</script>\n</body>\n</html>\n", out);
}

bool page_write(const char *path, const Page *page, Error *err) {
    return textfile_write(path, write_page, page, err);
}

bool page_is_of(const char *path, uint64_t digest) {
    char begin[BEGIN_SIZE];
    write_begin(begin, digest);
    return file_begins(path, begin);
}
