/* folder.h - the folder of a training run: fixed names and one lock. An earlier run makes way, and
 * nothing else in the file system is touched. Of several processes (base/world.h) only the first
 * locks it, and moves or creates anything. */
#ifndef TRIL_PROGRAMS_TRAIN_FOLDER_H
#define TRIL_PROGRAMS_TRAIN_FOLDER_H

#include "base/error.h"

enum { PATH_SIZE = 1024 }; /* for a path in the folder */

/* The files beside the models, NAME.safetensors, and their logs, NAME.csv. */
#define FOLDER_MARK  ".tril" /* an empty file, which has the lock */
#define FOLDER_MODEL "model" /* the NAME of --model; that of another rung is the rung's */
#define FOLDER_STATE "state.safetensors"
#define FOLDER_PAGE  "report.html"
#define FOLDER_TABLE "ladder.csv"

typedef struct Folder Folder;

/* Creates the folder at `path` if nothing is there, and locks it. A folder is a run's if it has
 * FOLDER_MARK or FOLDER_STATE; an empty one becomes one. Fails, with *folder NULL, if anything else
 * is at `path`, if another process trains there (the message gives its number), and if the path is
 * too long or cannot be created. The caller releases the folder with folder_close. */
bool folder_open(Folder **folder, const char *path, Error *err);

/* Writes the path of a file in the folder. */
void folder_file(const Folder *folder, const char *name, const char *ending, char path[PATH_SIZE]);

/* Returns true if the folder has any file but its mark and temporary ones, or cannot be read. */
bool folder_is_used(const Folder *folder);

/* Returns true if `path` leads to a file in the folder, which folder_begin would move. */
bool folder_contains(const Folder *folder, const char *path);

/* Begins a run in an empty folder: renames one that is used to NAME-1, NAME-2..., and creates and
 * locks a new one. Sets `earlier` to the new path of the old one, or to an empty text. On failure
 * the folder is as it was, unless another process has taken its path. */
bool folder_begin(Folder *folder, char earlier[PATH_SIZE], Error *err);

/* Call it before a file is written: it creates the folder again if it was moved or removed. Fails
 * if that is not possible, or if another run is there now. */
bool folder_hold(Folder *folder, Error *err);

/* Releases the lock, which also ends with the process. Removes the mark of an empty folder, and the
 * folder if folder_open created it. NULL is allowed. */
void folder_close(Folder *folder);

#endif
