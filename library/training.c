#include "library/training.h"

#include <math.h>

static bool diverged(const Training *t, int step, Error *err) {
    return fail(err, "%s: the loss is no longer a number at step %d", t->model->config.model, step);
}

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

void training_restore(Training *t, const Progress *progress, const float *first_moments,
                      const float *second_moments) {
    t->progress = *progress;
    workers_restore(&t->workers, (uint64_t)progress->step, first_moments, second_moments);
}

bool training_done(const Training *t) {
    return t->progress.step >= t->steps;
}

bool training_step(Training *t, Step *taken, double *rate, Error *err) {
    Progress *p = &t->progress;
    double before = t->workers.seconds;
    Optimizer optimizer = recipe_step(&t->recipe, p->step, t->steps);
    int window = recipe_window(&t->recipe, t->model->config.T, p->step, t->steps);
    *taken = workers_step(&t->workers, (uint64_t)p->step, window, &optimizer);
    *rate = optimizer.learning_rate;
    if (!isfinite(taken->loss) || !isfinite(taken->norm)) return diverged(t, p->step + 1, err);
    p->step++;
    p->step_seconds += t->workers.seconds - before;
    p->seconds = p->step_seconds;
    p->recent = (p->recent * p->recent_count + taken->loss) / (p->recent_count + 1);
    p->recent_count++;
    return true;
}

bool training_evaluate(Training *t, size_t every, double *loss, Error *err) {
    const Corpus *corpus = t->corpus;
    Progress *p = &t->progress;
    if (!workers_evaluate(&t->workers, corpus->train, corpus->length - corpus->train, every, loss,
                          err))
        return false;
    if (!isfinite(*loss)) return diverged(t, p->step, err);
    if (*loss < p->lowest) {
        p->lowest = p->best = *loss;
        p->lowest_step = p->step;
    }
    p->recent = p->recent_count = 0;
    return true;
}
