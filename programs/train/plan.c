#include "programs/train/plan.h"
#include "base/utf8.h"
#include "base/world.h"

#include <math.h>
#include <string.h>

bool plan_same_sizes(const TrilOptions *one, const TrilOptions *other) {
    const TrilOptions a = tril_options_sizes(one), b = tril_options_sizes(other);
    return strcmp(a.rung, b.rung) == 0 && a.context == b.context && a.layers == b.layers &&
           a.heads == b.heads && a.width == b.width && a.kv_heads == b.kv_heads &&
           a.hidden == b.hidden;
}

int plan_metadata(const Plan *plan, TrilMetadata metadata[PLAN_METADATA]) {
    const char *val_file = plan->arguments->val_file;
    int count = 0;
    if (utf8_valid(plan->texts.name))
        metadata[count++] = (TrilMetadata){"text_name", plan->texts.name};
    if (val_file && utf8_valid(val_file)) metadata[count++] = (TrilMetadata){"val_file", val_file};
    metadata[count++] = (TrilMetadata){"command", plan->command.bytes};
    return count;
}

bool plan_shows_steps(const Plan *plan) {
    return !plan->arguments->quiet && !plan->ladder;
}

bool plan_has_time(const Plan *plan) {
    return !isnan(plan->options.time);
}

bool plan_is_bf16(const Plan *plan) {
    return strcmp(plan->options.precision, "bf16") == 0;
}

bool plan_windows_grow(const Plan *plan, const RungPlan *rung) {
    const double read = plan->options.steps * plan_step_characters(plan);
    return tril_windows_grow(rung->name, read / (double)plan->corpus->trained_on,
                             plan->init != NULL);
}

double plan_step_characters(const Plan *plan) {
    return plan->options.batch * plan->options.context;
}

bool plan_counts_part(const Plan *plan) {
    return plan->counted > 0 && plan->counted < (double)plan->corpus->trained_on;
}

double plan_held_out(const Plan *plan) {
    return (double)(plan->corpus->characters - plan->corpus->trained_on);
}

size_t plan_evaluated(const Plan *plan) {
    return plan->part < 1 ? (size_t)fmax(1, plan->part * plan_held_out(plan)) : 0;
}

double plan_left(const Plan *plan) {
    return plan->options.time - (world_seconds() - plan->arguments->begun);
}
