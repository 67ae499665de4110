#include "programs/train/measuring.h"
#include "library/message.h"
#include "programs/train/interruption.h"

#include <math.h>

static int is_stopped(void *user) {
    (void)user;
    return interrupted_twice();
}

/* Sets *loss, unless a person does not wait. */
static bool evaluate(const TrilModel *kept, const Plan *plan, const Input *input, bool trained_on,
                     size_t characters, double *loss, Error *err) {
    TrilError error;
    double found;
    if (interrupted_twice()) return true;
    TrilStatus status = tril_text_evaluate(input->text, kept, trained_on, characters, plan->batch,
                                           plan->threads, is_stopped, NULL, &found, &error);
    if (status == TRIL_OK) *loss = found;
    return status == TRIL_OK || status == TRIL_STOPPED || message_take(err, &error, NULL);
}

bool measure_best(const Plan *plan, const RungPlan *rung, const Input *input, double known,
                  Result *result, Error *err) {
    const char *path = rung->checkpoint;
    TrilError error;
    TrilModel *kept;
    if (tril_model_load(&kept, path, &error) != TRIL_OK) return message_take(err, &error, NULL);
    const TrilSizes has = tril_model_sizes(kept);
    double noted = tril_model_loss(kept);
    size_t some = (size_t)(TRAIN_BATCHES * plan_step_characters(plan));
    result->train = NAN;
    result->validation = fabs(noted - known) < 1e-6 ? known : NAN;
    bool ok = (plan_same_sizes(&has, &rung->sizes) &&
               tril_tokenizer_same(tril_model_tokenizer(kept), input->tokenizer)) ||
              fail(err, "%s: was replaced by another program", path);
    ok = ok && evaluate(kept, plan, input, true, some, &result->train, err) &&
         (!isnan(result->validation) ||
          evaluate(kept, plan, input, false, 0, &result->validation, err));
    if (isnan(result->validation)) result->validation = noted;
    result->parameters = tril_model_parameters(kept);
    result->digest = tril_model_digest(kept);
    tril_model_free(kept);
    return ok;
}
