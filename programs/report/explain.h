/* explain.h - shows step by step how a trained model arrives at its next character. */
#ifndef TRIL_PROGRAMS_REPORT_EXPLAIN_H
#define TRIL_PROGRAMS_REPORT_EXPLAIN_H

#include "base/error.h"
#include "library/tril.h"
#include "programs/report/sheet.h"

enum { ANY = -1 }; /* an unset layer or head */

/* A model and the text that it has read, both borrowed. */
typedef struct {
    const char *name; /* path of the model */
    const TrilModel *model;
    const TrilReading *reading; /* traced */
} Explained;

/* For one model, writes each step on the way from the text to the next character. Writes out one
 * layer and one head in numbers. ANY chooses the one that moved the prediction most; ANY head also
 * shows maps of all heads of the layer. A mean counts as one head, 0. For several models after the
 * same text, writes their likeliest next characters. Fails if the model does not have the layer or
 * head, or without memory; then nothing was written. */
bool explain(Sheet *sheet, const Explained *models, int count, int layer, int head, Error *err);

/* Writes the same as an HTML page to a new file at `path`. Also fails if the file exists, and in a
 * build without extras/page. */
bool explain_page(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err);

#endif
