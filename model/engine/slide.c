/* slide.c - forgets the oldest tokens of a text, and moves what is kept of the others. */
#include "model/engine/run.h"

#include <assert.h>
#include <string.h>

/* The instruction that rotates the keys of an attention by their positions; NULL if there is none.
 */
static const Instruction *rotary_of(const Program *p, const Instruction *attention) {
    for (int i = 0; i < p->backward; i++)
        if (p->list[i].operation == &rotary_operation &&
            p->list[i].outputs[0].id == attention->inputs[1].id)
            return &p->list[i];
    return NULL;
}

bool run_slides(const Run *run) {
    const Program *p = &run->program;
    if (p->training) return false;
    for (int i = 0; i < p->backward; i++) {
        const Instruction *at = &p->list[i];
        bool positions = at->operation == &embedding_operation && at->tensors[1] >= 0;
        bool fixed = at->operation == &attention_operation && !rotary_of(p, at);
        if (positions || fixed || at->operation == &mean_operation) return false;
    }
    return true;
}

static float *rows_of(const Run *run, Array array) {
    return run->activations + run->schedule.many[array.id].offset + array.offset;
}

/* Rotates the kept keys of one attention back by `dropped` positions, and copies them to columns
 * again. */
static void slide_keys(const Run *run, const Instruction *at, int dropped, int kept) {
    Array keys = at->inputs[1];
    size_t row = (size_t)run->program.arrays[keys.id].width;
    int hs = at->inputs[0].width / at->NH, NKV = keys.width / hs;
    Thread alone = {.isa = run->isa, .count = 1};
    float *key = rows_of(run, keys);
    const float *table = rows_of(run, rotary_of(&run->program, at)->inputs[1]);
    Attention shape = {.B = 1, .T = kept, .NKV = NKV, .dk = hs, .k_row = row};
    shape.columns = rows_of(run, at->outputs[ATTENTION_COLUMNS]);
    for (int t = 0; t < kept; t++)
        compute_rotary_back(&alone, key + (size_t)t * row, table + (size_t)dropped * (size_t)hs,
                            NKV, hs);
    for (int head = 0; head < NKV; head++) compute_columns(key, head, &shape);
}

void run_slide(Run *run, int dropped, int kept) {
    const Program *p = &run->program;
    assert(run_slides(run) && dropped >= 0 && kept >= 0);
    assert(dropped + kept <= run->options.length);
    for (int id = 1; id < p->array_count; id++) {
        if (!p->arrays[id].cached) continue;
        size_t width = (size_t)p->arrays[id].width;
        float *rows = rows_of(run, (Array){id, 0, 0});
        memmove(rows, rows + (size_t)dropped * width, (size_t)kept * width * sizeof *rows);
    }
    for (int i = 0; i < p->backward; i++)
        if (p->list[i].operation == &attention_operation)
            slide_keys(run, &p->list[i], dropped, kept);
}
