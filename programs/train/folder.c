#include "programs/train/folder.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/memory.h"
#include "base/world.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* LONGEST_NAME: the most bytes of a name in the folder, or after the folder's own. */
enum { LONGEST_NAME = 64, MAX_EARLIER = 100000 };

struct Folder {
    char path[PATH_SIZE - LONGEST_NAME]; /* without a slash at its end */
    char mark[PATH_SIZE]; /* the file that shows that the folder is a run's, and has the lock */
    int lock;             /* its descriptor, or -1 */
    bool lockless;        /* the file system has no locks */
    bool made;            /* nothing was there before this program */
};

/* ---- content ---- */

typedef struct {
    bool readable, marked;
    int others; /* files that are neither the mark nor temporary */
} Content;

static void count_file(void *content, const char *name) {
    Content *c = content;
    if (strcmp(name, FOLDER_MARK) == 0 || strcmp(name, FOLDER_STATE) == 0) c->marked = true;
    if (strcmp(name, FOLDER_MARK) != 0 && !file_is_temporary(name)) c->others++;
}

static Content content_of(const char *path) {
    Content content = {0};
    content.readable = filesystem_each(path, count_file, &content);
    return content;
}

bool folder_is_used(const Folder *f) {
    const Content content = content_of(f->path);
    return content.others > 0 || !content.readable;
}

void folder_file(const Folder *f, const char *name, const char *ending, char path[PATH_SIZE]) {
    snprintf(path, PATH_SIZE, "%s/%s%s", f->path, name, ending);
}

bool folder_contains(const Folder *f, const char *path) {
    char *file = filesystem_real(path), *folder = filesystem_real(f->path);
    const size_t length = folder ? strlen(folder) : 0;
    const bool inside = file && folder && strncmp(file, folder, length) == 0 && file[length] == '/';
    free(file);
    free(folder);
    return inside;
}

/* ---- the lock ---- */

/* Returns true if the lock's file is still at its path. Without locks any file there will do. */
static bool is_current(const Folder *f) {
    if (f->lock < 0) return false;
    const FileStatus own = filesystem_status(f->lock), there = filesystem_look(f->mark, false);
    return own.kind != FILE_NONE && there.kind != FILE_NONE &&
           (f->lockless || (own.id.device == there.id.device && own.id.number == there.id.number));
}

static void drop_lock(Folder *f) {
    if (f->lock >= 0) close(f->lock);
    f->lock = -1;
}

/* Opens and locks the mark. *again: another process has moved the folder meanwhile. */
static bool lock_mark(Folder *f, bool *again, Error *err) {
    long holder;
    f->lock = filesystem_open(f->mark, OPEN_LOCKS);
    *again = f->lock < 0 && errno == ENOENT;
    if (f->lock < 0) return fail(err, "%s: cannot be opened: %s", f->mark, strerror(errno));
    if (filesystem_status(f->lock).kind != FILE_REGULAR)
        return fail(err, "%s: is not a regular file, so it cannot be locked; remove it", f->mark);
    const LockResult lock = filesystem_lock(f->lock, &holder);
    f->lockless = lock == LOCK_UNSUPPORTED;
    if (lock != LOCK_REFUSED) {
        *again = !is_current(f);
        return !*again || fail(err, "%s: other processes move this folder", f->path);
    }
    char process[48] = "another process";
    if (holder > 0) snprintf(process, sizeof process, "process %ld", holder);
    return fail(err, "%s: %s is training there; wait until it ends, or choose another --out",
                f->path, process);
}

/* Creates the folder and its mark if they are missing, and takes the lock. A file system without
 * locks is not an error. */
static bool take_lock(Folder *f, Error *err) {
    enum { TRIES = 100 };
    bool again = true, locked = false;
    for (int tries = 0; tries < TRIES && again && !locked; tries++) {
        drop_lock(f);
        if (!file_make_parent(f->mark, err)) return false;
        locked = lock_mark(f, &again, err);
    }
    if (!locked) drop_lock(f);
    return locked;
}

bool folder_hold(Folder *f, Error *err) {
    if (world_rank() > 0 || is_current(f)) return true;
    if (file_kind(f->mark) != FILE_NONE && folder_is_used(f))
        return fail(err, "%s: another run took this folder; choose another --out", f->path);
    return take_lock(f, err);
}

/* ---- opening and closing ---- */

/* Checks that a run can be at the path: in a folder that is missing, empty, or a run's. */
static bool check_place(const char *path, Error *err) {
    const char *name = file_name(path);
    const FileKind kind = filesystem_look(path, false).kind;
    if (!*name || strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
        return fail(err, "--out=%s: is not the name of a folder for the run", path);
    if (kind == FILE_NONE) return true;
    if (kind != FILE_FOLDER)
        return fail(err, "%s: is not a folder (links are not followed); choose another --out",
                    path);
    const Content content = content_of(path);
    if (!content.readable) return fail(err, "%s: cannot be read: %s", path, strerror(errno));
    return content.marked || content.others == 0 ||
           fail(err, "%s: this folder has files, but no run of tril; choose another --out", path);
}

bool folder_open(Folder **made, const char *path, Error *err) {
    Folder *f;
    size_t length = strlen(path);
    *made = NULL;
    while (length > 1 && path[length - 1] == '/') length--;
    if (length + LONGEST_NAME >= PATH_SIZE) return fail(err, "%s: too long a path", path);
    if (!memory_alloc(&f, 1, sizeof *f, "the folder", err)) return false;
    f->lock = -1;
    snprintf(f->path, sizeof f->path, "%.*s", (int)length, path);
    folder_file(f, FOLDER_MARK, "", f->mark);
    f->made = world_rank() == 0 && filesystem_look(path, false).kind == FILE_NONE;
    if (world_rank() > 0 || (check_place(f->path, err) && take_lock(f, err))) {
        *made = f;
        return true;
    }
    if (f->made) filesystem_remove_folder(f->path);
    memory_free(f);
    return false;
}

void folder_close(Folder *f) {
    if (!f) return;
    const bool leaves = is_current(f) && !folder_is_used(f);
    if (leaves) filesystem_remove(f->mark);
    drop_lock(f);
    if (leaves && f->made) filesystem_remove_folder(f->path);
    memory_free(f);
}

/* ---- an earlier run ---- */

/* Renames the folder. Its open lock prevents that on Windows, so then it is dropped first. */
static bool move(Folder *f, const char *to) {
    if (filesystem_move(f->path, to)) return true;
    drop_lock(f);
    return filesystem_move(f->path, to);
}

bool folder_begin(Folder *f, char earlier[PATH_SIZE], Error *err) {
    *earlier = 0;
    if (world_rank() > 0 || !folder_is_used(f)) return true;
    for (int number = 1; number < MAX_EARLIER; number++) {
        snprintf(earlier, PATH_SIZE, "%s-%d", f->path, number);
        if (file_kind(earlier) == FILE_NONE) break;
    }
    if (!move(f, earlier))
        return fail(err, "%s: an earlier run, which cannot be renamed to %s: %s", f->path, earlier,
                    strerror(errno));
    drop_lock(f);
    if (take_lock(f, err)) return true;
    filesystem_move(earlier, f->path);
    *earlier = 0;
    return false;
}
