#include "programs/train/start.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/message.h"
#include "programs/train/display.h"

#include <inttypes.h>
#include <string.h>

/* ---- the state of a training that goes on ---- */

/* The state makes --init unnecessary, but a wrong path is still an error. */
static bool check_init(const Request *asked, Error *err) {
    return !asked->init || file_can_be_read(asked->init, err);
}

/* Is it the training of another rung than the command line asks for? */
static bool is_other_rung(const Request *asked, const Saved *saved) {
    Request before;
    Error none;
    return asked->model && request_parse(&before, saved->words, false, &none) &&
           strcmp(before.model, asked->model) != 0;
}

/* With --continue a state of another text or rung is left alone, and a new training begins. */
static bool is_wanted(const Request *asked, const Saved *saved, bool *wanted, Error *err) {
    char *text;
    size_t length;
    *wanted = true;
    if (!asked->continues) return true;
    *wanted = !is_other_rung(asked, saved);
    if (!*wanted) return true;
    if (!file_read(asked->input, &text, &length, err)) return false;
    *wanted = tril_digest(text, length) == tril_state_text(saved->state);
    memory_free(text);
    return true;
}

/* Loads the state, if there is one to resume. */
static bool load_state(Start *start, const Request *asked, const char *path, Error *err) {
    if (!file_exists(path)) {
        if (!asked->quiet && !asked->continues)
            show_line("%s: no such file: a new training begins", path);
        return true;
    }
    if (!file_begins(path, ""))
        return fail(err, "%s: is no regular file, and not the state of a training", path);
    if (asked->continues && !file_begins(asked->input, ""))
        return fail(err, "%s: --continue reads the text twice, which must be a regular file",
                    asked->input);
    if (!check_init(asked, err) || !saved_load(&start->saved, path, err)) return false;
    bool ok = is_wanted(asked, &start->saved, &start->resumed, err);
    if (!ok || !start->resumed) saved_free(&start->saved);
    return ok;
}

/* Are the words of the state those of its model? Rungs of one training have the same sizes. */
static bool check_sizes(const Request *request, const TrilState *state, Error *err) {
    const TrilSizes has = tril_state_sizes(state);
    TrilSizes said = request->sizes;
    said.rung = has.rung;
    return plan_same_sizes(&has, &said) ||
           fail(err, "its model is not of the sizes that its settings say");
}

static bool load_resume(Start *start, Request *request, const Request *asked, Error *err) {
    char path[PATH_SIZE];
    Request before;
    Error why;
    const char *out = request->out;
    if (!files_state(out, path, err) || !load_state(start, asked, path, err)) return false;
    if (!start->resumed) return true;
    bool own = tril_state_note(start->saved.state, "request") != NULL; /* of ./train */
    if (request_parse(&before, start->saved.words, own, &why) &&
        request_resume(request, asked, &before, &why) &&
        check_sizes(request, start->saved.state, &why))
        return true;
    saved_free(&start->saved);
    return fail(err, "%s: %.400s", path, why.text);
}

/* ---- a trained model ---- */

/* Requests what the model settles. Refused: another value that a person asks for. */
static bool request_of_model(Request *settled, const Request *asked, const TrilModel *init,
                             Error *err) {
    const TrilSizes own = tril_model_sizes(init), has = tril_sizes_used(&own),
                    *wants = &asked->sizes;
    const struct {
        const char *name;
        int wants, has;
    } sizes[] = {{"number of layers", wants->layers, has.layers},
                 {"number of heads", wants->heads, has.heads},
                 {"width", wants->width, has.width},
                 {"number of heads of keys and values", wants->kv_heads, has.kv_heads},
                 {"number of channels inside the MLP", wants->hidden, has.hidden},
                 {"context", wants->context, has.context}};
    bool bytes = tril_tokenizer_has_bytes(tril_model_tokenizer(init));
    if (asked->model && strcmp(asked->model, has.rung) != 0)
        return fail(err, "%s: is a %s, not a %s", asked->init, has.rung, asked->model);
    for (int i = 0; i < COUNT(sizes); i++)
        if (sizes[i].wants > 0 && sizes[i].wants != sizes[i].has)
            return fail(err, "%s: its %s is %d, not %d", asked->init, sizes[i].name, sizes[i].has,
                        sizes[i].wants);
    if (asked->bytes && !bytes)
        return fail(err, "%s: reads UTF-8 characters, and not --bytes", asked->init);
    *settled = *asked;
    settled->model = has.rung;
    settled->bytes = bytes;
    settled->sizes = own;
    return true;
}

static bool load_model(TrilModel **model, const char *path, Error *err) {
    TrilError error;
    return tril_model_load(model, path, &error) == TRIL_OK || message_take(err, &error, NULL);
}

static bool load_init(Start *start, Request *request, const Request *asked, Error *err) {
    Request settled;
    if (!load_model(&start->init, asked->init, err)) return false;
    bool ok = request_of_model(&settled, asked, start->init, err);
    if (ok) *request = request_new(&settled);
    return ok;
}

/* ---- either ---- */

static bool load_start(Start *start, Request *request, const Request *asked, Error *err) {
    *request = request_new(asked);
    if ((asked->resume || asked->continues) && !load_resume(start, request, asked, err))
        return false;
    return start->resumed || !asked->init || load_init(start, request, asked, err);
}

/* A training that goes on needs the teacher it began with. */
static bool load_teacher(Start *start, const char *path, Error *err) {
    if (path && !load_model(&start->teacher, path, err)) return false;
    if (!start->resumed) return true;
    uint64_t before = start->saved.teacher;
    uint64_t now = start->teacher ? tril_model_digest(start->teacher) : 0;
    if (now == before) return true;
    if (!now)
        return fail(err,
                    "this training has a --teacher, which must be named again: the model with "
                    "the digest %016" PRIx64,
                    before);
    return fail(err, "%s: is not the teacher of the training that is to go on", path);
}

bool start_load(Start *start, Request *request, const Request *asked, Error *err) {
    *start = (Start){.resumed = false};
    if (load_start(start, request, asked, err) && load_teacher(start, asked->teacher, err))
        return true;
    start_free(start);
    return false;
}

void start_free(Start *start) {
    tril_model_free(start->teacher);
    tril_model_free(start->init);
    saved_free(&start->saved);
}

/* ---- the text ---- */

/* The model of --init now has all characters of the text, too. */
static bool extend_model(Start *start, const Request *request, const char *text, size_t length,
                         Error *err) {
    TrilError error;
    TrilModel *extended;
    if (tril_model_extend(&extended, start->init, text, length, request->seed, &error) != TRIL_OK)
        return message_take(err, &error, request->input);
    start->added = tril_tokenizer_size(tril_model_tokenizer(extended)) -
                   tril_tokenizer_size(tril_model_tokenizer(start->init));
    tril_model_free(start->init);
    start->init = extended;
    return true;
}

/* Of the state: it must be the same text, character by character. */
static bool check_digest(const Start *start, const Request *request, const char *text,
                         size_t length, Error *err) {
    return tril_digest(text, length) == tril_state_text(start->saved.state) ||
           fail(err, "%s: is not the text of the training that --resume is to go on with",
                request->input);
}

/* A teacher's predictions are of the same characters, in the same order. */
static bool check_teacher(const Start *start, const Request *request, const Input *input,
                          Error *err) {
    return !start->teacher ||
           tril_tokenizer_same(tril_model_tokenizer(start->teacher), input->tokenizer) ||
           fail(err, "%s: knows other characters than the text has, and cannot teach them",
                request->teacher);
}

static bool make_input(Start *start, const Request *request, const char *text, size_t length,
                       Input *input, Error *err) {
    int context = request->sizes.context > 0 ? request->sizes.context : 1;
    const TrilTokenizer *known = NULL;
    if (start->resumed && !check_digest(start, request, text, length, err)) return false;
    if (start->init && length > 0 && !extend_model(start, request, text, length, err)) return false;
    if (start->resumed) known = tril_state_tokenizer(start->saved.state);
    if (start->init) known = tril_model_tokenizer(start->init);
    if (!input_make(input, request->input, text, length, request->bytes, request->held_out, context,
                    known, err))
        return false;
    bool ok = check_teacher(start, request, input, err);
    if (!ok) input_free(input);
    return ok;
}

bool start_read_text(Start *start, const Request *request, Input *input, Error *err) {
    char *text;
    size_t length;
    if (!file_read(request->input, &text, &length, err)) return false;
    bool ok = make_input(start, request, text, length, input, err);
    memory_free(text);
    return ok;
}

/* ---- its name for its files ---- */

uint64_t start_training(const Start *start, const Plan *plan, const Input *input) {
    if (start->resumed && start->saved.training) return start->saved.training;
    const char *slash = strrchr(plan->out, '/'), *name = slash ? slash + 1 : plan->out;
    const uint64_t models[] = {input->digest, start->init ? tril_model_digest(start->init) : 0,
                               plan->teacher};
    Digest digest = digest_start();
    digest_add(&digest, plan->words, strlen(plan->words) + 1);
    digest_add(&digest, name, strlen(name) + 1);
    digest_add(&digest, models, sizeof models);
    uint64_t value = digest_value(&digest);
    return value ? value : 1;
}
