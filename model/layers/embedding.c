/* embedding.c - a row of channels for each token, and one for each position.
 *
 *     x[b,t] = wte[ids[b,t]] + wpe[t];  dwte[ids[b,t]] += dx[b,t], dwpe[t] += sum_b dx[b,t]
 */
#include "model/layers/tape.h"

#include <string.h>

static void forward(const Call *c) {
    size_t row = c->out_row[0];
    for (size_t n = c->first; n < c->first + (size_t)c->N; n++) {
        const float *token = c->tensors[0].w + (size_t)id_of(c->pass, n) * row;
        const float *positions = c->tensors[1].w;
        size_t position = position_of(c->pass, n);
        float *x = c->out[0] + (n - c->first) * row;
        if (positions)
            c->thread->isa->sum(x, token, positions + position * row, row);
        else
            memcpy(x, token, row * sizeof *x);
    }
}

/* Two tokens may share a row of dwte. So threads divide the channels, not the tokens: each sums its
 * own channels in the order of the tokens. */
static void gradients(const Call *c) {
    size_t row = c->in_row[0];
    Share own = team_share(c->thread, row, 16);
    size_t width = own.end - own.begin;
    float *tokens = c->tensors[0].dw + own.begin, *positions = c->tensors[1].dw;
    for (size_t n = 0; n < (size_t)c->N; n++) {
        const float *dx = c->in[0] + n * row + own.begin;
        float *token = tokens + (size_t)c->pass->ids[n] * row;
        c->thread->isa->sum(token, token, dx, width);
        if (!positions) continue;
        float *position = positions + position_of(c->pass, n) * row + own.begin;
        c->thread->isa->sum(position, position, dx, width);
    }
}

static const Operation operation = {.name = "embedding",
                                    .title = "Embedding: each character becomes a vector x",
                                    .equation = "x = wte[id] + wpe[position]",
                                    .compute = forward};
static const Operation gradients_operation = {
    .name = "embedding_gradients", .compute = gradients, .reach = ALL_TOKENS, .gradient = true};

Array embedding(Tape *p, Table tokens, Table positions) {
    tape_expect(p, !positions.weight || positions.width == tokens.width, "embedding",
                "the two tables have different widths");
    Array x = tape_array(p, tokens.width, PER_TOKEN);
    tape_add(p, (Instruction){.operation = &operation,
                              .outputs = {x},
                              .tensors = {tokens.weight, positions.weight}});
    return x;
}

void embedding_gradients(Tape *p, Table tokens, Table positions, Array dx) {
    tape_expect_width(p, "embedding_gradients", tokens.weight, "dx", dx, tokens.width);
    tape_add(p, (Instruction){.operation = &gradients_operation,
                              .inputs = {dx},
                              .tensors = {tokens.weight, positions.weight}});
}
