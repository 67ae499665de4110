/* report_data.h - the figures of a run of ./train, collected for its page: report.html. */
#ifndef TRIL_TRAINING_REPORT_DATA_H
#define TRIL_TRAINING_REPORT_DATA_H

#include "training/saving.h"

/* Writes the page of the plan, from the results [count], the logs and the best model's checkpoint.
 * A log that cannot be read back (a pipe, a file that somebody removed) leaves its curves out; a
 * checkpoint that is gone, its maps. */
bool write_report(const Plan *plan, const Corpus *corpus, const Result *results, int count,
                  Error *err);

#endif
