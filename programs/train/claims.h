/* claims.h - checks and locks every file of a training run before it begins.
 *
 * First the program claims each file that it will read or write. Then claims_settle checks that
 * each output file can be created, that no two claims name the same file by different paths, and
 * that no other program is writing one of them. */
#ifndef TRIL_CLAIMS_H
#define TRIL_CLAIMS_H

#include "base/error.h"

#include <stddef.h>

typedef struct Claims Claims;

/* Makes an empty list. The caller releases it with claims_close. On failure *claims is NULL. */
bool claims_open(Claims **claims, Error *err);

/* Claims `path` to read or to write. `what` names its purpose in messages ("the log") and must
 * outlive the claims. The path is copied. Fails for an empty path to write, a path of more than
 * 4096 bytes, a name that is reserved for locks and temporary files, and without memory. */
bool claims_read(Claims *claims, const char *what, const char *path, Error *err);
bool claims_write(Claims *claims, const char *what, const char *path, Error *err);

/* Creates the folders of the output files. Locks those files until claims_close or the end of the
 * process. Fails for an output path that is not a regular file or where none can be created; two
 * output paths of the same file; an output path of an input file; a file that another process has
 * locked (the message gives its number). */
bool claims_settle(Claims *claims, Error *err);

/* Checks, before a file is written, that this program still holds its locks, and that the lock
 * files are still in the claimed folders. Recreates a folder that was moved or removed. Fails if it
 * cannot, or if another program has taken its locks. */
bool claims_hold(Claims *claims, Error *err);

/* Moves settled files to a new folder, earlier-N, beside each of them. Skips those of paths[count]
 * that are missing or empty. Writes the name of the new folder, or of the first two, to
 * where[capacity]. On failure the files are moved back. */
bool claims_set_aside(Claims *claims, const char *const *paths, int count, char *where,
                      size_t capacity, Error *err);

/* Releases the locks and the list, which may be NULL. Removes created folders if empty. */
void claims_close(Claims *claims);

#endif
