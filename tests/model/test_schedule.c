/* test_schedule.c - memory and barriers of every rung's tape: no array is overwritten before it
 * is read for the last time, and no thread reads or writes what another one may be writing.
 * Gradients are ready once. */
#include "tests/support.h"
#include "model/engine/inside.h"
#include "model/rungs/rung.h"

enum { NOBODY = -1, LAYERS = 3 };

/* The last use of each float of a memory. Intervals lie between barriers. */
typedef struct {
    int array;               /* whose value it holds */
    int written, written_by; /* interval and instruction */
    int read, read_by;       /* likewise, of the last reader that the team is */
} Cell;

typedef struct {
    const Tape *p;
    const Schedule *s;
    Cell *cells;
    int interval;
    int tensors[100]; /* the interval in which a gradient of a tensor was last added */
} Watch;

enum { TOKENS = 50, POSITIONS = 7 }; /* in a pass */

static Cell *cells_of(size_t size) {
    Cell *cells = scrap(size + 1, sizeof(Cell));
    for (size_t i = 0; i < size; i++) cells[i] = (Cell){NOBODY, NOBODY, NOBODY, NOBODY, NOBODY};
    return cells;
}

/* Returns true if threads divide both instructions alike: then each reads only its own values. */
static bool divided_alike(const Watch *w, int one, int other) {
    const Instruction *a = &w->p->list[one], *b = &w->p->list[other];
    return a->operation->reach == EACH_TOKEN && b->operation->reach == EACH_TOKEN;
}

/* The cells of an array, of which there are *size. */
static Cell *cells_of_array(const Watch *w, int id, size_t *size) {
    *size = schedule_rows(w->p, id, TOKENS, POSITIONS) * (size_t)w->p->arrays[id].width;
    assert_in_range(w->s->offsets[id] + *size, *size, w->s->size);
    return w->cells + w->s->offsets[id];
}

static void check_read(Watch *w, int i, int id) {
    size_t size;
    for (Cell *cell = cells_of_array(w, id, &size), *end = cell + size; cell < end; cell++) {
        bool constant = w->p->arrays[id].rows == PER_POSITION;
        if (!constant && cell->array != id)
            fail_msg("%s reads array %d, where array %d is", w->p->list[i].operation->name, id,
                     cell->array);
        if (cell->written == w->interval && !divided_alike(w, cell->written_by, i))
            fail_msg("%s reads what %s may be writing", w->p->list[i].operation->name,
                     w->p->list[cell->written_by].operation->name);
        cell->read = w->interval;
        cell->read_by = i;
    }
}

static void check_write(Watch *w, int i, int id) {
    size_t size;
    for (Cell *cell = cells_of_array(w, id, &size), *end = cell + size; cell < end; cell++) {
        bool again = cell->read == w->interval && cell->read_by != i;
        if (again && !divided_alike(w, cell->read_by, i))
            fail_msg("%s writes what %s may be reading", w->p->list[i].operation->name,
                     w->p->list[cell->read_by].operation->name);
        *cell = (Cell){id, w->interval, i, cell->read, cell->read_by};
    }
}

/* Returns true for an array whose rows of earlier passes are read when rows are added. */
static bool is_per_slot(const Tape *p, int id) {
    return p->arrays[id].rows == PER_CACHE_SLOT;
}

static void watch_instruction(Watch *w, int i) {
    const Instruction *at = &w->p->list[i];
    for (int j = 0; j < MAX_INPUTS; j++)
        if (at->inputs[j].id) check_read(w, i, at->inputs[j].id);
    for (int j = 0; j < MAX_OUTPUTS; j++) {
        if (!at->outputs[j].id) continue;
        if (is_per_slot(w->p, at->outputs[j].id)) check_read(w, i, at->outputs[j].id);
        check_write(w, i, at->outputs[j].id);
    }
    for (int j = 0; j < MAX_TENSORS && strstr(at->operation->name, "_gradients"); j++) {
        if (at->tensors[j]) assert_int_not_equal(w->tensors[at->tensors[j]], w->interval);
        w->tensors[at->tensors[j]] = w->interval;
    }
}

/* Where any thread may take any slice, no other phase between the same barriers has slices: there a
 * thread would meet the slices that another one wrote. */
static void check_steals(const Schedule *s) {
    int phases = 0, some = 0;
    const Phase *last = NULL;
    for (int i = 0; i < s->phase_count; i++) {
        const Phase *phase = &s->phases[i];
        if (phase->barrier || i == s->backward_phase) phases = 0;
        if (phase->team) continue;
        phases++;
        assert_false(phases > 1 && (phase->steals || last->steals));
        some += phase->steals;
        last = phase;
    }
    assert_true(some > 0);
}

static void watch_pass(Watch *w) {
    const Schedule *s = w->s;
    check_steals(s);
    w->cells = cells_of(s->size);
    for (int id = 1; id < w->p->array_count; id++) {
        size_t size;
        for (Cell *cell = cells_of_array(w, id, &size); size > 0; size--, cell++)
            if (is_per_slot(w->p, id)) cell->array = id; /* since the pass before */
    }
    for (int i = 0; i < s->phase_count; i++) {
        const Phase *phase = &s->phases[i];
        w->interval += phase->barrier || i == s->backward_phase;
        for (int j = phase->begin; j < phase->end; j++) watch_instruction(w, j);
    }
    /* after a forward pass the logits and the inputs of attention are still there */
    for (int id = 1; id < w->p->array_count && !w->p->training; id++)
        if (w->p->arrays[id].kept || is_per_slot(w->p, id))
            assert_int_equal(w->cells[s->offsets[id]].array, id);
}

/* The gradients of each block, and those of none, are ready once: after the last of them. */
static void check_ready(const Tape *p) {
    int ready[1 + LAYERS] = {0};
    for (int i = p->backward_begin; i < p->count; i++) {
        const Instruction *at = &p->list[i];
        if (at->operation == &gradients_ready) assert_int_equal(ready[1 + at->block]++, 0);
        if (!strstr(at->operation->name, "_gradients")) continue;
        for (int j = 0; j < MAX_TENSORS; j++)
            if (at->tensors[j])
                assert_int_equal(ready[1 + p->model->tensors[at->tensors[j] - 1].block], 0);
    }
    for (int i = 0; i < p->model->tensor_count; i++)
        assert_int_equal(ready[1 + p->model->tensors[i].block], 1);
}

/* Schedules the tape that a model's rung records, and watches its passes. */
static void watch_model(Model *model, RunOptions options) {
    Tape tape;
    Schedule schedule;
    assert_ok(tape_record_rung(&tape, model, &options, &err), err);
    assert_ok(schedule_open(&schedule, &tape, TOKENS, POSITIONS, &err), err);
    if (options.shared) check_ready(&tape);
    Watch watch = {.p = &tape, .s = &schedule};
    watch_pass(&watch);
    schedule_close(&schedule);
    tape_close(&tape);
}

TEST(every_rung) {
    static const RunOptions uses[] = {{.training = false},
                                      {.training = true},
                                      {.training = true, .dropout = 0.5},
                                      {.training = true, .shared = true},
                                      {.kept = true},
                                      {.slots = 3}};
    for (int rung = 0; kind_name(rung); rung++) {
        Config config = {.V = 11, .T = 7, .L = LAYERS, .NH = 2, .C = 12};
        Model model;
        kind_set(&config, kind_name(rung));
        assert_ok(model_lay_out(&model, &config, &err), err);
        for (int i = 0; i < COUNT(uses); i++) watch_model(&model, uses[i]);
        model_free(&model);
    }
}

/* Two phases with slices between the same barriers: the means read the values written before. */
static Array alternate(Tape *p, const void *weights, void *activations) {
    (void)activations;
    Array x = embedding(p, *(const Table *)weights, NO_TABLE);
    Array one = mean(p, x), y = gelu(p, x);
    Array other = mean(p, x), z = gelu(p, y);
    return add(p, z, add(p, one, other));
}

/* Lays out a bigram whose rung is `own`, with another forward pass. */
static Model bigram_with(Rung *own, Array (*forward)(Tape *, const void *, void *)) {
    Config config = {.model = "bigram", .V = 11, .T = 7};
    Model model;
    assert_ok(model_lay_out(&model, &config, &err), err);
    *own = *model.rung;
    own->forward = forward;
    model.rung = own;
    return model;
}

TEST(alternating_rung) {
    Rung alternating;
    Model model = bigram_with(&alternating, alternate);
    watch_model(&model, (RunOptions){0});
    model_free(&model);
}

/* The tiles of the slowest thread. */
static int slowest(const Products *products, int tokens, int team, int length) {
    int slices = (tokens + length - 1) / length, tile = products->rows ? products->rows : 6;
    return (slices + team - 1) / team * ((length + tile - 1) / tile);
}

/* A slice is a whole number of stretches and of AMX's tiles. No other length gives the slowest
 * thread fewer tiles. */
static void check_slice(const Products *products, int tokens, int threads) {
    int length = slice_length(products, (size_t)tokens, threads);
    int grain = products->rows ? products->rows : STRETCH;
    assert_in_range(length, grain, SLICE_MAX);
    assert_int_equal(length % grain, 0);
    int most = products->rows ? 2 * products->rows : SLICE_MAX;
    int tiles = slowest(products, tokens, threads, length);
    for (int other = grain; other <= most && other < tokens + grain; other += grain)
        assert_true(tiles <= slowest(products, tokens, threads, other));
}

TEST(slices) {
    Products tall = float32_products;
    tall.rows = 2 * STRETCH; /* as with AMX */
    for (int tokens = 1; tokens <= 5000; tokens += 1 + tokens / 5)
        for (int threads = 1; threads <= 17; threads++) {
            check_slice(&float32_products, tokens, threads);
            check_slice(&tall, tokens, threads);
        }
}

/* ---- wrong rungs ---- */

static Array return_nothing(Tape *p, const void *w, void *a) {
    (void)p, (void)w, (void)a;
    return NO_ARRAY;
}

/* Columns of queries, keys and values that are not those of three heads. */
static const int uneven[][3] = {{11, 9, 9}, {12, 5, 8}, {12, 12, 8}, {12, 8, 8}};
static int columns;

static Array attend_unevenly(Tape *p, const void *w, void *a) {
    (void)w, (void)a;
    const int *width = uneven[columns];
    return attention(p, 3, tape_array(p, width[0], PER_TOKEN), tape_array(p, width[1], PER_TOKEN),
                     tape_array(p, width[2], PER_TOKEN), 0)
        .out;
}

/* Calls one of many layers, with an array of 12 columns instead of 11 or another mistake. */
static int misused;

static Array misuse(Tape *p, const void *weights, void *a) {
    static const Operation apart = {.name = "apart_gradients", .gradient = true};
    (void)weights, (void)a;
    const Linear w = {1, 0, 11, 11};
    const Table table = {1, 11, 11}, wide = {1, 11, 12};
    const Norm norm = {1, 0, 11}, biased = {1, 1, 11};
    const Array y = tape_array(p, 11, PER_TOKEN), wrong = tape_array(p, 12, PER_TOKEN);
    Array x, dx, dy;
    if (misused == 0) linear(p, wrong, w);
    if (misused == 1) linear_gradients(p, wrong, y, w);
    if (misused == 2) linear_gradients(p, y, wrong, w);
    if (misused == 3) gelu_backward(p, &x, wrong, y);
    if (misused == 4) swiglu(p, y, wrong);
    if (misused == 5) swiglu_backward(p, &x, &dx, &dy, wrong, y, y);
    if (misused == 6) add(p, y, wrong);
    if (misused == 7) attention_backward(p, &x, &dx, &dy, wrong, attention(p, 1, y, y, y, -1));
    if (misused == 8) convolution(p, wrong, table);
    if (misused == 9) convolution_backward(p, wrong, y, table);
    if (misused == 10) convolution_backward(p, y, wrong, table);
    if (misused == 11) trusted(p, y, y, y);
    if (misused == 12) trusted(p, y, tape_array(p, 1, PER_TOKEN), wrong);
    if (misused == 13) trusted_backward(p, y, wrong);
    if (misused == 14) rmsnorm_backward(p, NO_ARRAY, wrong, y, norm);
    if (misused == 15) embedding_gradients(p, table, NO_TABLE, wrong);
    if (misused == 16) embedding(p, table, wide);
    if (misused == 17) linear_dx(p, y, w);
    if (misused == 18) rotary(p, 1, y);
    if (misused == 19) rmsnorm(p, wrong, norm);
    if (misused == 20) layernorm(p, y, norm);
    if (misused == 21) rmsnorm(p, y, biased);
    if (misused == 22) heads(p); /* which this rung lacks */
    if (misused == 23) kv_heads(p);
    if (misused == 24) linear(p, tape_columns(wrong, 0, 11), w);
    if (misused == 25) {
        rmsnorm(p, y, norm);
        rmsnorm_backward(p, wrong, y, y, norm);
    }
    if (misused == 26) gelu(p, tape_columns(wrong, 0, 11));
    if (misused == 27) tape_add(p, (Instruction){.operation = &apart, .tensors = {1}});
    return y;
}

static void check_refused(Array (*forward)(Tape *, const void *, void *), const char *place) {
    Rung wrong;
    Tape tape;
    Model model = bigram_with(&wrong, forward);
    if (begins(place, "Weights")) wrong.weights_size += sizeof(Norm); /* one that no row names */
    assert_false(tape_record_rung(&tape, &model, &(RunOptions){0}, &err));
    expect_error(err, "bigram", place);
    model_free(&model);
}

TEST(refused) {
    check_refused(return_nothing, "forward: ");
    check_refused(alternate, "Weights: ");
    for (misused = 0; misused < 28; misused++) check_refused(misuse, "");
    for (columns = 0; columns < 4; columns++) check_refused(attend_unevenly, "attention: ");
}

/* ---- a tape in print ---- */

static void print_arrays(FILE *to, const Watch *w, const Array *arrays, int count, bool written) {
    for (const Array *array = arrays; array < arrays + count; array++) {
        if (!array->id) continue;
        fprintf(to, " %d", array->id);
        if (!written || (array > arrays && array[-1].id == array->id)) continue;
        fprintf(to, " [%zu,%d] at %zu", schedule_rows(w->p, array->id, TOKENS, POSITIONS),
                w->p->arrays[array->id].width, w->s->offsets[array->id] * sizeof(float));
    }
}

static void print_tape(FILE *to, const Watch *w) {
    const Schedule *s = w->s;
    for (const Phase *phase = s->phases; phase < s->phases + s->phase_count; phase++) {
        if (phase == s->phases + s->backward_phase) fputs("backward\n", to);
        if (phase->barrier) fputs("----\n", to);
        for (int i = phase->begin; i < phase->end; i++) {
            const Instruction *at = &w->p->list[i];
            fprintf(to, "  %s %s", phase->team ? "all" : "   ", at->operation->name);
            for (int j = 0; j < MAX_TENSORS; j++)
                if (at->tensors[j])
                    fprintf(to, " %s", w->p->model->tensors[at->tensors[j] - 1].name);
            fputs(":", to);
            print_arrays(to, w, at->inputs, MAX_INPUTS, false);
            fputs(" ->", to);
            print_arrays(to, w, at->outputs, MAX_OUTPUTS, true);
            fputs("\n", to);
        }
    }
}

/* docs/tape.txt shows the tape of multihead, after its explanation. */
TEST(printed) {
    Config config = {.model = "multihead", .V = 65, .T = POSITIONS, .L = 1, .NH = 2, .C = 8};
    Tape tape;
    Schedule schedule;
    Model model;
    size_t length;
    assert_ok(model_lay_out(&model, &config, &err), err);
    assert_ok(tape_record_rung(&tape, &model, &(RunOptions){.training = true}, &err), err);
    assert_ok(schedule_open(&schedule, &tape, TOKENS, POSITIONS, &err), err);
    FILE *to = tmpfile();
    assert_non_null(to);
    fputs("forward\n", to);
    print_tape(to, &(Watch){.p = &tape, .s = &schedule});
    const char *printed = stream_text(to, &length),
               *page = strstr(stream_text(fopen("docs/tape.txt", "r"), &length), "forward\n");
    if (!page || strcmp(page, printed) != 0) {
        fputs(printed, stderr);
        fail_msg("docs/tape.txt does not end with this tape");
    }
    schedule_close(&schedule);
    tape_close(&tape);
    model_free(&model);
}
