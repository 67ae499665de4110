#include "training/sample.h"

typedef struct {
    GlyphLine line;
    bool bytes; /* characters are bytes */
} Sample;

/* Takes the next character; stops when the line is full. */
static int take_character(const char *text, size_t length, void *user) {
    Sample *sample = user;
    return !glyph_append(&sample->line, glyph_code(text, length, sample->bytes), sample->bytes);
}

void sample_write(TrilTraining *training, const TrilTokenizer *tokenizer, uint64_t seed,
                  char text[SAMPLE_SIZE]) {
    TrilSampling sampling = tril_sampling();
    Sample sample = {{text, SAMPLE_SIZE, SAMPLE_COLUMNS}, tril_tokenizer_has_bytes(tokenizer)};
    sampling.length = SAMPLE_COLUMNS;
    sampling.seed = seed;
    *text = 0;
    tril_training_generate(training, &sampling, take_character, &sample, NULL);
}
