/* outputs.h - the files that a training writes: nothing stands in their way, no other program
 * writes them, and the files of an earlier training are not lost. */
#ifndef TRIL_TRAINING_OUTPUTS_H
#define TRIL_TRAINING_OUTPUTS_H

#include "training/files.h"

#include <stdint.h>

/* The first line of the table of a ladder. */
#define TABLE_HEADING "model,parameters,train_loss,val_loss,bits_per_char,seconds\n"

typedef struct Outputs Outputs;

/* Claims every file of the training before it reads a text or trains: base/claims.h says what is
 * refused. A file that is read, the text or --init, must not be among the files that are written.
 * `files` is borrowed. The caller releases *outputs with outputs_close; on failure it is NULL. */
bool outputs_open(Outputs **outputs, const Files *files, Error *err);

/* Makes way for a training on the text of this digest: moves the files of an earlier training, or
 * of a person, to a new folder. Writes the folder's name to where[PATH_SIZE], or an empty text if
 * nothing is in the way. A training that is resumed keeps the files of its text; only others move.
 */
bool outputs_make_way(Outputs *outputs, uint64_t text, bool resumed, char where[PATH_SIZE],
                      Error *err);

/* Moves the file at `path`, one of the outputs, aside in the same way. */
bool outputs_set_aside(Outputs *outputs, const char *path, char where[PATH_SIZE], Error *err);

/* Before one of them is written: claims_hold. */
bool outputs_hold(Outputs *outputs, Error *err);

/* Ends the locks on the files. NULL is allowed. */
void outputs_close(Outputs *outputs);

#endif
