/* report_data.h - the figures of a run of ./train, collected for its page: report.html. */
#ifndef TRIL_PROGRAMS_TRAIN_REPORT_DATA_H
#define TRIL_PROGRAMS_TRAIN_REPORT_DATA_H

#include "programs/report/page.h"
#include "programs/train/saved.h"
#include "programs/train/writing.h"

/* A rung under way. */
typedef struct {
    const RungPlan *rung;
    const TrilModel *model; /* as it is now */
    const Progress *progress;
    const Course *course;
} ReportRung;

/* What a page is made of; all borrowed. */
typedef struct {
    const Plan *plan;
    const Input *input;
    const Result *results; /* [count]: the closed forms, then the rungs so far */
    int count;
    const Writing *writings; /* [plan->rung_count]: of the rungs so far; empty: none */
    const PageLive *live;    /* NULL: the training has ended */
    const ReportRung *under_way;
    const char *failure; /* why it ended before its time; NULL: it did not */
    uint64_t table;      /* outputs_table */
} ReportSource;

/* Writes the page of the plan, from the source, the logs and the best model's checkpoint. A log
 * that cannot be read back (a pipe, a file that somebody removed) leaves its curves out; a
 * checkpoint that is gone, its maps. */
bool report_write(const ReportSource *source, Error *err);

#endif
