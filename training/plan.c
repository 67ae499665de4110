#include "training/plan.h"
#include "training/interruption.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

double plan_step_characters(const Plan *plan) {
    return (double)plan->run.batch * plan->run.length;
}

double plan_batches(const Plan *plan, size_t length) {
    return ceil((double)length / plan_step_characters(plan));
}

static double held_out_batches(const Plan *plan, const Corpus *corpus) {
    return plan_batches(plan, corpus->length - corpus->train);
}

/* A batch takes about a quarter of a step. */
double plan_evaluation(const Plan *plan, const Corpus *corpus) {
    return held_out_batches(plan, corpus) / 4;
}

/* All but the first is in float32, which takes nearly twice as long as bfloat16. */
double plan_closing(const Plan *plan, const Corpus *corpus, bool known) {
    double train = fmin(plan_batches(plan, corpus->train), TRAIN_BATCHES);
    double best = (known ? 0 : 1) + train / held_out_batches(plan, corpus);
    return 1 + (plan->run.precision == BFLOAT16 ? 1.8 : 1) * best;
}

/* ---- how often the text is seen ---- */

/* The most epochs that help: with more, the model memorises the text. A short text needs more
 * epochs to be learnt at all. Found by trial on 35,000 and on a million characters
 * (docs/records.md). A trained model needs fewer. */
double plan_epochs_that_help(double characters, bool trained) {
    const double max = 40, min = 16, million = 1e6, share = trained ? 0.25 : 1;
    return round(share * fmin(max, fmax(min, min * sqrt(million / characters))));
}

/* A model memorises a text sooner if it sees the text more often and if it has more weights.
 * Dropout works against that. If a text is seen only a few times, dropout only takes time. Found by
 * trial (docs/records.md). */
static double dropout_for(const Config *config, double epochs, double characters) {
    Config sizes = *config;
    sizes.dropout = 0; /* still open */
    const double few = 5, each = 0.026, max = 0.3;
    double light = fmin(230e3, 1.3 * characters); /* weights that do not memorise */
    double often = log2(epochs / few);
    double heavy = log2((double)model_parameters(&sizes) / light);
    double dropout = each * fmax(0, often) * fmax(0, heavy);
    return round(100 * fmin(dropout, max)) / 100;
}

/* Limits the steps to what the epochs allow, and the evaluations in proportion. */
static void limit_steps(Plan *plan, double epochs_of_step) {
    double steps = fmax(1, plan->epochs / epochs_of_step);
    if (steps >= plan->steps) return;
    plan->eval_every = (int)fmax(1, (double)plan->eval_every * steps / plan->steps);
    plan->steps = (int)steps;
}

/* ---- what is open ---- */

/* The share of a rung's seconds that its evaluations take, as the budget arranges them: the last
 * and what follows it, and before it at most nine, which take at most about a twentieth. */
static double share_of_evaluations(const Plan *plan, const Corpus *corpus, double seconds) {
    const double earlier = 9, rare = 20, least = 0.1; /* the least share for steps */
    double step = plan_step_characters(plan) / plan->choice.speed;
    double one = plan_evaluation(plan, corpus) * step;
    double closing = plan_closing(plan, corpus, plan->run.precision != BFLOAT16) * one;
    double left = fmax(least * seconds, seconds - closing);
    double between = fmax(seconds / (earlier + 1), rare * one);
    left -= fmin(earlier, floor(left / (between + one))) * one;
    return 1 - left / seconds;
}

/* The speed is measured also where all sizes are given, for windows depend on the epochs. */
static bool decide_by_time(Plan *plan, Sizes *sizes, const Corpus *corpus, Model *teacher,
                           Error *err) {
    double characters = (double)corpus->train;
    double seconds = plan->time / (plan->ladder ? plan->rung_count : 1);
    double max = plan->epochs > 0 ? plan->epochs * characters : INFINITY;
    SizeSearch search = {&plan->run, corpus, teacher, seconds, max};
    if (!sizes_choose(sizes, &search, &plan->choice, err)) return false;
    plan->run.batch = sizes->batch;
    plan->run.length = sizes->config.T;
    plan->evaluating = share_of_evaluations(plan, corpus, seconds);
    double read = plan->choice.speed * seconds * (1 - plan->evaluating);
    plan->epochs_seen = fmin(read, max) / characters;
    return !interrupted() || fail(err, "interrupted before training began");
}

static void decide_by_steps(Plan *plan, const Sizes *sizes, const Corpus *corpus, bool steps_open) {
    double epochs_of_step = (double)sizes->batch * sizes->config.T / (double)corpus->train;
    if (steps_open && plan->epochs > 0) limit_steps(plan, epochs_of_step);
    plan->epochs_seen = plan->steps * epochs_of_step;
}

/* Decides the sizes for the last rung, which is the largest or the chosen one. */
static bool decide(Plan *plan, Sizes *sizes, const Request *request, const Corpus *corpus,
                   Model *teacher, Error *err) {
    Config *config = &sizes->config;
    bool limited = plan->time > 0 || request->steps_open;
    double characters = (double)corpus->train;
    if (plan->epochs < 0)
        plan->epochs = limited ? plan_epochs_that_help(characters, request->init) : 0;
    if (plan->time <= 0)
        decide_by_steps(plan, sizes, corpus, request->steps_open);
    else if (!decide_by_time(plan, sizes, corpus, teacher, err))
        return false;
    if (config->dropout < 0) config->dropout = dropout_for(config, plan->epochs_seen, characters);
    return true;
}

/* ---- the plan ---- */

/* A trained model keeps more of what it knows if the rate is lower than usual. */
static double learning_rate_for(const Request *request, bool resumed) {
    const double gentle = 0.1;
    if (request->learning_rate > 0 || !request->init || resumed) return request->learning_rate;
    return gentle * recipe_of(request->model).peak.learning_rate;
}

static bool grows(const char *windows, const Recipe *recipe) {
    bool grow = false;
    Error none; /* the name was checked */
    request_windows(windows, recipe->grows, &grow, &none);
    return grow;
}

static Recipe recipe_for(const char *name, const Request *request) {
    Recipe recipe = recipe_of(name);
    recipe.grows = grows(request->windows, &recipe);
    if (request->embedding_decay >= 0)
        recipe_set_embedding_decay(&recipe, request->embedding_decay);
    if (strcmp(name, request->model) != 0) return recipe;
    if (request->learning_rate > 0) recipe_set_learning_rate(&recipe, request->learning_rate);
    if (request->weight_decay >= 0) recipe_set_weight_decay(&recipe, request->weight_decay);
    return recipe;
}

/* What --windows means. A trained model has learnt what is near. A text that is seen often may be
 * learnt by heart, and while windows are short no evaluation tells. A state without this option is
 * from a time when windows never grew. */
static const char *windows_of(const Plan *plan, const Request *request, bool resumed) {
    const double often = 8; /* passes over the text */
    if (resumed) return request->windows ? request->windows : "whole";
    bool open = !request->windows || strcmp(request->windows, "auto") == 0;
    if (!open) return request->windows;
    return request->init || plan->epochs_seen > often ? "whole" : "auto";
}

/* The full decay of the embedding, which keeps the vectors of rare characters from growing without
 * end (training/recipe.c). In older states --decay changes it in proportion. */
static double full_decay(const Recipe *recipe, const Request *request, bool resumed) {
    double full = recipe->peak.weight_decay;
    bool scaled = resumed && request->weight_decay >= 0;
    return scaled ? full * request->weight_decay / recipe->peak.matrix_decay : full;
}

/* The decay also keeps a text from being learnt by heart. Before that is near, it only holds back
 * what is learnt: so it is the full one times (epochs / 4)^2, but at least times 1000 V / N for V
 * characters in the vocabulary and N to train on. If N has fewer than a thousand for each, some are
 * rare. Found by trial (docs/records.md). In a state without this option the decay is full. */
static double embedding_decay_of(const Plan *plan, const Request *request, const Corpus *corpus,
                                 const Sizes *sizes, bool resumed) {
    const Recipe recipe = recipe_of(sizes->config.model);
    const double several = 4, common = 1000;
    if (request->embedding_decay >= 0 || !recipe.own_decay) return request->embedding_decay;
    double full = full_decay(&recipe, request, resumed);
    double often = fmin(1, plan->epochs_seen / several);
    double rare = fmin(1, common * corpus->vocab.size / (double)corpus->train);
    return resumed ? full : round(1000 * full * fmax(often * often, rare)) / 1000;
}

static void plan_rungs(Plan *plan, const Request *request, const Sizes *sizes) {
    const Files *files = plan->files;
    for (int i = 0; i < plan->rung_count; i++) {
        RungPlan *rung = &plan->rungs[i];
        const char *name = files->names[i];
        bool chosen = strcmp(name, request->model) == 0;
        *rung = (RungPlan){.name = name,
                           .checkpoint = files->checkpoints[i],
                           .log = files->logs[i],
                           .chosen = chosen,
                           .baseline = !chosen && !request->ladder,
                           .config = sizes->config,
                           .recipe = recipe_for(name, request)};
        snprintf(rung->config.model, sizeof rung->config.model, "%s", name);
    }
}

/* Returns the request with the decisions in it. */
static Request decisions(const Plan *plan, const Request *request, const Corpus *corpus,
                         const Sizes *sizes, bool resumed) {
    Request decided = *request;
    decided.sizes = sizes->config;
    decided.batch = sizes->batch;
    decided.steps = plan->steps;
    decided.eval_every = plan->eval_every;
    decided.epochs = plan->epochs;
    decided.learning_rate = learning_rate_for(request, resumed);
    decided.embedding_decay = embedding_decay_of(plan, request, corpus, sizes, resumed);
    decided.windows = windows_of(plan, request, resumed);
    decided.precision = plan->run.precision == BFLOAT16 ? "bf16" : "f32";
    return decided;
}

/* Threads beyond the processors would only wait. */
static int threads_for(const Request *request) {
    int threads = request->threads > 0 ? request->threads : run_default_threads();
    int max = run_max_threads();
    return threads < max ? threads : max;
}

static bool check_teacher(const Request *request, const Model *teacher, int context, Error *err) {
    return !teacher || teacher->config.T >= context ||
           fail(err,
                "%s: its context of %d characters is shorter than the %d of the model to train",
                request->teacher, teacher->config.T, context);
}

bool plan_make(Plan *plan, const Request *request, const Files *files, const Corpus *corpus,
               Model *teacher, bool resumed, Error *err) {
    Sizes sizes = {request->sizes, request->batch};
    *plan = (Plan){.rung_count = files->rungs,
                   .model = request->model,
                   .ladder = request->ladder,
                   .run = {.training = true,
                           .threads = threads_for(request),
                           .seed = request->seed,
                           .shared = true},
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
    if (!request_precision(request->precision, &plan->run.precision, err)) return false;
    const char *largest = request->ladder ? files->names[files->rungs - 1] : request->model;
    snprintf(sizes.config.model, sizeof sizes.config.model, "%s", largest);
    sizes.config.V = corpus->vocab.size;
    if (resumed)
        plan->epochs = fmax(0, plan->epochs); /* older states do not have it */
    else if (!decide(plan, &sizes, request, corpus, teacher, err))
        return false;
    plan->run.batch = sizes.batch;
    plan->run.length = sizes.config.T;
    if (!check_teacher(request, teacher, plan->run.length, err)) return false;
    plan->teacher = teacher ? model_digest(teacher) : 0;
    const Request decided = decisions(plan, request, corpus, &sizes, resumed);
    plan_rungs(plan, &decided, &sizes);
    request_write(&decided, plan->words);
    return true;
}
