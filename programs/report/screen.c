/* screen.c - a terminal as a sheet. */
#include "programs/report/sheet.h"
#include "base/terminal.h"
#include "base/utf8.h"

#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- text ---- */

enum { INDENT = 2, CELL = NUMBER_COLUMNS + 1, LABEL = 10, DOTS = 4 };

/* Returns the bytes of the longest beginning of text[length] that is at most `max` columns wide, at
 * least one character, and sets *columns to its width. */
static size_t fitting(const char *text, size_t length, int max, int *columns) {
    size_t taken = 0;
    *columns = 0;
    while (taken < length) {
        uint32_t code;
        int bytes = utf8_decode(text + taken, length - taken, &code), width = glyph_columns(code);
        if (*columns + width > max && taken > 0) break;
        *columns += width;
        taken += bytes > 0 ? (size_t)bytes : 1;
    }
    return taken;
}

static int columns_of(const char *text) {
    int columns;
    fitting(text, strlen(text), INT_MAX, &columns);
    return columns;
}

/* Writes the words of a text, as many as fit in each line, and cuts a word that is wider than a
 * line. The lines after the first are indented by `hang`. */
static void write_wrapped(Sheet *sheet, const char *text, int indent, int hang) {
    int column = indent, max = sheet->columns, width;
    bool begins = true;
    fprintf(sheet->out, "%*s", indent, "");
    for (text += strspn(text, " "); *text; text += strspn(text, " ")) {
        size_t length = fitting(text, strcspn(text, " "), max - hang, &width);
        if (!begins && column + 1 + width > max) {
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

static void write_text(Sheet *sheet, SheetText level, const char *text) {
    if (level == HEADING) fputc('\n', sheet->out);
    write_wrapped(sheet, text, level == TEXT ? INDENT : 0, level == TITLE ? 0 : INDENT);
}

/* ---- tables ---- */

static int label_columns(const Table *table) {
    return INDENT + (table->labels ? LABEL : GLYPH_COLUMNS);
}

/* Returns which columns are shown from column `first` on. Where something is left out there is room
 * for three dots, unless one number alone fills the line. */
static Elision columns_shown(const Sheet *sheet, const Table *table, int first) {
    int left = table->columns - first, room = sheet->columns - label_columns(table);
    int fit = room / CELL, tight = (room - DOTS) / CELL;
    if (left <= fit || table->across == WRAPPED)
        return (Elision){left, left < fit ? left : fit, -1};
    if (tight < 1) tight = 1;
    return table->across == TOKENS ? elide(left, tight) : (Elision){left, tight, -1};
}

static void write_row(Sheet *sheet, const Table *table, int r, Elision across, int first,
                      const char *dots) {
    if (table->labels)
        fprintf(sheet->out, "%*s%-*.*s", INDENT, "", LABEL, LABEL, table->labels[r]);
    else
        fprintf(sheet->out, "%*s%s", INDENT, "", sheet->glyphs[r].text);
    for (int i = 0; i < across.shown; i++)
        fprintf(sheet->out, "%s %*s", i == across.gap ? dots : "", NUMBER_COLUMNS,
                sheet_cell(table, r, first + elision_place(across, i)).text);
    bool more = table->across == CHANNELS && across.shown < across.count;
    fprintf(sheet->out, "%s\n", more ? dots : "");
}

/* Shows columns from `first` on. Returns how many. */
static int write_band(Sheet *sheet, const Table *table, int first) {
    FILE *out = sheet->out;
    Elision across = columns_shown(sheet, table, first);
    const int most = (sheet->columns - label_columns(table) - DOTS) / CELL; /* a square of tokens */
    Elision down = elide(table->rows, table->labels ? table->rows : most);
    bool room = label_columns(table) + CELL * across.shown + DOTS <= sheet->columns;
    const char *dots = room ? " ..." : "";
    if (table->across == TOKENS) { /* the tokens above their columns */
        fprintf(out, "%*s", label_columns(table), "");
        for (int i = 0; i < across.shown; i++)
            fprintf(out, "%s%*s%s", i == across.gap ? dots : "", CELL - GLYPH_COLUMNS, "",
                    sheet->glyphs[elision_place(across, i)].text);
        fputc('\n', out);
    }
    for (int i = 0; i < down.shown; i++) {
        if (i == down.gap) fprintf(out, "%*s...\n", INDENT, "");
        write_row(sheet, table, elision_place(down, i), across, first, dots);
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

/* ---- bars ---- */

enum { VALUE = 7, GAP = 2 };

/* Writes what fits of a text into so many columns, and blanks up to there if `pad`. */
static void write_fitting(FILE *out, const char *text, int columns, bool pad) {
    int used = 0;
    if (columns > 0) fwrite(text, 1, fitting(text, strlen(text), columns, &used), out);
    if (pad) fprintf(out, "%*s", columns - used, "");
}

/* Returns the end of a text that fits: of a file's name, the end tells more. */
static const char *end_of(const char *text, int columns) {
    for (int width; columns_of(text) > columns;) text += fitting(text, strlen(text), 1, &width);
    return text;
}

/* Writes a bar of a share of the room, and blanks up to the next list if `pad`. That of a negative
 * number is light, and has no part of a cell. */
static void write_bar(FILE *out, double share, bool negative, int room, bool pad) {
    static const char *const eighths[] = {"", "▏", "▎", "▍", "▌", "▋", "▊", "▉"};
    int length = share > 0 ? (int)(8 * room * share + 0.5) : 0; /* in eighths; NaN: none */
    if (negative) length = (length + 7) / 8 * 8;
    if (length > 0 || pad) fputc(' ', out);
    for (int i = 0; i < length / 8; i++) fputs(negative ? "░" : "█", out);
    fputs(eighths[length % 8], out);
    if (pad) fprintf(out, "%*s", room - (length + 7) / 8, "");
}

/* Writes row i of a list, `width` columns wide; blanks if the list is shorter. */
static void write_value(FILE *out, const Bars *list, int i, double largest, int width, bool pad) {
    static const Bar none = {.label = ""};
    const Bar *bar = i < list->count ? &list->bars[i] : &none;
    int rest = width - INDENT - VALUE - (list->logits ? CELL : 0), label = 0;
    for (int l = 0; l < list->count; l++) {
        int columns = columns_of(list->bars[l].label);
        if (columns > label) label = columns;
    }
    if (label > rest) label = rest;
    fprintf(out, "%*s", INDENT, "");
    write_fitting(out, bar->label, label, true);
    if (bar == &none)
        fprintf(out, "%*s", VALUE, "");
    else
        fprintf(out, list->shares ? " %5.1f%%" : " %+6.2f",
                list->shares ? 100 * bar->value : bar->value);
    if (list->logits)
        fprintf(out, " %*s", NUMBER_COLUMNS, bar == &none ? "" : number(bar->logit).text);
    if (rest - label > 1)
        write_bar(out, largest > 0 ? fabs(bar->value) / largest : 0, bar->value < 0,
                  rest - label - 1, pad);
}

static void write_bars(Sheet *sheet, const Bars *lists, int count) {
    enum { USUAL = 24 /* width of a list beside others */, WIDEST = 48 };
    FILE *out = sheet->out;
    int side = (sheet->columns + GAP) / (USUAL + GAP);
    side = side < 1 ? 1 : side > count ? count : side;
    int width = (sheet->columns - GAP * (side - 1)) / side;
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

enum { SQUARE = GLYPH_COLUMNS, AXIS = GLYPH_COLUMNS + 1, MIN_MAP = 8 /* for its title */ };

/* Colours from dark to light among a terminal's 256, or tenths. */
static void draw_weight(const Sheet *sheet, float weight) {
    static const int ramp[] = {234, 17, 18, 19, 20, 26, 32, 38, 44, 80, 116, 152, 188, 230};
    enum { SHADES = sizeof ramp / sizeof *ramp };
    double share = weight > 0 ? fmin((double)weight, 1) : 0; /* NaN: none */
    int shade = (int)(share * SHADES), tenths = (int)(share * 10 + 0.5);
    if (sheet->colour)
        fprintf(sheet->out, "\033[48;5;%dm  \033[0m", ramp[shade < SHADES ? shade : SHADES - 1]);
    else if (tenths == 0)
        fputs(". ", sheet->out);
    else
        fprintf(sheet->out, "%d ", tenths < 9 ? tenths : 9);
}

/* Draws row t of a map; negative: the tokens above their columns. */
static void draw_row(const Sheet *sheet, const HeadMap *map, Elision tokens, int t) {
    if (t < 0)
        fprintf(sheet->out, "%*s", AXIS, "");
    else
        fprintf(sheet->out, "%s ", sheet->glyphs[t].text);
    for (int i = 0; i < tokens.shown; i++) {
        int s = elision_place(tokens, i);
        bool later = t >= 0 && s > t;
        if (i == tokens.gap) fputs(later ? "  " : "..", sheet->out);
        if (t < 0)
            fputs(sheet->glyphs[s].text, sheet->out);
        else if (later)
            fputs("  ", sheet->out);
        else
            draw_weight(sheet, map->weights[(size_t)t * (size_t)tokens.count + (size_t)s]);
    }
}

/* Draws maps side by side, each `width` columns wide, of which `blank` are to the right of it. */
static void draw_band(const Sheet *sheet, const HeadMap *maps, int count, Elision tokens, int width,
                      int blank) {
    for (int m = 0; m < count; m++) {
        char title[HEAD_TITLE];
        head_title(&maps[m], title);
        fprintf(sheet->out, "%-*.*s", m + 1 < count ? width + GAP : 0, width, title);
    }
    fputc('\n', sheet->out);
    for (int i = -1; i < tokens.shown; i++) {
        if (i == tokens.gap && i >= 0) fputs("..\n", sheet->out);
        for (int m = 0; m < count; m++) {
            draw_row(sheet, &maps[m], tokens, i < 0 ? i : elision_place(tokens, i));
            if (m + 1 < count) fprintf(sheet->out, "%*s", blank + GAP, "");
        }
        fputc('\n', sheet->out);
    }
}

/* Draws maps side by side where the screen is wide enough; leaves the middle out of a map that is
 * too wide. */
static void write_maps(Sheet *sheet, const HeadMap *maps, int count) {
    int room = (sheet->columns - AXIS) / SQUARE;
    Elision tokens = elide(sheet->T, sheet->T <= room || room < 2 ? room : room - 1);
    int own = AXIS + SQUARE * (tokens.shown + (tokens.gap >= 0));
    int width = own < MIN_MAP ? MIN_MAP : own, side = (sheet->columns + GAP) / (width + GAP);
    if (side < 1) side = 1;
    for (int m = 0; m < count; m += side) {
        fputc('\n', sheet->out);
        draw_band(sheet, maps + m, count - m < side ? count - m : side, tokens, width, width - own);
    }
    if (tokens.shown < sheet->T)
        sheet_say(sheet, "(%d of %d characters: the middle is left out)", tokens.shown, sheet->T);
    sheet_say(sheet, sheet->colour ? "(the lighter, the more)"
                                   : "(in tenths: . is less than 0.05, 9 is 0.85 or more)");
}

/* ---- the terminal ---- */

static int fit(const Sheet *sheet) {
    return (sheet->columns - INDENT - LABEL) / CELL;
}

Sheet screen_of(FILE *out) {
    enum { USUAL = 80, MIN_COLUMNS = 20, MAX_COLUMNS = 1000 };
    static const SheetKind kind = {write_text, write_table, write_bars, write_maps, fit};
    const char *columns = getenv("COLUMNS"), *none = getenv("NO_COLOR");
    int window = terminal_is(out) ? terminal_columns(out) : 0;
    long width = columns ? strtol(columns, NULL, 10) : USUAL;
    if (window > 0) width = window;
    if (width < MIN_COLUMNS) width = MIN_COLUMNS;
    if (width > MAX_COLUMNS) width = MAX_COLUMNS;
    return (Sheet){.kind = &kind,
                   .out = out,
                   .columns = (int)width,
                   .colour = terminal_has_colours(out) && !(none && *none)};
}
