/* sheet_text.c - a sheet for a terminal. No line is wider than the screen. */
#include "programs/report/sheet.h"
#include "base/utf8.h"
#include "programs/report/elision.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { INDENT = 2, CELL = NUMBER_COLUMNS + 1, LABEL = 10, DOTS = 4 };

/* The width of a text in columns: glyphs are two wide at most, all other text is plain. */
static int columns_of(const char *text, size_t length) {
    int columns = 0;
    for (size_t i = 0; i < length;) {
        uint32_t code;
        int bytes = utf8_decode(text + i, length - i, &code);
        columns += glyph_columns(code);
        i += bytes > 0 ? (size_t)bytes : 1;
    }
    return columns;
}

/* The bytes of the longest beginning of `text` that is at most `columns` wide, at least one
 * character. */
static size_t bytes_that_fit(const char *text, size_t length, int columns) {
    size_t taken = 0;
    for (int used = 0; taken < length;) {
        uint32_t code;
        int bytes = utf8_decode(text + taken, length - taken, &code);
        used += glyph_columns(code);
        if (used > columns && taken > 0) break;
        taken += bytes > 0 ? (size_t)bytes : 1;
    }
    return taken;
}

/* Writes words, as many as fit in each line, and cuts a word that is wider than a line. The lines
 * after the first are indented by `hang`. */
static void write_wrapped(Sheet *sheet, const char *text, int indent, int hang) {
    FILE *out = sheet->screen.out;
    int column = indent, max = sheet->screen.columns;
    bool begins = true;
    fprintf(out, "%*s", indent, "");
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = strcspn(text, " ");
        if (columns_of(text, length) > max - hang)
            length = bytes_that_fit(text, length, max - hang);
        int width = columns_of(text, length);
        if (!begins && column + 1 + width > max) {
            fprintf(out, "\n%*s", hang, "");
            column = hang;
            begins = true;
        }
        fprintf(out, "%s%.*s", begins ? "" : " ", (int)length, text);
        column += width + !begins;
        begins = false;
        text += length;
    }
    fputc('\n', out);
}

static void title(Sheet *sheet, const char *text) {
    write_wrapped(sheet, text, 0, 0);
}

static void heading(Sheet *sheet, const char *text) {
    fputc('\n', sheet->screen.out);
    write_wrapped(sheet, text, 0, INDENT);
}

static void paragraph(Sheet *sheet, const char *text) {
    write_wrapped(sheet, text, INDENT, INDENT);
}

/* ---- tables ---- */

static int label_columns(const Table *table) {
    return INDENT + (table->labels ? LABEL : GLYPH_COLUMNS);
}

/* Which columns are shown from column `first` on. Where something is left out there is room for
 * three dots, unless one number alone fills the line. */
static Elision columns_shown(const Sheet *sheet, const Table *table, int first) {
    int left = table->columns - first, room = sheet->screen.columns - label_columns(table);
    int fit = room / CELL, tight = (room - DOTS) / CELL;
    if (left <= fit || table->across == WRAPPED)
        return (Elision){left, left < fit ? left : fit, -1};
    if (table->across == TOKENS) return elide(left, tight > 0 ? tight : 1);
    return (Elision){left, tight > 0 ? tight : 1, -1};
}

/* Is there room for three dots? */
static bool has_dots(const Sheet *sheet, const Table *table, Elision across) {
    return label_columns(table) + CELL * across.shown + DOTS <= sheet->screen.columns;
}

static void write_cell(FILE *out, const Table *table, int r, int c) {
    float value = table->numbers[(size_t)r * table->row + (size_t)c];
    char number[NUMBER_SIZE];
    if (table->whole)
        snprintf(number, sizeof number, "%.0f", (double)value);
    else
        sheet_number(number, (double)value);
    fprintf(out, " %*s", NUMBER_COLUMNS, table->masked && c > r ? table->masked : number);
}

static void write_row(Sheet *sheet, const Table *table, int r, Elision across, int first) {
    FILE *out = sheet->screen.out;
    bool dots = has_dots(sheet, table, across);
    if (table->labels)
        fprintf(out, "%*s%-*.*s", INDENT, "", LABEL, LABEL, table->labels[r]);
    else
        fprintf(out, "%*s%s", INDENT, "", sheet->glyphs[r]);
    for (int i = 0; i < across.shown; i++) {
        if (i == across.gap && dots) fputs(" ...", out);
        write_cell(out, table, r, first + elision_place(across, i));
    }
    bool more = table->across == CHANNELS && across.shown < across.count;
    fprintf(out, "%s\n", more && dots ? " ..." : "");
}

/* The tokens above their columns. */
static void write_head(Sheet *sheet, const Table *table, Elision across) {
    FILE *out = sheet->screen.out;
    bool dots = has_dots(sheet, table, across);
    fprintf(out, "%*s", label_columns(table), "");
    for (int i = 0; i < across.shown; i++)
        fprintf(out, "%s%*s%s", i == across.gap && dots ? " ..." : "", CELL - GLYPH_COLUMNS, "",
                sheet->glyphs[elision_place(across, i)]);
    fputc('\n', out);
}

/* Shows columns from `first` on. Returns how many. */
static int write_band(Sheet *sheet, const Table *table, int first) {
    Elision across = columns_shown(sheet, table, first);
    Elision down = elide(table->rows, table->labels ? table->rows : sheet->fit);
    if (table->across == TOKENS) write_head(sheet, table, across);
    for (int i = 0; i < down.shown; i++) {
        if (i == down.gap) fprintf(sheet->screen.out, "%*s...\n", INDENT, "");
        write_row(sheet, table, elision_place(down, i), across, first);
    }
    return across.shown;
}

static void table(Sheet *sheet, const Table *table) {
    if (table->title) fprintf(sheet->screen.out, "%*s%s\n", INDENT, "", table->title);
    int shown = write_band(sheet, table, 0);
    while (table->across == WRAPPED && shown < table->columns) {
        fputc('\n', sheet->screen.out);
        shown += write_band(sheet, table, shown);
    }
}

/* ---- bars ---- */

enum { VALUE = 7, GAP = 2, WIDEST = 48 };

/* Writes what fits of a text into so many columns, and blanks up to there if `pad`. */
static void write_fitting(FILE *out, const char *text, int columns, bool pad) {
    size_t taken = columns > 0 ? bytes_that_fit(text, strlen(text), columns) : 0;
    fwrite(text, 1, taken, out);
    if (pad) fprintf(out, "%*s", columns - columns_of(text, taken), "");
}

/* The end of a text that fits: of a file's name, the end tells more. */
static const char *end_of(const char *text, int columns) {
    while (columns_of(text, strlen(text)) > columns) text += bytes_that_fit(text, strlen(text), 1);
    return text;
}

/* A bar of a share of the room, and blanks up to the next list if `pad`. That of a negative number
 * is light, and has no part of a cell. */
static void write_bar(FILE *out, double share, bool negative, int room, bool pad) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int length = share > 0 ? (int)(8 * room * share + 0.5) : 0; /* in eighths; NaN: none */
    if (negative) length = (length + 7) / 8 * 8;
    int used = length / 8;
    if (length > 0 || pad) fputc(' ', out);
    for (int i = 0; i < used; i++) fputs(negative ? "░" : "█", out);
    fputs(eighths[length % 8], out);
    used += length % 8 > 0;
    if (pad) fprintf(out, "%*s", room - used, "");
}

/* The widest label of a list. */
static int labels_of(const Bars *list) {
    int widest = 0;
    for (int i = 0; i < list->count; i++) {
        int columns = columns_of(list->labels[i], strlen(list->labels[i]));
        if (columns > widest) widest = columns;
    }
    return widest;
}

/* Row i of a list, `width` columns wide. */
static void write_value(FILE *out, const Bars *list, int i, double largest, int width, bool pad) {
    int rest = width - INDENT - VALUE - (list->logits ? CELL : 0), label = labels_of(list);
    char logit[NUMBER_SIZE];
    double value = i < list->count ? list->values[i] : 0;
    if (label > rest) label = rest;
    fprintf(out, "%*s", INDENT, "");
    write_fitting(out, i < list->count ? list->labels[i] : "", label, true);
    if (i >= list->count)
        fprintf(out, "%*s", VALUE, "");
    else
        fprintf(out, list->shares ? " %5.1f%%" : " %+6.2f", list->shares ? 100 * value : value);
    if (list->logits) {
        sheet_number(logit, i < list->count ? list->logits[i] : 0);
        fprintf(out, " %*s", NUMBER_COLUMNS, i < list->count ? logit : "");
    }
    if (rest - label > 1)
        write_bar(out, largest > 0 ? fabs(value) / largest : 0, value < 0, rest - label - 1, pad);
}

static void bars(Sheet *sheet, const Bars *lists, int count) {
    enum { USUAL = 24 }; /* of a list beside others */
    FILE *out = sheet->screen.out;
    int side = (sheet->screen.columns + GAP) / (USUAL + GAP);
    side = side < 1 ? 1 : side > count ? count : side;
    int width = (sheet->screen.columns - GAP * (side - 1)) / side;
    if (width > WIDEST) width = WIDEST;
    double largest = sheet_largest(lists, count);
    for (int first = 0; first < count; first += side) {
        int last = first + side < count ? first + side : count, rows = 0;
        if (first > 0) fputc('\n', out);
        for (int l = first; l < last; l++) {
            if (lists[l].count > rows) rows = lists[l].count;
            if (!lists[l].title) continue;
            fprintf(out, "%*s", l > first ? GAP + INDENT : INDENT, "");
            write_fitting(out, end_of(lists[l].title, width - INDENT), width - INDENT,
                          l + 1 < last);
        }
        if (lists[first].title) fputc('\n', out);
        for (int i = 0; i < rows; i++) {
            for (int l = first; l < last; l++) {
                if (l > first) fprintf(out, "%*s", GAP, "");
                write_value(out, &lists[l], i, largest, width, l + 1 < last);
            }
            fputc('\n', out);
        }
    }
}

/* ---- maps ---- */

static void maps(Sheet *sheet, const HeatMap *maps, int count) {
    fputc('\n', sheet->screen.out);
    int shown = heat_draw(&sheet->screen, maps, count, sheet->T, sheet->glyphs);
    if (shown < sheet->T)
        sheet_say(sheet, "(%d of %d characters: the middle is left out)", shown, sheet->T);
    paragraph(sheet, sheet->screen.colour ? "(the lighter, the more)"
                                          : "(in tenths: . is less than 0.05, 9 is 0.85 or more)");
}

Sheet sheet_text(const Screen *screen, int T, const char (*glyphs)[GLYPH_SIZE]) {
    static const SheetKind kind = {title, heading, paragraph, table, bars, maps};
    int fit = (screen->columns - INDENT - GLYPH_COLUMNS - DOTS) / CELL; /* >= 1: 20 columns */
    return (Sheet){.kind = &kind,
                   .screen = *screen,
                   .T = T,
                   .glyphs = glyphs,
                   .fit = fit,
                   .fit_labelled = (screen->columns - INDENT - LABEL) / CELL};
}
