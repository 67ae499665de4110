/* look.h - what a person looks at in a model, while it learns or afterwards: what it expects after
 * a line, what its heads attend to, and what it writes. */
#ifndef TRIL_WEB_LOOK_H
#define TRIL_WEB_LOOK_H

#include "base/json.h"
#include "data/data.h"
#include "model/model.h"

#include <stdio.h>

typedef struct {
    Model *model; /* borrowed, as is the vocabulary */
    const Vocab *vocab;
    Run *run;            /* reads the line */
    Generator generator; /* writes */
    int32_t *ids;        /* [T]: the line */
    int count;           /* its tokens, at most the context */
    double nats;         /* the mean loss on the line's characters but the first; NaN: there are
                            none */
    float *logits;       /* [V]: after the line */
    double *p, *picked;  /* [V], and */
    int32_t *order;      /* [V]: scratch */
    uint64_t written;    /* characters since the last look_prompt */
    const float *next;   /* [V]: the generator's logits */
} Look;

/* Opens what looks at `model`, which may be in training. The caller releases it with look_close,
 * also after a failure. Refused: no memory. */
bool look_open(Look *look, Model *model, const Vocab *vocab, Error *err);
void look_close(Look *look);

/* Reads a line with the present weights; of a long one only the end, as long as the context. An
 * empty one is read as the start of a text. Refused: a character that is not in the vocabulary. */
bool look_read(Look *look, const char *line, size_t length, Error *err);

/* After look_read: writes JSON, the line's characters as glyphs, its loss, and the `most` likeliest
 * next characters, each with its probability and with that of being picked by `sampler`. */
void look_write_next(Look *look, const Sampler *sampler, int most, JsonText *out);

/* weights[count, count] = how much each token of the line attends to each other. False if there is
 * no such layer or head. */
bool look_weights(const Look *look, int layer, int head, float *weights);

/* Draws them as a figure for report/map.js. Refused: no such layer or head, no memory. */
bool look_draw_map(const Look *look, int layer, int head, FILE *out, Error *err);

/* Begins to write after a line: with the present weights. Refused: as look_read. */
bool look_prompt(Look *look, const char *line, size_t length, Error *err);

/* Writes one more character, which is picked with the present logits, to text[UTF8_MAX]. Returns
 * its bytes. */
int look_write(Look *look, const Sampler *sampler, char text[UTF8_MAX]);

#endif
