/* sample.h - the line of text that the model writes at each evaluation: it shows how the model
 * learns to spell. */
#ifndef TRIL_TRAINING_SAMPLE_H
#define TRIL_TRAINING_SAMPLE_H

#include "model/model.h"
#include "report/glyph.h"

enum { SAMPLE_COLUMNS = 64, SAMPLE_SIZE = 4 * SAMPLE_COLUMNS + GLYPH_SIZE };

typedef struct {
    Generator generator; /* over the training's own run, which it borrows */
    int32_t *order;      /* scratch for the sampler; owned */
} SampleWriter;

bool sample_open(SampleWriter *writer, Run *run, const Config *config, Error *err);
void sample_close(SampleWriter *writer);

/* Writes what the model, as it is now, makes of an empty page: SAMPLE_COLUMNS columns of
 * characters. Ends of lines become a sign. The same seed makes the same random choices. */
void sample_write(SampleWriter *writer, const Vocab *vocab, uint64_t seed, char text[SAMPLE_SIZE]);

#endif
