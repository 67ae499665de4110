/* account.h - what a run of ./train came to, gathered for its page: report.html. */
#ifndef TRIL_ACCOUNT_H
#define TRIL_ACCOUNT_H

#include "training/saving.h"

/* Writes the page to `path`, from the results [count], the logs and the best model's checkpoint. A
 * log that cannot be read back (a pipe, a file that somebody has removed) leaves its curves out, a
 * checkpoint that is gone its maps. */
bool account_write(const Settings *settings, const Corpus *corpus, const Result *results, int count,
                   const char *path, Error *err);

#endif
