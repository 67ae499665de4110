#include "training/sample.h"
#include "base/memory.h"

bool sample_open(SampleWriter *w, Run *run, const Config *config, Error *err) {
    size_t T = (size_t)config->T, V = (size_t)config->V;
    *w = (SampleWriter){.generator = {.run = run, .context = config->T, .V = config->V}};
    return memory_alloc(&w->generator.window, T, sizeof(int32_t), "the context", err) &&
           memory_alloc(&w->order, V, sizeof *w->order, "sampling", err);
}

void sample_close(SampleWriter *w) {
    memory_free(w->generator.window);
    memory_free(w->order);
}

void sample_write(SampleWriter *w, const Vocab *vocab, uint64_t seed, char text[SAMPLE_SIZE]) {
    const Sampler sampler = {.temperature = 0.8, .top_p = 1, .seed = seed};
    int32_t ids[SAMPLE_COLUMNS], start = vocab_start(vocab);
    generator_reset(&w->generator);
    run_freeze(w->generator.run, true);
    const float *logits = generator_feed(&w->generator, &start, 1);
    for (int i = 0; i < SAMPLE_COLUMNS; i++) {
        ids[i] = sampler_pick(&sampler, logits, vocab->size, 0, (uint64_t)i, w->order);
        if (i + 1 < SAMPLE_COLUMNS) logits = generator_feed(&w->generator, &ids[i], 1);
    }
    run_freeze(w->generator.run, false);
    glyph_line(vocab, ids, SAMPLE_COLUMNS, SAMPLE_COLUMNS, text, SAMPLE_SIZE);
}
