#include "training/training.h"

#include <math.h>

bool training_open(Training *t, Model *model, const Corpus *corpus, const RunOptions *options,
                   const Recipe *recipe, int steps, Error *err) {
    *t = (Training){.model = model,
                    .corpus = corpus,
                    .recipe = *recipe,
                    .steps = steps,
                    .progress = {.best = INFINITY, .lowest = INFINITY}};
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

void training_restore(Training *t, const State *state) {
    const Checkpoint *c = &state->checkpoint;
    t->progress = state->progress;
    workers_restore(&t->workers, (uint64_t)t->progress.step, c->first_moments, c->second_moments);
}

void training_follow_decay(Training *t) {
    recipe_set_cooldown(&t->recipe, t->progress.decay_start, t->progress.decay_end);
}

int training_window(const Training *t) {
    return recipe_window(&t->recipe, t->workers.options.length, t->progress.step, t->steps);
}

bool training_step(Training *t, Step *taken, double *rate) {
    Progress *p = &t->progress;
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
    return true;
}

bool training_evaluate(Training *t, size_t every, double *loss, Error *err) {
    const Corpus *corpus = t->corpus;
    return workers_evaluate(&t->workers, corpus->train, corpus->length - corpus->train, every, loss,
                            err);
}

void training_count_evaluation(Training *t, double loss) {
    Progress *p = &t->progress;
    if (p->step > 0) p->evaluations_since_best++;
    if (loss >= p->lowest) return;
    p->lowest = loss;
    p->lowest_step = p->step;
    p->evaluations_since_best = 0;
}
