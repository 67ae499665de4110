#include "programs/train/claims.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* LONGEST is the longest claimed path. A PATH has space for any name beside it. */
enum { MAX_EARLIER = 100000, LONGEST = 4096, PATH = 6144 };

/* For each output, this folder beside it has an empty, locked file of the same name. Creating that
 * file also shows whether the file system takes the name, and which names it treats as the same. So
 * no empty file ever appears at the real path. */
static const char lock_folder[] = ".tril.locks";

typedef struct {
    const char *what;
    char *path; /* owned */
    bool written;
    bool there;  /* the file exists */
    bool filled; /* the file exists and is not empty */
    FileId file;
    int lock; /* the descriptor of its lock file, if that is open */
    FileId lock_file;
    size_t made; /* for file_remove_parent */
} Claim;

struct Claims {
    Claim *claims; /* [count]; owned */
    int count, capacity;
};

static bool same(FileId a, FileId b) {
    return a.device == b.device && a.number == b.number;
}

/* Returns true if two claims have one file: the same id, or path if files have no numbers. */
static bool are_one(const Claim *a, const Claim *b, FileId of_a, FileId of_b) {
    return of_a.number != 0 ? same(of_a, of_b) : strcmp(a->path, b->path) == 0;
}

bool claims_open(Claims **claims, Error *err) {
    return memory_alloc(claims, 1, sizeof **claims, "the names of files", err);
}

/* Writes the path of `folder` beside a file, or of `name` in that folder unless it is empty. */
static void beside(char to[PATH], const Claim *claim, const char *folder, const char *name) {
    int length = (int)(file_name(claim->path) - claim->path);
    snprintf(to, PATH, "%.*s%s%s%s", length, claim->path, folder, *name ? "/" : "", name);
}

static bool add(Claims *c, bool written, const char *what, const char *path, Error *err) {
    const char *name = file_name(path);
    if (strcmp(name, lock_folder) == 0 || file_is_temporary(name))
        return fail(err, "%s: this name is reserved for locks and temporary files", path);
    if (strlen(path) > LONGEST) return fail(err, "%s: too long a path", path);
    if (c->count == c->capacity) {
        const int more = 2 * c->capacity + 16;
        if (!memory_resize(&c->claims, (size_t)c->count, (size_t)more, sizeof *c->claims,
                           "the names of files", err))
            return false;
        c->capacity = more;
    }
    Claim *claim = &c->claims[c->count];
    *claim = (Claim){.what = what, .written = written, .lock = -1};
    if (!memory_copy(&claim->path, path, err)) return false;
    c->count++;
    return true;
}

bool claims_read(Claims *c, const char *what, const char *path, Error *err) {
    return add(c, false, what, path, err);
}

bool claims_write(Claims *c, const char *what, const char *path, Error *err) {
    if (!*path) return fail(err, "the name of %s is empty", what);
    return add(c, true, what, path, err);
}

/* ---- existing files ---- */

/* Checks whether the file exists. An input may be any kind of file, and links are followed. An
 * output must be a regular file or missing: writing would replace a link, not its target. */
static bool look(Claim *claim, Error *err) {
    FileStatus status;
    claim->there = filesystem_look(claim->path, !claim->written, &status);
    if (!claim->there) return true;
    claim->file = status.id;
    claim->filled = status.size > 0;
    return !claim->written || file_can_be_replaced(claim->path, claim->what, err);
}

static bool fail_pair(const Claim *a, const Claim *b, Error *err) {
    if (!a->written)
        return fail(err, "%s: is both an input, %s, and an output, %s; choose another --out",
                    b->path, a->what, b->what);
    if (strcmp(a->what, b->what) == 0)
        return fail(err, "%s: would be %s of two rungs; choose another --out", b->path, a->what);
    return fail(err, "%s: would be both %s and %s; choose another --out", b->path, a->what,
                b->what);
}

/* Looks at all files. Two claims of one file are an error, unless both are inputs. */
static bool look_at_all(Claims *c, Error *err) {
    for (int i = 0; i < c->count; i++)
        if (!look(&c->claims[i], err)) return false;
    for (int j = 0; j < c->count; j++)
        for (int i = 0; i < c->count && c->claims[j].written; i++) {
            const Claim *a = &c->claims[i], *b = &c->claims[j];
            bool pair = i < j || !a->written;
            if (pair && a->there && b->there && are_one(a, b, a->file, b->file))
                return fail_pair(a, b, err);
        }
    return true;
}

/* ---- locks ---- */

/* Returns true if the open lock file is still at its path, which an ended program may remove. */
static bool is_current(int lock, const char *path) {
    FileStatus own, there;
    return lock >= 0 && filesystem_status(lock, &own) && filesystem_look(path, false, &there) &&
           same(own.id, there.id);
}

static void drop_lock(Claim *claim) {
    if (claim->lock >= 0) close(claim->lock);
    claim->lock = -1;
}

/* Locks the open lock file of claim i. Fails if it is also that of another claim, or if another
 * process has locked it. A file system without locks is not an error. */
static bool take_lock(const Claims *c, int i, Error *err) {
    const Claim *claim = &c->claims[i];
    for (int j = 0; j < c->count; j++) {
        const Claim *other = &c->claims[j];
        if (j != i && other->lock >= 0 && are_one(other, claim, other->lock_file, claim->lock_file))
            return fail_pair(other, claim, err);
    }
    long holder;
    char process[48] = "another process";
    if (filesystem_lock(claim->lock, &holder) != LOCK_REFUSED) return true;
    if (holder > 0) snprintf(process, sizeof process, "process %ld", holder);
    return fail(err, "%s: %s is writing %s there; wait until it ends, or use another folder",
                claim->path, process, claim->what);
}

/* Opens and locks the lock file `path` in `folder`. Tries again if a program removes them. */
static bool open_lock(Claims *c, int i, const char *folder, const char *path, Error *err) {
    enum { TRIES = 1000 }; /* on Windows a name that is too long is also "not found" */
    Claim *claim = &c->claims[i];
    FileStatus status;
    for (int tries = 0;; tries++) {
        bool there = filesystem_make_folder(folder, FOR_ALL_USERS) || errno == EEXIST;
        if (there && filesystem_look(folder, false, &status) && status.kind != FILE_FOLDER)
            return fail(err,
                        "%s: is not a folder, but locks go there; rename it, or use another folder",
                        folder);
        claim->lock = there ? filesystem_open(path, OPEN_LOCKS) : -1;
        if (claim->lock < 0 && there && errno == ENOENT && tries < TRIES) continue;
        if (claim->lock < 0)
            return fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        if (!filesystem_status(claim->lock, &status) || status.kind != FILE_REGULAR)
            return fail(err, "%s: is not a regular file, so it cannot be locked; rename it", path);
        claim->lock_file = status.id;
        if (!take_lock(c, i, err)) return false;
        if (is_current(claim->lock, path)) return true;
        drop_lock(claim);
    }
}

bool claims_hold(Claims *c, Error *err) {
    for (int i = 0; i < c->count; i++) {
        Claim *claim = &c->claims[i];
        char folder[PATH], path[PATH], around[PATH];
        if (!claim->written) continue;
        beside(path, claim, lock_folder, file_name(claim->path));
        if (is_current(claim->lock, path)) continue;
        beside(folder, claim, lock_folder, "");
        beside(around, claim, ".", "");
        drop_lock(claim);
        if (!file_make_parent(claim->path, &claim->made, err) || !look(claim, err)) return false;
        if (!filesystem_is_writable(around))
            return fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        if (open_lock(c, i, folder, path, err)) continue;
        drop_lock(claim);
        return false;
    }
    return true;
}

/* Removes a lock file that no program has locked. Keeps a file with content: a user wrote it. */
static void remove_lock(void *claim, const char *name) {
    FileStatus status;
    long holder;
    char path[PATH];
    beside(path, claim, lock_folder, name);
    int file = filesystem_open(path, OPEN_UPDATE);
    if (file >= 0 && filesystem_status(file, &status) && status.kind == FILE_REGULAR &&
        status.size == 0 && filesystem_lock(file, &holder) == LOCK_TAKEN && is_current(file, path))
        filesystem_remove(path);
    if (file >= 0) close(file);
}

/* Checks the files again after locking, when no other program can change them. */
bool claims_settle(Claims *c, Error *err) {
    return look_at_all(c, err) && claims_hold(c, err) && look_at_all(c, err);
}

/* ---- moving files aside ---- */

/* Returns the claim of an output at `path` that is there and not empty, or NULL. */
static Claim *filled(Claims *c, const char *path) {
    for (Claim *claim = c->claims; claim < c->claims + c->count; claim++)
        if (claim->written && claim->filled && strcmp(claim->path, path) == 0) return claim;
    return NULL;
}

/* Moves a claim's file to the folder `earlier` beside it, or back. */
static bool move(const Claim *claim, const char *earlier, bool back, Error *err) {
    char folder[PATH], aside[PATH];
    beside(folder, claim, earlier, "");
    beside(aside, claim, earlier, file_name(claim->path));
    const char *from = back ? aside : claim->path, *to = back ? claim->path : aside;
    bool ok = true;
    if (!back && !filesystem_make_folder(folder, FOR_USER) && errno != EEXIST)
        ok = fail(err, "%s: cannot be created: %s", folder, strerror(errno));
    if (ok && file_is_taken(to)) ok = fail(err, "%s: already exists", to);
    if (ok && !filesystem_move(from, to))
        ok = fail(err, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    if (back || !ok) filesystem_remove_folder(folder); /* if it is empty */
    return ok;
}

/* Writes to `name` the first earlier-N that is free beside every claim. */
static void choose_earlier(Claim *const *claims, int count, char name[32]) {
    for (int number = 1; number < MAX_EARLIER; number++) {
        bool taken = false;
        snprintf(name, 32, "earlier-%d", number);
        for (int i = 0; i < count && !taken; i++) {
            char folder[PATH];
            FileStatus status;
            beside(folder, claims[i], name, "");
            taken = filesystem_look(folder, false, &status) || errno != ENOENT;
        }
        if (!taken) return;
    }
}

bool claims_set_aside(Claims *c, const char *const *paths, int count, char *where, size_t capacity,
                      Error *err) {
    Claim **moved;
    char earlier[32], folder[PATH], other[PATH];
    int number = 0, done = 0;
    *where = 0;
    if (!memory_alloc(&moved, (size_t)count, sizeof *moved, "the names of files", err))
        return false;
    for (int i = 0; i < count; i++)
        if ((moved[number] = filled(c, paths[i]))) number++;
    choose_earlier(moved, number, earlier);
    while (done < number && move(moved[done], earlier, false, err)) done++;
    const bool ok = done == number;
    while (!ok && done > 0) move(moved[--done], earlier, true, &(Error){0});
    if (ok && number > 0) {
        int i = 0;
        beside(folder, moved[0], earlier, "");
        do beside(other, moved[i], earlier, "");
        while (strcmp(folder, other) == 0 && ++i < number);
        const bool two = i < number;
        snprintf(where, capacity, "%s%s%s", folder, two ? " and " : "", two ? other : "");
    }
    for (int i = 0; ok && i < number; i++) moved[i]->there = moved[i]->filled = false;
    memory_free(moved);
    return ok;
}

void claims_close(Claims *c) {
    char folder[PATH];
    if (!c) return;
    for (int i = 0; i < c->count; i++) drop_lock(&c->claims[i]);
    while (c->count > 0) { /* the last created folder first */
        Claim *claim = &c->claims[--c->count];
        if (claim->written) {
            beside(folder, claim, lock_folder, "");
            filesystem_each(folder, remove_lock, claim);
            filesystem_remove_folder(folder); /* if no other program has a lock there */
            file_remove_parent(claim->path, claim->made);
        }
        memory_free(claim->path);
    }
    memory_free(c->claims);
    memory_free(c);
}
