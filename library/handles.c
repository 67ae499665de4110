#include "library/handles.h"
#include "base/names.h"

#include <math.h>

bool precision_read(Precision *precision, const char *name, Error *err) {
    static const char *const names[] = {"f32", "int8", NULL};
    int i = 0;
    const bool found = name_find(names, name ? name : "", &i, "precision", err);
    *precision = found && i == 1 ? INT8_WEIGHTS : FLOAT32;
    return found;
}

bool use_begin(Uses *uses, bool changes, const char *what, Error *err) {
    int now = 0;
    if (!changes) now = atomic_load(uses);
    while (now >= 0 && !(changes && now > 0))
        if (atomic_compare_exchange_weak(uses, &now, changes ? -1 : now + 1)) return true;
    return fail_as(TRIL_BUSY, err,
                   "the %s is in use: another thread, or the function that called this one, has "
                   "not finished with it",
                   what);
}

void use_end(Uses *uses) {
    if (atomic_load(uses) < 0)
        atomic_store(uses, 0);
    else
        atomic_fetch_sub(uses, 1);
}

bool fail_diverged(Error *err) {
    return fail_as(TRIL_DIVERGED, err,
                   "the model has diverged: its predictions are not finite numbers");
}

bool in_range(double x, double least, double most, const char *name, Error *err) {
    return (x >= least && x <= most) ||
           fail(err, "%s: %.10g is not a number from %.10g to %.10g", name, x, least, most);
}

/* Threads beyond the processors would only wait. */
int tril_threads(double wanted) {
    if (isnan(wanted)) wanted = run_default_threads();
    return (int)fmin(fmax(wanted, 1), run_max_threads());
}

bool threads_wanted(int wanted, int *threads, Error *err) {
    *threads = tril_threads(wanted > 0 ? wanted : (double)NAN);
    return in_range(wanted, 0, TRIL_MAX_THREADS, "threads", err);
}
