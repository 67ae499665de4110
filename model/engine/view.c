/* view.c - the results of a forward pass, line by line. */
#include "model/engine/inside.h"

_Static_assert(TRIL_LINE_INPUTS <= (int)MAX_INPUTS && TRIL_LINE_WEIGHTS == (int)MAX_TENSORS,
               "a line is a part of an instruction");

static TrilArray array_of(const Run *run, Array array) {
    if (!array.id) return (TrilArray){0};
    return (TrilArray){.number = array.id,
                       .offset = array.offset,
                       .width = array.width,
                       .row = (size_t)run->tape.arrays[array.id].width,
                       .data = layout_array(run, array)};
}

TrilTensor model_tensor(const Model *model, int i) {
    const Tensor *t = &model->tensors[i];
    return (TrilTensor){.name = t->name,
                        .rows = t->shape[0],
                        .columns = t->rank == 2 ? t->shape[1] : 1,
                        .rank = t->rank,
                        .data = model->weights + t->offset};
}

bool run_line(const Run *run, int i, TrilLine *line) {
    if (i < 0 || i >= run->tape.backward_begin) return false;
    const Instruction *at = &run->tape.list[i];
    *line = (TrilLine){.operation = at->operation->name,
                       .title = at->operation->title,
                       .equation = at->operation->equation,
                       .layer = at->block,
                       .heads = at->NH > 0 ? at->NH : 1,
                       .attends = at->operation->attends,
                       .output = array_of(run, at->outputs[0])};
    for (int j = 0; j < TRIL_LINE_INPUTS; j++) line->inputs[j] = array_of(run, at->inputs[j]);
    for (int j = 0; j < TRIL_LINE_WEIGHTS; j++)
        if (at->tensors[j] != NO_TENSOR)
            line->weights[j] = model_tensor(run->model, at->tensors[j] - 1);
    return true;
}
