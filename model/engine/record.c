/* record.c - from a rung to a tape. */
#include "model/engine/inside.h"
#include "model/rungs/rung.h"
#include "base/memory.h"

/* Returns true if each member of the rung's Weights has a row in its list. */
static bool lists_all(const Rung *rung) {
    static const size_t sizes[] = {[WEIGHT_TABLE] = sizeof(Table),
                                   [WEIGHT_LINEAR] = sizeof(Linear),
                                   [WEIGHT_NORM] = sizeof(Norm)};
    size_t listed = 0;
    for (int i = 0; i < rung->weight_count; i++) listed += sizes[rung->weights[i].kind];
    return listed == rung->weights_size;
}

static void record_passes(Tape *p, void *weights, void *activations) {
    const Rung *rung = p->model->rung;
    tape_expect(p, lists_all(rung), "Weights", "not every member has a row in the list");
    model_bind_weights(p->model, weights);
    p->has_heads = rung->has_heads;
    p->logits = rung->forward(p, weights, activations);
    tape_keep(p, p->logits);
    tape_expect_width(p, "forward", NO_TENSOR, "its result", p->logits, p->model->config.V);
    p->backward_begin = p->count;
    if (!p->training || p->failed) return;
    const Array dlogits =
        tape_map(p, &cross_entropy_backward, p->logits, p->logits.width, (Instruction){0});
    rung->backward(p, weights, activations, dlogits);
    tape_end(p);
}

bool tape_record_rung(Tape *p, const Model *model, const RunOptions *options, Error *err) {
    const size_t L = (size_t)model->config.L;
    char *weights = NULL, *activations = NULL;
    if (!tape_open(p, model, options->training, options->slots, err)) return false;
    p->dropout = options->dropout;
    p->shared = options->shared;
    if (memory_alloc(&weights, L, model->rung->weights_size, "the tape", err) &&
        memory_alloc(&activations, L, model->rung->activations_size, "the tape", err))
        record_passes(p, weights, activations);
    else
        p->failed = true;
    memory_free(weights);
    memory_free(activations);
    if (p->failed) {
        tape_close(p);
        return false;
    }
    if (options->kept) tape_keep_all(p);
    return true;
}
