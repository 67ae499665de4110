#include "training/outputs.h"
#include "base/claims.h"
#include "base/file.h"
#include "base/memory.h"
#include "report/page.h"
#include "training/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* ---- paths ---- */

static bool copy_path(const char *from, char path[PATH_ROOM], Error *err) {
    int length = snprintf(path, PATH_ROOM, "%s", from);
    return length < PATH_ROOM || fail(err, "%s: too long a path", from);
}

/* `out` with another ending for its .safetensors, if it has that. */
static bool with_ending(const char *out, const char *ending, char path[PATH_ROOM], Error *err) {
    static const char usual[] = ".safetensors";
    size_t length = strlen(out), cut = strlen(usual);
    if (length > cut && strcmp(out + length - cut, usual) == 0) length -= cut;
    int written = snprintf(path, PATH_ROOM, "%.*s%s", (int)length, out, ending);
    return written < PATH_ROOM || fail(err, "%s: too long a path", out);
}

bool path_beside(const char *out, const char *name, char path[PATH_ROOM], Error *err) {
    const char *slash = strrchr(out, '/');
    int length = snprintf(path, PATH_ROOM, "%.*s%s", slash ? (int)(slash - out + 1) : 0, out, name);
    return length < PATH_ROOM || fail(err, "%s: too long a path", out);
}

bool checkpoint_path(const Settings *settings, const char *name, char path[PATH_ROOM], Error *err) {
    char file[64];
    snprintf(file, sizeof file, "%s.safetensors", name);
    if (strcmp(name, settings->model) != 0) return path_beside(settings->out, file, path, err);
    return copy_path(settings->out, path, err);
}

bool log_path(const Settings *settings, const char *name, char path[PATH_ROOM], Error *err) {
    char checkpoint[PATH_ROOM];
    if (settings->log && strcmp(name, settings->model) == 0)
        return copy_path(settings->log, path, err);
    return checkpoint_path(settings, name, checkpoint, err) &&
           with_ending(checkpoint, ".csv", path, err);
}

bool state_path(const char *out, char path[PATH_ROOM], Error *err) {
    return with_ending(out, ".last.safetensors", path, err);
}

bool table_path(const Settings *settings, char path[PATH_ROOM], Error *err) {
    return path_beside(settings->out, "ladder.csv", path, err);
}

bool page_path(const Settings *settings, char path[PATH_ROOM], Error *err) {
    return path_beside(settings->out, "report.html", path, err);
}

/* ---- claims ---- */

typedef enum { STATE, MODEL, LOG, PAGE, TABLE } Kind;

static const char *const purposes[] = {
    [STATE] = "the state of the training", [MODEL] = "the model", [LOG] = "the log",
    [PAGE] = "the page of the training",   [TABLE] = "the table",
};

typedef struct {
    Kind kind;
    const char *rung; /* of a model or log */
    char *path;       /* owned */
    bool known;       /* what is there is of the training that goes on, or of its text */
} Output;

struct Outputs {
    Claims *claims;
    Output list[3 + 2 * MAX_RUNGS]; /* the state first, a model before its log */
    int count;
};

static bool add(Outputs *o, Kind kind, const char *rung, const char *path, Error *err) {
    Output *output = &o->list[o->count];
    size_t length = strlen(path) + 1;
    *output = (Output){.kind = kind, .rung = rung};
    if (!memory_alloc(&output->path, length, 1, path, err)) return false;
    memcpy(output->path, path, length);
    o->count++;
    return claims_write(o->claims, purposes[kind], path, err);
}

static bool add_all(Outputs *o, const Settings *s, const char *const names[], int rungs,
                    Error *err) {
    char path[PATH_ROOM];
    if (!state_path(s->out, path, err) || !add(o, STATE, NULL, path, err)) return false;
    for (int i = 0; i < rungs; i++)
        if (!checkpoint_path(s, names[i], path, err) || !add(o, MODEL, names[i], path, err) ||
            !log_path(s, names[i], path, err) || !add(o, LOG, names[i], path, err))
            return false;
    if (!page_path(s, path, err) || !add(o, PAGE, NULL, path, err)) return false;
    return !s->ladder || (table_path(s, path, err) && add(o, TABLE, NULL, path, err));
}

/* --init may be a file, or a folder with these. */
static bool claim_start(Outputs *o, const char *init, Error *err) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    const char *what = "what --init begins from";
    bool ok = claims_read(o->claims, what, init, err);
    for (int i = 0; i < 3 && ok; i++) {
        char *path;
        ok = file_within(init, files[i], &path, err) && claims_read(o->claims, what, path, err);
        memory_free(path);
    }
    return ok;
}

bool outputs_open(Outputs **outputs, const Settings *s, const char *const names[], int rungs,
                  Error *err) {
    Outputs *o;
    *outputs = NULL;
    if (!memory_alloc(&o, 1, sizeof *o, "the names of files", err)) return false;
    bool ok = claims_open(&o->claims, err) && claims_read(o->claims, "the text", s->input, err) &&
              (!s->init || claim_start(o, s->init, err)) && add_all(o, s, names, rungs, err) &&
              claims_settle(o->claims, err);
    if (ok)
        *outputs = o;
    else
        outputs_close(o);
    return ok;
}

void outputs_close(Outputs *o) {
    if (!o) return;
    for (int i = 0; i < o->count; i++) memory_free(o->list[i].path);
    claims_close(o->claims);
    memory_free(o);
}

/* ---- what is there already ---- */

static const Output *find(const Outputs *o, Kind kind, const char *rung) {
    for (int i = 0; i < o->count; i++)
        if (o->list[i].kind == kind && (!rung || strcmp(o->list[i].rung, rung) == 0))
            return &o->list[i];
    return NULL;
}

/* What a checkpoint says of its training; a file that is none says nothing. One from before models
 * said so is of the text that the state beside it is of. */
static bool read_notes(const char *path, const char *text, bool by_state, bool *of_text,
                       Error *err) {
    Checkpoint c;
    *of_text = false;
    if (!checkpoint_peek(&c, path, err)) return !err->no_memory;
    const Note *of = checkpoint_note(&c, "text");
    *of_text = of ? strcmp(of->value, text) == 0 : by_state;
    checkpoint_free(&c);
    return true;
}

/* Sets whether each output that is there is of the text. */
static bool look(Outputs *o, uint64_t digest, Error *err) {
    bool by_state = false, ok = true;
    char text[17];
    snprintf(text, sizeof text, "%016" PRIx64, digest);
    for (int i = 0; i < o->count && ok; i++) {
        Output *output = &o->list[i];
        bool *known = &output->known;
        if (!claims_there(o->claims, output->path)) continue;
        switch (output->kind) {
            case STATE:
                ok = read_notes(output->path, text, false, known, err);
                by_state = *known;
                break;
            case MODEL: ok = read_notes(output->path, text, by_state, known, err); break;
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

bool outputs_make_way(Outputs *o, uint64_t digest, bool resumed, char where[PATH_ROOM],
                      Error *err) {
    const char *paths[sizeof o->list / sizeof *o->list];
    int count = 0;
    *where = 0;
    if (resumed && !look(o, digest, err)) return false;
    /* backwards: the state, which is the first, is the last to go */
    for (int i = o->count; i-- > 0;)
        if (!resumed || !o->list[i].known) paths[count++] = o->list[i].path;
    return claims_set_aside(o->claims, paths, count, where, PATH_ROOM, err);
}

bool outputs_hold(Outputs *o, Error *err) {
    return claims_hold(o->claims, err);
}

bool outputs_set_aside(Outputs *o, const char *path, char where[PATH_ROOM], Error *err) {
    return claims_set_aside(o->claims, &path, 1, where, PATH_ROOM, err);
}
