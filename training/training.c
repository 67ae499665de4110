#include "training/training.h"

#include <math.h>

bool training_open(Training *t, Model *model, const Corpus *corpus, const RunOptions *options,
                   const Recipe *recipe, int steps, Error *err) {
    *t = (Training){.model = model,
                    .corpus = corpus,
                    .recipe = *recipe,
                    .steps = steps,
                    .progress = {.best = INFINITY, .lowest = INFINITY}};
    return workers_open(&t->workers, model, options, corpus, err);
}

void training_close(Training *t) {
    workers_close(&t->workers);
}

void training_restore(Training *t, const State *state) {
    const Checkpoint *c = &state->checkpoint;
    t->progress = state->progress;
    workers_restore(&t->workers, (uint64_t)t->progress.step, c->first_moments, c->second_moments);
}

void training_follow_decay(Training *t) {
    recipe_set_cooldown(&t->recipe, t->progress.decay_start, t->progress.decay_end);
}

bool training_step(Training *t, Step *taken, double *rate) {
    Progress *p = &t->progress;
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->steps);
    *taken = workers_step(&t->workers, (uint64_t)p->step, &optimizer);
    *rate = optimizer.learning_rate;
    if (!isfinite(taken->loss) || !isfinite(taken->norm)) return false;
    p->step++;
    p->recent = (p->recent * p->recent_count + taken->loss) / (p->recent_count + 1);
    p->recent_count++;
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
