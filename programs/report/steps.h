/* steps.h - each layer in an explanation, in words and numbers. */
#ifndef TRIL_PROGRAMS_REPORT_STEPS_H
#define TRIL_PROGRAMS_REPORT_STEPS_H

#include "programs/report/explanation.h"

enum { TABLE_ROWS = 4 };

/* What the steps are written from, and their scratch. */
typedef struct {
    Sheet *sheet;
    const Explanation *e;
    int layer, head; /* that are written out */
    bool all_heads;  /* maps of all heads, or of the one */
    bool last_only;  /* from here on, only the last character matters */
    int i;           /* the line that is being written */
    const TrilLine *line;
    int last;       /* the last token, */
    char glyph[12]; /* and its character */
    float *numbers; /* of a table with labels: [TABLE_ROWS, widest array] */
    float *square;  /* scores [T, T] */
    float *weights; /* [heads, T, T] */
    HeadMap *maps;  /* [heads] */
} Steps;

/* Writes the line of that number, as its layer is shown. */
void steps_line(Steps *s, int i);

void show_table(Steps *s, Table table);

/* A vector with its label. */
typedef struct {
    const char *label;
    const float *vector;
} Row;

/* Shows rows of so many columns; rows <= TABLE_ROWS. */
void show_rows(Steps *s, int columns, int rows, const Row *row);

/* Returns the last token's row. */
const float *last_of(const Steps *s, const TrilArray *array);

/* Returns the length of a vector. */
double length_of(const float *x, int n);

#endif
