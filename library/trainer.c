#include "library/trainer.h"

#include <math.h>

bool training_open(Training *t, Model *model, const Corpus *corpus, const RunOptions *options,
                   const Recipe *recipe, int steps, Error *err) {
    *t = (Training){.model = model,
                    .corpus = corpus,
                    .recipe = *recipe,
                    .steps = steps,
                    .progress = {.lowest = INFINITY}};
    return compute_of(&t->compute, &model->config, err) &&
           workers_open(&t->workers, model, options, corpus, err);
}

void training_close(Training *t) {
    workers_close(&t->workers);
}

bool training_teach(Training *t, Model *teacher, Error *err) {
    const double forward = 1.0 / 3; /* of what training takes */
    Compute taught;
    if (!compute_of(&taught, &teacher->config, err)) return false;
    t->compute.parameters += forward * taught.parameters;
    t->compute.looks += forward * taught.looks;
    return workers_teach(&t->workers, teacher, TEACHER_SHARE, err);
}

/* From Progress.decay_start on the rates fall, to 0 at Progress.decay_end. */
static void follow_decay(Training *t) {
    const Progress *p = &t->progress;
    recipe_set_cooldown(&t->recipe, p->decay_start, p->decay_end);
    if (p->decay_end < t->steps) t->steps = (int)p->decay_end;
}

void training_restore(Training *t, const Progress *progress, const float *first_moments,
                      const float *second_moments) {
    t->progress = *progress;
    workers_restore(&t->workers, (uint64_t)progress->step, first_moments, second_moments);
    if (progress->decay_start > 0) follow_decay(t);
}

int training_window(const Training *t) {
    return recipe_window(&t->recipe, t->workers.options.length, t->progress.step, t->steps);
}

bool training_step(Training *t, Step *taken, double *rate) {
    Progress *p = &t->progress;
    double before = t->workers.seconds;
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->steps);
    int window = training_window(t);
    *taken = workers_step(&t->workers, (uint64_t)p->step, window, &optimizer);
    *rate = optimizer.learning_rate;
    if (!isfinite(taken->loss) || !isfinite(taken->norm)) return false;
    p->step++;
    p->recent = (p->recent * p->recent_count + taken->loss) / (p->recent_count + 1);
    p->recent_count++;
    const RunOptions *o = &t->workers.options;
    p->compute += compute_for(t->compute, (double)o->batch * o->length, window);
    p->step_seconds += t->workers.seconds - before;
    return true;
}

static void count_evaluation(Progress *p, double loss) {
    p->recent = p->recent_count = 0;
    if (p->step > 0) p->evaluations_since_best++;
    if (loss >= p->lowest) return;
    p->lowest = loss;
    p->lowest_step = p->step;
    p->evaluations_since_best = 0;
}

bool training_evaluate(Training *t, size_t every, const Stop *stop, double *loss, Error *err) {
    const Corpus *corpus = t->corpus;
    size_t held_out = corpus->length - corpus->train;
    if (!workers_evaluate(&t->workers, corpus->train, held_out, every, stop, loss, err))
        return false;
    if (isfinite(*loss)) count_evaluation(&t->progress, *loss);
    return true;
}

bool training_cool_down(Training *t) {
    Progress *p = &t->progress;
    double share = t->recipe.cooldown;
    if (share <= 0 || share >= 1 || p->decay_start > 0) return false;
    double length = p->lowest_step * share / (1 - share);
    double rate = recipe_step(&t->recipe, p->step, t->steps).learning_rate;
    double left = ceil(length * rate / t->recipe.peak.learning_rate);
    if (p->step + left >= t->steps) return false;
    p->decay_end = p->step + left;
    p->decay_start = fmax(1, p->decay_end - length); /* in the past if they fall already */
    follow_decay(t);
    return true;
}
