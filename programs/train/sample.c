#include "programs/train/sample.h"

void sample_write(TrilTraining *training, const TrilTokenizer *tokenizer, uint64_t seed,
                  char text[SAMPLE_SIZE]) {
    TrilSampling sampling = tril_sampling();
    GlyphLine line = {text, SAMPLE_SIZE, SAMPLE_COLUMNS, tril_tokenizer_has_bytes(tokenizer)};
    sampling.length = SAMPLE_COLUMNS;
    sampling.seed = seed;
    *text = 0;
    tril_training_generate(training, &sampling, glyph_take, &line, NULL);
}
