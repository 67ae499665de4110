#include "base/claims.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CLAIMS = 64, MAX_MADE = 256, MAX_EARLIER = 100000 };

/* For each output, this folder beside it has an empty, locked file of the same name. Making that
 * file also shows whether the file system takes the name, and which names it treats as the same. So
 * no empty file ever appears at the real path. */
static const char lock_folder[] = ".tril.locks";

typedef struct {
    const char *what;
    char *path; /* owned */
    bool written;
    bool there;  /* the file exists, */
    bool filled; /* and is not empty */
    FileId file;
    int lock; /* the descriptor of its lock file; negative: none */
    FileId lock_file;
} Claim;

struct Claims {
    Claim claims[MAX_CLAIMS];
    int count;
    char *made[MAX_MADE]; /* the created folders, outermost first; owned */
    int made_count;
};

static bool same(FileId a, FileId b) {
    return a.device == b.device && a.number == b.number;
}

bool claims_open(Claims **claims, Error *err) {
    return memory_alloc(claims, 1, sizeof **claims, "the names of files", err);
}

static const char *name_of(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

/* Sets *to to the path of `folder` beside a file, or of `name` in that folder, if not empty. The
 * caller releases it with memory_free. */
static bool beside(const char *path, const char *folder, const char *name, char **to, Error *err) {
    int begin = (int)(name_of(path) - path);
    size_t capacity = (size_t)begin + strlen(folder) + strlen(name) + 2;
    if (!memory_alloc(to, capacity, 1, path, err)) return false;
    snprintf(*to, capacity, "%.*s%s%s%s", begin, path, folder, *name ? "/" : "", name);
    return true;
}

static bool add(Claims *c, bool written, const char *what, const char *path, Error *err) {
    if (strcmp(name_of(path), lock_folder) == 0 || file_is_temporary(name_of(path)))
        return fail(err, "%s: is a name that is only for locks and temporary files", path);
    if (c->count == MAX_CLAIMS) return fail(err, "more than %d files", MAX_CLAIMS);
    Claim *claim = &c->claims[c->count];
    *claim = (Claim){.what = what, .path = strdup(path), .written = written, .lock = -1};
    if (!claim->path) return fail(err, "%s: no memory for its name", path);
    c->count++;
    return true;
}

bool claims_read(Claims *c, const char *what, const char *path, Error *err) {
    return add(c, false, what, path, err);
}

bool claims_write(Claims *c, const char *what, const char *path, Error *err) {
    if (!*path) return fail(err, "an empty name cannot be that of %s", what);
    return add(c, true, what, path, err);
}

/* ---- existing files ---- */

static const char *const kinds[] = {
    [FILE_REGULAR] = "a file", [FILE_FOLDER] = "a folder", [FILE_LINK] = "a symbolic link",
    [FILE_PIPE] = "a pipe",    [FILE_DEVICE] = "a device", [FILE_OTHER] = "no regular file"};

/* An input may be any kind of file, and links are followed. An output must be a regular file or
 * missing: writing would replace a link, not its target. */
static bool look(Claim *claim, Error *err) {
    FileStatus status;
    claim->there = filesystem_look(claim->path, !claim->written, &status);
    if (!claim->there) return true;
    claim->file = status.id;
    claim->filled = status.size > 0;
    if (!claim->written || status.kind == FILE_REGULAR) return true;
    return fail(err, "%s: is %s, and %s cannot be written there", claim->path, kinds[status.kind],
                claim->what);
}

static bool refuse_pair(const Claim *a, const Claim *b, Error *err) {
    if (!a->written)
        return fail(err, "%s: is %s; %s would overwrite it, and needs another name", b->path,
                    a->what, b->what);
    if (strcmp(a->what, b->what) == 0)
        return fail(err, "%s: cannot be %s of two models; one of them needs another name", b->path,
                    a->what);
    return fail(err, "%s: cannot be both %s and %s; one of them needs another name", b->path,
                a->what, b->what);
}

/* Refuses two claims of one existing file. */
static bool compare(const Claims *c, Error *err) {
    for (int i = 0; i < c->count; i++)
        for (int j = 0; j < c->count; j++) {
            const Claim *a = &c->claims[i], *b = &c->claims[j];
            bool pair = b->written && (a->written ? i < j : true);
            if (pair && a->there && b->there && same(a->file, b->file))
                return refuse_pair(a, b, err);
        }
    return true;
}

/* ---- locks ---- */

/* Is the open lock file still the one at its path? A program that ended may have removed it since
 * it was opened. */
static bool is_current(int lock, const char *path) {
    FileStatus own, there;
    return filesystem_status(lock, &own) && filesystem_look(path, false, &there) &&
           same(own.id, there.id);
}

/* Locks the open lock file of claim i. Fails if it is another claim's, too, or if another process
 * has locked it; a file system without locks is no failure. */
static bool take_lock(const Claims *c, int i, Error *err) {
    const Claim *claim = &c->claims[i];
    for (int j = 0; j < c->count; j++) {
        const Claim *other = &c->claims[j];
        if (j != i && other->lock >= 0 && same(other->lock_file, claim->lock_file))
            return refuse_pair(other, claim, err);
    }
    long holder;
    char process[48] = "another process";
    if (filesystem_lock(claim->lock, &holder) != LOCK_REFUSED) return true;
    if (holder > 0) snprintf(process, sizeof process, "process %ld", holder);
    return fail(err, "%s: %s is writing %s there; wait for its end, or take another folder",
                claim->path, process, claim->what);
}

/* Opens the lock file `path` in `folder`, and locks it. Tries again if a program that ends removes
 * them meanwhile. */
static bool open_lock(Claims *c, int i, const char *folder, const char *path, Error *err) {
    enum { TRIES = 1000 }; /* on Windows a name that is too long is also "not found" */
    Claim *claim = &c->claims[i];
    FileStatus status;
    for (int tries = 0;; tries++) {
        bool there = filesystem_make_folder(folder, FOR_ALL_USERS) || errno == EEXIST;
        if (there && filesystem_look(folder, false, &status) && status.kind != FILE_FOLDER)
            return fail(err, "%s: is no folder for locks; rename it, or take another folder",
                        folder);
        claim->lock = there ? filesystem_open(path, OPEN_LOCKS) : -1;
        if (claim->lock < 0 && there && errno == ENOENT && tries < TRIES) continue;
        if (claim->lock < 0)
            return fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        if (!filesystem_status(claim->lock, &status) || status.kind != FILE_REGULAR)
            return fail(err, "%s: is not the regular file that a lock is taken on", path);
        claim->lock_file = status.id;
        if (!take_lock(c, i, err)) return false;
        if (is_current(claim->lock, path)) return true;
        close(claim->lock);
    }
}

/* Records a folder that was made. */
static void record_folder(void *context, const char *path) {
    Claims *c = context;
    if (c->made_count < MAX_MADE && (c->made[c->made_count] = strdup(path))) c->made_count++;
}

/* Makes the folder of output i and locks it, unless it is still locked. */
static bool hold(Claims *c, int i, Error *err) {
    Claim *claim = &c->claims[i];
    char *folder = NULL, *path = NULL, *around = NULL;
    bool ok = beside(claim->path, lock_folder, "", &folder, err) &&
              beside(claim->path, lock_folder, name_of(claim->path), &path, err) &&
              beside(claim->path, ".", "", &around, err);
    if (ok && !(claim->lock >= 0 && is_current(claim->lock, path))) {
        if (claim->lock >= 0) close(claim->lock);
        claim->lock = -1;
        ok = file_make_parent(claim->path, record_folder, c, err) && look(claim, err);
        if (ok && !filesystem_is_writable(around))
            ok = fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        ok = ok && open_lock(c, i, folder, path, err);
        if (!ok && claim->lock >= 0) close(claim->lock);
        if (!ok) claim->lock = -1;
    }
    memory_free(folder);
    memory_free(path);
    memory_free(around);
    return ok;
}

bool claims_hold(Claims *c, Error *err) {
    bool ok = true;
    for (int i = 0; i < c->count && ok; i++) ok = !c->claims[i].written || hold(c, i, err);
    return ok;
}

/* Removes a lock file that no program has locked. Keeps a file with content: a user wrote it. */
static void remove_lock(void *context, const char *name) {
    const Claim *claim = context;
    FileStatus status;
    Error none;
    long holder;
    char *path;
    if (!beside(claim->path, lock_folder, name, &path, &none)) return;
    int file = filesystem_open(path, OPEN_UPDATE);
    if (file >= 0 && filesystem_status(file, &status) && status.kind == FILE_REGULAR &&
        status.size == 0 && filesystem_lock(file, &holder) == LOCK_TAKEN && is_current(file, path))
        filesystem_remove(path);
    if (file >= 0) close(file);
    memory_free(path);
}

/* Removes the folder of locks, if no other program has a lock there. */
static void remove_locks(Claim *claim) {
    Error none;
    char *folder;
    if (!beside(claim->path, lock_folder, "", &folder, &none)) return;
    filesystem_each(folder, remove_lock, claim);
    filesystem_remove_folder(folder);
    memory_free(folder);
}

/* ---- abandoned files ---- */

typedef struct {
    const Claims *claims;
    const char *beside;
} Sweep;

/* Removes the partial output of a killed program, but no file that is claimed. */
static void sweep_file(void *context, const char *name) {
    const Sweep *sweep = context;
    const Claims *c = sweep->claims;
    FileStatus status;
    Error none;
    char *path;
    if (!file_is_temporary(name) || !beside(sweep->beside, name, "", &path, &none)) return;
    bool claimed = !filesystem_look(path, false, &status);
    for (int i = 0; i < c->count; i++)
        claimed = claimed || (c->claims[i].there && same(c->claims[i].file, status.id));
    if (!claimed) filesystem_remove_unused(path);
    memory_free(path);
}

static void sweep_folder(const Claims *c, const Claim *claim) {
    Sweep sweep = {c, claim->path};
    Error none;
    char *folder;
    if (!beside(claim->path, ".", "", &folder, &none)) return;
    filesystem_each(folder, sweep_file, &sweep);
    memory_free(folder);
}

/* ---- settling ---- */

static bool look_at_all(Claims *c, Error *err) {
    bool ok = true;
    for (int i = 0; i < c->count && ok; i++) ok = look(&c->claims[i], err);
    return ok && compare(c, err);
}

/* Looks at the files again after locking, when no other program can change them. */
bool claims_settle(Claims *c, Error *err) {
    bool ok = look_at_all(c, err) && claims_hold(c, err) && look_at_all(c, err);
    for (int i = 0; i < c->count && ok; i++)
        if (c->claims[i].written) sweep_folder(c, &c->claims[i]);
    return ok;
}

/* ---- moving files aside ---- */

static Claim *claim_of(Claims *c, const char *path) {
    for (int i = 0; i < c->count; i++)
        if (c->claims[i].written && strcmp(c->claims[i].path, path) == 0) return &c->claims[i];
    return NULL;
}

bool claims_there(Claims *c, const char *path) {
    const Claim *claim = claim_of(c, path);
    return claim && claim->filled;
}

/* The folder "earlier-N" beside a claim's file. The caller releases it with memory_free. */
static bool earlier_folder(const Claim *claim, int number, char **path, Error *err) {
    char name[32];
    snprintf(name, sizeof name, "earlier-%d", number);
    return beside(claim->path, name, "", path, err);
}

/* Is folder earlier-`number` free beside every file to be moved? */
static bool is_free(Claims *c, const char *const *paths, int count, int number) {
    bool free_everywhere = true;
    for (int i = 0; i < count && free_everywhere; i++) {
        Error none;
        FileStatus status;
        char *folder;
        const Claim *claim = claim_of(c, paths[i]);
        if (!claim || !claim->filled) continue;
        free_everywhere = earlier_folder(claim, number, &folder, &none) &&
                          !filesystem_look(folder, false, &status) && errno == ENOENT;
        memory_free(folder);
    }
    return free_everywhere;
}

/* Moves a claim's file to the folder earlier-`number` beside it, or back. */
static bool move(const Claim *claim, int number, bool back, Error *err) {
    char *folder = NULL, *aside = NULL;
    bool ok = earlier_folder(claim, number, &folder, err) &&
              file_within(folder, name_of(claim->path), &aside, err);
    if (ok && !back && !filesystem_make_folder(folder, FOR_USER) && errno != EEXIST)
        ok = fail(err, "%s: cannot be created: %s", folder, strerror(errno));
    const char *from = back ? aside : claim->path, *to = back ? claim->path : aside;
    if (ok && file_is_taken(to)) ok = fail(err, "%s: is there already", to);
    if (ok && !filesystem_move(from, to))
        ok = fail(err, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    if (folder && (back || !ok)) filesystem_remove_folder(folder); /* if it is empty */
    memory_free(folder);
    memory_free(aside);
    return ok;
}

bool claims_set_aside(Claims *c, const char *const *paths, int count, char *where, size_t capacity,
                      Error *err) {
    Claim *moved[MAX_CLAIMS];
    int number = 1, done = 0;
    bool ok = true;
    *where = 0;
    while (number < MAX_EARLIER && !is_free(c, paths, count, number)) number++;
    for (int i = 0; i < count && ok; i++) {
        Claim *claim = claim_of(c, paths[i]);
        if (!claim || !claim->filled) continue;
        ok = move(claim, number, false, err);
        if (ok) moved[done++] = claim;
    }
    for (int i = 0; i < done; i++) {
        Error none;
        if (ok)
            moved[i]->there = moved[i]->filled = false;
        else
            move(moved[i], number, true, &none);
    }
    char *folder;
    if (!ok || done == 0) return ok;
    if (!earlier_folder(moved[0], number, &folder, err)) return false;
    snprintf(where, capacity, "%s", folder);
    memory_free(folder);
    return true;
}

void claims_close(Claims *c) {
    if (!c) return;
    for (int i = 0; i < c->count; i++)
        if (c->claims[i].lock >= 0) close(c->claims[i].lock);
    for (int i = 0; i < c->count; i++) {
        if (c->claims[i].written) remove_locks(&c->claims[i]);
        free(c->claims[i].path);
    }
    while (c->made_count > 0) {
        filesystem_remove_folder(c->made[--c->made_count]);
        free(c->made[c->made_count]);
    }
    memory_free(c);
}
