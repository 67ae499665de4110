/* steps.h - an explanation, step by step, on a sheet. Private to programs/report/explain.c and its
 * parts. */
#ifndef TRIL_PROGRAMS_REPORT_STEPS_H
#define TRIL_PROGRAMS_REPORT_STEPS_H

#include "programs/report/explanation.h"
#include "programs/report/sheet.h"

enum { TABLE_ROWS = 4 };

/* What the steps are written from, and their scratch, which is owned. */
typedef struct {
    const Explanation *e;
    Sheet *sheet;
    int layer, head;           /* that are written out */
    bool all_heads;            /* maps of all heads, or of the one */
    bool last_only;            /* from here on, only the last character matters */
    char last[GLYPH_SIZE];     /* the last character, without padding */
    float *numbers;            /* of a table with labels: [TABLE_ROWS, widest array] */
    float *square;             /* scores [T, T] */
    float *weights;            /* [heads, T, T] */
    HeatMap *maps;             /* [heads] */
    char (*labels)[BAR_LABEL]; /* of bars, and their values */
    double *values;
} Steps;

/* Prepares to write an explanation on a sheet; borrows both. steps_close releases the scratch.
 * Refused: no memory; steps_close then works, too. */
bool steps_open(Steps *s, const Explanation *e, Sheet *sheet, Error *err);
void steps_close(Steps *s);

/* Writes all steps: from the ids of the tokens to the logits, the probabilities of the next
 * character, the logit lens and the parts. */
void steps_write(Steps *s);

/* Write some of them: those of one line of the pass, by its layer (attention: also a mean); and
 * those after the logits. */
void steps_embedding(Steps *s, const TrilLine *line);
void steps_norm(Steps *s, int i);
void steps_convolution(Steps *s, const TrilLine *line);
void steps_rotary(Steps *s, int i);
void steps_linear(Steps *s, int i);
void steps_activation(Steps *s, int i);
void steps_attention(Steps *s, int i);
void steps_next(Steps *s);

/* The likeliest next characters. */
enum { LIKELIEST = 8 };
typedef struct {
    char labels[LIKELIEST][BAR_LABEL];
    double shares[LIKELIEST], logits[LIKELIEST];
    int count;
    double rest; /* the probability of all others */
} NextCharacters;
void next_characters(const Explanation *e, NextCharacters *next);

/* Their bars, which borrow them and the title. */
Bars next_bars(const NextCharacters *next, const char *title);

/* ---- shared by the steps ---- */

/* What attention reads. */
enum { QUERY, KEY, VALUE, ROLES, NO_ROLE = -1 };
extern const char *const role_names[ROLES];

/* Does the output of line i become the queries, keys or values of attention, perhaps through norms
 * of each head and rotations? *columns: those of it that the head which is written out reads; NULL
 * is allowed. steps_role: the first role of the line, or NO_ROLE. */
bool steps_has_role(const Steps *s, int i, int role, TrilArray *columns);
int steps_role(const Steps *s, int i, TrilArray *columns);

/* A table of vectors of columns `from` to `from` + `width` - 1 of an array: of each token or, once
 * last_only is set, of the last one. */
void steps_vectors(Steps *s, const char *title, const TrilArray *array, int from, int width);

/* A table with labels [rows], each with a vector [columns]; rows <= TABLE_ROWS. */
void steps_rows(Steps *s, const char *const *labels, const float *const *vectors, int rows,
                int columns, Across across);

/* Writes a dot product out: x and w [n], their products, and the sum with `bias`. Shows at most
 * `bands` lines of numbers, and the sum of the other products. `result` names the sum. */
void steps_dot(Steps *s, const char *x_label, const float *x, const char *w_label, const float *w,
               size_t w_step, int n, const float *bias, const char *result, int bands);

#endif
