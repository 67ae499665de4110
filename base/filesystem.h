/* filesystem.h - what a file system does, alike on POSIX (filesystem_posix.c) and Windows
 * (filesystem_windows.c).
 *
 * Paths are UTF-8 with slashes. A file is a descriptor of <unistd.h>, closed with close; no program
 * that this one starts inherits it. What fails sets errno. */
#ifndef TRIL_BASE_FILESYSTEM_H
#define TRIL_BASE_FILESYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Gives a path that a user typed its slashes, in place: Windows also takes backslashes. */
void filesystem_slash(char *path);

typedef enum {
    FILE_REGULAR,
    FILE_FOLDER,
    FILE_LINK, /* a symbolic link; on Windows any reparse point */
    FILE_PIPE,
    FILE_DEVICE,
    FILE_OTHER
} FileKind;

/* Identifies a file independently of its path. */
typedef struct {
    uint64_t device, number;
} FileId;

typedef struct {
    FileKind kind;
    FileId id;
    uint64_t size;
    uint64_t names; /* hard links */
} FileStatus;

typedef enum {
    OPEN_READ,    /* an existing file; waits for the other end of a pipe */
    OPEN_AT_ONCE, /* the same without waiting */
    OPEN_UPDATE,  /* an existing file to read and write, not through a link */
    OPEN_CREATE,  /* a file that must not exist, to write */
    OPEN_LOCKS    /* a file to hold locks, created if it is missing, for all users */
} OpenMode;

/* Returns a descriptor, or -1. */
int filesystem_open(const char *path, OpenMode mode);

bool filesystem_status(int file, FileStatus *status);

/* The status of what is at `path`; `follow`: of what a link there leads to. */
bool filesystem_look(const char *path, bool follow, FileStatus *status);

/* Reads or writes up to `count` bytes, and returns how many; -1 on failure. Interruptions do not
 * count. */
int64_t filesystem_read(int file, void *to, size_t count);
int64_t filesystem_write(int file, const void *from, size_t count);

typedef enum {
    FOR_USER,     /* with the user's usual rights */
    FOR_ALL_USERS /* left behind, it must not keep others out; on Windows as the folder around it */
} FolderUse;
bool filesystem_make_folder(const char *path, FolderUse use);
bool filesystem_remove_folder(const char *path); /* if it is empty */
bool filesystem_remove(const char *path);

/* May this program create files in the folder? */
bool filesystem_is_writable(const char *folder);

/* Calls `take` with each name in the folder, without "." and "..". */
bool filesystem_each(const char *folder, void (*take)(void *context, const char *name),
                     void *context);

/* Renames a file; `to` does not exist. */
bool filesystem_move(const char *from, const char *to);

/* ---- temporary files ---- */

/* Creates a file that no other program removes while it is open: filesystem_remove_unused. Returns
 * a descriptor, or -1. */
int filesystem_create_temporary(const char *path);

/* Flushes the temporary file to the disk, gives it the name `path`, in place of a file of that
 * name, and closes it. At every moment `path` is the whole old file or the whole new one. On
 * failure the temporary file is removed, and errno says why. */
bool filesystem_replace(int file, const char *temporary, const char *path);

/* Removes a temporary file that is still open. For a signal handler that ends the program. */
void filesystem_abandon(int file, const char *temporary);

/* Removes a regular file with one name, unless a living process has it open as a temporary file. */
void filesystem_remove_unused(const char *path);

/* ---- locks ---- */

typedef enum { LOCK_TAKEN, LOCK_REFUSED, LOCK_UNSUPPORTED } LockResult;

/* Locks a file of OPEN_LOCKS, which is empty, for this process. It ends when any descriptor of that
 * file is closed. If another process has locked it, *holder is that process's number, or 0 if the
 * system does not say. */
LockResult filesystem_lock(int file, long *holder);

/* ---- text in memory ---- */

/* A stream of stdio whose text stays in memory: open_memstream on POSIX, a temporary file on
 * Windows. */
typedef struct {
    FILE *out;
    char *text; /* after textstream_close; the caller releases it with free */
    size_t length;
} TextStream;

/* Opens it. False if there is no memory; nothing is then to be closed, and `text` is NULL. */
bool textstream_open(TextStream *stream);

/* Closes it and sets its text. False if anything was lost. */
bool textstream_close(TextStream *stream);

#endif
