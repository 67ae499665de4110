#include "programs/train/saved.h"
#include "base/array.h"
#include "base/number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { RESULT_SIZE = 256, KEY_SIZE = 40, MAX_ENTRIES = 40 };

/* The numbers of the rung in training and of the plan under their keys, and their largest values.
 */
static const struct {
    const char *key;
    size_t member;
    double max;
    bool of_plan, later; /* later: states of earlier versions lack it */
} numbers[] = {
    {"best_loss", offsetof(Result, best), INFINITY, false, false},
    {"seconds", offsetof(Result, seconds), 1e9, false, false},
    {"other_seconds", offsetof(Result, other), 1e9, false, true},
    {"spent", offsetof(Result, time), 1e9, false, false},
    {"given_up", offsetof(Result, early_stop), 1e9, false, false},
    {"counted", offsetof(Plan, counted), 1e15, true, false},
    {"evaluated_part", offsetof(Plan, part), 1, true, true},
};

/* The numbers in the line of a complete rung, after its parameters. */
static const size_t figures[] = {offsetof(Result, train), offsetof(Result, validation),
                                 offsetof(Result, seconds), offsetof(Result, characters),
                                 offsetof(Result, time)};

static double *number_at(const void *record, size_t member) {
    return (void *)((char *)record + member);
}

/* Returns true for an option of the whole training that is stored as metadata, because the state of
 * a rung may lack it or have another value: one that only some rungs use, the learning rate and the
 * steps. The state has all other options. */
static bool is_of_run(int i) {
    const TrilOption *row = tril_option(i);
    return row->on_resume == TRIL_MODEL || row->member == offsetof(TrilOptions, learning_rate) ||
           row->member == offsetof(TrilOptions, steps) || !tril_rung_uses(tril_rung(0), i);
}

/* ---- writing ---- */

/* Metadata whose keys and texts are here. */
typedef struct {
    TrilMetadata list[PLAN_METADATA + MAX_ENTRIES + 1];
    char keys[MAX_ENTRIES][KEY_SIZE], texts[MAX_ENTRIES][NUMBER_SIZE];
    int count;
} Metadata;

/* Adds an entry. Returns where its text is written to. */
static char *add(Metadata *metadata, const char *before, const char *name) {
    const int i = metadata->count++;
    snprintf(metadata->keys[i], KEY_SIZE, "%s%s", before, name);
    metadata->list[i] = (TrilMetadata){metadata->keys[i], metadata->texts[i]};
    return metadata->texts[i];
}

bool saved_write(const Plan *plan, TrilTraining *training, const Result *results, int count,
                 Error *err) {
    const Result *last = results + count - 1;
    char lines[MAX_RUNGS * RESULT_SIZE] = "", *to = lines;
    Metadata metadata;
    metadata.count = plan_metadata(plan, metadata.list);
    for (int i = 0; i < COUNT(numbers); i++)
        number_write(add(&metadata, "", numbers[i].key), NUMBER_SIZE, 'g', 17,
                     *number_at(numbers[i].of_plan ? (const void *)plan : last, numbers[i].member));
    for (int i = 0; tril_option(i); i++)
        if (is_of_run(i))
            tril_options_get(&plan->options, i, add(&metadata, "run.", tril_option(i)->name));
    for (const Result *r = results; r < last; r++) { /* a line for each complete rung */
        to += sprintf(to, "%s %zu ", r->name, r->parameters);
        for (int i = 0; i < COUNT(figures); i++) {
            to += number_write(to, NUMBER_SIZE, 'g', 17, *number_at(r, figures[i]));
            *to++ = ' ';
        }
        if (r->sampled) to += sprintf(to, "~");
        *to++ = '=';
        to += number_write(to, NUMBER_SIZE, 'g', 17, r->best);
        *to++ = '\n';
    }
    if (plan->ladder) metadata.list[metadata.count++] = (TrilMetadata){"ladder", "1"};
    metadata.list[metadata.count++] = (TrilMetadata){"results", lines};
    metadata.list[metadata.count] = (TrilMetadata){NULL, NULL};
    return tril_training_save(training, plan->state_file, metadata.list, err) == TRIL_OK;
}

/* ---- reading ---- */

/* Reads a number from 0 to `max` in plain digits, which `end` follows, and returns the rest of the
 * text. Returns NULL if there is no such number or `text` is NULL. */
static const char *read_number(const char *text, double max, char end, double *number) {
    char *rest;
    if (!text || !*text) return NULL;
    *number = number_read(text, &rest);
    return rest > text && *rest == end && *number >= 0 && *number <= max ? rest + 1 : NULL;
}

/* Reads the line of a result and returns the rest of the text, or NULL if the line is invalid. */
static const char *read_result(const char *line, Result *result) {
    double parameters = 0;
    char name[KEY_SIZE];
    TrilOptions of = tril_options_empty();
    size_t length = strcspn(line, " \n");
    if (line[length] != ' ' || length >= sizeof name) return NULL;
    snprintf(name, sizeof name, "%.*s", (int)length, line);
    if (tril_options_set(&of, "model", name, &(TrilError){0}) != TRIL_OK || !of.rung) return NULL;
    *result = (Result){.name = of.rung};
    line = read_number(line + length + 1, 1e15, ' ', &parameters);
    for (int i = 0; i < COUNT(figures); i++)
        line = read_number(line, 1e15, ' ', number_at(result, figures[i]));
    if (line) result->parameters = (size_t)parameters;
    result->sampled = line && *line == '~';
    if (result->sampled) line++;
    result->best = result->validation; /* in states of earlier versions */
    if (line && *line == '=') return read_number(line + 1, INFINITY, '\n', &result->best);
    return line && *line == '\n' ? line + 1 : NULL;
}

/* Returns the key of the first invalid metadata, or NULL. A state that the library wrote has none
 * of these keys, because its training run kept no model and no log. */
static const char *read_results(Plan *plan) {
    Result *now = &plan->known[plan->known_count++];
    *now = (Result){.name = plan->state.options.rung,
                    .train = NAN,
                    .validation = NAN,
                    .now = plan->state.progress};
    if (!tril_model_metadata(plan->resumed, numbers[0].key)) {
        now->best = INFINITY;
        now->seconds = now->now.seconds;
        return NULL;
    }
    for (int i = 0; i < COUNT(numbers); i++) {
        const char *text = tril_model_metadata(plan->resumed, numbers[i].key);
        double *to = number_at(numbers[i].of_plan ? (const void *)plan : now, numbers[i].member);
        if (!(numbers[i].later && !text) && !read_number(text, numbers[i].max, 0, to))
            return numbers[i].key;
    }
    const char *line = tril_model_metadata(plan->resumed, "results");
    while (line && *line && plan->known_count <= MAX_RUNGS)
        line = read_result(line, &plan->known[plan->known_count++]);
    return line && !*line ? NULL : "results";
}

/* Reads the options of the whole training. A state that the library wrote has only its own. */
static bool read_options(Plan *plan) {
    TrilOptions *o = &plan->options;
    const TrilOptions has = plan->state.options;
    *o = has;
    plan->ladder = tril_model_metadata(plan->resumed, "ladder") != NULL;
    if (!tril_model_metadata(plan->resumed, "run.model")) {
        o->patience = 1; /* the library never ends a training run early */
        return true;
    }
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        char key[KEY_SIZE];
        snprintf(key, KEY_SIZE, "run.%s", row->name);
        const char *text = tril_model_metadata(plan->resumed, key);
        if (is_of_run(i) &&
            (!text || tril_options_set(o, row->name, text, &(TrilError){0}) != TRIL_OK))
            return false;
    }
    TrilOptions of_rung = *o;
    of_rung.rung = has.rung;
    return o->rung && !isnan(o->steps) && plan_same_sizes(&of_rung, &has) &&
           (plan->ladder || has.rung == tril_rung(0) || strcmp(has.rung, o->rung) == 0);
}

bool saved_load(Plan *plan, Error *err) {
    if (tril_state_load(&plan->resumed, &plan->state, plan->state_file, err) != TRIL_OK)
        return false;
    const char *bad = read_results(plan);
    if (!bad && !read_options(plan)) bad = "run";
    if (!bad) return true;
    tril_model_free(plan->resumed);
    plan->resumed = NULL;
    return fail(err, "%s: its metadata has no valid '%s'", plan->state_file, bad);
}
