/* report.h - report.html, the page of a training run, from its beginning to its end. */
#ifndef TRIL_PROGRAMS_TRAIN_REPORT_H
#define TRIL_PROGRAMS_TRAIN_REPORT_H

#include "programs/train/plan.h"

/* Makes the report of a ladder, which has its closed forms. Released by report_close. Fails without
 * memory. */
bool report_open(Ladder *ladder, Error *err);
void report_close(Ladder *ladder);

/* While the training runs, the page is written again and again, and reloads itself in the browser.
 * Writing takes at most a fiftieth of the time. A page that cannot be written is written later;
 * only report_end fails. If a checkpoint is missing, its maps are left out. */

/* Writes the page before `next` is trained, with the results so far. */
void report_next(Ladder *ladder, const RungPlan *next);

/* Writes the page while the model of the last result trains, if that is due at `at`, a value of
 * clock_seconds(). `evaluated` is true if it has just been evaluated. */
void report_renew(Ladder *ladder, const TrilModel *model, double at, bool evaluated);

/* Writes the page of a training run that has ended: as planned or, if `failure` is given, by that
 * error. Fails if a checkpoint cannot be read or the page written. */
bool report_end(Ladder *ladder, const Error *failure, Error *err);

#endif
