/* schedule.c - turns a tape into phases, barriers and memory. */
#include "model/engine/schedule.h"
#include "base/array.h"
#include "base/memory.h"

#include <stdlib.h>

/* ---- phases ---- */

static bool is_team(const Instruction *at) {
    return at->operation->reach == ALL_TOKENS;
}

static bool reads(const Instruction *at, const Instruction *writer) {
    for (int i = 0; i < MAX_INPUTS; i++)
        for (int j = 0; j < MAX_OUTPUTS; j++)
            if (at->inputs[i].id && at->inputs[i].id == writer->outputs[j].id) return true;
    return false;
}

/* Two instructions that add to the same gradient divide it differently between threads. */
static bool add_to_the_same(const Instruction *a, const Instruction *b) {
    if (!a->operation->gradient || !b->operation->gradient) return false;
    for (int i = 0; i < MAX_TENSORS; i++)
        for (int j = 0; j < MAX_TENSORS; j++)
            if (a->tensors[i] && a->tensors[i] == b->tensors[j]) return true;
    return false;
}

/* Returns true if there must be a barrier before instruction i, if the last one is before
 * instruction `since`. A thread sees its own writes, for its own tokens, at once. */
static bool needs_barrier(const Tape *p, int since, int i) {
    const Instruction *at = &p->list[i];
    if (at->operation == &gradients_ready) return true;
    for (const Instruction *before = &p->list[since]; before < at; before++)
        if ((is_team(at) || is_team(before)) && (reads(at, before) || add_to_the_same(at, before)))
            return true;
    return false;
}

/* Fills the phases, and sets intervals[i] to the interval of instruction i. */
static void make_phases(Schedule *s, const Tape *p, int *intervals) {
    Phase *phase = NULL, *slices = NULL; /* the last one; the last of this interval with slices */
    int since = 0;
    s->backward_phase = -1;
    for (int i = 0; i < p->count; i++) {
        const bool begins = i == 0 || i == p->backward_begin, team = is_team(&p->list[i]);
        const bool barrier = !begins && needs_barrier(p, since, i);
        intervals[i] = i == 0 ? 0 : intervals[i - 1] + (begins || barrier);
        if (begins || barrier) {
            since = i;
            slices = NULL;
        }
        if (i == p->backward_begin) s->backward_phase = s->phase_count;
        if (barrier && i < p->backward_begin) s->barriers++;
        if (begins || barrier || team || phase->team) {
            phase = &s->phases[s->phase_count++];
            *phase = (Phase){.begin = i, .team = team, .barrier = barrier, .steals = !slices};
            if (!team && slices) slices->steals = false;
            if (!team) slices = phase;
        }
        phase->end = i + 1;
    }
    if (s->backward_phase < 0) s->backward_phase = s->phase_count;
}

/* ---- memory ---- */

/* The memory of an array, or of several, each of which ends where the next one begins: `size`
 * floats, at `offset`, from interval `begin` to interval `end`. */
typedef struct {
    int array, root; /* the array, and the first one that has its memory */
    size_t size, offset;
    int begin, end;
    int last;   /* the last instruction that uses the array */
    bool lasts; /* beyond the pass that writes it */
} Span;

size_t schedule_capacity(size_t positions) {
    return ceil_div(positions, KEY_GROUP) * KEY_GROUP;
}

size_t schedule_rows(const Tape *p, int array, size_t tokens, size_t positions) {
    const ArrayInfo *info = &p->arrays[array];
    switch (info->rows) {
        case PER_TOKEN: return tokens;
        case PER_STRETCH: return ceil_div(tokens, STRETCH);
        case PER_POSITION: return positions;
        case PER_CACHE_SLOT: return (size_t)p->slots * schedule_capacity(positions);
        default: return (size_t)info->count;
    }
}

static void note_use(Span *span, Array array, int i, int interval) {
    if (span->array == 0) *span = (Span){array.id, array.id, .begin = interval};
    span->last = i;
    span->end = interval;
}

static void note_uses(Span *spans, const Tape *p, const int *intervals) {
    for (int i = 0; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        for (int j = 0; j < MAX_INPUTS; j++)
            note_use(&spans[at->inputs[j].id], at->inputs[j], i, intervals[i]);
        for (int j = 0; j < MAX_OUTPUTS; j++)
            note_use(&spans[at->outputs[j].id], at->outputs[j], i, intervals[i]);
    }
    for (int id = 1; id < p->array_count; id++) spans[id].lasts = p->arrays[id].kept;
}

/* Returns true if the first output may take the memory of an input: the input is not needed later,
 * and no other thread reads it in this interval. */
static bool can_reuse(const Span *spans, const Tape *p, const int *intervals, int i) {
    const Instruction *at = &p->list[i];
    if (!at->operation->reused) return false;
    const Array from = at->inputs[at->operation->reused - 1], to = at->outputs[0];
    const ArrayInfo *info = &p->arrays[from.id];
    if (!from.id || spans[from.id].last != i || info->width != to.width || from.width != to.width ||
        (info->kept && i < p->backward_begin))
        return false;
    for (int j = i; j >= 0 && intervals[j] == intervals[i]; j--)
        for (int k = 0; is_team(&p->list[j]) && k < MAX_INPUTS; k++)
            if (p->list[j].inputs[k].id == from.id) return false;
    return true;
}

static void join_spans(Span *spans, const Tape *p, const int *intervals) {
    for (int i = 0; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        if (!can_reuse(spans, p, intervals, i)) continue;
        Span *joined = &spans[at->outputs[0].id];
        joined->root = spans[at->inputs[at->operation->reused - 1].id].root;
        spans[joined->root].end = joined->end;
        spans[joined->root].lasts |= joined->lasts;
    }
}

/* Sizes the spans. Constants and earlier tokens last always, a kept array at least to the end of
 * the forward pass. */
static void size_spans(Span *spans, const Tape *p, const int *intervals, size_t tokens,
                       size_t positions) {
    const int forward_end = intervals[p->backward_begin - 1], end = intervals[p->count - 1];
    for (int id = 1; id < p->array_count; id++) {
        Span *span = &spans[id];
        const ArrayInfo *info = &p->arrays[id];
        if (!span->array || span->root != id) continue;
        span->size = memory_lines(schedule_rows(p, id, tokens, positions) * (size_t)info->width);
        if (span->lasts && span->end < forward_end) span->end = forward_end;
        if (span->begin <= forward_end && span->end > forward_end) span->lasts = true;
        if (info->rows != PER_POSITION && info->rows != PER_CACHE_SLOT) continue;
        span->lasts = true;
        span->begin = 0;
        span->end = end;
    }
}

/* Those that last come first, then the earlier ones. */
static int compare_spans(const void *one, const void *other) {
    const Span *a = one, *b = other;
    if (a->lasts != b->lasts) return a->lasts ? -1 : 1;
    return a->begin != b->begin ? (a->begin > b->begin) - (a->begin < b->begin)
                                : (a->array > b->array) - (a->array < b->array);
}

static bool collide(const Span *a, const Span *b) {
    return a->begin <= b->end && b->begin <= a->end && a->offset < b->offset + b->size &&
           b->offset < a->offset + a->size;
}

/* Moves a span up to the first place that is free during its time. */
static void find_place(Span *next, const Span *spans) {
    for (bool moved = true; moved;) {
        moved = false;
        for (const Span *other = spans; other < next; other++) {
            if (!collide(next, other)) continue;
            next->offset = other->offset + other->size;
            moved = true;
        }
    }
}

/* Places the spans. Those that last are apart from the others: so each block of the
 * backward pass uses the same few arrays in the cache. */
static void place_spans(Schedule *s, Span *spans, int count) {
    size_t from = 0;
    qsort(spans, (size_t)count, sizeof *spans, compare_spans);
    for (int i = 0; i < count; i++) {
        Span *next = &spans[i];
        if (i > 0 && next->lasts != spans[i - 1].lasts) from = s->size;
        next->offset = from;
        find_place(next, spans);
        s->offsets[next->array] = next->offset;
        if (next->offset + next->size > s->size) s->size = next->offset + next->size;
    }
    for (int i = 0; i < count; i++) s->offsets[spans[i].array] = s->offsets[spans[i].root];
}

/* ---- the schedule ---- */

bool schedule_open(Schedule *s, const Tape *p, size_t tokens, size_t positions, Error *err) {
    const size_t arrays = (size_t)p->array_count, count = (size_t)p->count;
    Span *spans = NULL;
    int *intervals = NULL;
    *s = (Schedule){0};
    const bool ok = memory_alloc(&s->phases, count, sizeof *s->phases, "the schedule", err) &&
                    memory_alloc(&s->offsets, arrays, sizeof *s->offsets, "the schedule", err) &&
                    memory_alloc(&spans, arrays, sizeof *spans, "the schedule", err) &&
                    memory_alloc(&intervals, count, sizeof *intervals, "the schedule", err);
    if (ok) {
        make_phases(s, p, intervals);
        note_uses(spans, p, intervals);
        join_spans(spans, p, intervals);
        size_spans(spans, p, intervals, tokens, positions);
        place_spans(s, spans, p->array_count);
    }
    memory_free(spans);
    memory_free(intervals);
    if (!ok) schedule_close(s);
    return ok;
}

void schedule_close(Schedule *s) {
    memory_free(s->phases);
    memory_free(s->offsets);
    *s = (Schedule){0};
}
