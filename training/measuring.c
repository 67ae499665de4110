#include "training/measuring.h"
#include "training/interruption.h"
#include "training/sizes.h"
#include "training/workers.h"

#include <math.h>
#include <stdlib.h>

bool measure_best(const Plan *plan, const RungPlan *rung, const Corpus *corpus,
                  const Config *trained, double known, Result *result, Error *err) {
    const char *path = rung->checkpoint;
    Checkpoint kept;
    if (!checkpoint_load(&kept, path, err)) return false;
    RunOptions options = {
        .batch = plan->run.batch, .length = kept.model.config.T, .threads = plan->run.threads};
    Workers workers = {0};
    bool ok = same_sizes(&kept.model.config, trained) ||
              fail(err, "%s: was replaced by another program", path);
    size_t train = corpus->train, every = (size_t)ceil(plan_batches(plan, train) / TRAIN_BATCHES);
    const Note *note = checkpoint_note(&kept, "validation_loss");
    double noted = note ? strtod(note->value, NULL) : NAN;
    result->train = NAN;
    result->validation = fabs(noted - known) < 1e-6 ? known : NAN;
    if (!interrupted_twice())
        ok =
            ok && workers_open(&workers, &kept.model, &options, corpus, err) &&
            workers_evaluate(&workers, 0, train, every, &result->train, err) &&
            (!isnan(result->validation) || workers_evaluate(&workers, train, corpus->length - train,
                                                            1, &result->validation, err));
    if (isnan(result->validation)) result->validation = noted;
    result->parameters = kept.model.parameters;
    result->digest = model_digest(&kept.model);
    workers_close(&workers);
    checkpoint_free(&kept);
    return ok;
}
