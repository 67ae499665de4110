#include "programs/train/outputs.h"
#include "base/claims.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/tril.h"
#include "programs/train/course.h"

#include <inttypes.h>
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
    bool own;         /* the existing file belongs to the training that is resumed */
} Output;

struct Outputs {
    Claims *claims;
    Output list[3 + 2 * MAX_RUNGS]; /* the state first, a model before its log */
    int count;
    uint64_t training;  /* after outputs_make_way */
    uint64_t tables[2]; /* the digests of the table and of the one to be written next; 0: none */
};

static bool add(Outputs *o, Kind kind, const char *rung, const char *path, Error *err) {
    o->list[o->count++] = (Output){.kind = kind, .rung = rung, .path = path};
    return claims_write(o->claims, purposes[kind], path, err);
}

static bool add_all(Outputs *o, const Plan *plan, Error *err) {
    bool ok = add(o, STATE, NULL, plan->state_file, err);
    for (int i = 0; i < plan->rung_count && ok; i++)
        ok = add(o, MODEL, plan->rungs[i].name, plan->rungs[i].checkpoint, err) &&
             add(o, LOG, plan->rungs[i].name, plan->rungs[i].log, err);
    return ok && add(o, PAGE, NULL, plan->page, err) &&
           (!*plan->table || add(o, TABLE, NULL, plan->table, err));
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

/* Checks that the state is still the one that was loaded: before the claims, another training may
 * have written the file. */
static bool check_state(const Plan *plan, Error *err) {
    TrilError error;
    uint64_t now;
    if (!plan->state) return true;
    if (tril_file_digest(plan->state_file, "digest", &now, &error) != TRIL_OK)
        return fail(err, "%s", error.text);
    return now == plan->state_digest ||
           fail(err, "%s: has been written by another training since it was read; start again",
                plan->state_file);
}

bool outputs_open(Outputs **outputs, const Plan *plan, Error *err) {
    Outputs *o;
    const Arguments *asked = plan->arguments;
    *outputs = NULL;
    if (!memory_alloc(&o, 1, sizeof *o, "the names of files", err)) return false;
    bool ok = claims_open(&o->claims, err) &&
              claims_read(o->claims, "the text", asked->input, err) &&
              claim_model(o, "what --init begins from", asked->init, err) &&
              claim_model(o, "the teacher", asked->teacher, err) && add_all(o, plan, err) &&
              claims_settle(o->claims, err) && check_state(plan, err);
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

/* ---- the page's beginning ---- */

#define PAGE_BEGINNING                                                        \
    "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n" \
    "<meta name=\"training\" content=\"%016" PRIx64
#define PAGE_TABLE " %016" PRIx64

void outputs_begin_page(const Outputs *o, FILE *out) {
    fprintf(out, PAGE_BEGINNING PAGE_TABLE PAGE_TABLE "\">\n", o->training, o->tables[0],
            o->tables[1]);
}

/* True if the file at `path` is a page of this training and, unless `table` is 0, names the table
 * of this digest. */
static bool is_page(const char *path, uint64_t training, uint64_t table) {
    enum { TABLES = 2 * 17 };
    char begin[sizeof PAGE_BEGINNING + 16], name[TABLES];
    File file;
    Error none;
    size_t length = (size_t)snprintf(begin, sizeof begin, PAGE_BEGINNING, training);
    if (!file_begins(path, begin)) return false;
    if (!table) return true;
    if (!file_open(&file, path, &none)) return false;
    bool read = file_take(&file, begin, length, &none) && file_take(&file, begin, TABLES, &none);
    file_close(&file);
    begin[TABLES] = 0;
    snprintf(name, sizeof name, PAGE_TABLE, table);
    return read && strstr(begin, name);
}

/* ---- existing files ---- */

/* The digest of a whole file; 0 if it cannot be read. */
static uint64_t digest_of(const char *path) {
    char *bytes;
    size_t length;
    Error none;
    if (!file_begins(path, "") || !file_read(path, &bytes, &length, &none)) return 0;
    uint64_t digest = tril_digest(bytes, length);
    memory_free(bytes);
    return digest;
}

static bool is_of_training(const char *path, uint64_t training, bool *own, Error *err) {
    TrilError error;
    uint64_t of;
    TrilStatus status = tril_file_digest(path, "training", &of, &error);
    *own = status == TRIL_OK && of == training;
    return status != TRIL_NO_MEMORY || fail(err, "%s", error.text);
}

static bool same_folder(const char *path, const char *other) {
    const char *end = strrchr(path, '/'), *other_end = strrchr(other, '/');
    size_t length = end ? (size_t)(end - path) : 0;
    return length == (other_end ? (size_t)(other_end - other) : 0) &&
           memcmp(path, other, length) == 0;
}

/* The log of the rung in training may have rows after those that the state knows: log_reopen checks
 * it. */
static bool is_own_log(const Output *log, const Plan *plan, const Output *page) {
    if (strcmp(tril_state_options(plan->state).rung, log->rung) == 0 &&
        plan->progress.log_length > 0)
        return true;
    for (int i = 0; i < plan->known_count; i++)
        if (strcmp(plan->known[i].name, log->rung) == 0)
            return digest_of(log->path) == plan->known[i].log_digest;
    return page->own && same_folder(log->path, page->path) && file_begins(log->path, LOG_HEADING);
}

/* Sets `own` for each output that is there. */
static bool look(Outputs *o, const Plan *plan, Error *err) {
    const uint64_t training = plan->training;
    Output *page = o->list;
    uint64_t digest;
    bool ok = true;
    while (page->kind != PAGE) page++;
    page->own = is_page(page->path, training, 0);
    for (int i = 0; i < o->count && ok; i++) {
        Output *output = &o->list[i];
        if (!claims_there(o->claims, output->path)) continue;
        switch (output->kind) {
            case STATE: output->own = true; break;
            case MODEL: ok = is_of_training(output->path, training, &output->own, err); break;
            case LOG: output->own = is_own_log(output, plan, page); break;
            case TABLE:
                digest = digest_of(output->path);
                output->own = digest && is_page(page->path, training, digest);
                if (output->own) o->tables[0] = o->tables[1] = digest;
                break;
            case PAGE: break;
        }
    }
    return ok;
}

bool outputs_make_way(Outputs *o, const Plan *plan, char where[PATH_SIZE], Error *err) {
    const char *paths[sizeof o->list / sizeof *o->list];
    int count = 0;
    *where = 0;
    o->training = plan->training;
    if (plan->state && !look(o, plan, err)) return false;
    /* backwards: the state comes first in the list and is the last to go */
    for (int i = o->count; i-- > 0;)
        if (!o->list[i].own) paths[count++] = o->list[i].path;
    return claims_set_aside(o->claims, paths, count, where, PATH_SIZE, err);
}

void outputs_next_table(Outputs *o, uint64_t digest) {
    o->tables[1] = digest;
}

bool outputs_hold(Outputs *o, Error *err) {
    return claims_hold(o->claims, err);
}

bool outputs_set_aside(Outputs *o, const char *path, char where[PATH_SIZE], Error *err) {
    return claims_set_aside(o->claims, &path, 1, where, PATH_SIZE, err);
}
