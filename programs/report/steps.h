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

/* Writes the branches of layers `from` to `to`, which are not written out. */
void steps_in_short(Steps *s, int from, int to);

void show_table(Steps *s, Table table);

#endif
