/* line_view.c - shows the lines of a forward pass: which layers ran, and what they computed. */
#include "model/engine/run.h"

#include <assert.h>
#include <math.h>
#include <string.h>

_Static_assert(LINE_INPUTS <= (int)MAX_INPUTS && LINE_OUTPUTS <= (int)MAX_OUTPUTS &&
                   LINE_TENSORS == (int)MAX_TENSORS,
               "a line is a part of an instruction");

static LineArray view_of(const Run *run, Array array) {
    if (!array.id) return (LineArray){0};
    return (LineArray){.array = array.id,
                       .offset = array.offset,
                       .width = array.width,
                       .data = run_array(run, array),
                       .row = (size_t)run->program.arrays[array.id].width};
}

bool run_line(const Run *run, int i, LineView *line) {
    assert(run->options.kept);
    if (i < 0 || i >= run->program.backward) return false;
    const Instruction *at = &run->program.list[i];
    *line = (LineView){.operation = at->operation->name, .layer = at->layer, .NH = at->NH};
    for (int j = 0; j < LINE_INPUTS; j++) line->inputs[j] = view_of(run, at->inputs[j]);
    for (int j = 0; j < LINE_OUTPUTS; j++) line->outputs[j] = view_of(run, at->outputs[j]);
    memcpy(line->tensors, at->tensors, sizeof line->tensors);
    return true;
}

/* ---- the definitions ---- */

static void linear_row(float *y, const float *x, const float *w, const float *b, int in, int out) {
    for (int o = 0; o < out; o++) {
        double sum = b ? (double)b[o] : 0;
        for (int i = 0; i < in; i++)
            sum += (double)w[(size_t)o * (size_t)in + (size_t)i] * (double)x[i];
        y[o] = (float)sum;
    }
}

/* layernorm has a mean; rmsnorm's is 0. */
static void norm_row(float *y, const float *x, const float *w, const float *b, int size,
                     bool centred) {
    double mean = 0, squares = 0;
    for (int i = 0; i < size && centred; i++) mean += (double)x[i] / size;
    for (int i = 0; i < size; i++) squares += ((double)x[i] - mean) * ((double)x[i] - mean) / size;
    double rstd = 1 / sqrt(squares + (centred ? 1e-5 : 1e-6));
    for (int i = 0; i < size; i++)
        y[i] = (float)(((double)x[i] - mean) * rstd * (double)w[i] + (b ? (double)b[i] : 0));
}

bool run_line_apply(const Run *run, int i, const float *x, float *y) {
    const Instruction *at = &run->program.list[i];
    const char *name = at->operation->name;
    if (at->tensors[0] < 0) return false;
    const float *w = run->params[at->tensors[0]].w;
    const float *b = at->tensors[1] >= 0 ? run->params[at->tensors[1]].w : NULL;
    bool layernorm = strcmp(name, "layernorm") == 0;
    if (strcmp(name, "linear") == 0) {
        linear_row(y, x, w, b, at->inputs[0].width, at->outputs[0].width);
    } else if (layernorm || strcmp(name, "rmsnorm") == 0) {
        int size = at->inputs[0].width / at->NH;
        for (int n = 0; n < at->NH; n++)
            norm_row(y + n * size, x + n * size, w, b, size, layernorm);
    } else {
        return false;
    }
    return true;
}
