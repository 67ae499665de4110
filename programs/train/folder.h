/* folder.h - the folder of a training run: fixed names and one lock. An earlier run makes way, and
 * nothing else in the file system is touched. Of several processes (base/world.h) only the first
 * locks it, and moves or creates anything. */
#ifndef TRIL_PROGRAMS_TRAIN_FOLDER_H
#define TRIL_PROGRAMS_TRAIN_FOLDER_H

#include "base/error.h"

enum { PATH_SIZE = 1024 };

/* The files beside the models, NAME.safetensors, and their logs, NAME.csv. */
#define FOLDER_MODEL "model" /* the NAME of --model; that of another rung is the rung's */
#define FOLDER_STATE "state.safetensors"
#define FOLDER_PAGE  "report.html"
#define FOLDER_TABLE "ladder.csv"

typedef struct Folder Folder;

/* Locks the folder of a run at `path`, and creates it if nothing is there. It is one if it has
 * FOLDER_MARK, which has the lock, or FOLDER_STATE; an empty one becomes one. On failure *folder is
 * NULL and nothing has changed: for another file or folder at `path`, a run that another process
 * trains (the message gives its number), and a path that is too long or cannot be created. The
 * caller releases the folder with folder_close. */
bool folder_open(Folder **folder, const char *path, Error *err);
#define FOLDER_MARK ".tril"

/* Writes the path of a file in the folder. */
void folder_file(const Folder *folder, const char *name, const char *ending, char path[PATH_SIZE]);

/* Returns true if the folder has any file but its mark. */
bool folder_is_used(const Folder *folder);

/* Returns true if `path` leads to a file in the folder, which folder_begin would move. */
bool folder_contains(const Folder *folder, const char *path);

/* Begins a run in an empty folder: renames one that is used to NAME-1, NAME-2... Sets `earlier` to
 * its new path, or to an empty text. On failure the folder is as it was. */
bool folder_begin(Folder *folder, char earlier[PATH_SIZE], Error *err);

/* Call it before a file is written: it creates the folder again if it was moved or removed. Fails
 * if that is not possible, or if another process has locked the folder that is there now. */
bool folder_hold(Folder *folder, Error *err);

/* Releases the lock, which also ends with the process. Removes an empty folder that was created.
 * NULL is allowed. */
void folder_close(Folder *folder);

#endif
