/* explain.h - shows how a trained model comes to its next character, step by step. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLAIN_H
#define TRIL_PROGRAMS_REPORT_EXPLAIN_H

#include "base/error.h"
#include "library/tril.h"
#include "programs/report/sheet.h"

enum { ANY = -1 }; /* any negative number does */

/* A model and the text that it has read. Borrows all. */
typedef struct {
    const char *name; /* of the model: its path. Of several, what tells them apart is shown */
    const TrilModel *model;
    const TrilReading *reading; /* traced */
} Explained;

/* Of one model, writes each step on the way from the text to the next character. One layer and one
 * head are written out in numbers. With ANY they are those that moved the prediction most; ANY head
 * shows maps of all heads of the layer; of a mean, which has none, head 0 is the same. Of several
 * models after the same text, writes their likeliest next characters. Fails if the model does not
 * have the layer or head, or without memory; then nothing was written. */
bool explain(Sheet *sheet, const Explained *models, int count, int layer, int head, Error *err);

/* Writes the same as an HTML page to a new file at `path`. Fails also if the file exists, and in a
 * build without extras/page. */
bool explain_page(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err);

#endif
