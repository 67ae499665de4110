/* view.c - the results of a forward pass, line by line; and a text that slides. */
#include "model/engine/inside.h"

#include <assert.h>
#include <string.h>

/* ---- lines ---- */

_Static_assert(TRIL_LINE_INPUTS <= (int)MAX_INPUTS && TRIL_LINE_WEIGHTS == (int)MAX_TENSORS,
               "a line is a part of an instruction");

static TrilArray array_of(const Run *run, Array array) {
    if (!array.id) return (TrilArray){0};
    return (TrilArray){.number = array.id,
                       .offset = array.offset,
                       .width = array.width,
                       .row = (size_t)run->program.arrays[array.id].width,
                       .data = execute_array(run, array)};
}

static TrilWeights weights_of(const Model *model, int tensor) {
    if (tensor == NO_TENSOR) return (TrilWeights){0};
    const Tensor *t = &model->tensors[tensor - 1];
    return (TrilWeights){.name = t->name,
                         .rows = t->shape[0],
                         .columns = t->rank == 2 ? t->shape[1] : 1,
                         .data = model->weights + t->offset};
}

bool run_line(const Run *run, int i, TrilLine *line) {
    if (i < 0 || i >= run->program.backward_begin) return false;
    const Instruction *at = &run->program.list[i];
    *line = (TrilLine){.operation = at->operation->name,
                       .title = at->operation->title,
                       .equation = at->operation->equation,
                       .layer = at->block,
                       .heads = at->NH,
                       .attends = at->operation->attends,
                       .output = array_of(run, at->outputs[0])};
    for (int j = 0; j < TRIL_LINE_INPUTS; j++) line->inputs[j] = array_of(run, at->inputs[j]);
    for (int j = 0; j < TRIL_LINE_WEIGHTS; j++)
        line->weights[j] = weights_of(run->model, at->tensors[j]);
    return true;
}

/* ---- sliding ---- */

bool run_slides(const Run *run) {
    const Program *p = &run->program;
    bool slides = !p->training;
    for (int i = 0; i < p->backward_begin; i++) slides = slides && !p->list[i].fixed;
    return slides;
}

static void forget(float *rows, size_t width, int dropped, int kept) {
    memmove(rows, rows + (size_t)dropped * width, (size_t)kept * width * sizeof *rows);
}

/* Returns the rows, in a slot, of the operand that reads the array's earlier tokens. */
static float *rows_of(const Run *run, int array, int slot) {
    const Program *p = &run->program;
    for (int i = 0; i < p->backward_begin; i++)
        for (int j = 0; j < MAX_INPUTS; j++)
            if (p->list[i].inputs[j].id == array && program_has_rows(p, &p->list[i], j))
                return rows_in_slot(&run->pass, &p->list[i], j, slot);
    return NULL;
}

/* Sets the operands of an instruction that slides to their rows in a slot. */
static void point_to_slot(const Run *run, Call *call, int slot) {
    const Program *p = &run->program;
    const Instruction *at = call->instruction;
    for (int j = 0; j < MAX_INPUTS; j++) {
        if (!program_has_rows(p, at, j)) continue;
        call->in[j] = rows_in_slot(&run->pass, at, j, slot);
        call->in_row[j] = (size_t)at->inputs[j].width;
    }
    for (int j = 0; j < MAX_OUTPUTS; j++)
        if (program_has_rows(p, at, MAX_INPUTS + j))
            call->out[j] = rows_in_slot(&run->pass, at, MAX_INPUTS + j, slot);
        else if (p->arrays[at->outputs[j].id].cached)
            call->out[j] = rows_of(run, at->outputs[j].id, slot);
}

void run_slide(Run *run, int slot, int dropped, int kept) {
    const Program *p = &run->program;
    const Share all = {0, (size_t)kept};
    const bool growing = run->options.growing;
    assert(run_slides(run) && dropped >= 0 && kept >= 0);
    run->pass = (Pass){
        .B = 1, .T = kept, .tokens = (size_t)kept, .rows = run->rows, .capacity = run->capacity};
    if (growing) {
        for (int i = 0; i < p->backward_begin; i++)
            for (int j = 0; j < MAX_INPUTS; j++)
                if (program_has_rows(p, &p->list[i], j))
                    forget(rows_in_slot(&run->pass, &p->list[i], j, slot),
                           (size_t)p->list[i].inputs[j].width, dropped, kept);
    } else {
        for (int id = 1; id < p->array_count; id++)
            if (p->arrays[id].cached)
                forget(execute_array(run, (Array){id, 0, 0}), (size_t)p->arrays[id].width, dropped,
                       kept);
    }
    for (int i = 0; i < p->backward_begin; i++) {
        const Instruction *at = &p->list[i];
        bool writes_cache = false;
        for (int j = 0; j < MAX_OUTPUTS; j++)
            writes_cache = writes_cache || p->arrays[at->outputs[j].id].cached;
        if (!at->operation->slide || !writes_cache) continue;
        const Thread one = {.isa = run->isa, .count = 1};
        Call call = execute_call(run, &one, at, run->schedule.many, all);
        if (growing) point_to_slot(run, &call, slot);
        at->operation->slide(&call, dropped);
    }
}
