/* outputs.h - every file that a training writes: its path, that nothing stands in its way, and what
 * becomes of the files of an earlier training. */
#ifndef TRIL_OUTPUTS_H
#define TRIL_OUTPUTS_H

#include "training/settings.h"

#include <stdint.h>

/* The first line of the table of a ladder. */
#define TABLE_HEADING "model,parameters,train_loss,val_loss,bits_per_char,seconds\n"

/* ---- paths; refused: one that is too long ---- */

/* `name` in the directory of `out`. */
bool path_beside(const char *out, const char *name, char path[PATH_ROOM], Error *err);

/* A rung's checkpoint: of the model that was asked for --out, of the others beside it. */
bool checkpoint_path(const Settings *settings, const char *name, char path[PATH_ROOM], Error *err);

/* A rung's log: beside its checkpoint NAME.safetensors as NAME.csv, if --log does not say. */
bool log_path(const Settings *settings, const char *name, char path[PATH_ROOM], Error *err);

/* The last state that belongs to the checkpoint NAME.safetensors: NAME.last.safetensors. */
bool state_path(const char *out, char path[PATH_ROOM], Error *err);

/* The table of a ladder and the page, which lie beside --out. */
bool table_path(const Settings *settings, char path[PATH_ROOM], Error *err);
bool page_path(const Settings *settings, char path[PATH_ROOM], Error *err);

/* ---- all of them ---- */

typedef struct Outputs Outputs;

/* Settles, before anything is read or trained, every file that a training of the rungs
 * names[rungs] writes: base/claims.h says what is refused. What it reads, the text and --init, must
 * not be among them. The caller releases them with outputs_close; on failure *outputs is NULL. */
bool outputs_open(Outputs **outputs, const Settings *settings, const char *const names[], int rungs,
                  Error *err);

/* Makes way for a training on the text of this digest: what an earlier one, or a person, has left
 * in its way is moved to a new folder, whose name goes to where[PATH_ROOM], which is empty if there
 * is nothing. A training that is resumed keeps the files of its text, and only others move. */
bool outputs_make_way(Outputs *outputs, uint64_t text, bool resumed, char where[PATH_ROOM],
                      Error *err);

/* Moves the file at `path`, one of them, aside in the same way. */
bool outputs_set_aside(Outputs *outputs, const char *path, char where[PATH_ROOM], Error *err);

/* Before one of them is written: claims_hold. */
bool outputs_hold(Outputs *outputs, Error *err);

/* Ends the locks on the files. NULL is allowed. */
void outputs_close(Outputs *outputs);

#endif
