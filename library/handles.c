#include "library/handles.h"
#include "base/array.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

_Static_assert((int)TRIL_MAX_CONTEXT == MAX_CONTEXT && (int)TRIL_MAX_LAYERS == MAX_LAYERS &&
                   (int)TRIL_MAX_WIDTH == MAX_WIDTH && (int)TRIL_MAX_THREADS == MAX_THREADS,
               "tril.h has other limits than model.h");

int ask(void *asking) {
    Asking *a = asking;
    a->stopped = a->stopped || (a->stop && a->stop(a->user) != 0);
    return a->stopped;
}

bool precision_read(Precision *precision, const char *name, Error *err) {
    static const char *const names[] = {
        [FLOAT32] = "f32", [BF16_WEIGHTS] = "bf16", [INT8_WEIGHTS] = "int8"};
    if (!given(name, "the precision", err)) return false;
    for (int i = 0; i < COUNT(names); i++) {
        *precision = (Precision)i;
        if (names[i] && strcmp(name, names[i]) == 0) return true;
    }
    return fail(err, "the precision of the weights is f32, bf16 or int8, not '%.64s'", name);
}

bool are_finite(const float *x, size_t count, Error *err) {
    bool finite = true;
    for (size_t i = 0; i < count; i++) finite = finite && isfinite(x[i]);
    return finite || fail(err, "the model's predictions are not finite numbers: its weights are "
                               "too large");
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

TrilStatus outcome(bool ok, TrilStatus status, const Error *err, TrilError *error) {
    return ok ? TRIL_OK : refusal(status, err, error);
}
