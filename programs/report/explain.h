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

/* Models [count] after the same text, and of one model the layer and the head that are written out
 * in numbers. ANY chooses the one that moved the prediction most; ANY head also shows maps of all
 * heads of the layer. A mean counts as one head, 0. */
typedef struct {
    const Explained *models;
    int count, layer, head;
} Question;

/* For one model, writes each step on the way from the text to the next character; for several, only
 * their likeliest next characters. Fails if the model does not have the layer or head, or without
 * memory; then nothing was written. */
bool explain(Sheet *sheet, const Question *question, Error *err);

#endif
