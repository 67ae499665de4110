/* outputs.h - the files that a training writes. No other program writes them meanwhile, and the
 * files of an earlier training are kept. */
#ifndef TRIL_PROGRAMS_TRAIN_OUTPUTS_H
#define TRIL_PROGRAMS_TRAIN_OUTPUTS_H

#include "programs/train/claims.h"
#include "programs/train/plan.h"

#include <stdio.h>

/* The first line of the table of a ladder. */
#define TABLE_HEADING "model,parameters,train_loss,val_loss,bits_per_char,seconds,tflop\n"

typedef struct {
    const Plan *plan;   /* borrowed */
    Claims *claims;     /* on every file of the training */
    uint64_t tables[2]; /* the digests of the existing table and of the one to be written next; 0:
                           none */
} Outputs;

/* Claims every file of the training, before it reads a text or trains. Fails for what claims.h
 * does not take, a file to write that is also read (the text, --init, --teacher), and a state that
 * another training has written since it was loaded. The caller releases the claims with
 * claims_close, also on failure. */
bool outputs_open(Outputs *outputs, const Plan *plan, Error *err);

/* Moves the files of other trainings, or of the user, to a new folder, to make way. Writes the
 * folder's name to where[PATH_SIZE], or an empty text if nothing was in the way. A training that is
 * resumed keeps its own files: a model and the page have its number; the page has the table's
 * digest, and the state the logs'. A log that no state knows yet is its own if it is beside the
 * page, for another training in that folder would have moved the page. Fails for a file that cannot
 * be read or moved. */
bool outputs_make_way(Outputs *outputs, char where[PATH_SIZE], Error *err);

/* Writes the first lines of the training's page, up to a <meta>: they name the training and the
 * digests of both tables. Such a page is written before the table, which is so known at any time.
 */
void outputs_begin_page(const Outputs *outputs, FILE *out);

#endif
