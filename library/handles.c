#include "library/handles.h"

#include <stdio.h>

bool given(const void *pointer, const char *what, Error *err) {
    return pointer || fail(err, "%s is NULL", what);
}

bool in_range(double x, double least, double most, const char *what, Error *err) {
    return (x >= least && x <= most) || fail(err, "%s is %g to %g, not %g", what, least, most, x);
}

/* Threads beyond the processors would only wait. */
bool threads_wanted(int wanted, int *threads, Error *err) {
    int max = run_max_threads();
    *threads = wanted > 0 ? wanted : run_default_threads();
    if (*threads > max) *threads = max;
    return (wanted >= 0 && wanted <= MAX_THREADS) ||
           fail(err, "the number of threads is 0 to %d, not %d", MAX_THREADS, wanted);
}

TrilStatus refusal(TrilStatus status, const Error *err, TrilError *error) {
    if (error) snprintf(error->text, sizeof error->text, "%s", err->text);
    return err->no_memory ? TRIL_NO_MEMORY : status;
}
