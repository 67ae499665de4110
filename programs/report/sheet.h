/* sheet.h - what an explanation is written on: text for a terminal, or an HTML page. A sheet has
 * headings, paragraphs, tables of numbers, bars and maps; each kind of sheet shows them in its own
 * way, and shows as much as fits. */
#ifndef TRIL_PROGRAMS_REPORT_SHEET_H
#define TRIL_PROGRAMS_REPORT_SHEET_H

#include "programs/report/glyph.h"
#include "programs/report/heat.h"
#include "programs/report/screen.h"

#include <stdbool.h>
#include <stddef.h>

/* What the columns of a table are. */
typedef enum {
    CHANNELS, /* numbers of a vector: the last are left out if they do not fit */
    WRAPPED,  /* the same, but continued below, until all are shown */
    TOKENS    /* one for each token: the middle is left out, never the last */
} Across;

/* numbers [rows, columns]. Rows are tokens, and the middle is left out if they are many, or have
 * labels. */
typedef struct {
    const char *title;         /* NULL: none */
    const char *const *labels; /* [rows]; NULL: rows are tokens */
    const float *numbers;
    size_t row; /* floats from one row to the next */
    int rows, columns;
    Across across;
    const char *masked; /* what is shown for later tokens; NULL: their numbers */
    bool whole;         /* the numbers have no decimals */
} Table;

enum { BAR_LABEL = 32 };

/* A list of values with their bars. */
typedef struct {
    const char *title;               /* NULL: none */
    const char (*labels)[BAR_LABEL]; /* [count] */
    const double *values;            /* [count]: probabilities, or any numbers */
    const double *logits;            /* [count]: shown beside the values; NULL: not */
    int count;
    bool shares; /* the values are probabilities, and shown in per cent */
} Bars;

typedef struct Sheet Sheet;

typedef struct {
    void (*title)(Sheet *sheet, const char *text);
    void (*heading)(Sheet *sheet, const char *text);
    void (*paragraph)(Sheet *sheet, const char *text);
    void (*table)(Sheet *sheet, const Table *table);
    /* Lists side by side where they fit. The longest bar of all is the largest value. */
    void (*bars)(Sheet *sheet, const Bars *lists, int count);
    void (*maps)(Sheet *sheet, const HeatMap *maps, int count);
} SheetKind;

/* The first member of each kind of sheet. */
struct Sheet {
    const SheetKind *kind;
    Screen screen;
    int T;
    const char (*glyphs)[GLYPH_SIZE]; /* [T], padded, of the text explained */
    int fit, fit_labelled; /* numbers beside each other in a table of tokens, of labels */
    int step;              /* the number of the last heading */
};

/* A sheet for a terminal, as wide as the screen, and one for the body of a page. Borrow the
 * glyphs. */
Sheet sheet_text(const Screen *screen, int T, const char (*glyphs)[GLYPH_SIZE]);
Sheet sheet_html(FILE *out, int T, const char (*glyphs)[GLYPH_SIZE]);

/* The beginning of a page with this title, and its end. */
void sheet_html_begin(FILE *out, const char *title);
void sheet_html_end(FILE *out);

/* Write the title, a heading with the next number, and a paragraph, formatted as by printf. */
void sheet_title(Sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sheet_heading(Sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));
void sheet_say(Sheet *sheet, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The largest absolute value in the lists. */
double sheet_largest(const Bars *lists, int count);

enum { NUMBER_SIZE = 16, NUMBER_COLUMNS = 7 };

/* Writes a number with three decimals, or fewer if it does not fit into NUMBER_COLUMNS. */
void sheet_number(char text[NUMBER_SIZE], double number);

#endif
