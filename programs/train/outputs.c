#include "programs/train/outputs.h"
#include "base/claims.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/tril.h"
#include "programs/report/page.h"
#include "programs/train/log.h"

#include <string.h>

/* ---- claims ---- */

typedef enum { STATE, MODEL, LOG, PAGE, TABLE } Kind;

static const char *const purposes[] = {
    [STATE] = "the state of the training", [MODEL] = "the model", [LOG] = "the log",
    [PAGE] = "the page of the training",   [TABLE] = "the table",
};

typedef struct {
    Kind kind;
    const char *rung; /* for a model or log */
    const char *path; /* borrowed */
    bool known;       /* the existing file belongs to the training that is resumed, or to its
                         text */
} Output;

struct Outputs {
    Claims *claims;
    Output list[3 + 2 * MAX_RUNGS]; /* the state first, a model before its log */
    int count;
};

static bool add(Outputs *o, Kind kind, const char *rung, const char *path, Error *err) {
    o->list[o->count++] = (Output){.kind = kind, .rung = rung, .path = path};
    return claims_write(o->claims, purposes[kind], path, err);
}

static bool add_all(Outputs *o, const Files *files, Error *err) {
    bool ok = add(o, STATE, NULL, files->state, err);
    for (int i = 0; i < files->rungs && ok; i++)
        ok = add(o, MODEL, files->names[i], files->checkpoints[i], err) &&
             add(o, LOG, files->names[i], files->logs[i], err);
    return ok && add(o, PAGE, NULL, files->page, err) &&
           (!*files->table || add(o, TABLE, NULL, files->table, err));
}

/* A model may be a file, or a folder with these files. `model` may be NULL. */
static bool claim_model(Outputs *o, const char *what, const char *model, Error *err) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    bool ok = !model || claims_read(o->claims, what, model, err);
    for (int i = 0; i < 3 && ok && model; i++) {
        char *path;
        ok = file_within(model, files[i], &path, err) && claims_read(o->claims, what, path, err);
        memory_free(path);
    }
    return ok;
}

bool outputs_open(Outputs **outputs, const Files *files, Error *err) {
    Outputs *o;
    *outputs = NULL;
    if (!memory_alloc(&o, 1, sizeof *o, "the names of files", err)) return false;
    bool ok = claims_open(&o->claims, err) &&
              claims_read(o->claims, "the text", files->text, err) &&
              claim_model(o, "what --init begins from", files->init, err) &&
              claim_model(o, "the teacher", files->teacher, err) && add_all(o, files, err) &&
              claims_settle(o->claims, err);
    if (ok)
        *outputs = o;
    else
        outputs_close(o);
    return ok;
}

void outputs_close(Outputs *o) {
    if (!o) return;
    claims_close(o->claims);
    memory_free(o);
}

/* ---- what exists already ---- */

static const Output *find(const Outputs *o, Kind kind, const char *rung) {
    for (int i = 0; i < o->count; i++)
        if (o->list[i].kind == kind && (!rung || strcmp(o->list[i].rung, rung) == 0))
            return &o->list[i];
    return NULL;
}

/* Is the checkpoint of a training on this text? A file that is not a checkpoint is not. An old
 * checkpoint that does not name its text belongs to the text of the state beside it. */
static bool is_of_text(const char *path, uint64_t text, bool by_state, bool *of_text, Error *err) {
    TrilError error;
    uint64_t of;
    TrilStatus status = tril_model_text(path, &of, &error);
    *of_text = status == TRIL_OK && (of ? of == text : by_state);
    return status != TRIL_NO_MEMORY || fail(err, "%s", error.text);
}

/* Sets `known` for each output that is there. */
static bool look(Outputs *o, uint64_t digest, Error *err) {
    bool by_state = false, ok = true;
    for (int i = 0; i < o->count && ok; i++) {
        Output *output = &o->list[i];
        bool *known = &output->known;
        if (!claims_there(o->claims, output->path)) continue;
        switch (output->kind) {
            case STATE:
                ok = is_of_text(output->path, digest, false, known, err);
                by_state = *known;
                break;
            case MODEL: ok = is_of_text(output->path, digest, by_state, known, err); break;
            case LOG:
                *known = (by_state || find(o, MODEL, output->rung)->known) &&
                         file_begins(output->path, LOG_HEADING);
                break;
            case PAGE: *known = page_is_of(output->path, digest); break;
            case TABLE:
                *known = find(o, PAGE, NULL)->known && file_begins(output->path, TABLE_HEADING);
                break;
        }
    }
    return ok;
}

bool outputs_make_way(Outputs *o, uint64_t digest, bool resumed, char where[PATH_SIZE],
                      Error *err) {
    const char *paths[sizeof o->list / sizeof *o->list];
    int count = 0;
    *where = 0;
    if (resumed && !look(o, digest, err)) return false;
    /* backwards: the state comes first in the list and is the last to go */
    for (int i = o->count; i-- > 0;)
        if (!resumed || !o->list[i].known) paths[count++] = o->list[i].path;
    return claims_set_aside(o->claims, paths, count, where, PATH_SIZE, err);
}

bool outputs_hold(Outputs *o, Error *err) {
    return claims_hold(o->claims, err);
}

bool outputs_set_aside(Outputs *o, const char *path, char where[PATH_SIZE], Error *err) {
    return claims_set_aside(o->claims, &path, 1, where, PATH_SIZE, err);
}
