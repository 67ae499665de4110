/* view.c - the results of a forward pass, by lines and by heads; and a text that slides. */
#include "model/view.h"
#include "model/engine/inside.h"

#include <assert.h>
#include <math.h>
#include <string.h>

/* ---- lines ---- */

_Static_assert(LINE_INPUTS <= (int)MAX_INPUTS && LINE_OUTPUTS <= (int)MAX_OUTPUTS &&
                   LINE_TENSORS == (int)MAX_TENSORS,
               "a line is a part of an instruction");

static LineArray view_of(const Run *run, Array array) {
    if (!array.id) return (LineArray){0};
    return (LineArray){.array = array.id,
                       .offset = array.offset,
                       .width = array.width,
                       .data = execute_array(run, array),
                       .row = (size_t)run->program.arrays[array.id].width};
}

bool run_line(const Run *run, int i, LineView *line) {
    if (i < 0 || i >= run->program.backward) return false;
    const Instruction *at = &run->program.list[i];
    *line = (LineView){.operation = at->operation->name,
                       .title = at->operation->title,
                       .equation = at->operation->equation,
                       .block = at->block,
                       .NH = at->NH};
    for (int j = 0; j < LINE_INPUTS; j++) line->inputs[j] = view_of(run, at->inputs[j]);
    for (int j = 0; j < LINE_OUTPUTS; j++) line->outputs[j] = view_of(run, at->outputs[j]);
    for (int j = 0; j < LINE_TENSORS; j++) line->tensors[j] = at->tensors[j] - 1;
    return true;
}

bool run_line_apply(const Run *run, int i, const float *x, float *y) {
    const Instruction *at = &run->program.list[i];
    if (!at->operation->apply) return false;
    Call call = execute_call(run, &(Thread){.count = 1}, at, (Share){0, 1});
    call.in[0] = (float *)x; /* which it only reads */
    call.out[0] = y;
    at->operation->apply(&call);
    return true;
}

/* ---- heads ---- */

bool run_attention(const Run *run, int block, int head, AttentionView *view) {
    Share tokens = {0, (size_t)run->pass.T};
    for (int i = 0; i < run->program.backward; i++) {
        const Instruction *at = &run->program.list[i];
        if (at->block != block || !at->operation->view) continue;
        Call call = execute_call(run, &(Thread){.count = 1}, at, tokens);
        return at->operation->view(&call, head, view);
    }
    return false;
}

void attention_scores(const AttentionView *head, int t, float *scores) {
    const float *query = head->query + (size_t)t * head->query_row;
    for (int s = 0; s < head->T; s++) {
        const float *key = head->key + (size_t)s * head->key_row;
        double score = 0;
        for (int i = 0; i < head->dk; i++) score += (double)query[i] * (double)key[i];
        scores[s] = (float)score;
    }
}

void attention_weights(const AttentionView *head, int t, float *weights) {
    if (head->query)
        attention_scores(head, t, weights);
    else
        memset(weights, 0, (size_t)head->T * sizeof *weights);
    float largest = weights[0];
    double sum = 0;
    for (int s = 1; s <= t; s++) largest = fmaxf(largest, weights[s]);
    for (int s = 0; s <= t; s++) {
        weights[s] = expf(head->scale * (weights[s] - largest));
        sum += (double)weights[s];
    }
    for (int s = 0; s <= t; s++) weights[s] = (float)((double)weights[s] / sum);
    for (int s = t + 1; s < head->T; s++) weights[s] = 0;
}

/* ---- sliding ---- */

bool run_slides(const Run *run) {
    const Program *p = &run->program;
    bool slides = !p->training;
    for (int i = 0; i < p->backward; i++) slides = slides && !p->list[i].fixed;
    return slides;
}

static bool writes_cache(const Program *p, const Instruction *at) {
    bool writes = false;
    for (int j = 0; j < MAX_OUTPUTS; j++) writes = writes || p->arrays[at->outputs[j].id].cached;
    return writes;
}

void run_slide(Run *run, int dropped, int kept) {
    const Program *p = &run->program;
    const Share all = {0, (size_t)kept};
    assert(run_slides(run) && dropped >= 0 && kept >= 0);
    run->pass = (Pass){.B = 1, .T = kept};
    for (int id = 1; id < p->array_count; id++) {
        if (!p->arrays[id].cached) continue;
        size_t width = (size_t)p->arrays[id].width;
        float *rows = execute_array(run, (Array){id, 0, 0});
        memmove(rows, rows + (size_t)dropped * width, (size_t)kept * width * sizeof *rows);
    }
    for (int i = 0; i < p->backward; i++) {
        const Instruction *at = &p->list[i];
        if (!at->operation->slide || !writes_cache(p, at)) continue;
        Call call = execute_call(run, &(Thread){.isa = run->isa, .count = 1}, at, all);
        at->operation->slide(&call, dropped);
    }
}
