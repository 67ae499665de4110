#include "programs/train/files.h"
#include "base/memory.h"

#include <string.h>

/* ---- one path ---- */

static bool copy_path(const char *from, char path[PATH_SIZE], Error *err) {
    int length = snprintf(path, PATH_SIZE, "%s", from);
    return length < PATH_SIZE || fail(err, "%s: too long a path", from);
}

/* `name` in the folder of `out`. */
static bool beside(const char *out, const char *name, char path[PATH_SIZE], Error *err) {
    const char *slash = strrchr(out, '/');
    int length = snprintf(path, PATH_SIZE, "%.*s%s", slash ? (int)(slash - out + 1) : 0, out, name);
    return length < PATH_SIZE || fail(err, "%s: too long a path", out);
}

/* `out` with the ending .safetensors, if it has it, replaced by another. */
static bool with_ending(const char *out, const char *ending, char path[PATH_SIZE], Error *err) {
    static const char usual[] = ".safetensors";
    size_t length = strlen(out), cut = strlen(usual);
    if (length > cut && strcmp(out + length - cut, usual) == 0) length -= cut;
    int written = snprintf(path, PATH_SIZE, "%.*s%s", (int)length, out, ending);
    return written < PATH_SIZE || fail(err, "%s: too long a path", out);
}

bool files_state(const char *out, char path[PATH_SIZE], Error *err) {
    return with_ending(out, ".last.safetensors", path, err);
}

/* ---- all of them ---- */

static bool name_rung(Files *files, int i, const Request *request, Error *err) {
    char file[64];
    bool asked = strcmp(files->names[i], request->model) == 0;
    snprintf(file, sizeof file, "%s.safetensors", files->names[i]);
    bool ok = asked ? copy_path(request->out, files->checkpoints[i], err)
                    : beside(request->out, file, files->checkpoints[i], err);
    return ok && (asked && request->log
                      ? copy_path(request->log, files->logs[i], err)
                      : with_ending(files->checkpoints[i], ".csv", files->logs[i], err));
}

static bool name_all(Files *files, const Request *request, Error *err) {
    files->text = request->input;
    files->init = request->init;
    files->teacher = request->teacher;
    files->rungs = request_rungs(request, files->names);
    bool ok = files_state(request->out, files->state, err);
    for (int i = 0; i < files->rungs && ok; i++) ok = name_rung(files, i, request, err);
    return ok && beside(request->out, "report.html", files->page, err) &&
           (!request->ladder || beside(request->out, "ladder.csv", files->table, err));
}

bool files_name(Files **named, const Request *request, Error *err) {
    Files *files;
    *named = NULL;
    if (!memory_alloc(&files, 1, sizeof *files, "the names of files", err)) return false;
    if (name_all(files, request, err))
        *named = files;
    else
        files_free(files);
    return *named;
}

void files_free(Files *files) {
    memory_free(files);
}
