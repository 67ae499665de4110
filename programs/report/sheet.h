/* sheet.h - the output of an explanation: a terminal (screen.c) or HTML (extras/page/html_sheet.c).
 * A sheet shows text, tables, bars and maps, and leaves out the parts that do not fit. */
#ifndef TRIL_PROGRAMS_REPORT_SHEET_H
#define TRIL_PROGRAMS_REPORT_SHEET_H

#include "programs/report/glyph.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* ---- the parts of a sheet ---- */

typedef enum { TITLE, HEADING, TEXT } SheetText;

/* The columns of a table. */
typedef enum {
    CHANNELS, /* numbers of a vector; the last are left out if they do not fit */
    WRAPPED,  /* the same, but continued below until all are shown */
    TOKENS    /* one for each token; the middle is left out, never the last */
} Across;

/* A table of numbers[rows, columns]. Rows have labels, or are tokens, of which many are cut. */
typedef struct {
    const char *title;         /* optional */
    const char *const *labels; /* [rows]; without labels, rows are tokens */
    const float *numbers;
    size_t row; /* floats from one row to the next */
    int rows, columns;
    Across across;
    const char *masked; /* optional: shown in place of the numbers of later tokens */
    bool whole;         /* the numbers have no decimals */
} Table;

enum { BAR_LABEL = 32 };

typedef struct {
    char label[BAR_LABEL];
    double value; /* a probability, or any number */
    double logit;
} Bar;

typedef struct {
    const char *title; /* optional */
    const Bar *bars;
    int count;
    bool shares; /* the values are probabilities, shown in percent */
    bool logits; /* shown beside the values */
} Bars;

enum { NO_LAYER = -1, NO_HEAD = -1 };

/* The attention weights [T, T] of a head on T tokens. Row t holds the weights, 0 to 1, of token t
 * on tokens 0 to t; the rest is not shown. */
typedef struct {
    int layer, head; /* layer: the transformer block; head: NO_HEAD for a mean of the past */
    const float *weights;
} HeadMap;

/* ---- sheets ---- */

typedef struct Sheet Sheet;

typedef struct {
    void (*text)(Sheet *sheet, SheetText level, const char *text);
    void (*table)(Sheet *sheet, const Table *table);
    /* Lists side by side where they fit. The longest bar of all is the largest value. */
    void (*bars)(Sheet *sheet, const Bars *lists, int count);
    void (*maps)(Sheet *sheet, const HeadMap *maps, int count);
    int label, number; /* columns of a label and of a number in a table */
} SheetKind;

struct Sheet {
    const SheetKind *kind;
    FILE *out;
    int columns;         /* the terminal's width; in HTML, numbers of a dot product in a line */
    bool color;          /* the terminal has color */
    int T;               /* number of tokens of the explained text */
    const Glyph *glyphs; /* [T], padded; borrowed */
    int headings;        /* headings so far; they are numbered */
};

/* Returns a sheet for the terminal behind `out`. Its width is the window's, else COLUMNS, else 80;
 * at least 20. It has color if it is a terminal, not dumb, and NO_COLOR is not set (no-color.org).
 * No line is wider than the terminal. */
Sheet screen_of(FILE *out);

/* Writes text, formatted as by printf. A line that begins with "# " is a title; one that begins
 * with "## " is a heading, which gets the next number; any other is a paragraph. */
void sheet_say(Sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- for the kinds of sheets ---- */

/* The `shown` of `count` items that fit, with a gap before shown item `gap`, or NO_GAP. */
enum { NO_GAP = -1 };
typedef struct {
    int count, shown, gap;
} Elision;

/* Shows at most `max` >= 1 items, always the last one. */
Elision elide(int count, int max);

/* Returns the index, among all items, of shown item i. */
int elision_place(Elision e, int i);

/* A number as text. */
enum { NUMBER_COLUMNS = 7 };
typedef struct {
    char text[16];
} Number;

/* Returns a number with three decimals, or fewer if it does not fit into NUMBER_COLUMNS. */
Number number(double value);

/* Returns a cell of a table. */
Number sheet_cell(const Table *table, int r, int c);

/* Returns the largest absolute value in the lists. */
double sheet_largest(const Bars *lists, int count);

/* Writes the name of a map: "head 2", or "mean". */
enum { HEAD_TITLE = 24 };
void head_title(const HeadMap *map, char title[HEAD_TITLE]);

#endif
