#include "programs/train/saved.h"
#include "base/array.h"
#include "base/number.h"
#include "library/message.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 32, RESULT_SIZE = 192, KEY_SIZE = 40 };

#define LARGEST 1e9 /* steps or seconds */

/* The numbers that are notes, under their keys. */
static const struct {
    const char *key;
    size_t member;
} numbers[] = {
    {"best_loss", offsetof(Progress, best)},       {"seconds", offsetof(Progress, seconds)},
    {"log_bytes", offsetof(Progress, log_length)}, {"spent", offsetof(Progress, time_limit)},
    {"given_up", offsetof(Progress, early_stop)},
};
enum { NUMBERS = COUNT(numbers) };

/* ---- writing ---- */

static bool note(TrilTraining *training, const char *key, const char *text, Error *err) {
    TrilError error;
    return tril_training_note(training, key, text, &error) == TRIL_OK ||
           message_take(err, &error, NULL);
}

static bool note_results(TrilTraining *training, const Result *results, int count, Error *err) {
    char text[MAX_RUNGS * RESULT_SIZE] = "", *to = text;
    for (int i = 0; i < count; i++, results++) {
        const double figures[] = {results->train, results->validation, results->seconds,
                                  results->characters, results->time};
        to += snprintf(to, RESULT_SIZE, "%s %zu ", results->name, results->parameters);
        for (int j = 0; j < COUNT(figures); j++) {
            to += number_write(to, NUMBER, 'g', 17, figures[j]);
            *to++ = ' ';
        }
        to += snprintf(to, NUMBER, "%016" PRIx64 "\n", results->log_digest);
    }
    return note(training, "results", text, err);
}

static bool note_numbers(TrilTraining *training, const Progress *progress, Error *err) {
    char text[NUMBER];
    for (int i = 0; i < NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)progress + numbers[i].member, sizeof value);
        number_write(text, sizeof text, 'g', 17, value);
        if (!note(training, numbers[i].key, text, err)) return false;
    }
    return true;
}

/* The rung in training may be another one than --model, and smaller: a model of each rung uses some
 * of the sizes. And its steps and windows may differ from those of the rungs to come. The state has
 * all other options. */
static bool is_of_run(const TrilOption *row) {
    static const char *const names[] = {"lr", "decay", "steps", "windows"};
    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(row->name, names[i]) == 0) return true;
    return row->lasting == TRIL_MODEL;
}

static bool note_options(TrilTraining *training, const TrilOptions *options, Error *err) {
    for (int i = 0; tril_option(i); i++) {
        char key[KEY_SIZE], text[TRIL_OPTION_SIZE];
        snprintf(key, KEY_SIZE, "run.%s", tril_option(i)->name);
        tril_options_get(options, i, text);
        if (is_of_run(tril_option(i)) && !note(training, key, text, err)) return false;
    }
    return true;
}

static bool note_digest(TrilTraining *training, const char *key, uint64_t digest, Error *err) {
    char text[NUMBER];
    snprintf(text, NUMBER, "%016" PRIx64, digest);
    return note(training, key, text, err);
}

bool saved_write(const char *path, TrilTraining *training, const Plan *plan,
                 const Progress *progress, const Result *results, int count, Error *err) {
    TrilError error;
    return note_numbers(training, progress, err) &&
           note_digest(training, "log_digest", progress->log_digest, err) &&
           note_digest(training, "training", plan->training, err) &&
           note_digest(training, "taught_by", plan->teacher, err) &&
           note_options(training, &plan->options, err) &&
           (!plan->ladder || note(training, "ladder", "1", err)) &&
           note_results(training, results, count, err) &&
           (tril_training_save(training, path, &error) == TRIL_OK ||
            message_take(err, &error, NULL));
}

/* ---- reading ---- */

/* A number in plain digits, not negative. */
static bool read_number(const char *text, double *number) {
    char *end;
    if (!text || !*text) return false;
    *number = number_read(text, &end);
    return !*end && *number >= 0;
}

/* 16 digits, which `end` follows. */
static bool read_digest(const char *text, char end, uint64_t *digest) {
    if (strspn(text, "0123456789abcdef") != 16 || text[16] != end) return false;
    *digest = strtoull(text, NULL, 16);
    return true;
}

/* A line for each rung that is done. */
static bool read_results(const char *text, Saved *saved) {
    for (const char *line = text; line && *line; line = strchr(line, '\n') + 1) {
        double figures[6];
        uint64_t log;
        size_t name = strcspn(line, " \n");
        const char *at = line + name, *known = rung_of(line, name);
        if (!known || !strchr(line, '\n') || saved->result_count == MAX_RUNGS) return false;
        for (int i = 0; i < COUNT(figures); i++) {
            char *end;
            if (*at != ' ') return false;
            figures[i] = number_read(at + 1, &end);
            if (end == at + 1 || !(figures[i] >= 0 && figures[i] < 1e15)) return false;
            at = end;
        }
        if (*at != ' ' || !read_digest(at + 1, '\n', &log)) return false;
        saved->results[saved->result_count++] = (Result){.name = known,
                                                         .parameters = (size_t)figures[0],
                                                         .train = figures[1],
                                                         .validation = figures[2],
                                                         .seconds = figures[3],
                                                         .characters = figures[4],
                                                         .time = figures[5],
                                                         .log_digest = log};
    }
    return text;
}

/* The key of the first invalid note, NULL if all are valid. */
static const char *read_notes(Saved *saved) {
    Progress *p = &saved->progress;
    for (int i = 0; i < NUMBERS; i++) {
        double number;
        bool best = numbers[i].member == offsetof(Progress, best); /* infinite before the first */
        if (!read_number(tril_state_note(saved->state, numbers[i].key), &number) ||
            (!best &&
             !(number <= (numbers[i].member == offsetof(Progress, log_length) ? 1e15 : LARGEST))))
            return numbers[i].key;
        memcpy((char *)p + numbers[i].member, &number, sizeof number);
    }
    const char *log = tril_state_note(saved->state, "log_digest");
    if (!log || !read_digest(log, 0, &p->log_digest)) return "log_digest";
    const char *training = tril_state_note(saved->state, "training");
    if (!training || !read_digest(training, 0, &saved->training)) return "training";
    return read_results(tril_state_note(saved->state, "results"), saved) ? NULL : "results";
}

/* A state of the library has none of these notes. It kept no model and no log. */
static void begin_notes(Saved *saved) {
    Progress *p = &saved->progress;
    p->best = INFINITY;
    p->seconds = p->now.seconds;
}

/* The teacher of the run may be none of the rung in training. Older states have one note for both.
 */
static bool read_teacher(Saved *saved) {
    const char *digest = tril_state_note(saved->state, "taught_by");
    if (!digest) digest = tril_state_note(saved->state, "teacher");
    return !digest || read_digest(digest, 0, &saved->teacher);
}

/* A state of the library has no options of a run: its training's are all. */
static const char *read_run_options(Saved *saved) {
    TrilOptions *o = &saved->options;
    *o = tril_state_options(saved->state);
    o->save_every = tril_options().save_every;
    saved->ladder = tril_state_note(saved->state, "ladder") != NULL;
    if (!tril_state_note(saved->state, "run.model")) {
        o->patience = 1; /* the library ends no training early */
        return NULL;
    }
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        char key[KEY_SIZE];
        snprintf(key, KEY_SIZE, "run.%s", row->name);
        const char *text = tril_state_note(saved->state, key);
        if (is_of_run(row) && (!text || tril_options_set(o, row->name, text, NULL) != TRIL_OK))
            return "run";
    }
    const TrilOptions has = tril_state_options(saved->state);
    TrilOptions of_rung = *o;
    of_rung.rung = has.rung;
    if (!o->rung || !o->windows || isnan(o->steps) || !plan_same_sizes(&of_rung, &has))
        return "run";
    bool trains = saved->ladder || has.rung == tril_rung(0) || strcmp(has.rung, o->rung) == 0;
    return trains ? NULL : "run";
}

bool saved_load(Saved *saved, const char *path, Error *err) {
    TrilError error;
    *saved = (Saved){0};
    if (tril_state_load(&saved->state, path, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    saved->progress.now = tril_state_progress(saved->state);
    const char *bad = NULL;
    if (tril_state_note(saved->state, numbers[0].key))
        bad = read_notes(saved);
    else
        begin_notes(saved);
    if (!bad && !read_teacher(saved)) bad = "taught_by";
    if (!bad) bad = read_run_options(saved);
    if (!bad && !read_digest(tril_state_note(saved->state, "digest"), 0, &saved->digest))
        bad = "digest";
    if (!bad) return true;
    saved_free(saved);
    return fail(err, "%s: its metadata has no valid '%s'", path, bad);
}

void saved_free(Saved *saved) {
    tril_state_free(saved->state);
    saved->state = NULL;
}
