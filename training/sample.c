#include "training/sample.h"

/* Takes the next character; stops when the line is full. */
static int take_character(const char *text, size_t length, void *line) {
    return !glyph_append(line, text, length);
}

void sample_write(TrilTraining *training, const TrilTokenizer *tokenizer, uint64_t seed,
                  char text[SAMPLE_SIZE]) {
    TrilSampling sampling = tril_sampling();
    GlyphLine line = {text, SAMPLE_SIZE, SAMPLE_COLUMNS, tril_tokenizer_has_bytes(tokenizer)};
    sampling.length = SAMPLE_COLUMNS;
    sampling.seed = seed;
    *text = 0;
    tril_training_generate(training, &sampling, take_character, &line, NULL);
}
