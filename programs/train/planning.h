/* planning.h - makes the plan of a training, in three steps: its files and what it starts from, its
 * text, its decisions. */
#ifndef TRIL_PROGRAMS_TRAIN_PLANNING_H
#define TRIL_PROGRAMS_TRAIN_PLANNING_H

#include "programs/train/plan.h"

/* Reads the state to resume or the models of --init and --teacher, sets the options to theirs or to
 * the defaults, and over them the command line, and names the files. Fails for a state or a model
 * that cannot be read, a text that --continue cannot read twice, a change of what the state or the
 * model settles, another teacher than the state's, a path that is too long. The caller releases
 * *plan with plan_close; on failure it is NULL. */
bool plan_open(Plan **plan, const Arguments *arguments, Error *err);
void plan_close(Plan *plan);

/* Reads the text, with the tokenizer of the state or of the model if there is one. Extends the
 * model by the characters that it lacks. Fails for a file that cannot be read, an empty text,
 * invalid UTF-8, another text than the state's, a training part shorter than context + 1
 * characters, a held-out part of fewer than two, a teacher with other characters. */
bool plan_read_text(Plan *plan, Error *err);

/* Decides the unset options (tril_options_decide), and shows the decisions. With a time limit, the
 * sizes are chosen for the time and the measured speed of this machine. A resumed training has
 * nothing to decide. Fails for too little memory, a teacher that does not fit, an interruption
 * while the speed is measured. */
bool plan_decide(Plan *plan, Error *err);

#endif
