/* claims.h - the files that a program reads and writes, settled before it begins.
 *
 * A program claims every file first. Settling the claims then makes sure, before any work is done,
 * that each file to be written can be made, that no two claims mean the same file, however their
 * paths are written, and that no other program is writing one of them. */
#ifndef TRIL_CLAIMS_H
#define TRIL_CLAIMS_H

#include "base/error.h"

#include <stddef.h>

typedef struct Claims Claims;

/* Makes an empty list, which the caller releases with claims_close. On failure *claims is NULL. */
bool claims_open(Claims **claims, Error *err);

/* Claims `path` to read or to write. `what` names its purpose in messages ("the log") and must
 * outlive the claims; the path is copied. Refused: an empty path to write, a name
 * that locks and temporary files have, no memory. */
bool claims_read(Claims *claims, const char *what, const char *path, Error *err);
bool claims_write(Claims *claims, const char *what, const char *path, Error *err);

/* Creates the folders of the files to write, and locks those files until claims_close or the end of
 * the process. Removes temporary files of file_write that a killed program left in these folders.
 * Refused with a sentence: a path to write where something other than a regular file is, or where
 * none can be created; two paths to write that mean the same file; one that means a file to read; a
 * file that another process has locked, which is named by its number. */
bool claims_settle(Claims *claims, Error *err);

/* Was there a file at this path, which is claimed for writing, when it was settled, and not an
 * empty one? */
bool claims_there(Claims *claims, const char *path);

/* Before a file is written: has the program still its locks, and are they still in the folders that
 * the paths name? A folder that was moved or removed meanwhile is made again. Refused: it cannot
 * be, or another program has its locks by now. */
bool claims_hold(Claims *claims, Error *err);

/* Moves those of the settled paths[count] that are there, and not empty, into a new folder beside
 * each, earlier-N, and copies the name of the first one's new folder to where[room]. On failure
 * they are moved back. */
bool claims_set_aside(Claims *claims, const char *const *paths, int count, char *where, size_t room,
                      Error *err);

/* Ends the locks, removes created folders that are still empty, and releases the list. NULL is
 * allowed. */
void claims_close(Claims *claims);

#endif
