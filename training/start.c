#include "training/start.h"
#include "base/file.h"
#include "training/display.h"

#include <inttypes.h>
#include <string.h>

/* ---- the state of a training that goes on ---- */

/* The state makes --init unnecessary, but a wrong path is still an error. */
static bool check_init(const Request *asked, Error *err) {
    return !asked->init || file_can_be_read(asked->init, err);
}

/* Is it the training of another rung than the command line asks for? */
static bool is_other_rung(const Request *asked, const State *state) {
    Request before;
    Error none;
    return asked->model && request_parse(&before, state->words, &none) &&
           strcmp(before.model, asked->model) != 0;
}

/* With --continue a state of another text or rung is left alone, and a new training begins. */
static bool is_wanted(const Request *asked, const State *state, bool *wanted, Error *err) {
    uint64_t digest;
    *wanted = true;
    if (!asked->continues) return true;
    *wanted = !is_other_rung(asked, state);
    if (!*wanted) return true;
    if (!corpus_digest(asked->input, &digest, err)) return false;
    *wanted = digest == state->text;
    return true;
}

/* Loads the state, if there is one to resume. */
static bool load_state(Start *start, const Request *asked, const char *path, Error *err) {
    if (!file_exists(path)) {
        if (!asked->quiet && !asked->continues) show_no_state(path);
        return true;
    }
    if (!file_begins(path, ""))
        return fail(err, "%s: is no regular file, and not the state of a training", path);
    if (asked->continues && !file_begins(asked->input, ""))
        return fail(err, "%s: --continue reads the text twice, which must be a regular file",
                    asked->input);
    if (!check_init(asked, err) || !state_load(&start->state, path, err)) return false;
    bool ok = is_wanted(asked, &start->state, &start->resumed, err);
    if (!ok || !start->resumed) state_free(&start->state);
    return ok;
}

static bool load_resume(Start *start, Request *request, const Request *asked, Error *err) {
    char path[PATH_SIZE];
    Request before;
    Error why;
    const char *out = request->out;
    if (!files_state(out, path, err) || !load_state(start, asked, path, err)) return false;
    if (!start->resumed) return true;
    if (request_parse(&before, start->state.words, &why) &&
        request_resume(request, asked, &before, &why))
        return true;
    state_free(&start->state);
    return fail(err, "%s: %.400s", path, why.text);
}

/* ---- a trained model ---- */

/* Requests what the model settles. Refused: another value that a person asks for. */
static bool request_of_model(Request *settled, const Request *asked, const Trained *init,
                             Error *err) {
    const Config *has = &init->checkpoint.model.config, *wants = &asked->sizes;
    const struct {
        const char *name;
        int wants, has;
    } sizes[] = {{"number of layers", wants->L, has->L},
                 {"number of heads", wants->NH, has->NH},
                 {"width", wants->C, has->C},
                 {"number of heads of keys and values", wants->NKV, model_kv_heads(has)},
                 {"number of channels inside the MLP", wants->H, model_hidden(has)},
                 {"context", wants->T, has->T}};
    if (asked->model && strcmp(asked->model, has->model) != 0)
        return fail(err, "%s: is a %s, not a %s", asked->init, has->model, asked->model);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        if (sizes[i].wants > 0 && sizes[i].wants != sizes[i].has)
            return fail(err, "%s: its %s is %d, not %d", asked->init, sizes[i].name, sizes[i].has,
                        sizes[i].wants);
    if (asked->bytes && !init->vocab.bytes)
        return fail(err, "%s: reads UTF-8 characters, and not --bytes", asked->init);
    *settled = *asked;
    settled->model = request_rung(has->model, strlen(has->model));
    settled->bytes = init->vocab.bytes;
    settled->sizes.L = has->L;
    settled->sizes.NH = has->NH;
    settled->sizes.C = has->C;
    settled->sizes.NKV = has->NKV;
    settled->sizes.H = has->H;
    settled->sizes.T = has->T;
    return true;
}

static bool load_init(Start *start, Request *request, const Request *asked, Error *err) {
    Request settled;
    if (!trained_load(&start->init, asked->init, err)) return false;
    start->from_model = request_of_model(&settled, asked, &start->init, err);
    if (start->from_model)
        *request = request_new(&settled);
    else
        trained_free(&start->init);
    return start->from_model;
}

/* ---- either ---- */

static bool load_start(Start *start, Request *request, const Request *asked, Error *err) {
    *request = request_new(asked);
    if ((asked->resume || asked->continues) && !load_resume(start, request, asked, err))
        return false;
    return start->resumed || !asked->init || load_init(start, request, asked, err);
}

Model *start_teacher(Start *start) {
    return start->taught ? &start->teacher.checkpoint.model : NULL;
}

/* A training that goes on needs the teacher it began with. */
static bool load_teacher(Start *start, const char *path, Error *err) {
    uint64_t before = start->state.teacher;
    start->taught = path && trained_load(&start->teacher, path, err);
    if (path && !start->taught) return false;
    if (!start->resumed) return true;
    const Model *teacher = start_teacher(start);
    uint64_t now = teacher ? model_digest(teacher) : 0;
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
    if (!load_start(start, request, asked, err)) return false;
    if (load_teacher(start, asked->teacher, err)) return true;
    start_free(start);
    return false;
}

void start_free(Start *start) {
    if (start->taught) trained_free(&start->teacher);
    if (start->resumed) state_free(&start->state);
    if (start->from_model) trained_free(&start->init);
}

/* The vocabulary of the text now has all characters of the model's. */
static bool extend_model(Start *start, const Corpus *corpus, uint64_t seed, Error *err) {
    start->added = corpus->vocab.size - start->init.vocab.size;
    return start->added == 0 || trained_extend(&start->init, &corpus->vocab, seed, err);
}

static bool check_text(const Start *start, const Corpus *corpus, const char *path, Error *err) {
    return start->state.text == corpus->digest ||
           fail(err, "%s: is not the text of the training that --resume is to go on with", path);
}

/* A teacher's predictions are of the same characters, in the same order. */
static bool check_teacher(const Start *start, const char *path, const Corpus *corpus, Error *err) {
    return !start->taught || vocab_same(&start->teacher.vocab, &corpus->vocab) ||
           fail(err, "%s: knows other characters than the text has, and cannot teach them", path);
}

bool start_read_text(Start *start, const Request *request, Corpus *corpus, Error *err) {
    const Checkpoint *last = &start->state.checkpoint;
    const Vocab *known = start->from_model ? &start->init.vocab : NULL;
    int context = request->sizes.T > 0 ? request->sizes.T : 1;
    char path[PATH_SIZE];
    Vocab before = {0};
    if (start->resumed) {
        if (!files_state(request->out, path, err) || !trained_vocab(last, path, &before, err))
            return false;
        known = &before;
    }
    bool ok =
        corpus_load(corpus, request->input, request->bytes, request->held_out, context, known, err);
    vocab_free(&before);
    if (!ok) return false;
    if (start->resumed) ok = check_text(start, corpus, request->input, err);
    if (start->from_model) ok = extend_model(start, corpus, request->seed, err);
    ok = ok && check_teacher(start, request->teacher, corpus, err);
    if (!ok) corpus_free(corpus);
    return ok;
}
