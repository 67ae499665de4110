/* mean.c - the simplest way to use the past: the mean of all tokens so far. */
#include "model/layers/program.h"

#include <assert.h>
#include <string.h>

/* A thread sums along a sequence, for WIDTH channels at a time. */
enum { WIDTH = 32 };

/* One task: some channels of one sequence. */
typedef struct {
    size_t b, c, width;
} Channels;

static size_t tasks(int B, int C) {
    return (size_t)B * (((size_t)C + WIDTH - 1) / WIDTH);
}

static Channels channels_of(size_t task, int C) {
    size_t each = ((size_t)C + WIDTH - 1) / WIDTH, c = task % each * WIDTH, rest = (size_t)C - c;
    return (Channels){task / each, c, rest < WIDTH ? rest : WIDTH};
}

void compute_mean(const Thread *thread, float *y, const float *x, int B, int T, int past, int C) {
    assert(past == 0 || B == 1);
    size_t S = (size_t)past + (size_t)T, row = (size_t)C;
    Share share = team_share(thread, tasks(B, C), 1);
    for (size_t i = share.begin; i < share.end; i++) {
        Channels at = channels_of(i, C);
        float total[WIDTH] = {0};
        for (size_t s = 0; s < S; s++) {
            thread->isa->add(total, x + (at.b * S + s) * row + at.c, at.width);
            if (s < (size_t)past) continue;
            float *to = y + (at.b * (size_t)T + s - (size_t)past) * row + at.c;
            for (size_t c = 0; c < at.width; c++) to[c] = total[c] / (float)(s + 1);
        }
    }
}

void compute_mean_backward(const Thread *thread, float *dx, const float *dy, int B, int T, int C) {
    size_t row = (size_t)C;
    Share share = team_share(thread, tasks(B, C), 1);
    for (size_t i = share.begin; i < share.end; i++) {
        Channels at = channels_of(i, C);
        float total[WIDTH] = {0};
        for (size_t t = (size_t)T; t-- > 0;) {
            size_t place = (at.b * (size_t)T + t) * row + at.c;
            for (size_t c = 0; c < at.width; c++) total[c] += dy[place + c] / (float)(t + 1);
            memcpy(dx + place, total, at.width * sizeof *dx);
        }
    }
}

/* ---- as instructions ---- */

static void forward(const Call *c) {
    size_t past = (size_t)c->pass->past * c->in_row[0];
    compute_mean(c->thread, c->out[0], c->in[0] - past, c->pass->B, c->pass->T, c->pass->past,
                 (int)c->in_row[0]);
}

static void backward(const Call *c) {
    compute_mean_backward(c->thread, c->out[0], c->in[0], c->pass->B, c->pass->T,
                          (int)c->in_row[0]);
}

const Operation mean_operation = {.name = "mean", .compute = forward, .reach = ALL_TOKENS};
static const Operation backward_operation = {
    .name = "mean_backward", .compute = backward, .reach = ALL_TOKENS};

Array mean(Program *p, Array x) {
    Array y = program_array(p, x.width, PER_TOKEN);
    program_cache(p, x);
    program_keep(p, y);
    Instruction *made = program_add(p, &mean_operation);
    made->inputs[0] = x;
    made->outputs[0] = y;
    return y;
}

Array mean_backward(Program *p, Array dy) {
    Array dx = program_array(p, dy.width, PER_TOKEN);
    Instruction *made = program_add(p, &backward_operation);
    made->inputs[0] = dy;
    made->outputs[0] = dx;
    return dx;
}
