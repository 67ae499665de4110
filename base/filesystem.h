/* filesystem.h - the file system, with one interface on POSIX (filesystem_posix.c) and Windows
 * (filesystem_windows.c).
 *
 * Paths are UTF-8 with slashes. A file is a descriptor of <unistd.h>, read with read and closed
 * with close; no program that this one starts inherits it. Every failure sets errno. */
#ifndef TRIL_BASE_FILESYSTEM_H
#define TRIL_BASE_FILESYSTEM_H

#include <stdbool.h>
#include <stdint.h>

/* On Windows, replaces the backslashes in a path with slashes. Elsewhere does nothing. */
void filesystem_slash(char *path);

typedef enum {
    FILE_NONE, /* nothing is there, or it cannot be looked at */
    FILE_REGULAR,
    FILE_FOLDER,
    FILE_LINK, /* a symbolic link; on Windows any reparse point */
    FILE_PIPE,
    FILE_DEVICE,
    FILE_OTHER
} FileKind;

/* Identifies a file independently of its path. Some file systems give no numbers, but 0. */
typedef struct {
    uint64_t device, number;
} FileId;

typedef struct {
    FileKind kind;
    FileId id;
    uint64_t size;
    uint64_t names; /* hard links */
    double written; /* seconds from 1970 to the last change of its content, in UTC */
} FileStatus;

typedef enum {
    OPEN_READ,    /* an existing file; waits for the other end of a pipe */
    OPEN_AT_ONCE, /* the same without waiting */
    OPEN_UPDATE,  /* an existing file to read and write, not through a link */
    OPEN_CREATE,  /* a file that must not exist, to write */
    OPEN_LOCKS    /* a file to hold locks, created if it is missing, not through a link */
} OpenMode;

/* Returns a descriptor, or -1. */
int filesystem_open(const char *path, OpenMode mode);

/* Return the status of an open file; of the file or link at `path` or, with `follow`, of the link's
 * target, if there is one. */
FileStatus filesystem_status(int file);
FileStatus filesystem_look(const char *path, bool follow);

/* Returns the kind of the file to which `path` leads; FILE_LINK for a link that leads nowhere. */
static inline FileKind file_kind(const char *path) {
    return filesystem_look(path, true).kind;
}

/* Returns the absolute path of the file or folder to which `path` leads, without links; the caller
 * releases it with free. NULL if there is none, or without memory. */
char *filesystem_real(const char *path);

/* Creates a folder with the user's usual rights (on Windows with its parent's). */
bool filesystem_make_folder(const char *path);

/* filesystem_remove_folder removes an empty folder, filesystem_remove a file. */
bool filesystem_remove_folder(const char *path);
bool filesystem_remove(const char *path);

/* Calls take(context, name) for each name in the folder but "." and "..". */
bool filesystem_each(const char *folder, void (*take)(void *context, const char *name),
                     void *context);

/* Renames a file or a folder. `to` must not exist. */
bool filesystem_move(const char *from, const char *to);

/* ---- temporary files ---- */

/* Creates a file that filesystem_remove_unused keeps while it is open. Returns a descriptor, or -1:
 * for one, if another process took the file for unused meanwhile. */
int filesystem_create_temporary(const char *path);

/* Flushes an open file to the disk. */
bool filesystem_flush(int file);

/* Gives the flushed temporary file the name `path`, in place of a file of that name. At every
 * moment `path` is the whole old file or the whole new one. */
bool filesystem_replace(int file, const char *temporary, const char *path);

/* Removes a temporary file that is still open. Also for a signal handler that ends the program. */
void filesystem_abandon(int file, const char *temporary);

/* Removes a regular file with one name, unless a living process has it open as a temporary file. */
void filesystem_remove_unused(const char *path);

/* ---- locks ---- */

typedef enum { LOCK_TAKEN, LOCK_REFUSED, LOCK_UNSUPPORTED } LockResult;

/* Locks an empty file, opened with OPEN_LOCKS, for this process, until any descriptor of that file
 * is closed. *holder is the number of a process that has locked it, if the system gives it. */
LockResult filesystem_lock(int file, long *holder);

#endif
