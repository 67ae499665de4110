/* screen.c - the sheet of a terminal. */
#include "programs/report/sheet.h"
#include "base/array.h"
#include "base/terminal.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { INDENT = 2, CELL = NUMBER_COLUMNS + 1, LABEL = 10, DOTS = 4 };

/* ---- text ---- */

static int columns_of(const char *text) {
    int columns;
    glyph_fitting(text, strlen(text), INT_MAX, &columns);
    return columns;
}

/* Writes the words of a text, as many as fit in each line, and cuts a word that is wider than a
 * line. Indents paragraphs, and all lines of a heading but the first. */
static void write_text(Sheet *sheet, SheetText level, const char *text) {
    const int hang = level == TITLE ? 0 : INDENT;
    int column = level == TEXT ? INDENT : 0, width;
    bool begins = true;
    if (level == HEADING) fputc('\n', sheet->out);
    fprintf(sheet->out, "%*s", column, "");
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = glyph_fitting(text, strcspn(text, " "), sheet->columns - hang, &width);
        if (!begins && column + 1 + width > sheet->columns) {
            fprintf(sheet->out, "\n%*s", hang, "");
            column = hang;
            begins = true;
        }
        fprintf(sheet->out, "%s%.*s", begins ? "" : " ", (int)length, text);
        column += width + !begins;
        begins = false;
        text += length;
    }
    fputc('\n', sheet->out);
}

/* ---- tables ---- */

/* Shows columns from `first` on and returns how many. Leaves room for three dots where columns are
 * left out, unless one number alone fills the line. */
static int write_band(Sheet *sheet, const Table *table, int first) {
    FILE *out = sheet->out;
    const int label = INDENT + (table->labels ? LABEL : GLYPH_COLUMNS);
    const int left = table->columns - first, room = sheet->columns - label, fit = room / CELL;
    const int tight = room < CELL + DOTS ? 1 : (room - DOTS) / CELL;
    Elision across = {left, min_int(left, fit), NO_GAP};
    if (left > fit && table->across == TOKENS) across = elide(left, tight);
    if (left > fit && table->across == CHANNELS) across.shown = tight;
    const Elision down = elide(table->rows, table->labels ? table->rows : tight);
    const char *dots = CELL * across.shown + DOTS <= room ? " ..." : "";
    const bool more = table->across == CHANNELS && across.shown < left;
    /* line -1 has the tokens above the columns */
    for (int i = table->across == TOKENS ? -1 : 0; i < down.shown; i++) {
        const int r = i < 0 ? 0 : elision_place(down, i);
        if (i == down.gap && i >= 0) fprintf(out, "%*s...\n", INDENT, "");
        if (i >= 0 && table->labels)
            fprintf(out, "%*s%-*.*s", INDENT, "", LABEL, LABEL, table->labels[r]);
        else
            fprintf(out, "%*s%s", i < 0 ? label : INDENT, "", i < 0 ? "" : sheet->glyphs[r].text);
        for (int j = 0; j < across.shown; j++) {
            const int c = first + elision_place(across, j);
            fprintf(out, "%s", j == across.gap ? dots : "");
            if (i < 0)
                fprintf(out, "%*s%s", CELL - GLYPH_COLUMNS, "", sheet->glyphs[c].text);
            else
                fprintf(out, " %*s", NUMBER_COLUMNS, sheet_cell(table, r, c).text);
        }
        fprintf(out, "%s\n", more && i >= 0 ? dots : "");
    }
    return across.shown;
}

static void write_table(Sheet *sheet, const Table *table) {
    if (table->title) fprintf(sheet->out, "%*s%s\n", INDENT, "", table->title);
    int shown = write_band(sheet, table, 0);
    while (table->across == WRAPPED && shown < table->columns) {
        fputc('\n', sheet->out);
        shown += write_band(sheet, table, shown);
    }
}

/* ---- things side by side ---- */

enum { GAP = 2 };

/* Bars or maps that are drawn beside each other. */
typedef struct {
    const Sheet *sheet;
    int count, width, rows; /* number of things; columns and rows of one */
    const Bars *lists;
    double largest;
    const HeadMap *maps;
    Elision tokens;
} Row;

/* Draws items side by side where they fit. `draw` writes an item's row and returns its columns. */
static void draw_beside(const Row *all, int (*draw)(const Row *all, int one, int row)) {
    FILE *out = all->sheet->out;
    int side = (all->sheet->columns + GAP) / (all->width + GAP);
    if (side < 1) side = 1;
    for (int first = 0; first < all->count; first += side) {
        if (first > 0) fputc('\n', out);
        for (int row = 0; row < all->rows; row++) {
            for (int i = first, used = 0; i < all->count && i < first + side; i++) {
                if (i > first) fprintf(out, "%*s", all->width - used + GAP, "");
                used = draw(all, i, row);
            }
            fputc('\n', out);
        }
    }
}

/* Draws a title, or a bar with its label and value, or nothing if the list is shorter. The bar of a
 * negative number is light and ends with a whole cell. */
static int draw_bar(const Row *all, int one, int row) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    enum { VALUE = 7 };
    FILE *out = all->sheet->out;
    const Bars *list = &all->lists[one];
    const Bar *bar = &list->bars[row - (all->lists->title != NULL)];
    int rest = all->width - INDENT - VALUE - (list->logits ? CELL : 0), label = 0, used;
    if (bar < list->bars) { /* the end of a file's name says more than its beginning */
        const char *title = list->title;
        while (columns_of(title) > all->width - INDENT)
            title += glyph_fitting(title, strlen(title), 1, &used);
        fprintf(out, "%*s%s", INDENT, "", title);
        return INDENT + columns_of(title);
    }
    if (bar >= list->bars + list->count) return 0;
    for (int i = 0; i < list->count; i++) {
        const int columns = columns_of(list->bars[i].label);
        if (columns > label) label = min_int(columns, rest);
    }
    const size_t length = glyph_fitting(bar->label, strlen(bar->label), label, &used);
    fprintf(out, "%*s%.*s%*s", INDENT, "", (int)length, bar->label, label - used, "");
    fprintf(out, list->shares ? " %5.1f%%" : " %+6.2f",
            list->shares ? 100 * bar->value : bar->value);
    if (list->logits) fprintf(out, " %*s", NUMBER_COLUMNS, number(bar->logit).text);
    const int room = rest - label - 1;
    const double share = fabs(bar->value) / all->largest;
    int eighth =
        room > 0 && share > 0 ? (int)(8 * room * share + 0.5) : 0; /* no bar if it is unknown */
    if (bar->value < 0) eighth = (eighth + 7) / 8 * 8;
    for (int i = 0; i < eighth / 8; i++)
        fprintf(out, "%s%s", i == 0 ? " " : "", bar->value < 0 ? "░" : "█");
    fprintf(out, "%s%s", eighth > 0 && eighth < 8 ? " " : "", eighths[eighth % 8]);
    return all->width - rest + label + (eighth > 0) + (eighth + 7) / 8;
}

static void write_bars(Sheet *sheet, const Bars *lists, int count) {
    enum { USUAL = 24 /* width of a list beside others */, WIDEST = 48 };
    int side = (sheet->columns + GAP) / (USUAL + GAP), rows = 0;
    side = side < 1 ? 1 : side > count ? count : side;
    const int width = (sheet->columns - GAP * (side - 1)) / side;
    for (int l = 0; l < count; l++)
        if (lists[l].count > rows) rows = lists[l].count;
    draw_beside(&(Row){.sheet = sheet,
                       .count = count,
                       .width = min_int(width, WIDEST),
                       .rows = rows + (lists->title != NULL),
                       .lists = lists,
                       .largest = sheet_largest(lists, count)},
                draw_bar);
}

/* ---- maps ---- */

enum {
    SQUARE = GLYPH_COLUMNS,
    AXIS = GLYPH_COLUMNS + 1,
    MIN_MAP = 8 /* a map is at least as wide as its title */
};

/* Draws a weight as one of a terminal's 256 colors, from dark to light, or in tenths. */
static void draw_weight(const Sheet *sheet, float weight) {
    static const int ramp[] = {234, 17, 18, 19, 20, 26, 32, 38, 44, 80, 116, 152, 188, 230};
    enum { SHADES = sizeof ramp / sizeof *ramp };
    double share = weight > 0 ? fmin((double)weight, 1) : 0; /* no shade if it is unknown */
    int shade = (int)(share * SHADES), tenths = (int)(share * 10 + 0.5);
    if (sheet->color)
        fprintf(sheet->out, "\033[48;5;%dm  \033[0m", ramp[shade < SHADES ? shade : SHADES - 1]);
    else if (tenths == 0)
        fputs(". ", sheet->out);
    else
        fprintf(sheet->out, "%d ", min_int(tenths, 9));
}

/* Draws the title of a map, the tokens above their columns, or the weights of a token. */
static int draw_map(const Row *all, int one, int row) {
    const Sheet *sheet = all->sheet;
    const Elision tokens = all->tokens;
    const int i = row - 2 - (tokens.gap >= 0 && row - 2 > tokens.gap), t = elision_place(tokens, i);
    FILE *out = sheet->out;
    if (row == 0) {
        char title[HEAD_TITLE];
        head_title(&all->maps[one], title);
        return fprintf(out, "%.*s", all->width, title);
    }
    if (row - 2 == tokens.gap && row > 1) return fprintf(out, "..");
    fprintf(out, "%*s%s", row == 1 ? AXIS : 0, "", row == 1 ? "" : sheet->glyphs[t].text);
    if (row > 1) fputc(' ', out);
    for (int j = 0; j < tokens.shown; j++) {
        const int s = elision_place(tokens, j);
        const bool later = row > 1 && s > t;
        if (j == tokens.gap) fputs(later ? "  " : "..", out);
        if (row == 1 || later)
            fputs(later ? "  " : sheet->glyphs[s].text, out);
        else
            draw_weight(sheet, all->maps[one].weights[(size_t)t * (size_t)sheet->T + (size_t)s]);
    }
    return AXIS + SQUARE * (tokens.shown + (tokens.gap >= 0));
}

/* Leaves the middle out of maps that are too wide. */
static void write_maps(Sheet *sheet, const HeadMap *maps, int count) {
    const int room = (sheet->columns - AXIS) / SQUARE;
    const Elision tokens = elide(sheet->T, sheet->T <= room || room < 2 ? room : room - 1);
    const int all = tokens.shown + (tokens.gap >= 0), own = AXIS + SQUARE * all;
    fputc('\n', sheet->out);
    draw_beside(&(Row){.sheet = sheet,
                       .count = count,
                       .width = own < MIN_MAP ? MIN_MAP : own,
                       .rows = 2 + all,
                       .maps = maps,
                       .tokens = tokens},
                draw_map);
    if (tokens.shown < sheet->T)
        sheet_say(sheet, "(%d of %d characters: the middle is left out)", tokens.shown, sheet->T);
    sheet_say(sheet, sheet->color ? "(the lighter, the more)"
                                  : "(in tenths: . is less than 0.05, 9 is 0.85 or more)");
}

/* ---- the terminal ---- */

Sheet screen_of(FILE *out) {
    enum { USUAL = 80, MIN_COLUMNS = 20, MAX_COLUMNS = 1000 };
    static const SheetKind kind = {write_text, write_table,    write_bars,
                                   write_maps, INDENT + LABEL, CELL};
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR");
    const long told = columns ? strtol(columns, NULL, 10) : 0; /* some programs set it to 0 */
    int width = terminal_columns(out, told < 1             ? USUAL
                                      : told < MAX_COLUMNS ? (int)told
                                                           : MAX_COLUMNS);
    if (width < MIN_COLUMNS) width = MIN_COLUMNS;
    if (width > MAX_COLUMNS) width = MAX_COLUMNS;
    return (Sheet){.kind = &kind,
                   .out = out,
                   .columns = width,
                   .color = terminal_has_colors(out) && !(none && *none)};
}
