/* file.h - files in, whole or piece by piece; whole files out. */
#ifndef TRIL_FILE_H
#define TRIL_FILE_H

#include "base/error.h"

#include <stddef.h>

/* Reads all of `path` (a file, a pipe; not a directory, not a device) into *bytes, of *length bytes
 * and one zero byte after them. The caller releases *bytes with memory_free; on failure it is NULL.
 */
bool file_read(const char *path, char **bytes, size_t *length, Error *err);

/* A file that is read piece by piece, so that its beginning can be checked against its length
 * before the rest is read. */
typedef struct {
    const char *path; /* borrowed */
    size_t length;
    int descriptor;
    char *bytes; /* all of a pipe, whose length is not known otherwise; owned */
    size_t at;   /* bytes taken */
} File;

/* Opens what file_read reads. The caller closes it with file_close; on failure there is nothing to
 * close. */
bool file_open(File *file, const char *path, Error *err);

/* Writes its next `count` bytes to `to`. Fails if there are fewer. */
bool file_take(File *file, void *to, size_t count, Error *err);

void file_close(File *file);

/* One stretch of bytes of a file that is being written. */
typedef struct {
    const void *bytes;
    size_t length;
} FilePart;

/* Writes the parts, one after another, as the file `path`, which at every moment either is the
 * old one or the whole new one: a temporary file beside it, flushed to the disk, then renamed. The
 * temporary file is new, whatever is there already. On failure the old file is untouched and the
 * temporary one removed. */
bool file_write(const char *path, const FilePart *parts, size_t count, Error *err);

/* Creates a new folder with a temporary file's name in `folder`, and sets *path to it. The caller
 * removes it, and releases *path with memory_free; on failure it is NULL. */
bool file_make_temporary_folder(const char *folder, char **path, Error *err);

/* Removes the temporary file that is being written. For a signal handler that ends the program. */
void file_abandon(void);

/* Is this the name, without its folder, of a temporary file of file_write? */
bool file_is_temporary(const char *name);

/* Removes a temporary file that no living process is writing. */
void file_remove_abandoned(const char *path);

/* The folder that `path` lies in, "." if it names none. The caller releases it with free; NULL if
 * there is no memory. */
char *file_folder(const char *path);

/* To be called before any file is opened: standard streams that are closed become /dev/null, so
 * that no file takes their place. */
void file_hold_standard_streams(void);

/* Hands all that was printed to standard output over; false if any of it was lost. */
bool file_flush_output(Error *err);

/* Is there a regular file at `path` that begins with this text, of 255 bytes at most? */
bool file_begins(const char *path, const char *text);

/* Creates the directories that `path` lies in, if they do not exist yet. */
bool file_make_parent(const char *path, Error *err);

/* Is there a directory at `path`? */
bool file_is_directory(const char *path);

/* Creates the directory `path`, and those that it lies in. Refused: one that is there, unless it is
 * empty. */
bool file_make_directory(const char *path, Error *err);

/* Removes these files of a directory that are there and, if nothing is left in it, the directory.
 */
void file_remove_directory(const char *path, const char *const *names, int count);

/* Sets *path to that of `name` in `directory`; the caller releases it with memory_free. On failure
 * it is NULL. */
bool file_within(const char *directory, const char *name, char **path, Error *err);

#endif
