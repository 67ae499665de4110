/* file.h - reads files, whole or in pieces; writes whole files. Of several processes (world.h) only
 * the first writes: in the others file_print and file_write succeed without doing anything. */
#ifndef TRIL_BASE_FILE_H
#define TRIL_BASE_FILE_H

#include "base/error.h"
#include "base/filesystem.h"

#include <stddef.h>
#include <stdio.h>

/* Reads all of `path`, a file or a pipe, into *bytes [*length] and adds one zero byte. The caller
 * releases *bytes with memory_free. Fails, with *bytes NULL, for a directory or a device. */
bool file_read(const char *path, char **bytes, size_t *length, Error *err);

/* The same for standard input. */
bool file_read_input(char **bytes, size_t *length, Error *err);

/* A file that is read in pieces, so that its header can be checked before the rest is read. */
typedef struct {
    const char *path; /* borrowed */
    size_t length;
    int descriptor;
    char *bytes; /* a pipe's whole content, read to learn its length; owned */
    size_t at;   /* bytes read so far */
} File;

/* Opens a file or a pipe. Closed by file_close, which does nothing after a failure. */
bool file_open(File *file, const char *path, Error *err);

/* Reads the next `count` bytes into `to`. Fails if fewer are left. */
bool file_take(File *file, void *to, size_t count, Error *err);

void file_close(File *file);

/* Fails if anything but a regular file is at `path`, even a link to one: writing would replace it.
 * `what`, such as "the log", is named in the message. */
bool file_can_be_replaced(const char *path, const char *what, Error *err);

/* Calls print(out, what, err) and writes its output to the file `path` atomically: into a new
 * temporary file beside it, which is then flushed to the disk and renamed. At every moment `path`
 * is the whole old file or the whole new one. On failure the old file is unchanged and the
 * temporary file is removed. First removes temporary files that killed programs left there. Fails
 * where file_can_be_replaced fails. */
bool file_print(const char *path, bool (*print)(FILE *out, void *what, Error *err), void *what,
                Error *err);

/* Bytes to write. */
typedef struct {
    const void *bytes;
    size_t length;
} FilePart;

/* Writes the parts [count] in order to the file `path`, like file_print. */
bool file_write(const char *path, const FilePart *parts, size_t count, Error *err);

/* Removes the temporary file that is being written. For a signal handler that ends the program. */
void file_abandon(void);

/* Returns the name in a path, without its folder. */
const char *file_name(const char *path);

/* Returns true if `name`, without its folder, is the name of a temporary file. */
bool file_is_temporary(const char *name);

/* Flushes standard output. Fails if any output was lost. */
bool file_flush_output(Error *err);

/* Writes the time of the last change to the file at `path`, such as "2026-11-25 15:04 UTC", or an
 * empty text if it is unknown. */
enum { FILE_DATE = 40 };
void file_date(const char *path, char date[FILE_DATE]);

/* Opens a regular file to read it or, to `update` it, to read and write it, not through a link. The
 * caller closes it with fclose. On failure NULL. */
FILE *file_stream(const char *path, bool update, Error *err);

/* Creates the missing directories above `path`. */
bool file_make_parent(const char *path, Error *err);

#endif
