/* schedule.c - turns a list of instructions into phases, barriers and memory. */
#include "model/engine/schedule.h"
#include "base/array.h"
#include "base/memory.h"

#include <stdlib.h>
#include <string.h>

enum { NEVER = -1 };

const Operation gradients_ready = {.name = "gradients_ready", .reach = ALL_TOKENS};

typedef struct {
    int made, last;  /* its first and last instruction, or NEVER */
    int team_epoch;  /* the last epoch in which the whole team used it, or NEVER */
    int dirty_epoch; /* the epoch of the last write; other threads see it after a barrier */
    bool dirty_by_team;
    bool across; /* used by the team, or in more than one phase */
    bool kept;   /* so is any array that shares its memory */
    int root;    /* the array whose memory it uses: itself, or one that ends where it begins */
} LiveRange;

/* A demand for memory, for one array or several that share it: `size` floats from time `begin` to
 * time `end`, at `offset`. */
typedef struct {
    int array;
    size_t size, offset;
    int begin, end;
} Demand;

typedef struct {
    const Program *p;
    Schedule *s;
    Capacity capacity;
    LiveRange *ranges;
    int *phases, *epochs; /* [instructions] */
    int *tensor_epochs; /* [1 + tensors]: the epoch in which the team last added to the gradient */
    Demand *demands;
    int demand_count;
    int *active; /* [arrays]: scratch of place_demands */
    int epoch;
} Planner;

/* ---- gradients of weights ---- */

/* The backward pass put in order. */
typedef struct {
    const Program *p;
    Instruction *list; /* room for a gradients_ready for each block and NO_BLOCK included */
    int count;
    Instruction *pending; /* gradients that are not in the list yet */
    int pending_count;
} Order;

/* Moves the pending gradients of a block to the list, those that reduce last. Returns true if any
 * were. */
static bool list_pending(Order *o, int block) {
    int before = o->count;
    for (int reduces = 0; reduces <= 1; reduces++) {
        int waiting = 0;
        for (int i = 0; i < o->pending_count; i++) {
            Instruction at = o->pending[i];
            int of = o->p->model->tensors[at.tensors[0] - 1].block;
            if (of == block && at.operation->reduces == reduces)
                o->list[o->count++] = at;
            else
                o->pending[waiting++] = at;
        }
        o->pending_count = waiting;
    }
    return o->count > before;
}

/* Lists a block's pending gradients, and marks the block as ready if there were any or if the pass
 * leaves it (`leaves`). */
static void end_block(Order *o, int block, bool leaves) {
    if (list_pending(o, block) || leaves)
        o->list[o->count++] = (Instruction){.operation = &gradients_ready, .block = block};
}

/* Moves each gradient to the next instruction of the team in its own block: the team meets there
 * anyway, and the gradient's inputs may still be in the cache. */
static bool order_gradients(Program *p, Error *err) {
    int L = p->model->config.L, block = L - 1;
    size_t room = (size_t)p->count + (size_t)L + 1;
    Order o = {.p = p, .count = p->backward_begin};
    if (!memory_alloc(&o.list, room, sizeof *o.list, "the schedule", err) ||
        !memory_alloc(&o.pending, room, sizeof *o.pending, "the schedule", err)) {
        memory_free(o.list);
        return false;
    }
    memcpy(o.list, p->list, (size_t)p->backward_begin * sizeof *o.list);
    for (int i = p->backward_begin; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        if (at->block != block) end_block(&o, block, true);
        block = at->block;
        if (at->operation->gradient) {
            o.pending[o.pending_count++] = *at;
            continue;
        }
        if (at->operation->reach == ALL_TOKENS) list_pending(&o, block);
        o.list[o.count++] = *at;
    }
    for (int l = L - 1; l >= NO_BLOCK && p->backward_begin < p->count; l--)
        end_block(&o, l, l == block);
    memory_free(o.pending);
    memory_free(p->list);
    p->list = o.list;
    p->count = o.count;
    p->capacity = (int)room;
    return true;
}

/* ---- phases ---- */

/* Returns true if the instruction needs a barrier before it. A thread sees its own writes, for its
 * own tokens, at once. */
static bool reads_others(const Planner *planner, const Instruction *at) {
    bool team = at->operation->reach == ALL_TOKENS;
    for (int i = 0; i < MAX_INPUTS; i++) {
        const LiveRange *range = &planner->ranges[at->inputs[i].id];
        if (at->inputs[i].id && range->dirty_epoch == planner->epoch &&
            (team || range->dirty_by_team))
            return true;
    }
    /* two instructions that add to the same gradient divide it differently between threads */
    for (int i = 0; i < MAX_TENSORS; i++)
        if (team && at->tensors[i] > 0 && planner->tensor_epochs[at->tensors[i]] == planner->epoch)
            return true;
    return at->operation == &gradients_ready;
}

static void note(Planner *planner, int array, int i, bool team) {
    LiveRange *range = &planner->ranges[array];
    if (range->made == NEVER) range->made = i;
    range->last = i;
    range->across = range->across || team || planner->phases[range->made] != planner->phases[i];
    if (team) range->team_epoch = planner->epoch;
}

static void note_instruction(Planner *planner, int i, int phase) {
    const Instruction *at = &planner->p->list[i];
    bool team = at->operation->reach == ALL_TOKENS;
    planner->phases[i] = phase;
    planner->epochs[i] = planner->epoch;
    for (int j = 0; j < MAX_INPUTS; j++) note(planner, at->inputs[j].id, i, team);
    for (int j = 0; j < MAX_OUTPUTS; j++) { /* the notes of NO_ARRAY are not read */
        note(planner, at->outputs[j].id, i, team);
        planner->ranges[at->outputs[j].id].dirty_epoch = planner->epoch;
        planner->ranges[at->outputs[j].id].dirty_by_team = team;
    }
    for (int j = 0; j < MAX_TENSORS; j++)
        if (team && at->tensors[j] > 0) planner->tensor_epochs[at->tensors[j]] = planner->epoch;
}

static void make_phases(Planner *planner) {
    const Program *p = planner->p;
    Schedule *s = planner->s;
    Phase *slices = NULL; /* the last phase of this epoch that has slices */
    for (int i = 0; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        bool team = at->operation->reach == ALL_TOKENS, first = i == 0 || i == p->backward_begin;
        if (i == p->backward_begin) {
            s->backward_phase = s->phase_count;
            planner->epoch++;
        }
        bool barrier = !first && reads_others(planner, at);
        if (barrier) planner->epoch++;
        if (barrier && i < p->backward_begin) s->barriers++;
        const Phase *open = s->phase_count && !first ? &s->phases[s->phase_count - 1] : NULL;
        if (!open || team || open->team || barrier) {
            if (first || barrier) slices = NULL;
            s->phases[s->phase_count++] =
                (Phase){.begin = i, .end = i, .team = team, .barrier = barrier, .any = !slices};
            if (!team && slices) slices->any = false;
            if (!team) slices = &s->phases[s->phase_count - 1];
        }
        s->phases[s->phase_count - 1].end = i + 1;
        note_instruction(planner, i, s->phase_count);
    }
    if (p->backward_begin == p->count) s->backward_phase = s->phase_count;
}

/* ---- memory ---- */

static int compare_demands(const void *one, const void *other) {
    const Demand *a = one, *b = other;
    return a->begin != b->begin ? (a->begin > b->begin) - (a->begin < b->begin)
                                : (a->array > b->array) - (a->array < b->array);
}

/* Gives each demand the lowest offset that is free during its time. active[count] is scratch.
 * Returns the floats that all take. */
static size_t place_demands(Demand *demands, int count, int *active) {
    size_t needed = 0;
    int actives = 0; /* demands that have not ended, by rising offset */
    qsort(demands, (size_t)count, sizeof *demands, compare_demands);
    for (int i = 0; i < count; i++) {
        Demand *next = &demands[i];
        int lasting = 0, at = 0;
        for (int j = 0; j < actives; j++)
            if (demands[active[j]].end >= next->begin) active[lasting++] = active[j];
        for (; at < lasting; at++) {
            const Demand *other = &demands[active[at]];
            if (next->offset + next->size <= other->offset) break;
            next->offset = other->offset + other->size;
        }
        memmove(active + at + 1, active + at, (size_t)(lasting - at) * sizeof *active);
        active[at] = i;
        actives = lasting + 1;
        if (next->offset + next->size > needed) needed = next->offset + next->size;
    }
    return needed;
}

/* Returns true if the first output may take the memory of an input: the input is not needed later,
 * and no other thread reads it in this epoch. */
static bool can_reuse(const Planner *planner, int i) {
    const Program *p = planner->p;
    const Instruction *at = &p->list[i];
    if (!at->operation->reused) return false;
    Array from = at->inputs[at->operation->reused - 1], to = at->outputs[0];
    const LiveRange *range = &planner->ranges[from.id];
    bool lasts = p->arrays[from.id].kept && i < p->backward_begin;
    return from.id && !lasts && range->last == i && range->team_epoch < planner->epochs[i] &&
           from.width == to.width && p->arrays[from.id].width == p->arrays[to.id].width;
}

/* Merges the live ranges of arrays that share memory into the first. */
static void merge_ranges(Planner *planner) {
    const Program *p = planner->p;
    for (int id = 1; id < p->array_count; id++) {
        planner->ranges[id].root = id;
        planner->ranges[id].kept = p->arrays[id].kept;
    }
    for (int i = 0; i < p->count; i++) {
        if (!can_reuse(planner, i)) continue;
        const Instruction *at = &p->list[i];
        LiveRange *range = &planner->ranges[at->outputs[0].id];
        range->root = planner->ranges[at->inputs[at->operation->reused - 1].id].root;
        LiveRange *root = &planner->ranges[range->root];
        root->across = root->across || range->across ||
                       planner->phases[range->last] != planner->phases[root->made];
        root->kept = root->kept || range->kept;
        root->last = range->last;
    }
}

static void demand(Planner *planner, int array, size_t size, int begin, int end) {
    planner->demands[planner->demand_count++] =
        (Demand){.array = array, .size = memory_lines(size), .begin = begin, .end = end};
}

/* Places the demands, from the offset `from` on, and empties the list. Returns their floats. */
static size_t settle(Planner *planner, Where where, size_t from) {
    size_t needed = place_demands(planner->demands, planner->demand_count, planner->active);
    for (int i = 0; i < planner->demand_count; i++)
        planner->s->locations[planner->demands[i].array] =
            (Location){.where = where, .offset = from + planner->demands[i].offset};
    planner->demand_count = 0;
    return needed;
}

/* Demands memory for all rows of an array. A constant lasts always, a kept array at least to the
 * end of the forward pass. */
static void demand_whole(Planner *planner, int id, const LiveRange *range) {
    const ArrayInfo *info = &planner->p->arrays[id];
    const bool constant = info->rows == PER_POSITION;
    const int *epochs = planner->epochs, forward_end = epochs[planner->p->backward_begin - 1];
    int begin = constant ? 0 : epochs[range->made], end = epochs[range->last];
    size_t rows = planner->capacity.tokens;
    if (info->rows == PER_STRETCH) rows = ceil_div(rows, STRETCH);
    if (constant) rows = planner->capacity.positions;
    if (info->rows == PER_PASS) rows = (size_t)info->count;
    if (range->kept && end < forward_end) end = forward_end;
    demand(planner, id, rows * (size_t)info->width, begin, constant ? planner->epoch : end);
}

/* Returns true if the array lasts beyond the pass that writes it. Such arrays are placed apart from
 * the others, so that each block of the backward pass uses the same few arrays in the cache. */
static bool lasts(const Planner *planner, int id) {
    const LiveRange *range = &planner->ranges[id];
    bool saved =
        range->made < planner->p->backward_begin && range->last >= planner->p->backward_begin;
    return saved || range->kept || planner->p->arrays[id].rows == PER_POSITION;
}

static bool is_own(const Planner *planner, int id) {
    const LiveRange *range = &planner->ranges[id];
    return !range->across && !lasts(planner, id) && planner->p->arrays[id].rows == PER_TOKEN;
}

static void place(Planner *planner) {
    const Program *p = planner->p;
    Schedule *s = planner->s;
    for (int group = 0; group < 2; group++) {
        for (int id = 1; id < p->array_count; id++) {
            const LiveRange *range = &planner->ranges[id];
            if (range->root == id && range->made != NEVER && !is_own(planner, id) &&
                lasts(planner, id) == (group == 0))
                demand_whole(planner, id, range);
        }
        s->shared += settle(planner, WHOLE, s->shared);
    }
    for (int id = 1; id < p->array_count; id++) {
        const LiveRange *range = &planner->ranges[id];
        if (range->root == id && range->made != NEVER && is_own(planner, id))
            demand(planner, id, planner->capacity.slice * (size_t)p->arrays[id].width, range->made,
                   range->last);
    }
    s->own = settle(planner, OWN, 0);
    for (int id = 1; id < p->array_count; id++)
        s->locations[id] = s->locations[planner->ranges[id].root];
}

/* ---- the schedule ---- */

static void plan(Planner *planner) {
    const Program *p = planner->p;
    for (int id = 0; id < p->array_count; id++)
        planner->ranges[id] = (LiveRange){.made = NEVER, .team_epoch = NEVER, .dirty_epoch = NEVER};
    for (int i = 0; i <= p->model->tensor_count; i++) planner->tensor_epochs[i] = NEVER;
    make_phases(planner);
    merge_ranges(planner);
    place(planner);
}

bool schedule_open(Schedule *s, Program *p, Capacity capacity, Error *err) {
    *s = (Schedule){0};
    if (!order_gradients(p, err)) return false;
    size_t arrays = (size_t)p->array_count, instructions = (size_t)p->count;
    size_t tensors = (size_t)p->model->tensor_count + 1;
    Planner planner = {.p = p, .s = s, .capacity = capacity};
    bool ok =
        memory_alloc(&s->phases, instructions, sizeof *s->phases, "the schedule", err) &&
        memory_alloc(&s->locations, arrays, sizeof *s->locations, "the schedule", err) &&
        memory_alloc(&planner.ranges, arrays, sizeof *planner.ranges, "the schedule", err) &&
        memory_alloc(&planner.demands, arrays, sizeof *planner.demands, "the schedule", err) &&
        memory_alloc(&planner.active, arrays, sizeof *planner.active, "the schedule", err) &&
        memory_alloc(&planner.phases, instructions, sizeof(int), "the schedule", err) &&
        memory_alloc(&planner.epochs, instructions, sizeof(int), "the schedule", err) &&
        memory_alloc(&planner.tensor_epochs, tensors, sizeof(int), "the schedule", err);
    if (ok) plan(&planner);
    memory_free(planner.ranges);
    memory_free(planner.demands);
    memory_free(planner.active);
    memory_free(planner.phases);
    memory_free(planner.epochs);
    memory_free(planner.tensor_epochs);
    if (!ok) schedule_close(s);
    return ok;
}

void schedule_close(Schedule *s) {
    memory_free(s->phases);
    memory_free(s->locations);
    *s = (Schedule){0};
}
