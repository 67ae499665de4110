/* html_sheet.c - the sheet of an HTML page. */
#include "extras/page/figure.h"
#include "base/array.h"

#include <math.h>

enum { MOST_TOKENS = 32, MOST_CHANNELS = 64, BAND = 16 };

static void write_text(Sheet *sheet, SheetText level, const char *text) {
    markup(sheet->out, level == HEADING ? "<h2>%s</h2>\n" : "<p>%s</p>\n", text);
}

/* Writes a table, with the tokens or the numbers of the channels above the columns. */
static void write_table(Sheet *sheet, const Table *table) {
    FILE *out = sheet->out;
    int n = table->columns;
    Elision across = {n, min_int(n, MOST_CHANNELS), -1};
    if (table->across == WRAPPED) across.shown = n;
    if (table->across == TOKENS) across = elide(n, MOST_TOKENS);
    Elision down = elide(table->rows, table->labels ? table->rows : MOST_TOKENS);
    if (table->title) markup(out, "<h3>%s</h3>\n", table->title);
    fputs("<div class=\"wide numbers\"><table>\n<thead><tr><td></td>", out);
    for (int i = 0; i < across.shown; i++) {
        int c = elision_place(across, i);
        if (i == across.gap) fputs("<td>…</td>", out);
        if (table->across == TOKENS)
            markup(out, "<th scope=\"col\">%s</th>", sheet->glyphs[c].text);
        else
            markup(out, "<th scope=\"col\">%d</th>", c);
    }
    fputs("</tr></thead>\n<tbody>\n", out);
    bool more = across.gap < 0 && across.shown < across.count;
    for (int i = 0; i < down.shown; i++) {
        int r = elision_place(down, i);
        if (i == down.gap) fputs("<tr><th scope=\"row\">…</th></tr>\n", out);
        markup(out, "<tr><th scope=\"row\">%s</th>",
               table->labels ? table->labels[r] : sheet->glyphs[r].text);
        for (int j = 0; j < across.shown; j++)
            fprintf(out, "%s<td>%s</td>", j == across.gap ? "<td>…</td>" : "",
                    sheet_cell(table, r, elision_place(across, j)).text);
        fprintf(out, "%s</tr>\n", more ? "<td>…</td>" : "");
    }
    fputs("</tbody>\n</table></div>\n", out);
}

static void write_bar(FILE *out, const Bars *list, const Bar *bar, double largest) {
    double value = bar->value, share = largest > 0 ? 100 * fabs(value) / largest : 0;
    markup(out, "<tr><th scope=\"row\">%s</th>", bar->label);
    if (list->shares && value > 0 && value < 0.0005)
        fputs("<td>&lt; 0.1%</td>", out);
    else
        fprintf(out, list->shares ? "<td>%.1f%%</td>" : "<td>%+.2f</td>",
                list->shares ? 100 * value : value);
    if (list->logits) fprintf(out, "<td>%s</td>", number(bar->logit).text);
    fprintf(out, "<td class=\"bar\"><i%s style=\"width:%.1f%%\"></i></td></tr>\n",
            value < 0 ? " class=\"less\"" : "", share > 0 ? share : 0); /* NaN without a logit */
}

static void write_bars(Sheet *sheet, const Bars *lists, int count) {
    FILE *out = sheet->out;
    fputs("<div class=\"lists\">\n", out);
    double largest = sheet_largest(lists, count);
    for (int l = 0; l < count; l++) {
        fputs("<section>\n", out);
        if (lists[l].title) markup(out, "<h3>%s</h3>\n", lists[l].title);
        fputs("<table><tbody>\n", out);
        for (int i = 0; i < lists[l].count; i++)
            write_bar(out, &lists[l], &lists[l].bars[i], largest);
        fputs("</tbody></table>\n</section>\n", out);
    }
    fputs("</div>\n", out);
}

static void write_maps(Sheet *sheet, const HeadMap *maps, int count) {
    figure_scale(sheet->out);
    fputs("<div class=\"maps\">\n", sheet->out);
    for (int i = 0; i < count; i++) figure_map(sheet->out, &maps[i], sheet->T, sheet->glyphs);
    fputs("</div>\n", sheet->out);
}

Sheet sheet_html(FILE *out) {
    static const SheetKind kind = {write_text, write_table, write_bars, write_maps, 0, 1};
    return (Sheet){.kind = &kind, .out = out, .columns = BAND};
}
