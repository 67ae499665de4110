#include "programs/train/plan.h"
#include "library/message.h"
#include "programs/train/interruption.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

bool plan_same_sizes(const TrilSizes *one, const TrilSizes *other) {
    const TrilSizes a = tril_sizes_used(one), b = tril_sizes_used(other);
    return strcmp(a.rung, b.rung) == 0 && a.context == b.context && a.layers == b.layers &&
           a.heads == b.heads && a.width == b.width && a.kv_heads == b.kv_heads &&
           a.hidden == b.hidden;
}

double plan_step_characters(const Plan *plan) {
    return (double)plan->batch * plan->context;
}

double plan_batches(const Plan *plan, size_t length) {
    return ceil((double)length / plan_step_characters(plan));
}

static double held_out_batches(const Plan *plan, const Input *input) {
    return plan_batches(plan, input->length - input->train);
}

/* A batch takes about a quarter of a step. */
double plan_evaluation(const Plan *plan, const Input *input) {
    return held_out_batches(plan, input) / 4;
}

/* All but the first is in float32, which takes nearly twice as long as bfloat16. */
double plan_closing(const Plan *plan, const Input *input, bool known) {
    double train = fmin(plan_batches(plan, input->train), TRAIN_BATCHES);
    double best = (known ? 0 : 1) + train / held_out_batches(plan, input);
    return 1 + (plan->bf16 ? 1.8 : 1) * best;
}

/* ---- what is open ---- */

/* What is decided for the last rung, which is the largest or the chosen one: the others share it.
 */
typedef struct {
    TrilSizes sizes;
    TrilOptions options;
} Decisions;

/* The share of a rung's seconds that its evaluations take, as the budget arranges them: the last
 * and what follows it, and before it at most nine, which take at most about a twentieth. */
static double share_of_evaluations(const Plan *plan, const Input *input, double seconds) {
    const double earlier = 9, rare = 20, least = 0.1; /* the least share for steps */
    double step = plan_step_characters(plan) / plan->choice.speed;
    double one = plan_evaluation(plan, input) * step;
    double closing = plan_closing(plan, input, !plan->bf16) * one;
    double left = fmax(least * seconds, seconds - closing);
    double between = fmax(seconds / (earlier + 1), rare * one);
    left -= fmin(earlier, floor(left / (between + one))) * one;
    return 1 - left / seconds;
}

/* Nobody waits for the end of a search that a person has interrupted. */
static int is_interrupted(void *user) {
    (void)user;
    return interrupted();
}

/* The speed is measured also where all sizes are given, for windows depend on the epochs. */
static bool decide_by_time(Plan *plan, Decisions *d, const Input *input, Error *err) {
    TrilError error;
    TrilOptions *o = &d->options;
    double characters = (double)input->train, most_steps = 1e9;
    double seconds = plan->time / (plan->ladder ? plan->rung_count : 1);
    double max = plan->epochs > 0 ? plan->epochs * characters : INFINITY;
    if (tril_sizes_choose(&d->sizes, o, input->text, seconds, max, is_interrupted, NULL,
                          &plan->choice, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    plan->batch = o->batch;
    plan->context = d->sizes.context;
    plan->evaluating = share_of_evaluations(plan, input, seconds);
    double read = fmin(plan->choice.speed * seconds * (1 - plan->evaluating), max);
    plan->epochs_seen = read / characters;
    o->steps = (int)fmin(most_steps, fmax(1, read / plan_step_characters(plan)));
    return !interrupted() || fail(err, "interrupted before training began");
}

/* Fewer steps than usual have their evaluations in proportion. */
static void space_evaluations(Plan *plan, const Decisions *d, const Input *input) {
    double usual = plan->steps, steps = plan->steps;
    if (d->options.epochs > 0)
        steps = d->options.epochs * (double)input->train / plan_step_characters(plan);
    if (steps < usual) plan->eval_every = (int)fmax(1, plan->eval_every * fmax(1, steps) / usual);
}

static bool decide(Plan *plan, Decisions *d, const Request *request, const Input *input,
                   Error *err) {
    TrilError error;
    double epochs;
    bool by_time = plan->time > 0;
    d->options.steps = request->steps_open ? 0 : request->steps;
    if (by_time && plan->epochs < 0)
        plan->epochs = tril_epochs_that_help((double)input->train, request->init != NULL);
    d->options.epochs = plan->epochs;
    if (by_time && !decide_by_time(plan, d, input, err)) return false;
    if (tril_options_decide(&d->options, &d->options, &d->sizes, input->text, request->init != NULL,
                            &epochs, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    plan->batch = d->options.batch;
    plan->context = d->sizes.context;
    plan->epochs = d->options.epochs;
    if (by_time) return true;
    if (request->steps_open) space_evaluations(plan, d, input);
    plan->steps = d->options.steps;
    plan->epochs_seen = epochs;
    return true;
}

/* ---- the plan ---- */

/* What the request asks of the chosen rung. */
static TrilOptions options_of(const Request *r, const TrilModel *teacher) {
    return (TrilOptions){.steps = r->steps,
                         .epochs = r->epochs,
                         .batch = r->batch,
                         .dropout = r->dropout,
                         .learning_rate = r->learning_rate > 0 ? r->learning_rate : 0,
                         .weight_decay = r->weight_decay,
                         .embedding_decay = r->embedding_decay,
                         .windows = r->windows ? r->windows : "auto",
                         .held_out = r->held_out,
                         .teacher = teacher,
                         .precision = r->precision,
                         .threads = r->threads,
                         .seed = r->seed};
}

/* What the rung adds to the one before it. */
static const char *idea_of(const char *name) {
    int i = 0;
    while (strcmp(tril_rung(i), name) != 0) i++;
    return tril_rung_idea(i);
}

/* What was decided as "auto" is decided: another number of steps does not change it. */
static const char *windows_of(const char *name, const char *decided) {
    if (strcmp(decided, "auto") != 0) return decided;
    return tril_rung_recipe(name).grows ? "grow" : "whole";
}

/* Some of what is asked for is for the chosen rung alone. `steps` are, by the clock, the expected
 * ones. */
static void plan_rungs(Plan *plan, const Request *decided, int steps, const TrilModel *teacher) {
    const Files *files = plan->files;
    for (int i = 0; i < plan->rung_count; i++) {
        const char *name = files->names[i];
        bool chosen = strcmp(name, decided->model) == 0;
        RungPlan *rung = &plan->rungs[i];
        *rung = (RungPlan){.name = name,
                           .idea = idea_of(name),
                           .checkpoint = files->checkpoints[i],
                           .log = files->logs[i],
                           .chosen = chosen,
                           .baseline = !chosen && !decided->ladder,
                           .sizes = decided->sizes,
                           .options = options_of(decided, chosen ? teacher : NULL)};
        rung->sizes.rung = name;
        rung->options.steps = steps;
        rung->options.windows = windows_of(name, decided->windows);
        if (chosen) continue;
        rung->options.learning_rate = 0;
        rung->options.weight_decay = -1;
    }
}

/* The windows for all rungs: what was asked for, or whole ones, or those that each rung has
 * usually. A state without --windows is from a time when windows never grew. */
static const char *shared_windows(const char *asked, const char *decided, const char *rung,
                                  bool resumed) {
    bool open = !asked || strcmp(asked, "auto") == 0;
    if (!open) return asked;
    if (resumed) return asked ? asked : "whole";
    bool stay_whole = tril_rung_recipe(rung).grows && strcmp(decided, "whole") == 0;
    return stay_whole ? "whole" : "auto";
}

/* In an older state, the decay of the embedding was the full one, and changed with --decay. */
static double older_decay(const Request *request, const char *rung) {
    const TrilRecipe recipe = tril_rung_recipe(rung);
    double decay = request->embedding_decay, full = recipe.embedding_decay;
    if (decay >= 0 || full < 0) return decay;
    return request->weight_decay >= 0 ? full * request->weight_decay / recipe.weight_decay : full;
}

/* Returns the request with the decisions in it. */
static Request decisions(const Plan *plan, const Request *request, const Decisions *d,
                         bool resumed) {
    Request decided = *request;
    const TrilOptions *o = &d->options;
    decided.sizes = d->sizes;
    decided.batch = o->batch;
    decided.dropout = o->dropout;
    decided.steps = plan->steps;
    decided.eval_every = plan->eval_every;
    decided.epochs = plan->epochs;
    if (o->learning_rate > 0) decided.learning_rate = o->learning_rate;
    decided.embedding_decay = o->embedding_decay;
    decided.windows = shared_windows(request->windows, o->windows, d->sizes.rung, resumed);
    decided.precision = o->precision;
    decided.threads = plan->threads;
    return decided;
}

static bool check_teacher(const Request *request, const TrilModel *teacher, int context,
                          Error *err) {
    int longest = teacher ? tril_model_sizes(teacher).context : context;
    return longest >= context ||
           fail(err,
                "%s: its context of %d characters is shorter than the %d of the model to train",
                request->teacher, longest, context);
}

bool plan_make(Plan *plan, const Request *request, const Files *files, const Input *input,
               const TrilModel *teacher, bool resumed, Error *err) {
    Decisions d = {request->sizes, options_of(request, teacher)};
    d.sizes.rung = request->ladder ? files->names[files->rungs - 1] : request->model;
    d.options.precision = tril_precision(request->precision);
    d.options.threads = tril_threads(request->threads);
    *plan = (Plan){.rung_count = files->rungs,
                   .model = request->model,
                   .ladder = request->ladder,
                   .batch = request->batch,
                   .context = request->sizes.context,
                   .threads = d.options.threads,
                   .bf16 = strcmp(d.options.precision, "bf16") == 0,
                   .seed = request->seed,
                   .teacher = teacher ? tril_model_digest(teacher) : 0,
                   .steps = request->steps,
                   .time = request->time,
                   .begun = request->begun,
                   .epochs = request->epochs,
                   .patience = request->patience,
                   .eval_every = request->eval_every,
                   .save_every = request->save_every,
                   .files = files,
                   .out = request->out,
                   .log = request->log,
                   .command = request->command,
                   .quiet = request->quiet,
                   .profile = request->profile};
    if (resumed) {
        plan->epochs = fmax(0, plan->epochs); /* older states do not have it */
        d.options.embedding_decay = older_decay(request, d.sizes.rung);
    } else if (!check_teacher(request, teacher, d.sizes.context, err) ||
               !decide(plan, &d, request, input, err)) {
        return false;
    }
    if (!check_teacher(request, teacher, plan->context, err)) return false;
    plan->dropout = d.options.dropout;
    const Request decided = decisions(plan, request, &d, resumed);
    plan_rungs(plan, &decided, d.options.steps, teacher);
    request_write(&decided, plan->words);
    return true;
}
