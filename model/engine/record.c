/* record.c - records a rung's passes as a program. */
#include "model/engine/record.h"
#include "model/rungs/rung.h"
#include "base/memory.h"

#include <string.h>

/* Writes the tensors' numbers and shapes into the rung's `Weights`, one struct for each block. */
static void name_tensors(const Rung *rung, const Model *model, char *weights) {
    int tensor = 0;
    for (int i = 0; i < rung->weight_count; i++) {
        const WeightSpec *spec = &rung->weights[i];
        bool each = strstr(spec->name, "%d"), bias = spec->flags & BIAS;
        int copies = each ? model->config.L : 1;
        for (int l = 0; l < model->config.L; l++) {
            void *member = weights + (size_t)l * rung->weights_size + spec->member;
            int weight = each ? tensor + l : tensor, second = bias ? weight + copies : -1;
            const int *shape = model->tensors[weight].shape;
            switch (spec->kind) {
                case WEIGHT_TABLE: *(Table *)member = (Table){weight, shape[0], shape[1]}; break;
                case WEIGHT_LINEAR:
                    *(Linear *)member = (Linear){weight, second, shape[1], shape[0]};
                    break;
                case WEIGHT_NORM: *(Norm *)member = (Norm){weight, second, shape[0]}; break;
            }
        }
        tensor += bias ? 2 * copies : copies;
    }
}

static void write_down(Program *p, const char *weights, char *activations) {
    const Rung *rung = p->model->rung;
    p->logits = rung->forward(p, weights, activations);
    program_keep(p, p->logits);
    program_expect_width(p, "forward", -1, "what it returns", p->logits, p->model->config.V);
    program_expect(p, rung->has_heads || !p->heads_asked, "forward",
                   "it asks for heads without .has_heads");
    p->backward = p->count;
    p->layer = 0;
    if (!p->training || p->failed) return;
    Array dlogits = program_array(p, p->logits.width, PER_TOKEN);
    Instruction *loss = program_add(p, &cross_entropy);
    loss->inputs[0] = p->logits;
    loss->outputs[0] = dlogits;
    rung->backward(p, weights, activations, dlogits);
    for (int l = p->model->config.L - 1; l >= -1; l--) program_end_block(p, l);
}

bool record(Program *p, const Model *model, bool training, Error *err) {
    const Rung *rung = model->rung;
    size_t L = (size_t)model->config.L;
    char *weights = NULL, *activations = NULL;
    bool ok = program_open(p, model, training, err) &&
              memory_alloc(&weights, L, rung->weights_size, "the program", err) &&
              memory_alloc(&activations, L, rung->activations_size, "the program", err);
    if (ok) {
        name_tensors(rung, model, weights);
        write_down(p, weights, activations);
    }
    memory_free(weights);
    memory_free(activations);
    if (ok && !p->failed) return true;
    program_close(p);
    return false;
}
