/* rotary.c - positions as rotations of queries and keys (Su et al., "RoFormer", 2021).
 *
 *     y[i]        = x[i] cos(a) - x[i + hs/2] sin(a)
 *     y[i + hs/2] = x[i + hs/2] cos(a) + x[i] sin(a),     a = position / 10000^(2 i / hs), i < hs/2
 *
 * in each head; backward rotates back. */
#include "model/layers/tape.h"
#include "base/elementary.h"

/* Fills the constants of one position: hs/2 cosines, then hs/2 sines. */
static void fill(float *row, int position, int hs) {
    int half = hs / 2;
    for (int i = 0; i < half; i++) {
        double cosine, sine;
        cosine_and_sine((double)position * power(10000, -2.0 * i / hs), &cosine, &sine);
        row[i] = (float)cosine;
        row[half + i] = (float)sine;
    }
}

static void rotate(const Call *c, float direction) {
    size_t NH = (size_t)c->instruction->NH, hs = c->out_row[0] / NH;
    const float *cosine = NULL;
    for (size_t r = 0; r < (size_t)c->N * NH; r++) {
        if (r % NH == 0) cosine = c->in[1] + position_of(c->pass, c->first + r / NH) * hs;
        c->thread->isa->rotate(c->out[0] + r * hs, c->in[0] + r * hs, cosine, cosine + hs / 2,
                               direction, (int)hs / 2);
    }
}

static void forward(const Call *c) {
    rotate(c, 1);
}

static void backward(const Call *c) {
    rotate(c, -1);
}

static const Operation operation = {
    .name = "rotary",
    .title = "Position: each vector is rotated",
    .equation = "each pair (x[i], x[i + n/2]) is rotated by the angle position / 10000^(2 i / n)",
    .compute = forward,
    .reused = 1};
static const Operation backward_operation = {
    .name = "rotary_backward", .compute = backward, .reused = 1};

static Array record(Tape *p, const Operation *of, int NH, Array x) {
    tape_expect(p, x.width % (2 * NH) == 0, "rotary", "a head has an odd number of columns");
    Array constants = tape_constants(p, x.width / NH, fill);
    return tape_map(p, of, x, x.width, (Instruction){.inputs = {[1] = constants}, .NH = NH});
}

Array rotary(Tape *p, int NH, Array x) {
    return record(p, &operation, NH, x);
}

Array rotary_backward(Tape *p, int NH, Array dy) {
    return record(p, &backward_operation, NH, dy);
}
