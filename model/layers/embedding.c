/* embedding.c - a row of channels for each token, and one for each position. */
#include "model/layers/program.h"

#include <string.h>

void compute_embedding(const Thread *thread, float *x, const int32_t *ids, Param wte, Param wpe,
                       size_t first, int N, int T, int past, int C) {
    size_t row = (size_t)C;
    for (size_t n = 0; n < (size_t)N; n++) {
        const float *token = wte.w + (size_t)ids[n] * row;
        size_t position = (size_t)past + (first + n) % (size_t)T;
        if (wpe.w)
            thread->isa->sum(x + n * row, token, wpe.w + position * row, row);
        else
            memcpy(x + n * row, token, row * sizeof *x);
    }
}

/* Two tokens may share a row of dwte. So threads divide the channels, not the tokens: each sums its
 * own channels in the order of the tokens. */
void compute_embedding_gradients(const Thread *thread, Param wte, Param wpe, const float *dx,
                                 const int32_t *ids, int B, int T, int C) {
    size_t row = (size_t)C, length = (size_t)T;
    Share channels = team_share(thread, row, 16);
    size_t first = channels.begin, width = channels.end - first;
    for (size_t n = 0; n < (size_t)B * length; n++) {
        const float *from = dx + n * row + first;
        thread->isa->add(wte.dw + (size_t)ids[n] * row + first, from, width);
        if (wpe.dw) thread->isa->add(wpe.dw + n % length * row + first, from, width);
    }
}

/* ---- as instructions ---- */

static void forward(const Call *c) {
    compute_embedding(c->thread, c->out[0], c->pass->ids + c->first, c->tensors[0], c->tensors[1],
                      c->first, c->N, c->pass->T, c->pass->past, (int)c->out_row[0]);
}

static void gradients(const Call *c) {
    compute_embedding_gradients(c->thread, c->tensors[0], c->tensors[1], c->in[0], c->pass->ids,
                                c->pass->B, c->pass->T, (int)c->in_row[0]);
}

const Operation embedding_operation = {.name = "embedding", .compute = forward};
static const Operation gradients_operation = {
    .name = "embedding_gradients", .compute = gradients, .reach = ALL_TOKENS};

Array embedding(Program *p, Table tokens, Table positions) {
    program_expect(p, positions.weight < 0 || positions.width == tokens.width, "embedding",
                   "the two tables have different widths");
    Array x = program_array(p, tokens.width, PER_TOKEN);
    Instruction *made = program_add(p, &embedding_operation);
    made->outputs[0] = x;
    made->tensors[0] = tokens.weight;
    made->tensors[1] = positions.weight;
    return x;
}

void embedding_gradients(Program *p, Table tokens, Table positions, Array dx) {
    program_expect_width(p, "embedding_gradients", tokens.weight, "dx", dx, tokens.width);
    Instruction *made = program_add_gradient(p, &gradients_operation, tokens.weight);
    made->inputs[0] = dx;
    made->tensors[0] = tokens.weight;
    made->tensors[1] = positions.weight;
}
