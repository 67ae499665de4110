#define _XOPEN_SOURCE 700 /* realpath */
#include "base/filesystem.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

void filesystem_slash(char *path) {
    (void)path; /* a backslash is a part of a name */
}

int filesystem_open(const char *path, OpenMode mode) {
    static const int flags[] = {
        [OPEN_READ] = O_RDONLY,
        [OPEN_AT_ONCE] = O_RDONLY | O_NONBLOCK,
        [OPEN_UPDATE] = O_RDWR | O_NOFOLLOW | O_NONBLOCK,
        [OPEN_CREATE] = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW,
        [OPEN_LOCKS] = O_RDWR | O_CREAT | O_NOFOLLOW | O_NONBLOCK,
    };
    return open(path, flags[mode] | O_CLOEXEC | O_NOCTTY, 0666);
}

static FileStatus status_of(const struct stat *from) {
    mode_t mode = from->st_mode;
    return (FileStatus){.kind = S_ISREG(mode)                    ? FILE_REGULAR
                                : S_ISDIR(mode)                  ? FILE_FOLDER
                                : S_ISLNK(mode)                  ? FILE_LINK
                                : S_ISFIFO(mode)                 ? FILE_PIPE
                                : S_ISCHR(mode) || S_ISBLK(mode) ? FILE_DEVICE
                                                                 : FILE_OTHER,
                        .id = {(uint64_t)from->st_dev, (uint64_t)from->st_ino},
                        .size = from->st_size > 0 ? (uint64_t)from->st_size : 0,
                        .names = (uint64_t)from->st_nlink,
                        .written = (double)from->st_mtime};
}

FileStatus filesystem_status(int file) {
    struct stat found;
    return fstat(file, &found) == 0 ? status_of(&found) : (FileStatus){.kind = FILE_NONE};
}

FileStatus filesystem_look(const char *path, bool follow) {
    struct stat found;
    const bool there = (follow && stat(path, &found) == 0) || lstat(path, &found) == 0;
    return there ? status_of(&found) : (FileStatus){.kind = FILE_NONE};
}

char *filesystem_real(const char *path) {
    return realpath(path, NULL);
}

bool filesystem_make_folder(const char *path) {
    return mkdir(path, 0777) == 0;
}

bool filesystem_remove_folder(const char *path) {
    return rmdir(path) == 0;
}

bool filesystem_remove(const char *path) {
    return unlink(path) == 0;
}

bool filesystem_each(const char *folder, void (*take)(void *context, const char *name),
                     void *context) {
    DIR *directory = opendir(folder);
    if (!directory) return false;
    errno = 0;
    for (struct dirent *entry; (entry = readdir(directory)); errno = 0)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0)
            take(context, entry->d_name);
    int why = errno;
    closedir(directory);
    errno = why;
    return why == 0;
}

bool filesystem_move(const char *from, const char *to) {
    return rename(from, to) == 0;
}

/* ---- locks ---- */

/* A process on another machine has no number here. */
LockResult filesystem_lock(int file, long *holder) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET}; /* of all bytes */
    if (fcntl(file, F_SETLK, &lock) == 0) return LOCK_TAKEN;
    if (errno != EACCES && errno != EAGAIN) return LOCK_UNSUPPORTED;
    bool known = fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK && lock.l_pid > 0;
    *holder = known ? (long)lock.l_pid : 0;
    return LOCK_REFUSED;
}

/* ---- temporary files ---- */

/* The lock, which ends with the process, marks the file as in use. Before it is taken, another
 * process may remove the file as unused. */
int filesystem_create_temporary(const char *path) {
    long other;
    int file = filesystem_open(path, OPEN_CREATE);
    if (file < 0) return -1;
    LockResult lock = filesystem_lock(file, &other);
    if (lock == LOCK_UNSUPPORTED ||
        (lock == LOCK_TAKEN && filesystem_look(path, false).kind != FILE_NONE))
        return file;
    if (lock == LOCK_TAKEN) unlink(path); /* else the other process does, and may do so late */
    close(file);
    return -1;
}

bool filesystem_flush(int file) {
    return fsync(file) == 0;
}

/* A rename survives a power cut only after its directory is on the disk. */
bool filesystem_replace(int file, const char *temporary, const char *path) {
    (void)file;
    if (rename(temporary, path) != 0) return false;
    const char *slash = strrchr(path, '/');
    char *folder = slash ? strndup(path, slash == path ? 1 : (size_t)(slash - path)) : strdup(".");
    int directory = folder ? open(folder, O_RDONLY | O_CLOEXEC) : -1;
    if (directory >= 0) {
        fsync(directory);
        close(directory);
    }
    free(folder);
    return true;
}

void filesystem_abandon(int file, const char *temporary) {
    (void)file;
    unlink(temporary);
}

void filesystem_remove_unused(const char *path) {
    long holder;
    int file = open(path, O_WRONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return;
    if (filesystem_lock(file, &holder) == LOCK_TAKEN) {
        const FileStatus status = filesystem_status(file); /* now it does not change */
        if (status.kind == FILE_REGULAR && status.names == 1) unlink(path);
    }
    close(file);
}
