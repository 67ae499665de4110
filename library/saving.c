#include "library/saving.h"
#include "base/array.h"
#include "base/memory.h"
#include "base/number.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The numbers of a Progress, under the keys of their notes. */
static const struct {
    const char *key;
    size_t member;
} numbers[] = {
    {"recent_loss", offsetof(Progress, recent)},
    {"recent_steps", offsetof(Progress, recent_count)},
    {"learning_seconds", offsetof(Progress, step_seconds)},
    {"operations", offsetof(Progress, compute)},
    {"lowest_loss", offsetof(Progress, lowest)},
    {"lowest_step", offsetof(Progress, lowest_step)},
    {"stale", offsetof(Progress, evaluations_since_best)},
    {"cooling", offsetof(Progress, decay_start)},
    {"cooled", offsetof(Progress, decay_end)},
};
enum { NUMBERS = COUNT(numbers) };

/* Older states lack it: then it is NaN, and stays unwritten. */
static bool is_newer(size_t member) {
    return member == offsetof(Progress, compute);
}

/* The other keys. */
static const char *const keys[] = {"characters", "vocabulary", "step",    "seed",           "text",
                                   "teacher",    "settings",   "kernels", "validation_loss"};

bool state_has_key(const char *key) {
    for (int i = 0; i < NUMBERS; i++)
        if (strcmp(key, numbers[i].key) == 0) return true;
    for (int i = 0; i < COUNT(keys); i++)
        if (strcmp(key, keys[i]) == 0) return true;
    return checkpoint_has_key(key);
}

/* The notes of a file, and the memory that they point to. */
typedef struct {
    Note notes[8 + NUMBERS + MAX_NOTES];
    int count;
    char *vocabulary; /* owned */
    char step[NUMBER_SIZE], seed[NUMBER_SIZE], loss[NUMBER_SIZE], text[NUMBER_SIZE],
        training[NUMBER_SIZE], teacher[NUMBER_SIZE];
    char values[NUMBERS][NUMBER_SIZE];
    char words[WORDS_SIZE];
} Notes;

static void add(Notes *n, const char *key, const char *value) {
    n->notes[n->count++] = (Note){key, value, strlen(value)};
}

/* Writes the notes that both files have. */
static bool start_notes(Notes *n, const Origin *origin, Error *err) {
    const Vocab *vocab = origin->vocab;
    size_t length = 0;
    *n = (Notes){.count = 0};
    if (!vocab->bytes && !vocab_join(vocab, &n->vocabulary, &length, err)) return false;
    snprintf(n->step, NUMBER_SIZE, "%d", origin->step);
    snprintf(n->seed, NUMBER_SIZE, "%" PRIu64, origin->seed);
    snprintf(n->text, NUMBER_SIZE, "%016" PRIx64, origin->text);
    add(n, "characters", vocab->bytes ? "bytes" : "utf-8");
    n->notes[n->count++] = (Note){"vocabulary", n->vocabulary ? n->vocabulary : "", length};
    add(n, "step", n->step);
    add(n, "seed", n->seed);
    add(n, "text", n->text);
    return true;
}

bool save_model(const char *path, const Model *model, const Origin *origin, Error *err) {
    Notes n;
    if (!start_notes(&n, origin, err)) return false;
    snprintf(n.training, NUMBER_SIZE, "%016" PRIx64, origin->training);
    if (origin->training) add(&n, "training", n.training);
    number_write(n.loss, NUMBER_SIZE, 'f', 6, origin->validation);
    if (!isnan(origin->validation)) add(&n, "validation_loss", n.loss);
    bool ok = checkpoint_save(path, model, n.notes, n.count, err);
    memory_free(n.vocabulary);
    return ok;
}

/* ---- the state ---- */

static void add_progress(Notes *n, const Progress *progress) {
    for (int i = 0; i < NUMBERS; i++) {
        double value;
        memcpy(&value, (const char *)progress + numbers[i].member, sizeof value);
        if (isnan(value)) continue;
        number_write(n->values[i], NUMBER_SIZE, 'g', 17, value);
        add(n, numbers[i].key, n->values[i]);
    }
}

bool save_state(const char *path, const Training *t, const Settings *settings, uint64_t teacher,
                const Note *notes, int count, Error *err) {
    Notes n;
    const Origin origin = {&t->corpus->vocab,
                           settings->seed,
                           t->corpus->digest,
                           0,
                           /* a note of the program */ t->progress.step,
                           NAN};
    if (!start_notes(&n, &origin, err)) return false;
    add_progress(&n, &t->progress);
    snprintf(n.teacher, NUMBER_SIZE, "%016" PRIx64, teacher);
    if (teacher) add(&n, "teacher", n.teacher);
    settings_write(settings, n.words);
    add(&n, "settings", n.words);
    add(&n, "kernels", run_kernels(t->workers.run));
    for (int i = 0; i < count && i < MAX_NOTES; i++) n.notes[n.count++] = notes[i];
    bool ok = checkpoint_save_run(path, t->workers.run, n.notes, n.count, err);
    memory_free(n.vocabulary);
    return ok;
}

/* A number in plain digits, not negative. */
static bool read_number(const Note *note, double *number) {
    char *end;
    if (!note || !*note->value || strlen(note->value) != note->length) return false;
    *number = number_read(note->value, &end);
    return !*end && *number >= 0;
}

static bool read_digest(const Note *note, uint64_t *digest) {
    if (!note || note->length != 16 || strspn(note->value, "0123456789abcdef") != 16) return false;
    *digest = strtoull(note->value, NULL, 16);
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
static const char *read_progress(const Checkpoint *c, Progress *p) {
    double number;
    if (!read_number(checkpoint_note(c, "step"), &number) || !(number <= 1e9)) return "step";
    p->step = (int)number;
    for (int i = 0; i < NUMBERS; i++) {
        const Note *note = checkpoint_note(c, numbers[i].key);
        if (!note && is_newer(numbers[i].member))
            number = NAN;
        else if (!read_number(note, &number) || (is_newer(numbers[i].member) && isinf(number)))
            return numbers[i].key;
        memcpy((char *)p + numbers[i].member, &number, sizeof number);
    }
    bool decays = p->decay_end > p->decay_start && p->decay_end <= 1e9;
    return p->decay_start > 0 && !decays ? "cooled" : NULL;
}

/* The model's sizes are those of the checkpoint. */
static bool read_settings(const Checkpoint *c, Settings *settings) {
    Error why;
    const Note *words = checkpoint_note(c, "settings");
    if (!words || words->length >= WORDS_SIZE || strlen(words->value) != words->length ||
        !settings_read(settings, words->value, &why))
        return false;
    settings->config = c->model.config;
    return true;
}

/* Are the words those of a run that was asked for another rung? Older states of ./train say what
 * the run was asked for, also while it trained a baseline. */
static bool of_another_rung(const Checkpoint *c) {
    char own[64];
    const char *words = checkpoint_note(c, "settings")->value;
    snprintf(own, sizeof own, "--model=%s\n", c->model.config.model);
    return strncmp(words, own, strlen(own)) != 0;
}

/* What was asked for the chosen rung is not for this one. */
static void leave_out_chosen(State *state) {
    state->settings.learning_rate = 0;
    state->settings.weight_decay = -1;
    state->teacher = 0;
}

static const char *read_notes(State *state) {
    const Checkpoint *c = &state->checkpoint;
    const char *bad = read_progress(c, &state->progress);
    if (bad) return bad;
    if (!read_settings(c, &state->settings)) return "settings";
    if (!read_digest(checkpoint_note(c, "text"), &state->text)) return "text";
    const Note *teacher = checkpoint_note(c, "teacher");
    if (teacher && !read_digest(teacher, &state->teacher)) return "teacher";
    if (of_another_rung(c)) leave_out_chosen(state);
    return read_kernels(checkpoint_note(c, "kernels"), state->kernels) ? NULL : "kernels";
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
