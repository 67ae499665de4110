/* fuzz_state.c - a state with any metadata is an error, or its run can be resumed. The bytes are
 * keys and values, each followed by a zero byte, which replace those of a stored state. */
#include "tests/fuzz/fuzz.h"
#include "tests/state.h"
#include "programs/train/saved.h"

static int replace(Metadata *notes, int count, const char *key, const char *value) {
    int i = 0;
    while (i < count && strcmp(notes[i].key, key) != 0) i++;
    notes[i] = (Metadata){key, value, strlen(value)};
    return count + (i == count);
}

void fuzz_state(const uint8_t *bytes, size_t length) {
    enum { MOST = 100 };
    static Checkpoint stored;
    static Run *run; /* has the moments */
    RunOptions options = {.batch = 1, .length = 1, .training = true, .threads = 1};
    Metadata notes[MOST + 1];
    int count = 0;
    if (!run) {
        if (!checkpoint_read(&stored, "tests/golden/formats/state-3.safetensors") ||
            !run_open(&run, &stored.model, &options, &err))
            fuzz_fail("a stored state");
        run_restore(run, 1, stored.moments[0], stored.moments[1]);
    }
    for (int i = 0; i < stored.file.metadata_count; i++)
        if (!checkpoint_has_key(stored.file.metadata[i].key))
            notes[count++] = stored.file.metadata[i];
    const char *text = (const char *)bytes, *end = text + length;
    while (count < MOST) {
        const char *value = memchr(text, 0, (size_t)(end - text));
        const char *next = value ? memchr(value + 1, 0, (size_t)(end - value - 1)) : NULL;
        if (!next) break;
        if (!checkpoint_has_key(text)) count = replace(notes, count, text, value + 1);
        text = next + 1;
    }
    Plan *plan = calloc(1, sizeof *plan);
    snprintf(plan->state_file, PATH_SIZE, "%s/tril-fuzz-%d.last.safetensors", fuzz_files(),
             (int)getpid());
    if (!checkpoint_save(plan->state_file, &stored.model, run, notes, count, &err))
        fuzz_fail("a state is written");
    TrilError error;
    if (saved_load(plan, &err)) {
        if (tril_options_check(&plan->options, &error) != TRIL_OK) fuzz_fail("valid options");
        tril_model_free(plan->resumed);
    } else if (strstr(err.text, plan->state_file) != err.text || strchr(err.text, '\n')) {
        fuzz_fail("one sentence");
    }
    remove(plan->state_file);
    free(plan);
}
