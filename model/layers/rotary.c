/* rotary.c - positions as rotations of queries and keys. */
#include "model/layers/program.h"
#include "base/elementary.h"

void rotary_table(float *row, int position, int hs) {
    int half = hs / 2;
    for (int i = 0; i < half; i++) {
        double cosine, sine;
        cosine_and_sine((double)position * power(10000, -2.0 * i / hs), &cosine, &sine);
        row[i] = (float)cosine;
        row[half + i] = (float)sine;
    }
}

/* Row r of the batch belongs to token r / NH. */
static void rotate(const Thread *thread, float *y, const float *x, const float *tables,
                   size_t first, int rows, int T, int past, int NH, int hs, float direction) {
    size_t width = (size_t)hs;
    int half = hs / 2;
    for (size_t r = 0; r < (size_t)rows; r++) {
        size_t position = (size_t)past + (first + r) / (size_t)NH % (size_t)T;
        const float *cosine = tables + position * width;
        thread->isa->rotate(y + r * width, x + r * width, cosine, cosine + half, direction, half);
    }
}

void compute_rotary(const Thread *thread, float *y, const float *x, const float *tables,
                    size_t first, int rows, int T, int past, int NH, int hs) {
    rotate(thread, y, x, tables, first, rows, T, past, NH, hs, 1);
}

void compute_rotary_backward(const Thread *thread, float *dx, const float *dy, const float *tables,
                             size_t first, int rows, int T, int NH, int hs) {
    rotate(thread, dx, dy, tables, first, rows, T, 0, NH, hs, -1);
}

void compute_rotary_back(const Thread *thread, float *x, const float *row, int NH, int hs) {
    rotate(thread, x, x, row, 0, NH, 1, 0, NH, hs, -1);
}

/* ---- as instructions ---- */

/* The rows, one for each head, that this thread computes. */
static Share rows_of(const Call *c) {
    size_t rows = (size_t)c->N * (size_t)c->instruction->NH;
    return c->pass->single ? team_share(c->thread, rows, 1) : (Share){0, rows};
}

static void forward(const Call *c) {
    int NH = c->instruction->NH;
    size_t hs = c->out_row[0] / (size_t)NH;
    Share own = rows_of(c);
    compute_rotary(c->thread, c->out[0] + own.begin * hs, c->in[0] + own.begin * hs, c->in[1],
                   c->first * (size_t)NH + own.begin, (int)(own.end - own.begin), c->pass->T,
                   c->pass->past, NH, (int)hs);
}

static void backward(const Call *c) {
    int NH = c->instruction->NH, hs = (int)c->out_row[0] / NH;
    compute_rotary_backward(c->thread, c->out[0], c->in[0], c->in[1], c->first * (size_t)NH,
                            c->N * NH, c->pass->T, NH, hs);
}

const Operation rotary_operation = {
    .name = "rotary", .compute = forward, .division = BY_HEADS, .reused = 1};
static const Operation backward_operation = {
    .name = "rotary_backward", .compute = backward, .reused = 1};

static Array add_rotation(Program *p, const Operation *operation, int NH, Array x) {
    program_expect(p, x.width % (2 * NH) == 0, "rotary", "a head has an odd number of columns");
    Array y = program_array(p, x.width, PER_TOKEN);
    Array tables = program_constants(p, x.width / NH, rotary_table);
    Instruction *made = program_add(p, operation);
    made->inputs[0] = x;
    made->inputs[1] = tables;
    made->outputs[0] = y;
    made->NH = NH;
    return y;
}

Array rotary(Program *p, int NH, Array x) {
    return add_rotation(p, &rotary_operation, NH, x);
}

Array rotary_backward(Program *p, int NH, Array dy) {
    return add_rotation(p, &backward_operation, NH, dy);
}
