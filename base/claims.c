#include "base/claims.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/filesystem.h"
#include "base/memory.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_CLAIMS = 64, MAX_MADE = 256, MAX_EARLIER = 100000 };

static const char lock_name[] = ".tril.lock";

typedef struct {
    const char *what;
    char *path; /* owned */
    bool written;
    bool there;  /* the file exists, */
    bool filled; /* and is not empty */
    FileId file;
    int folder; /* index of an output file's folder */
    bool tried; /* try_name created `trial` under its name, since removed */
    FileId trial;
} Claim;

/* A folder with output files. Its lock file has one byte for each name. */
typedef struct {
    char *path; /* owned */
    FileId identity;
    int lock; /* a descriptor; negative: not locked */
} Folder;

struct Claims {
    Claim claims[MAX_CLAIMS];
    int count;
    Folder folders[MAX_CLAIMS];
    int folder_count;
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

static bool add(Claims *c, bool written, const char *what, const char *path, Error *err) {
    if (strcmp(name_of(path), lock_name) == 0 || file_is_temporary(name_of(path)))
        return fail(err, "%s: is a name that is only for locks and temporary files", path);
    if (c->count == MAX_CLAIMS) return fail(err, "more than %d files", MAX_CLAIMS);
    Claim *claim = &c->claims[c->count];
    *claim = (Claim){.what = what, .path = strdup(path), .written = written};
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

/* ---- folders ---- */

/* Records a folder that was made. */
static void record_folder(void *context, const char *path) {
    Claims *c = context;
    if (c->made_count < MAX_MADE && (c->made[c->made_count] = strdup(path))) c->made_count++;
}

static bool make_folders(Claims *c, const char *path, Error *err) {
    return file_make_parent(path, record_folder, c, err);
}

/* Is the open lock file still the one at its path? A program that ended may have removed it since
 * it was opened. */
static bool is_current(int lock, const char *path) {
    FileStatus own, there;
    return filesystem_status(lock, &own) && filesystem_look(path, false, &there) &&
           same(own.id, there.id);
}

/* The byte of the lock file for a name. Ignores case: names that differ only in case may be one
 * file. */
static uint64_t byte_of(const char *path) {
    Digest digest = digest_start();
    for (const char *at = name_of(path); *at; at++) {
        unsigned char low = (unsigned char)*at;
        if (low >= 'A' && low <= 'Z') low = (unsigned char)(low + ('a' - 'A'));
        digest_add(&digest, &low, 1);
    }
    return digest_value(&digest) >> 2;
}

/* Is the byte of claim i also that of an earlier one in its folder? */
static bool is_locked(const Claims *c, int i) {
    const Claim *claim = &c->claims[i];
    for (int j = 0; j < i; j++) {
        const Claim *other = &c->claims[j];
        if (other->written && other->folder == claim->folder &&
            byte_of(other->path) == byte_of(claim->path))
            return true;
    }
    return false;
}

/* Locks the output names of a folder. Fails if another process holds one of them. Skips a file
 * system that has no locks. */
static bool lock_names(const Claims *c, int folder, Error *err) {
    for (int i = 0; i < c->count; i++) {
        const Claim *claim = &c->claims[i];
        if (!claim->written || claim->folder != folder || is_locked(c, i)) continue;
        long holder;
        LockResult result = filesystem_lock(c->folders[folder].lock, byte_of(claim->path), &holder);
        if (result == LOCK_TAKEN) continue;
        if (result == LOCK_UNSUPPORTED) return true;
        char process[48] = "another process";
        if (holder > 0) snprintf(process, sizeof process, "process %ld", holder);
        return fail(err, "%s: %s is writing %s there; wait for its end, or take another folder",
                    claim->path, process, claim->what);
    }
    return true;
}

static bool lock_folder(Claims *c, int folder, Error *err) {
    Folder *f = &c->folders[folder];
    char *path;
    bool ok = file_within(f->path, lock_name, &path, err);
    f->lock = -1;
    while (ok) {
        FileStatus status;
        f->lock = filesystem_open(path, OPEN_LOCKS);
        if (f->lock < 0) {
            ok = fail(err, "%s: cannot be opened for locks: %s", path, strerror(errno));
            break;
        }
        ok = (filesystem_status(f->lock, &status) && status.kind == FILE_REGULAR) ||
             fail(err, "%s: is not the regular file that locks are taken on", path);
        ok = ok && lock_names(c, folder, err);
        if (!ok || is_current(f->lock, path)) break;
        close(f->lock);
    }
    memory_free(path);
    return ok;
}

/* Removes the lock file if no other program holds a lock on it. Keeps a file with content: a person
 * wrote it. */
static void unlock_folder(const Claims *c, int folder) {
    const Folder *f = &c->folders[folder];
    Error none;
    char *path;
    if (f->lock < 0) return;
    for (int i = 0; i < c->count; i++)
        if (c->claims[i].written && c->claims[i].folder == folder)
            filesystem_unlock(f->lock, byte_of(c->claims[i].path));
    if (filesystem_lock_all(f->lock) && file_within(f->path, lock_name, &path, &none)) {
        FileStatus status;
        bool own = filesystem_status(f->lock, &status) && status.size == 0;
        if (own && is_current(f->lock, path)) filesystem_remove(path);
        memory_free(path);
    }
    close(f->lock);
}

/* ---- abandoned files ---- */

typedef struct {
    const Claims *claims;
    const Folder *folder;
} Sweep;

/* Removes the partial output of a killed program, but no file that is claimed. */
static void sweep_file(void *context, const char *name) {
    const Sweep *sweep = context;
    const Claims *c = sweep->claims;
    FileStatus status;
    Error none;
    char *path;
    if (!file_is_temporary(name) || !file_within(sweep->folder->path, name, &path, &none)) return;
    bool claimed = !filesystem_look(path, false, &status);
    for (int i = 0; i < c->count; i++)
        claimed = claimed || (c->claims[i].there && same(c->claims[i].file, status.id));
    if (!claimed) filesystem_remove_unused(path);
    memory_free(path);
}

/* Sets claim->folder to the index of its file's folder, adding the folder if it is new. */
static bool enter_folder(Claims *c, Claim *claim, Error *err) {
    FileStatus status;
    char *path = file_folder(claim->path);
    if (!path) return fail(err, "%s: no memory for its name", claim->path);
    if (!filesystem_look(path, true, &status) || !filesystem_is_writable(path)) {
        fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        free(path);
        return false;
    }
    int i = 0;
    while (i < c->folder_count && !same(c->folders[i].identity, status.id)) i++;
    claim->folder = i;
    if (i < c->folder_count) {
        free(path);
        return true;
    }
    c->folders[c->folder_count++] = (Folder){.path = path, .identity = status.id, .lock = -1};
    return true;
}

/* ---- trying names ---- */

static bool try_name(Claims *c, int i, const char *trial, Error *err) {
    Claim *claim = &c->claims[i];
    FileStatus status;
    char *path;
    if (!file_within(trial, name_of(claim->path), &path, err)) return false;
    int file = filesystem_open(path, OPEN_CREATE), why = errno;
    bool ok = file >= 0, taken = why == EEXIST && filesystem_look(path, true, &status);
    if (ok) {
        claim->tried = filesystem_status(file, &status);
        if (claim->tried) claim->trial = status.id;
        close(file);
    }
    memory_free(path);
    if (ok) return true;
    for (int j = 0; j < i && taken; j++)
        if (c->claims[j].tried && same(c->claims[j].trial, status.id))
            return refuse_pair(&c->claims[j], claim, err);
    return fail(err, "%s: cannot be created: %s", claim->path, strerror(why));
}

static void remove_trial(const Claim *claim, const char *trial) {
    Error none;
    char *path;
    if (!file_within(trial, name_of(claim->path), &path, &none)) return;
    filesystem_remove(path);
    memory_free(path);
}

/* Only the file system knows which names are valid, and which names it treats as the same. So the
 * names are tried in a new folder, and no empty file ever appears at the real path. */
static bool try_names(Claims *c, int folder, Error *err) {
    char *trial = NULL;
    bool ok = file_make_temporary_folder(c->folders[folder].path, &trial, err);
    if (!ok) return false;
    for (int i = 0; i < c->count && ok; i++)
        if (c->claims[i].written && c->claims[i].folder == folder) ok = try_name(c, i, trial, err);
    for (int i = 0; i < c->count; i++)
        if (c->claims[i].tried && c->claims[i].folder == folder) remove_trial(&c->claims[i], trial);
    filesystem_remove_folder(trial);
    memory_free(trial);
    return ok;
}

/* ---- settling ---- */

static bool look_at_all(Claims *c, Error *err) {
    bool ok = true;
    for (int i = 0; i < c->count && ok; i++) ok = look(&c->claims[i], err);
    return ok && compare(c, err);
}

/* Looks at the files again after locking, when no other program can change them. */
bool claims_settle(Claims *c, Error *err) {
    bool ok = look_at_all(c, err);
    for (int i = 0; i < c->count && ok; i++)
        ok = !c->claims[i].written ||
             (make_folders(c, c->claims[i].path, err) && enter_folder(c, &c->claims[i], err));
    for (int f = 0; f < c->folder_count && ok; f++) ok = lock_folder(c, f, err);
    ok = ok && look_at_all(c, err);
    for (int f = 0; f < c->folder_count && ok; f++) ok = try_names(c, f, err);
    for (int f = 0; f < c->folder_count && ok; f++) {
        Sweep sweep = {c, &c->folders[f]};
        filesystem_each(c->folders[f].path, sweep_file, &sweep);
    }
    return ok;
}

/* Recreates and locks a folder that was moved or removed. Fails if another program has its lock. */
static bool hold_folder(Claims *c, int folder, Error *err) {
    Folder *f = &c->folders[folder];
    FileStatus status;
    char *path;
    if (f->lock < 0) return true;
    if (!file_within(f->path, lock_name, &path, err)) return false;
    bool ok = is_current(f->lock, path);
    if (!ok) {
        close(f->lock);
        f->lock = -1;
        ok = make_folders(c, path, err) && lock_folder(c, folder, err) &&
             (filesystem_look(f->path, true, &status) || fail(err, "%s: cannot be found", f->path));
        if (ok) f->identity = status.id;
    }
    memory_free(path);
    return ok;
}

bool claims_hold(Claims *c, Error *err) {
    bool ok = true;
    for (int f = 0; f < c->folder_count && ok; f++) ok = hold_folder(c, f, err);
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
static bool earlier_folder(const Claims *c, const Claim *claim, int number, char **path,
                           Error *err) {
    char name[32];
    snprintf(name, sizeof name, "earlier-%d", number);
    return file_within(c->folders[claim->folder].path, name, path, err);
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
        free_everywhere = earlier_folder(c, claim, number, &folder, &none) &&
                          !filesystem_look(folder, false, &status) && errno == ENOENT;
        memory_free(folder);
    }
    return free_everywhere;
}

/* Moves a claim's file to the folder earlier-`number` beside it, or back. */
static bool move(const Claims *c, const Claim *claim, int number, bool back, Error *err) {
    char *folder = NULL, *aside = NULL;
    bool ok = earlier_folder(c, claim, number, &folder, err) &&
              file_within(folder, name_of(claim->path), &aside, err);
    if (ok && !back && !filesystem_make_folder(folder, FOR_ALL) && errno != EEXIST)
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
        ok = move(c, claim, number, false, err);
        if (ok) moved[done++] = claim;
    }
    for (int i = 0; i < done; i++) {
        Error none;
        if (ok)
            moved[i]->there = moved[i]->filled = false;
        else
            move(c, moved[i], number, true, &none);
    }
    char *folder;
    if (!ok || done == 0) return ok;
    if (!earlier_folder(c, moved[0], number, &folder, err)) return false;
    snprintf(where, capacity, "%s", folder);
    memory_free(folder);
    return true;
}

void claims_close(Claims *c) {
    if (!c) return;
    for (int i = 0; i < c->folder_count; i++) {
        unlock_folder(c, i);
        free(c->folders[i].path);
    }
    while (c->made_count > 0) {
        filesystem_remove_folder(c->made[--c->made_count]);
        free(c->made[c->made_count]);
    }
    for (int i = 0; i < c->count; i++) free(c->claims[i].path);
    memory_free(c);
}
