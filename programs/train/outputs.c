#include "programs/train/outputs.h"
#include "base/file.h"
#include "base/memory.h"
#include "programs/common.h"
#include "programs/run_files.h"

#include <stdio.h>
#include <string.h>

/* ---- claims ---- */

/* Claims a model, if it is given: a file, or a folder with these files. */
static bool claim_model(Claims *claims, const char *what, const char *model, Error *err) {
    static const char *const files[] = {"config.json", "model.safetensors", "tokenizer.json"};
    bool ok = !model || claims_read(claims, what, model, err);
    for (int i = 0; i < 3 && ok && model; i++) {
        char *path;
        ok = file_within(model, files[i], &path, err) && claims_read(claims, what, path, err);
        memory_free(path);
    }
    return ok;
}

bool outputs_open(Ladder *l, Error *err) {
    const Plan *plan = l->plan;
    const Texts *texts = &plan->texts;
    bool ok = claims_open(&l->claims, err);
    Claims *claims = l->claims;
    for (int i = 0; i < texts->count && ok; i++)
        ok = strcmp(texts->files[i].path, "-") == 0 ||
             claims_read(claims, "the text", texts->files[i].path, err);
    ok = ok && claim_model(claims, "the model of --init", plan->arguments->init, err) &&
         claims_write(claims, "the state of the run", plan->state_file, err);
    for (int i = 0; i < plan->rung_count && ok; i++)
        ok = claims_write(claims, "the model", plan->rungs[i].checkpoint, err) &&
             claims_write(claims, "the log", plan->rungs[i].log, err);
    ok = ok && claims_write(claims, "the page of the run", plan->page, err) &&
         (!*plan->table || claims_write(claims, "the table", plan->table, err)) &&
         claims_settle(claims, err);
    if (!ok || !plan->state) return ok;
    /* before the claims, another training run may have written the state */
    uint64_t now;
    if (tril_file_digest(plan->state_file, "digest", &now, err) != TRIL_OK) return false;
    return now == plan->state_digest ||
           fail(err, "%s: another training run has just written this file; start again",
                plan->state_file);
}

/* ---- the page's beginning ---- */

void outputs_begin_page(const Ladder *l, FILE *out) {
    fprintf(out, RUN_PAGE_BEGINNING "%s %s %s\">\n", digest_text(l->plan->training).text,
            digest_text(l->tables[0]).text, digest_text(l->tables[1]).text);
}

/* Reads the numbers of a page: its training's, and the tables' digests. Returns false if `path` is
 * no page. */
static bool read_page(const char *path, uint64_t numbers[3]) {
    char begin[256];
    Error none;
    FILE *file = file_stream(path, STREAM_READ, &none);
    if (!file) return false;
    begin[fread(begin, 1, sizeof begin - 1, file)] = 0;
    fclose(file);
    const size_t length = strlen(RUN_PAGE_BEGINNING);
    const char *at = strncmp(begin, RUN_PAGE_BEGINNING, length) == 0 ? begin + length : NULL;
    at = digest_read(at, ' ', &numbers[0]);
    at = digest_read(at, ' ', &numbers[1]);
    return digest_read(at, '"', &numbers[2]) != NULL;
}

/* ---- existing files ---- */

/* Returns the digest of a whole file, or TRIL_NO_DIGEST if it cannot be read. */
static uint64_t digest_of(const char *path) {
    char *bytes;
    size_t length;
    Error none;
    if (!file_begins(path, "") || !file_read(path, &bytes, &length, &none)) return TRIL_NO_DIGEST;
    uint64_t digest = tril_digest(bytes, length);
    memory_free(bytes);
    return digest;
}

/* Returns true if the rung's log belongs to this training run. The log of the rung in training may
 * have more rows than the state knows: log_reopen checks it. */
static bool is_own_log(const RungFiles *rung, const Plan *plan, bool own_page) {
    if (strcmp(tril_state_options(plan->state).rung, rung->name) == 0 &&
        plan->progress.log_length > 0)
        return true;
    const Result *known = plan_known(plan, rung);
    if (known) return digest_of(rung->log) == known->log_digest;
    return own_page && file_begins(rung->log, LOG_HEADING);
}

/* Moves existing files to a new folder, in which about.txt describes the model of --out. */
static bool set_aside(const Ladder *l, const char *const *paths, int count, char where[PATH_SIZE],
                      Error *err) {
    const char *out = l->plan->arguments->out;
    char about[ABOUT_SIZE] = "", path[PATH_SIZE + 16];
    TrilModel *model;
    for (int i = 0; i < count; i++)
        if (strcmp(paths[i], out) == 0 && tril_model_load(&model, out, NULL) == TRIL_OK) {
            program_describe(model, out, about);
            tril_model_free(model);
        }
    if (!claims_set_aside(l->claims, paths, count, where, PATH_SIZE, err)) return false;
    const char *earlier = file_name(where); /* perhaps of the second of two folders */
    snprintf(path, sizeof path, "%.*s%.*s/" RUN_ABOUT, (int)(file_name(out) - out), out,
             (int)strcspn(earlier, " "), earlier);
    const FilePart line[] = {{about, strlen(about)}, {"\n", 1}};
    return !*where || !*about || file_write(path, line, 2, err);
}

bool outputs_make_way(Ladder *l, char where[PATH_SIZE], Error *err) {
    const Plan *plan = l->plan;
    const bool resumed = plan->state != NULL;
    const char *paths[3 + 2 * MAX_RUNGS]; /* the state is moved last */
    int count = 0;
    uint64_t page[3];
    const bool own_page = resumed && read_page(plan->page, page) && page[0] == plan->training;
    const uint64_t table = own_page && *plan->table ? digest_of(plan->table) : TRIL_NO_DIGEST;
    if (table && (table == page[1] || table == page[2]))
        l->tables[0] = l->tables[1] = table;
    else if (*plan->table)
        paths[count++] = plan->table;
    if (!own_page) paths[count++] = plan->page;
    for (int i = plan->rung_count - 1; i >= 0; i--) {
        const RungFiles *rung = &plan->rungs[i];
        uint64_t of = 0;
        TrilStatus status =
            resumed ? tril_file_digest(rung->checkpoint, "training", &of, err) : TRIL_FILE;
        const bool own_model = status == TRIL_OK && of == plan->training;
        if (status == TRIL_NO_MEMORY) return false;
        if (!resumed || !is_own_log(rung, plan, own_page)) paths[count++] = rung->log;
        if (!own_model) paths[count++] = rung->checkpoint;
    }
    if (!resumed) paths[count++] = plan->state_file;
    return set_aside(l, paths, count, where, err);
}
