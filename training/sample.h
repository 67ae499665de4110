/* sample.h - the line of text that the model generates at each evaluation: it shows how the model
 * learns to spell. */
#ifndef TRIL_TRAINING_SAMPLE_H
#define TRIL_TRAINING_SAMPLE_H

#include "model/model.h"
#include "report/glyph.h"

enum { SAMPLE_COLUMNS = 64, SAMPLE_SIZE = 4 * SAMPLE_COLUMNS + GLYPH_SIZE };

typedef struct {
    Generator generator; /* uses the training's run, which is borrowed */
    int32_t *order;      /* scratch for the sampler; owned */
} SampleWriter;

/* Makes a writer for `run`, which is borrowed. sample_close releases the writer. Refused: no
 * memory. */
bool sample_open(SampleWriter *writer, Run *run, const Config *config, Error *err);
void sample_close(SampleWriter *writer);

/* Generates a line with the present weights, from an empty prompt: SAMPLE_COLUMNS columns of
 * characters. A sign replaces each end of line. The same seed makes the same random choices. */
void sample_write(SampleWriter *writer, const Vocab *vocab, uint64_t seed, char text[SAMPLE_SIZE]);

#endif
