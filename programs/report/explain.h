/* explain.h - shows how a trained model comes to its next character, step by step. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLAIN_H
#define TRIL_PROGRAMS_REPORT_EXPLAIN_H

#include "base/error.h"
#include "library/tril.h"
#include "programs/report/screen.h"

enum { ANY = -1 }; /* any negative number does */

/* A model and the text that it has read. Borrows all. */
typedef struct {
    const char *name; /* of the model: its path. Of several, what tells them apart is shown */
    const TrilModel *model;
    const TrilReading *reading; /* of tril_reading_trace */
} Explained;

/* Prints each step on the way from the text to the next character. One layer and one head are
 * written out in numbers. With ANY they are those that moved the prediction most; ANY head prints
 * maps of all heads of the layer; of a mean, which has none, head 0 is the same. Refused: a layer
 * or head that the model does not have, no memory; then nothing was printed. */
bool explain(const Screen *screen, const Explained *what, int layer, int head, Error *err);

/* Writes what explain prints as a part of an HTML page: all between <body> and </body>. */
bool explain_part(FILE *out, const Explained *what, int layer, int head, Error *err);

/* Prints the likeliest next characters of several models after the same text. Refused: no
 * memory. */
bool explain_compare(const Screen *screen, const Explained *models, int count, Error *err);

/* Writes what explain (of one model) or explain_compare (of several) prints as a page that needs no
 * network. Refused: also a file that exists. */
bool explain_page(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err);

#endif
