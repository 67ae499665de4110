/* mean.c - the simplest way to use the past: the mean of all tokens so far.
 *
 *     y[b,t]  = (x[b,0] + ... + x[b,t]) / (t + 1)
 *     dx[b,s] = sum_(t >= s) dy[b,t] / (t + 1)
 *
 * A product with the lower-triangular matrix of ones (tril), each row divided by its sum. */
#include "model/layers/tape.h"
#include "base/array.h"

#include <string.h>

/* A task is the sum of WIDTH channels along a sequence. */
enum { WIDTH = 32 };

typedef struct {
    size_t b, n, c, width; /* sequence b begins at token n */
} Task;

static Share tasks_of(const Call *c) {
    return team_share(c->thread, (size_t)c->pass->B * ceil_div(c->in_row[0], WIDTH), 1);
}

static Task task(const Pass *pass, size_t number, size_t C) {
    size_t each = ceil_div(C, WIDTH), c = number % each * WIDTH, rest = C - c;
    size_t b = number / each;
    return (Task){b, b * (size_t)pass->T, c, min_size(rest, WIDTH)};
}

static void forward(const Call *c) {
    size_t width = c->out_row[0], T = (size_t)c->pass->T, row;
    Share own = tasks_of(c);
    for (size_t i = own.begin; i < own.end; i++) {
        Task at = task(c->pass, i, width);
        const float *x = cached_rows(c, 0, 1, at.b, &row);
        size_t past = position_of(c->pass, at.n);
        float total[WIDTH] = {0};
        for (size_t s = 0; s < past + T; s++) {
            c->thread->isa->sum(total, total, x + s * row + at.c, at.width);
            if (s < past) continue;
            float *y = c->out[0] + (at.n + s - past) * width + at.c;
            for (size_t j = 0; j < at.width; j++) y[j] = total[j] / (float)(s + 1);
        }
    }
}

static void backward(const Call *c) {
    size_t row = c->in_row[0], T = (size_t)c->pass->T;
    Share own = tasks_of(c);
    for (size_t i = own.begin; i < own.end; i++) {
        Task at = task(c->pass, i, row);
        float total[WIDTH] = {0};
        for (size_t t = T; t-- > 0;) {
            size_t place = (at.n + t) * row + at.c;
            for (size_t j = 0; j < at.width; j++) total[j] += c->in[0][place + j] / (float)(t + 1);
            memcpy(c->out[0] + place, total, at.width * sizeof *total);
        }
    }
}

static const Operation operation = {.name = "mean",
                                    .title = "Mean: each character takes the mean of all so far",
                                    .equation = "y[t] = (x[0] + ... + x[t]) / (t + 1)",
                                    .compute = forward,
                                    .reach = ALL_TOKENS,
                                    .attends = true};
static const Operation backward_operation = {
    .name = "mean_backward", .compute = backward, .reach = ALL_TOKENS};

Array mean(Tape *p, Array x) {
    Instruction rest = {.outputs = {[1] = tape_cache(p, x.width)}};
    Array y = tape_map(p, &operation, x, x.width, rest);
    tape_keep(p, x);
    tape_keep(p, y);
    return y;
}

Array mean_backward(Tape *p, Array dy) {
    return tape_map(p, &backward_operation, dy, dy.width, (Instruction){0});
}
