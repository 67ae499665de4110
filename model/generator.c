/* generator.c - a text that grows beyond the context. */
#include "model/model.h"
#include "base/array.h"
#include "base/memory.h"

#include <string.h>

bool generator_open(Generator *generator, Model *model, int threads, Precision precision,
                    Error *err) {
    *generator = (Generator){0};
    int T = model->config.T;
    RunOptions options = {
        .batch = 1, .length = T, .frozen = true, .threads = threads, .precision = precision};
    if (!memory_alloc(&generator->window, (size_t)T, sizeof(int32_t), "the context", err))
        return false;
    if (run_open(&generator->run, model, &options, err)) {
        generator->context = T;
        generator->V = model->config.V;
        return true;
    }
    generator_close(generator);
    return false;
}

void generator_close(Generator *generator) {
    run_close(generator->run);
    memory_free(generator->window);
    *generator = (Generator){0};
}

void generator_reset(Generator *generator) {
    generator->length = 0;
}

const float *generator_feed(Generator *generator, const int32_t *ids, size_t count) {
    int T = generator->context;
    /* If the text is longer than the context, only its end is read. */
    if (count > (size_t)T) {
        ids += count - (size_t)T;
        count = (size_t)T;
    }
    int more = (int)count, past = generator->length;
    if (past + more > T) {
        /* Few tokens are kept, so that the mean context costs little more than that of a text which
         * has just begun, and fewer still if their keys and values depend on their position and
         * are made anew. */
        bool slides = run_slides(generator->run);
        int keep = min_int(slides ? T / 4 : T / 16, T - more);
        if (slides) run_slide(generator->run, past - keep, keep);
        memmove(generator->window, generator->window + past - keep,
                (size_t)keep * sizeof *generator->window);
        generator->length = keep;
        past = slides ? keep : 0;
    }
    memcpy(generator->window + generator->length, ids, count * sizeof *ids);
    generator->length += more;
    int T_new = generator->length - past;
    const float *logits = run_forward(generator->run, generator->window + past, 1, T_new, past);
    return logits + (size_t)(T_new - 1) * (size_t)generator->V;
}
