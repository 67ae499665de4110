/* sheet_html.c - a sheet that is the body of an HTML page. */
#include "programs/report/elision.h"
#include "programs/report/figure.h"
#include "programs/report/html.h"
#include "programs/report/map.h"
#include "programs/report/markup.h"
#include "programs/report/sheet.h"

#include <math.h>
#include <stdio.h>

enum { MOST_TOKENS = 32, MOST_CHANNELS = 64, BAND = 16 };

/* What the pages of a training do not have. */
static const char style[] =
    "<style>\n"
    ".lists { display: grid; grid-template-columns: repeat(auto-fill, minmax(15rem, 1fr)); gap: 1rem }\n"
    ".lists table { width: 100% }\n"
    ".lists th, .lists td { padding: .125rem .75rem .125rem 0; border: 0 }\n"
    ".bar { width: 100%; min-width: 6rem }\n"
    ".bar i { display: block; height: .8em; background: #3b82d6 }\n"
    ".bar .less { background: none; border: 1px solid #3b82d6 }\n"
    "tbody th { position: sticky; left: 0; background: var(--ground) }\n"
    "</style>\n";

static void write_element(Sheet *sheet, const char *name, const char *text) {
    fprintf(sheet->screen.out, "<%s>", name);
    markup_text(sheet->screen.out, text);
    fprintf(sheet->screen.out, "</%s>\n", name);
}

static void title(Sheet *sheet, const char *text) {
    write_element(sheet, "p", text);
}

static void heading(Sheet *sheet, const char *text) {
    write_element(sheet, "h2", text);
}

static void paragraph(Sheet *sheet, const char *text) {
    write_element(sheet, "p", text);
}

/* ---- tables ---- */

static void write_number(FILE *out, const Table *table, int r, int c) {
    float value = table->numbers[(size_t)r * table->row + (size_t)c];
    char number[NUMBER_SIZE];
    if (table->whole)
        snprintf(number, sizeof number, "%.0f", (double)value);
    else
        sheet_number(number, (double)value);
    fprintf(out, "<td>%s</td>", table->masked && c > r ? table->masked : number);
}

/* Above the columns: the tokens, or the numbers of the channels. */
static void write_head(Sheet *sheet, const Table *table, Elision across) {
    FILE *out = sheet->screen.out;
    fputs("<thead><tr><td></td>", out);
    for (int i = 0; i < across.shown; i++) {
        int c = elision_place(across, i);
        if (i == across.gap) fputs("<td>…</td>", out);
        fputs("<th scope=\"col\">", out);
        if (table->across == TOKENS)
            markup_text(out, sheet->glyphs[c]);
        else
            fprintf(out, "%d", c);
        fputs("</th>", out);
    }
    fputs("</tr></thead>\n", out);
}

static void write_row(Sheet *sheet, const Table *table, int r, Elision across) {
    FILE *out = sheet->screen.out;
    fputs("<tr><th scope=\"row\">", out);
    markup_text(out, table->labels ? table->labels[r] : sheet->glyphs[r]);
    fputs("</th>", out);
    for (int i = 0; i < across.shown; i++) {
        if (i == across.gap) fputs("<td>…</td>", out);
        write_number(out, table, r, elision_place(across, i));
    }
    bool more = across.gap < 0 && across.shown < across.count;
    fprintf(out, "%s</tr>\n", more ? "<td>…</td>" : "");
}

static void table(Sheet *sheet, const Table *table) {
    FILE *out = sheet->screen.out;
    int n = table->columns;
    Elision across = {n, n < MOST_CHANNELS ? n : MOST_CHANNELS, -1};
    if (table->across == WRAPPED) across.shown = n;
    if (table->across == TOKENS) across = elide(n, MOST_TOKENS);
    Elision down = elide(table->rows, table->labels ? table->rows : MOST_TOKENS);
    if (table->title) write_element(sheet, "h3", table->title);
    fputs("<div class=\"wide\"><table>\n", out);
    write_head(sheet, table, across);
    fputs("<tbody>\n", out);
    for (int i = 0; i < down.shown; i++) {
        if (i == down.gap) fputs("<tr><th scope=\"row\">…</th></tr>\n", out);
        write_row(sheet, table, elision_place(down, i), across);
    }
    fputs("</tbody>\n</table></div>\n", out);
}

/* ---- bars ---- */

static void write_value(FILE *out, const Bars *list, int i, double largest) {
    double value = list->values[i];
    char logit[NUMBER_SIZE];
    fputs("<tr><th scope=\"row\">", out);
    markup_text(out, list->labels[i]);
    fprintf(out, list->shares ? "</th><td>%.1f%%</td>" : "</th><td>%+.2f</td>",
            list->shares ? 100 * value : value);
    if (list->logits) {
        sheet_number(logit, list->logits[i]);
        fprintf(out, "<td>%s</td>", logit);
    }
    double share = largest > 0 ? fabs(value) / largest : 0;
    fprintf(out, "<td class=\"bar\"><i%s style=\"width:%.1f%%\"></i></td></tr>\n",
            value < 0 ? " class=\"less\"" : "", share > 0 ? 100 * share : 0); /* NaN: none */
}

static void bars(Sheet *sheet, const Bars *lists, int count) {
    FILE *out = sheet->screen.out;
    fputs("<div class=\"lists\">\n", out);
    double largest = sheet_largest(lists, count);
    for (int l = 0; l < count; l++) {
        fputs("<section>\n", out);
        if (lists[l].title) write_element(sheet, "h3", lists[l].title);
        fputs("<table><tbody>\n", out);
        for (int i = 0; i < lists[l].count; i++) write_value(out, &lists[l], i, largest);
        fputs("</tbody></table>\n</section>\n", out);
    }
    fputs("</div>\n", out);
}

/* ---- maps ---- */

static void maps(Sheet *sheet, const HeatMap *maps, int count) {
    FILE *out = sheet->screen.out;
    fputs("<p class=\"hint\" hidden>Point at a cell, or select a map and use the arrow keys, to "
          "read its weight.</p>\n",
          out);
    map_draw_scale(out);
    fputs("<div class=\"maps\">\n", out);
    for (int i = 0; i < count; i++) {
        char id[32];
        snprintf(id, sizeof id, "map-%d-%d", sheet->step, i);
        figure_map(out, id, maps[i].title, maps[i].title, maps[i].weights, sheet->T, sheet->glyphs);
    }
    fputs("</div>\n", out);
}

/* ---- the page ---- */

Sheet sheet_html(FILE *out, int T, const char (*glyphs)[GLYPH_SIZE]) {
    static const SheetKind kind = {title, heading, paragraph, table, bars, maps};
    return (Sheet){.kind = &kind,
                   .screen = {.out = out},
                   .T = T,
                   .glyphs = glyphs,
                   .fit = MOST_TOKENS,
                   .fit_labelled = BAND};
}

void sheet_html_begin(FILE *out, const char *title) {
    html_begin(out, style, title);
    fputs("<header>\n<h1>", out);
    markup_text(out, title);
    fputs("</h1>\n</header>\n<main>\n", out);
}

void sheet_html_end(FILE *out) {
    fputs("</main>\n", out);
    html_end(out);
}
