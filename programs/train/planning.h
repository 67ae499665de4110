/* planning.h - makes the plan of a training run in three steps: its files and its start, its text,
 * its decisions. */
#ifndef TRIL_PROGRAMS_TRAIN_PLANNING_H
#define TRIL_PROGRAMS_TRAIN_PLANNING_H

#include "programs/train/plan.h"

/* Locks the folder of --out, and creates it if it is missing. Reads the state to resume, or the
 * model of --init. Takes the options from it, else the defaults, and lays the command line over
 * them. Returns the exit status: EXIT_FAILURE where folder_open fails, for a state or a model that
 * cannot be read, without a state for --resume, and for a text that is a folder or in the folder of
 * an earlier run; EXIT_USAGE where command_line_apply and tril_options_check fail, for an option
 * without effect, and for a resumed run that had more steps or time. The caller releases *plan with
 * plan_close; on failure it is NULL. */
int plan_open(Plan **plan, const Arguments *arguments, Error *err);
void plan_close(Plan *plan);

/* Reads the text, with the tokenizer of the state or of the model if there is one. Adds missing
 * characters to the model. Fails for a file that cannot be read, an empty text, invalid UTF-8,
 * another text than the state's, a training part shorter than context + 1 characters, and a
 * held-out part of fewer than two. */
bool plan_read_text(Plan *plan, Error *err);

/* Decides the unset options (tril_options_decide) and prints the decisions. With a time limit,
 * chooses the sizes for the time and the measured speed of this machine, and measures the speed of
 * every rung. A resumed training run has nothing to decide. Then counts the text. Fails for too
 * little memory, and a time limit of which a step of a rung takes more than a twentieth of the
 * rung's share. */
bool plan_decide(Plan *plan, Error *err);

#endif
