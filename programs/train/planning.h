/* planning.h - makes the plan of a training run in three steps: its files and its start, its text,
 * its decisions. */
#ifndef TRIL_PROGRAMS_TRAIN_PLANNING_H
#define TRIL_PROGRAMS_TRAIN_PLANNING_H

#include "programs/train/plan.h"

/* Reads the state to resume, or the model of --init. Sets the options to theirs or
 * to the defaults, overridden by the command line, and names the files. Fails for a state or a
 * model that cannot be read, a text that --continue cannot read twice, a change of an option that
 * the state or the model fixes, and a path that is too long. The
 * caller releases *plan with plan_close; on failure it is NULL. */
bool plan_open(Plan **plan, const Arguments *arguments, Error *err);
void plan_close(Plan *plan);

/* Reads the text, with the tokenizer of the state or of the model if there is one. Adds missing
 * characters to the model. Fails for a file that cannot be read, an empty text, invalid UTF-8,
 * another text than the state's, a training part shorter than context + 1 characters, and a
 * held-out part of fewer than two. */
bool plan_read_text(Plan *plan, Error *err);

/* Counts the text, which takes at most a tenth of a time limit: then only its beginning is counted,
 * which it says. Counts also the text with pieces of all of it held out, unless that takes long. */
bool plan_count(Plan *plan, Error *err);

/* Decides the unset options (tril_options_decide) and prints the decisions. With a time limit,
 * chooses the sizes for the time and the measured speed of this machine, counts the text, and
 * measures the speed of every rung. A resumed training run has nothing to decide. Fails for too
 * little memory, and a time limit in which reading the text takes more
 * than half of the time, or a step of a rung more than a twentieth of its share. */
bool plan_decide(Plan *plan, Error *err);

#endif
