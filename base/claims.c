#include "base/claims.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MAX_CLAIMS = 64, MAX_MADE = 256, MAX_EARLIER = 100000 };

static const char lock_name[] = ".tril.lock";

/* Identifies a file independently of its path. */
typedef struct {
    dev_t device;
    ino_t inode;
} Identity;

typedef struct {
    const char *what;
    char *path; /* owned */
    bool written;
    bool there;  /* the file exists, */
    bool filled; /* and is not empty */
    Identity file;
    int folder; /* index of an output file's folder */
    bool tried; /* try_name created `trial` under its name, since removed */
    Identity trial;
} Claim;

/* A folder with output files. Its lock file has one byte for each name. */
typedef struct {
    char *path; /* owned */
    Identity identity;
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

static bool same(Identity a, Identity b) {
    return a.device == b.device && a.inode == b.inode;
}

static Identity identity_of(const struct stat *status) {
    return (Identity){status->st_dev, status->st_ino};
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

static const char *kind_of(mode_t mode) {
    return S_ISDIR(mode)                    ? "a folder"
           : S_ISLNK(mode)                  ? "a symbolic link"
           : S_ISFIFO(mode)                 ? "a pipe"
           : S_ISCHR(mode) || S_ISBLK(mode) ? "a device"
                                            : "no regular file";
}

/* An input may be any kind of file, and links are followed. An output must be a regular file or
 * missing: writing would replace a link, not its target. */
static bool look(Claim *claim, Error *err) {
    struct stat status;
    claim->there = (claim->written ? lstat(claim->path, &status) : stat(claim->path, &status)) == 0;
    if (!claim->there) return true;
    claim->file = identity_of(&status);
    claim->filled = status.st_size > 0;
    if (!claim->written || S_ISREG(status.st_mode)) return true;
    return fail(err, "%s: is %s, and %s cannot be written there", claim->path,
                kind_of(status.st_mode), claim->what);
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

/* Creates the folders above `path` and records them. */
static bool make_folders(Claims *c, const char *path, Error *err) {
    char *copy = strdup(path);
    bool ok = copy || fail(err, "%s: no memory for its name", path);
    for (char *slash = copy ? strchr(copy + 1, '/') : NULL; slash && ok;
         slash = strchr(slash + 1, '/')) {
        *slash = 0;
        bool made = mkdir(copy, 0777) == 0;
        int why = errno;
        if (!made && !file_is_directory(copy))
            ok = fail(err, "%s: cannot be created: %s", copy, strerror(why));
        if (made && c->made_count < MAX_MADE && (c->made[c->made_count] = strdup(copy)))
            c->made_count++;
        *slash = '/';
    }
    free(copy);
    return ok;
}

/* Is the open lock file still the one at its path? A program that ended may have removed it since
 * it was opened. */
static bool is_current(int lock, const char *path) {
    struct stat own, there;
    return fstat(lock, &own) == 0 && lstat(path, &there) == 0 &&
           same(identity_of(&own), identity_of(&there));
}

/* The byte of the lock file for a name. Ignores case: names that differ only in case may be one
 * file. */
static off_t byte_of(const char *path) {
    Digest digest = digest_start();
    for (const char *at = name_of(path); *at; at++) {
        unsigned char low = (unsigned char)*at;
        if (low >= 'A' && low <= 'Z') low = (unsigned char)(low + ('a' - 'A'));
        digest_add(&digest, &low, 1);
    }
    return (off_t)(digest_value(&digest) >> 2);
}

/* A process on another machine has no number here. */
static bool refuse_locked(int file, const Claim *claim, Error *err) {
    struct flock lock = {
        .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte_of(claim->path), .l_len = 1};
    char process[48] = "another process";
    if (fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0)
        snprintf(process, sizeof process, "process %ld", (long)lock.l_pid);
    return fail(err, "%s: %s is writing %s there; wait for its end, or take another folder",
                claim->path, process, claim->what);
}

/* Locks the output names of a folder. Fails if another process holds one of them. Skips a file
 * system that has no locks. */
static bool lock_names(const Claims *c, int folder, Error *err) {
    for (int i = 0; i < c->count; i++) {
        const Claim *claim = &c->claims[i];
        if (!claim->written || claim->folder != folder) continue;
        struct flock lock = {
            .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = byte_of(claim->path), .l_len = 1};
        if (fcntl(c->folders[folder].lock, F_SETLK, &lock) == 0) continue;
        if (errno != EACCES && errno != EAGAIN) return true;
        return refuse_locked(c->folders[folder].lock, claim, err);
    }
    return true;
}

static bool lock_folder(Claims *c, int folder, Error *err) {
    Folder *f = &c->folders[folder];
    char *path;
    bool ok = file_within(f->path, lock_name, &path, err);
    f->lock = -1;
    while (ok) {
        struct stat status;
        f->lock = open(path, O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0666);
        if (f->lock < 0) {
            ok = fail(err, "%s: cannot be opened for locks: %s", path, strerror(errno));
            break;
        }
        fchmod(f->lock, 0666); /* a lock file left behind must not keep other users out */
        ok = (fstat(f->lock, &status) == 0 && S_ISREG(status.st_mode)) ||
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
static void unlock_folder(Folder *f) {
    Error none;
    char *path;
    struct flock all = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (f->lock < 0) return;
    if (fcntl(f->lock, F_SETLK, &all) == 0 && file_within(f->path, lock_name, &path, &none)) {
        struct stat status;
        bool own = fstat(f->lock, &status) == 0 && status.st_size == 0;
        if (own && is_current(f->lock, path)) unlink(path);
        memory_free(path);
    }
    close(f->lock);
}

/* Removes the partial output of killed programs, but no file that is claimed. */
static void sweep(const Claims *c, const Folder *f) {
    DIR *directory = opendir(f->path);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        struct stat status;
        Error none;
        char *path;
        if (!file_is_temporary(entry->d_name) || !file_within(f->path, entry->d_name, &path, &none))
            continue;
        bool claimed = lstat(path, &status) != 0;
        for (int i = 0; i < c->count; i++)
            claimed =
                claimed || (c->claims[i].there && same(c->claims[i].file, identity_of(&status)));
        if (!claimed) file_remove_abandoned(path);
        memory_free(path);
    }
    closedir(directory);
}

/* Sets claim->folder to the index of its file's folder, adding the folder if it is new. */
static bool enter_folder(Claims *c, Claim *claim, Error *err) {
    struct stat status;
    char *path = file_folder(claim->path);
    if (!path) return fail(err, "%s: no memory for its name", claim->path);
    if (stat(path, &status) != 0 || access(path, W_OK | X_OK) != 0) {
        fail(err, "%s: cannot be created: %s", claim->path, strerror(errno));
        free(path);
        return false;
    }
    int i = 0;
    while (i < c->folder_count && !same(c->folders[i].identity, identity_of(&status))) i++;
    claim->folder = i;
    if (i < c->folder_count) {
        free(path);
        return true;
    }
    c->folders[c->folder_count++] =
        (Folder){.path = path, .identity = identity_of(&status), .lock = -1};
    return true;
}

/* ---- trying names ---- */

static bool try_name(Claims *c, int i, int trial, Error *err) {
    Claim *claim = &c->claims[i];
    const char *name = name_of(claim->path);
    struct stat status;
    int file = openat(trial, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    int why = errno;
    if (file >= 0) {
        claim->tried = fstat(file, &status) == 0;
        if (claim->tried) claim->trial = identity_of(&status);
        close(file);
        return true;
    }
    if (why == EEXIST && fstatat(trial, name, &status, 0) == 0)
        for (int j = 0; j < i; j++)
            if (c->claims[j].tried && same(c->claims[j].trial, identity_of(&status)))
                return refuse_pair(&c->claims[j], claim, err);
    return fail(err, "%s: cannot be created: %s", claim->path, strerror(why));
}

/* Only the file system knows which names are valid, and which names it treats as the same. So the
 * names are tried in a new folder, and no empty file ever appears at the real path. */
static bool try_names(Claims *c, int folder, Error *err) {
    char *path = NULL;
    if (!file_make_temporary_folder(c->folders[folder].path, &path, err)) return false;
    int trial = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    bool ok = trial >= 0 || fail(err, "%s: cannot be opened: %s", path, strerror(errno));
    for (int i = 0; i < c->count && ok; i++)
        if (c->claims[i].written && c->claims[i].folder == folder) ok = try_name(c, i, trial, err);
    for (int i = 0; i < c->count && trial >= 0; i++)
        if (c->claims[i].tried && c->claims[i].folder == folder)
            unlinkat(trial, name_of(c->claims[i].path), 0);
    if (trial >= 0) close(trial);
    rmdir(path);
    memory_free(path);
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
    for (int f = 0; f < c->folder_count && ok; f++) sweep(c, &c->folders[f]);
    return ok;
}

/* Recreates and locks a folder that was moved or removed. Fails if another program has its lock. */
static bool hold_folder(Claims *c, int folder, Error *err) {
    Folder *f = &c->folders[folder];
    struct stat status;
    char *path;
    if (f->lock < 0) return true;
    if (!file_within(f->path, lock_name, &path, err)) return false;
    bool ok = is_current(f->lock, path);
    if (!ok) {
        close(f->lock);
        f->lock = -1;
        ok = make_folders(c, path, err) && lock_folder(c, folder, err) &&
             (stat(f->path, &status) == 0 || fail(err, "%s: cannot be found", f->path));
        if (ok) f->identity = identity_of(&status);
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
        struct stat status;
        char *folder;
        const Claim *claim = claim_of(c, paths[i]);
        if (!claim || !claim->filled) continue;
        free_everywhere = earlier_folder(c, claim, number, &folder, &none) &&
                          lstat(folder, &status) != 0 && errno == ENOENT;
        memory_free(folder);
    }
    return free_everywhere;
}

/* Moves a claim's file to the folder earlier-`number` beside it, or back. */
static bool move(const Claims *c, const Claim *claim, int number, bool back, Error *err) {
    char *folder = NULL, *aside = NULL;
    struct stat status;
    bool ok = earlier_folder(c, claim, number, &folder, err) &&
              file_within(folder, name_of(claim->path), &aside, err);
    if (ok && !back && mkdir(folder, 0777) != 0 && errno != EEXIST)
        ok = fail(err, "%s: cannot be created: %s", folder, strerror(errno));
    const char *from = back ? aside : claim->path, *to = back ? claim->path : aside;
    if (ok && lstat(to, &status) == 0) ok = fail(err, "%s: is there already", to);
    if (ok && rename(from, to) != 0)
        ok = fail(err, "%s: cannot be moved to %s: %s", from, to, strerror(errno));
    if (folder && (back || !ok)) rmdir(folder); /* if it is empty */
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
        unlock_folder(&c->folders[i]);
        free(c->folders[i].path);
    }
    while (c->made_count > 0) {
        rmdir(c->made[--c->made_count]);
        free(c->made[c->made_count]);
    }
    for (int i = 0; i < c->count; i++) free(c->claims[i].path);
    memory_free(c);
}
