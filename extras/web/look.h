/* look.h - what a person looks at in a model, while it learns or afterwards: what it expects after
 * a line, what its heads attend to, and what it writes. */
#ifndef TRIL_EXTRAS_WEB_LOOK_H
#define TRIL_EXTRAS_WEB_LOOK_H

#include "base/json.h"
#include "library/tril.h"

#include <stdio.h>

typedef struct {
    TrilModel *model;     /* borrowed */
    TrilReading *reading; /* of the line; NULL: none yet */
    TrilWriter *writer;   /* NULL: nothing is being written */
} Look;

/* Looks at `model`, which may be in training. */
Look look_open(TrilModel *model);
void look_close(Look *look);

/* Reads a line with the present weights; of a long one only the end, as long as the context. An
 * empty one is read as the start of a text. Refused: a character that is not in the vocabulary. */
bool look_read(Look *look, const char *line, size_t length, TrilError *error);

/* After look_read: writes JSON, the line's characters as glyphs, its loss, and the `most` likeliest
 * next characters, each with its probability and with that of being chosen by `sampling`. Refused:
 * no memory. */
bool look_write_next(const Look *look, const TrilSampling *sampling, int most, Buffer *out,
                     TrilError *error);

/* Draws what a head attends to on the line, as a figure for extras/page/figure.js. Refused: no
 * such layer or head, no memory. */
bool look_draw_map(const Look *look, int layer, int head, FILE *out, Error *err);

/* Writes all steps from the line to its next character (programs/report/explain.h). */
bool look_explain(const Look *look, int layer, int head, FILE *out, Error *err);

/* Begins to write after a line: with the present weights. Refused: as look_read. */
bool look_prompt(Look *look, const char *line, size_t length, const TrilSampling *sampling,
                 TrilError *error);

#endif
