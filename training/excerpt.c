#include "training/excerpt.h"
#include "base/memory.h"

bool excerpt_open(Excerpt *e, Run *run, const Config *config, Error *err) {
    size_t T = (size_t)config->T, V = (size_t)config->V;
    *e = (Excerpt){.generator = {.run = run, .context = config->T, .V = config->V}};
    return memory_alloc(&e->generator.window, T, sizeof(int32_t), "the context", err) &&
           memory_alloc(&e->order, V, sizeof *e->order, "sampling", err);
}

void excerpt_close(Excerpt *e) {
    memory_free(e->generator.window);
    memory_free(e->order);
}

void excerpt_write(Excerpt *e, const Vocab *vocab, uint64_t seed, char text[EXCERPT_ROOM]) {
    const Sampler sampler = {.temperature = 0.8, .top_p = 1, .seed = seed};
    int32_t ids[EXCERPT_COLUMNS], start = vocab_start(vocab);
    generator_reset(&e->generator);
    run_freeze(e->generator.run, true);
    const float *logits = generator_feed(&e->generator, &start, 1);
    for (int i = 0; i < EXCERPT_COLUMNS; i++) {
        ids[i] = sampler_pick(&sampler, logits, vocab->size, 0, (uint64_t)i, e->order);
        if (i + 1 < EXCERPT_COLUMNS) logits = generator_feed(&e->generator, &ids[i], 1);
    }
    run_freeze(e->generator.run, false);
    glyph_line(vocab, ids, EXCERPT_COLUMNS, EXCERPT_COLUMNS, text, EXCERPT_ROOM);
}
