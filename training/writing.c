#include "training/writing.h"
#include "formats/checkpoint.h"
#include "base/memory.h"

#include <string.h>

Line writing_line(const Corpus *corpus) {
    enum { MIN_LINE = 8 };
    size_t held_out = corpus->length - corpus->train, start = corpus->train;
    int tokens = held_out > LINE_TOKENS ? LINE_TOKENS : (int)held_out - 1;
    for (size_t i = corpus->train; i + (size_t)tokens < corpus->length; i++) {
        if (corpus->vocab.codes[corpus->ids[i]] != '\n') continue;
        if (i > start + MIN_LINE && start > corpus->train) break;
        start = i + 1;
    }
    if (start + (size_t)tokens >= corpus->length) start = corpus->train;
    return (Line){start, tokens};
}

Line writing_prompt(const Corpus *corpus) {
    enum { MIN_PROMPT = 8 };
    Line line = writing_line(corpus);
    const int32_t *ids = corpus->ids + line.start;
    const uint32_t *codes = corpus->vocab.codes;
    int end = 0; /* of the line's own text */
    while (end < line.tokens && codes[ids[end]] != '\n') end++;
    int word = end;
    if (end == line.tokens)
        while (word > MIN_PROMPT && codes[ids[word - 1]] != ' ') word--;
    if (word > MIN_PROMPT) end = word;
    return (Line){line.start, end > 0 ? end : line.tokens};
}

void writing_of(Writing *writing, const Vocab *vocab, const int32_t *ids, int count) {
    writing->length = 0;
    for (int i = 0; i < count && i < WRITING_TOKENS; i++)
        writing->length += (size_t)vocab_text(vocab, ids[i], writing->text + writing->length);
}

/* Generates ids [WRITING_TOKENS]. */
static void generate(Generator *g, const Corpus *corpus, uint64_t seed, int32_t *order,
                     int32_t *ids) {
    const Sampler sampler = {.temperature = 0.8, .top_p = 1, .seed = seed};
    Line prompt = writing_prompt(corpus);
    const float *logits = generator_feed(g, corpus->ids + prompt.start, (size_t)prompt.tokens);
    for (int i = 0; i < WRITING_TOKENS; i++) {
        ids[i] = sampler_pick(&sampler, logits, g->V, 0, (uint64_t)i, order);
        if (i + 1 < WRITING_TOKENS) logits = generator_feed(g, &ids[i], 1);
    }
}

bool writing_generate(Writing *writing, const RungPlan *rung, const Plan *plan,
                      const Corpus *corpus, Error *err) {
    Checkpoint kept;
    Generator g = {0};
    int32_t *order = NULL, ids[WRITING_TOKENS];
    int V = corpus->vocab.size;
    writing->length = 0;
    if (!file_exists(rung->checkpoint)) return true;
    if (!checkpoint_load(&kept, rung->checkpoint, err)) return false;
    bool same = kept.model.config.V == V;
    bool ok = !same || (memory_alloc(&order, (size_t)V, sizeof *order, "sampling", err) &&
                        generator_open(&g, &kept.model, plan->run.threads, FLOAT32, err));
    if (ok && same) {
        generate(&g, corpus, plan->run.seed, order, ids);
        writing_of(writing, &corpus->vocab, ids, WRITING_TOKENS);
    }
    generator_close(&g);
    memory_free(order);
    checkpoint_free(&kept);
    return ok;
}
