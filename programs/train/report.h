/* report.h - the page of a training, report.html, from its first moment to its end. */
#ifndef TRIL_PROGRAMS_TRAIN_REPORT_H
#define TRIL_PROGRAMS_TRAIN_REPORT_H

#include "programs/train/outputs.h"

typedef struct Report Report;

/* Makes a report on results[], which may grow later: first come the closed forms, then the rungs.
 * Borrows everything. The caller releases it with report_close; on failure, without memory, it is
 * NULL. */
bool report_open(Report **report, const Plan *plan, Outputs *outputs, const Result *results,
                 Error *err);
void report_close(Report *report);

/* While the training runs, the page is written again and again. It says so, and reloads itself in
 * the browser. Writing takes at most a fiftieth of the time. A page that cannot be written is
 * written later; only report_end fails. A checkpoint that is gone leaves out its maps and its
 * writing. */

/* Writes the page before `next` is trained, with the `count` results so far and what their models
 * write. `course`, which is borrowed, will be that of `next`. No training may be open, because of
 * the memory. */
void report_next(Report *report, const RungFiles *next, const Course *course, int count);

/* True if the page should be written at `now` of clock_seconds(). `evaluated`: the rung in training
 * has just been evaluated. */
bool report_due(const Report *report, double now, bool evaluated);

/* Writes the page while a rung trains, with its result so far. */
void report_renew(Report *report, const TrilModel *model, const Result *now);

/* Writes the page of a training that has ended, as planned or by a `failure` (NULL: none). Fails if
 * a checkpoint cannot be read, without memory, and if the page cannot be written. */
bool report_end(Report *report, int count, const Error *failure, Error *err);

#endif
