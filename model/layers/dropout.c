/* dropout.c - dropout: noise that keeps a model from relying on any one channel. */
#include "model/layers/dropout.h"
#include "model/layers/program.h"
#include "base/random.h"

#include <string.h>

DropoutRow dropout_row(Dropout dropout, size_t row) {
    double keep = 1.0 - (double)dropout.rate;
    return (DropoutRow){.key = random_bits(dropout.key, row),
                        .threshold = (uint32_t)(keep * 4294967295.0),
                        .scale = (float)(1.0 / keep)};
}

void compute_dropout(const Thread *thread, float *y, const float *x, Dropout dropout, size_t first,
                     int N, int C) {
    size_t row = (size_t)C;
    if (dropout.rate > 0)
        for (size_t n = 0; n < (size_t)N; n++)
            thread->isa->dropout(y + n * row, x + n * row,
                                 dropout_row(dropout, dropout.first + first + n), C);
    else if (y != x)
        memcpy(y, x, (size_t)N * row * sizeof *y);
}

/* ---- as an instruction ---- */

static void dropout_call(const Call *c) {
    compute_dropout(c->thread, c->out[0], c->in[0], c->dropout, c->first, c->N, (int)c->out_row[0]);
}

static const Operation dropout_operation = {
    .name = "dropout", .compute = dropout_call, .reused = 1};

/* Without dropout there is no instruction. */
Array dropout(Program *p, Array x, int place) {
    if (!p->training || p->model->config.dropout == 0) return x;
    Array y = program_array(p, x.width, PER_TOKEN);
    Instruction *made = program_add(p, &dropout_operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    made->place = place;
    return y;
}

Array dropout_backward(Program *p, Array dy, int place) {
    return dropout(p, dy, place);
}
