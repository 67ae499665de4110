/* report.h - the page of a training, report.html, from its first moment to its end. */
#ifndef TRIL_PROGRAMS_TRAIN_REPORT_H
#define TRIL_PROGRAMS_TRAIN_REPORT_H

#include "programs/train/outputs.h"
#include "programs/train/report_data.h"

typedef struct Report Report;

/* Makes a report on results[], which may grow later: first come the closed forms, then the rungs.
 * Borrows everything. The caller releases it with report_close; on failure it is NULL. Refused: no
 * memory. */
bool report_open(Report **report, const Plan *plan, const Input *input, Outputs *outputs,
                 const Result *results, Error *err);
void report_close(Report *report);

/* While the training runs, the page is written again and again. It says so, and reloads itself in
 * the browser. Writing takes at most a fiftieth of the time: what comes too soon is left out. A
 * page that cannot be written is written later; only report_end fails. */

/* `next` is about to train, and there are `count` results: writes the page, with what the rungs so
 * far write. No training run may be open, because of the memory. */
void report_next(Report *report, const RungPlan *next, int count);

/* Is it time to write the page, at `now` of clock_seconds()? `evaluated`: the rung that trains has
 * just been evaluated. */
bool report_due(const Report *report, double now, bool evaluated);

/* Writes the page while a rung trains. Its log must be flushed. */
void report_renew(Report *report, const ReportRung *under_way);

/* Writes the page of a training that has ended, as planned or by a `failure` (NULL: none). Refused:
 * a checkpoint that cannot be read, no memory, a page that cannot be written. */
bool report_end(Report *report, int count, const Error *failure, Error *err);

#endif
