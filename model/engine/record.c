/* record.c - from a rung to the program that the engine executes. */
#include "model/engine/record.h"
#include "model/rungs/rung.h"
#include "base/memory.h"

static void call_rung(Program *p, const char *weights, char *activations) {
    const Rung *rung = p->model->rung;
    p->has_heads = rung->has_heads;
    p->logits = rung->forward(p, weights, activations);
    program_keep(p, p->logits);
    program_expect_width(p, "forward", 0, "its result", p->logits, p->model->config.V);
    p->backward = p->count;
    p->block = 0;
    if (!p->training || p->failed) return;
    Array dlogits = program_array(p, p->logits.width, PER_TOKEN);
    program_add(p, (Instruction){.operation = &cross_entropy_backward,
                                 .inputs = {p->logits},
                                 .outputs = {dlogits}});
    rung->backward(p, weights, activations, dlogits);
}

bool record(Program *p, const Model *model, bool training, Error *err) {
    size_t L = (size_t)model->config.L;
    char *weights = NULL, *activations = NULL;
    bool ok = program_open(p, model, training, err) &&
              memory_alloc(&weights, L, model->rung->weights_size, "the program", err) &&
              memory_alloc(&activations, L, model->rung->activations_size, "the program", err);
    if (ok) {
        model_name_weights(model, weights);
        call_rung(p, weights, activations);
    }
    memory_free(weights);
    memory_free(activations);
    if (ok && !p->failed) return true;
    program_close(p);
    return false;
}
