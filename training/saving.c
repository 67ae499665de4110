#include "training/saving.h"
#include "base/memory.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NUMBER = 32, RESULT_SIZE = 192, RESULTS_SIZE = MAX_RUNGS * RESULT_SIZE };

/* The numbers of a Progress, under the keys of their notes. */
static const struct {
    const char *key;
    size_t member;
} numbers[] = {
    {"best_loss", offsetof(Progress, best)},
    {"recent_loss", offsetof(Progress, recent)},
    {"recent_steps", offsetof(Progress, recent_count)},
    {"seconds", offsetof(Progress, seconds)},
    {"learning_seconds", offsetof(Progress, step_seconds)},
    {"operations", offsetof(Progress, compute)},
    {"log_bytes", offsetof(Progress, log_length)},
    {"lowest_loss", offsetof(Progress, lowest)},
    {"lowest_step", offsetof(Progress, lowest_step)},
    {"stale", offsetof(Progress, evaluations_since_best)},
    {"spent", offsetof(Progress, time_limit)},
    {"given_up", offsetof(Progress, early_stop)},
    {"cooling", offsetof(Progress, decay_start)},
    {"cooled", offsetof(Progress, decay_end)},
};
enum { NUMBERS = sizeof numbers / sizeof *numbers };

/* Older states lack it: then it is NaN, and stays unwritten. */
static bool is_newer(size_t member) {
    return member == offsetof(Progress, compute);
}

/* The notes of a file, and the memory that they point to. */
typedef struct {
    Note notes[10 + NUMBERS];
    int count;
    char *vocabulary; /* owned */
    char step[NUMBER], seed[NUMBER], loss[NUMBER], text[NUMBER], log[NUMBER], teacher[NUMBER];
    char values[NUMBERS][NUMBER];
    char results[RESULTS_SIZE];
} Notes;

static void add(Notes *n, const char *key, const char *value) {
    n->notes[n->count++] = (Note){key, value, strlen(value)};
}

/* Writes the notes that both files have. */
static bool start_notes(Notes *n, uint64_t seed, const Corpus *corpus, int step, Error *err) {
    const Vocab *vocab = &corpus->vocab;
    size_t length = 0;
    *n = (Notes){.count = 0};
    if (!vocab->bytes && !vocab_join(vocab, &n->vocabulary, &length, err)) return false;
    snprintf(n->step, NUMBER, "%d", step);
    snprintf(n->seed, NUMBER, "%" PRIu64, seed);
    snprintf(n->text, NUMBER, "%016" PRIx64, corpus->digest);
    add(n, "characters", vocab->bytes ? "bytes" : "utf-8");
    n->notes[n->count++] = (Note){"vocabulary", n->vocabulary ? n->vocabulary : "", length};
    add(n, "step", n->step);
    add(n, "seed", n->seed);
    add(n, "text", n->text);
    return true;
}

bool save_best(const char *path, const Model *model, uint64_t seed, const Corpus *corpus, int step,
               double validation, Error *err) {
    Notes n;
    if (!start_notes(&n, seed, corpus, step, err)) return false;
    snprintf(n.loss, NUMBER, "%.6f", validation);
    if (!isnan(validation)) add(&n, "validation_loss", n.loss);
    bool ok = checkpoint_save(path, model, n.notes, n.count, err);
    memory_free(n.vocabulary);
    return ok;
}

/* ---- the last state ---- */

bool save_state(const char *path, const Run *run, const Plan *plan, const Corpus *corpus,
                const Progress *progress, const Result *results, int result_count, Error *err) {
    Notes n;
    if (!start_notes(&n, plan->run.seed, corpus, progress->step, err)) return false;
    for (int i = 0; i < NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)progress + numbers[i].member, sizeof value);
        if (isnan(value)) continue;
        snprintf(n.values[i], NUMBER, "%.17g", value);
        add(&n, numbers[i].key, n.values[i]);
    }
    snprintf(n.log, NUMBER, "%016" PRIx64, progress->log_digest);
    char *to = n.results;
    for (int i = 0; i < result_count; i++, results++)
        to += snprintf(to, RESULT_SIZE, "%s %zu %.17g %.17g %.17g %.17g %.17g\n", results->name,
                       results->parameters, results->train, results->validation, results->seconds,
                       results->characters, results->time);
    add(&n, "log_digest", n.log);
    snprintf(n.teacher, NUMBER, "%016" PRIx64, plan->teacher);
    if (plan->teacher) add(&n, "teacher", n.teacher);
    add(&n, "settings", plan->words);
    add(&n, "results", n.results);
    add(&n, "kernels", run_kernels(run));
    bool ok = checkpoint_save_run(path, run, n.notes, n.count, err);
    memory_free(n.vocabulary);
    return ok;
}

/* A number in plain digits, not negative. */
static bool read_number(const Note *note, double *number) {
    char *end;
    if (!note || !*note->value || strlen(note->value) != note->length) return false;
    *number = strtod(note->value, &end);
    return !*end && *number >= 0;
}

static bool read_digest(const Note *note, uint64_t *digest) {
    if (!note || note->length != 16 || strspn(note->value, "0123456789abcdef") != 16) return false;
    *digest = strtoull(note->value, NULL, 16);
    return true;
}

/* A line for each rung that is done. */
static bool read_results(const Note *note, State *state) {
    if (!note) return false;
    for (const char *line = note->value; *line; line = strchr(line, '\n') + 1) {
        double figures[6];
        size_t name = strcspn(line, " \n");
        const char *at = line + name, *known = request_rung(line, name);
        if (!known || !strchr(line, '\n') || state->result_count == MAX_RUNGS) return false;
        for (int i = 0; i < 6; i++) {
            char *end;
            if (*at != ' ' || at[1] == '\n') return false;
            figures[i] = strtod(at, &end);
            if (end == at || !(figures[i] >= 0 && figures[i] < 1e15)) return false;
            at = end;
        }
        if (*at != '\n') return false;
        state->results[state->result_count++] = (Result){.name = known,
                                                         .parameters = (size_t)figures[0],
                                                         .train = figures[1],
                                                         .validation = figures[2],
                                                         .seconds = figures[3],
                                                         .characters = figures[4],
                                                         .time = figures[5]};
    }
    return true;
}

/* A word; older states do not have it. */
static bool read_kernels(const Note *note, char kernels[KERNELS_SIZE]) {
    static const char word[] = "abcdefghijklmnopqrstuvwxyz0123456789";
    if (!note) return true;
    if (note->length >= KERNELS_SIZE || strspn(note->value, word) != note->length) return false;
    memcpy(kernels, note->value, note->length + 1);
    return true;
}

/* The key of the first invalid note, NULL if all are valid. */
static const char *read_notes(State *state) {
    const Checkpoint *c = &state->checkpoint;
    double number;
    if (!read_number(checkpoint_note(c, "step"), &number) || !(number <= 1e9)) return "step";
    state->progress.step = (int)number;
    for (int i = 0; i < NUMBERS; i++) {
        const Note *note = checkpoint_note(c, numbers[i].key);
        if (!note && is_newer(numbers[i].member))
            number = NAN;
        else if (!read_number(note, &number) || (is_newer(numbers[i].member) && isinf(number)))
            return numbers[i].key;
        memcpy((char *)&state->progress + numbers[i].member, &number, sizeof number);
    }
    const Progress *p = &state->progress;
    if (p->decay_start > 0 && !(p->decay_end > p->decay_start && p->decay_end <= 1e9))
        return "cooled";
    const Note *words = checkpoint_note(c, "settings");
    if (!words || words->length >= WORDS_SIZE || strlen(words->value) != words->length)
        return "settings";
    memcpy(state->words, words->value, words->length + 1);
    if (!read_digest(checkpoint_note(c, "text"), &state->text)) return "text";
    const Note *log = checkpoint_note(c, "log_digest"); /* older states do not have it */
    if (log && !read_digest(log, &state->progress.log_digest)) return "log_digest";
    const Note *teacher = checkpoint_note(c, "teacher");
    if (teacher && !read_digest(teacher, &state->teacher)) return "teacher";
    if (!read_kernels(checkpoint_note(c, "kernels"), state->progress.kernels)) return "kernels";
    return read_results(checkpoint_note(c, "results"), state) ? NULL : "results";
}

bool state_load(State *state, const char *path, Error *err) {
    *state = (State){0};
    if (!checkpoint_load(&state->checkpoint, path, err)) return false;
    if (!state->checkpoint.first_moments) {
        state_free(state);
        return fail(err, "%s: is a model, not the state of a training", path);
    }
    const char *bad = read_notes(state);
    if (!bad) return true;
    state_free(state);
    return fail(err, "%s: its metadata has no valid '%s'", path, bad);
}

void state_free(State *state) {
    checkpoint_free(&state->checkpoint);
}
