/* report.h - report.html, the page of a training run, from its beginning to its end. */
#ifndef TRIL_PROGRAMS_TRAIN_REPORT_H
#define TRIL_PROGRAMS_TRAIN_REPORT_H

#include "programs/train/outputs.h"

typedef struct Report Report;

/* Makes a report on results[], the closed forms and then the rungs, which may grow later. Borrows
 * everything. Released by report_close. Fails without memory, with *report NULL. */
bool report_open(Report **report, const Plan *plan, Outputs *outputs, const Result *results,
                 Error *err);
void report_close(Report *report);

/* While the training runs, the page is written again and again, and reloads itself in the browser.
 * Writing takes at most a fiftieth of the time. A page that cannot be written is written later;
 * only report_end fails. If a checkpoint is missing, its maps and its text are left out. */

/* Writes the page before `next` is trained, with the `count` results so far and the texts of their
 * models. Borrows `course`, that of `next`. To save memory, no training may be open. */
void report_next(Report *report, const RungFiles *next, const Course *course, int count);

/* Writes the page while a rung trains, with its result so far, if that is due at `at`, a value
 * of clock_seconds(). `evaluated` is true if the rung has just been evaluated. */
void report_renew(Report *report, const TrilModel *model, const Result *now, double at,
                  bool evaluated);

/* Writes the page of a training run that has ended: as planned or, if `failure` is given, by that
 * error. Fails if a checkpoint cannot be read or the page written. */
bool report_end(Report *report, int count, const Error *failure, Error *err);

#endif
