/* outputs.h - the files that a training writes. No other program writes them meanwhile, and the
 * files of an earlier training are kept. */
#ifndef TRIL_PROGRAMS_TRAIN_OUTPUTS_H
#define TRIL_PROGRAMS_TRAIN_OUTPUTS_H

#include "programs/train/files.h"

#include <stdint.h>

/* The first line of the table of a ladder. */
#define TABLE_HEADING "model,parameters,train_loss,val_loss,bits_per_char,seconds,tflop\n"

typedef struct Outputs Outputs;

/* Claims every file of the training, before it reads a text or trains. Refused: what base/claims.h
 * refuses; a file to write that is also read (the text or --init). `files` is borrowed. The caller
 * releases *outputs with outputs_close; on failure it is NULL. */
bool outputs_open(Outputs **outputs, const Files *files, Error *err);

/* Moves the files of an earlier training, or of a person, to a new folder, to make way for a
 * training on the text of this digest. Writes the folder's name to where[PATH_SIZE], or an empty
 * text if nothing was in the way. A resumed training keeps the files of its text. Refused: a file
 * that cannot be read or moved. */
bool outputs_make_way(Outputs *outputs, uint64_t text, bool resumed, char where[PATH_SIZE],
                      Error *err);

/* Moves the file at `path`, one of the outputs, to a new folder likewise. */
bool outputs_set_aside(Outputs *outputs, const char *path, char where[PATH_SIZE], Error *err);

/* Call it before writing a file. Refused: what claims_hold refuses. */
bool outputs_hold(Outputs *outputs, Error *err);

/* Ends the locks on the files. NULL is allowed. */
void outputs_close(Outputs *outputs);

#endif
