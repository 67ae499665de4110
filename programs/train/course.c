#include "programs/train/course.h"

#include <math.h>

/* ---- evaluations ---- */

/* Takes evaluation i out of the list. The mean training loss of the next one, `to`, includes its
 * steps. */
static void merge(const Course *c, int i, Evaluation *to) {
    const Evaluation *gone = &c->list[i];
    double before = gone->step - (i > 0 ? c->list[i - 1].step : 0), steps = to->step - gone->step;
    if (before > 0) to->loss = (gone->loss * before + to->loss * steps) / (before + steps);
}

static void keep_every_second(Course *c) {
    int kept = 0;
    for (int i = 1; i < c->count; i += 2) {
        Evaluation to = c->list[i];
        merge(c, i - 1, &to);
        c->list[i] = to;
    }
    for (int i = 1; i < c->count; i += 2) c->list[kept++] = c->list[i];
    c->count = kept;
    c->every *= 2;
}

static void add_evaluation(Course *c, const LogRow *row) {
    if (c->every == 0) c->every = 1;
    double loss = c->loss_count > 0 ? c->loss_sum / c->loss_count : NAN;
    Evaluation now = {row->step, row->seconds, loss, row->validation};
    bool lowest = c->evaluations == 0 || row->validation < c->lowest;
    if (c->evaluations % c->every != 0) merge(c, --c->count, &now);
    if (c->count == COURSE_EVALUATIONS) keep_every_second(c);
    c->list[c->count++] = now;
    c->evaluations++;
    c->since_lowest = lowest ? 0 : c->since_lowest + 1;
    c->loss_sum = c->loss_count = 0;
    if (!lowest) return;
    c->lowest = row->validation;
    c->lowest_loss = loss;
    c->lowest_step = row->step;
}

void course_begin(Course *c, double validation) {
    add_evaluation(c, &(LogRow){.step = 0, .validation = validation});
}

double course_validation(const Course *c, double step) {
    int i = 0;
    while (i < c->count && c->list[i].step < step) i++;
    if (i == c->count || (i == 0 && c->list[i].step > step)) return NAN;
    const Evaluation *after = &c->list[i], *before = i > 0 ? after - 1 : after;
    double between = after->step - before->step;
    double share = between > 0 ? (step - before->step) / between : 0;
    return before->validation + share * (after->validation - before->validation);
}

/* ---- the training loss ---- */

/* Farther above the block before than the chance of single batches goes. */
static void note_spike(Course *c, const LogRow *row) {
    const double far = 1, deviations = 8;
    double deviation = c->last.noise * sqrt(COURSE_BLOCK);
    if (c->last.step == 0 || row->loss < c->last.mean + fmax(far, deviations * deviation)) return;
    c->spikes++;
    c->spike_step = row->step;
    c->spike = row->loss;
    c->spike_of = c->last.mean;
    c->spike_rate = fmax(c->spike_rate, row->rate);
}

static void end_block(Course *c, const LogRow *row) {
    double mean = c->sum / COURSE_BLOCK;
    double variance = fmax(0, c->squares / COURSE_BLOCK - mean * mean);
    Block block = {mean, sqrt(variance / COURSE_BLOCK), row->step};
    if (c->last.step == 0) c->floor = block; /* the first one */
    if (mean - c->floor.mean > c->rise) {
        c->rise = mean - c->floor.mean;
        c->rise_of = c->floor.mean;
        c->rise_rate = row->rate;
        c->highest_rise = block;
    }
    if (mean < c->floor.mean) c->floor = block;
    c->last = block;
    c->sum = c->squares = c->in_block = 0;
}

static void add_loss(Course *c, const LogRow *row) {
    spark_add(&c->losses, row->loss);
    c->loss_sum += row->loss;
    c->loss_count++;
    note_spike(c, row);
    c->sum += row->loss;
    c->squares += row->loss * row->loss;
    if (++c->in_block == COURSE_BLOCK) end_block(c, row);
}

void course_add(Course *c, const LogRow *row) {
    c->steps = row->step;
    c->characters = row->characters;
    c->compute = row->compute;
    add_loss(c, row);
    if (!isnan(row->validation)) add_evaluation(c, row);
}

/* NaN if the columns are too few to tell, or if the log lacks its beginning. */
static double training_loss(const Course *c, double share) {
    const Spark *s = &c->losses;
    int column = (int)(share * s->count), steps = s->each * (s->count - 1) + s->in_last;
    return s->count < SPARK_COLUMNS / 2 || steps < c->steps ? NAN : s->sums[column] / s->each;
}

double course_fall(const Course *c, double from, double to) {
    double fall = course_validation(c, from * c->steps) - course_validation(c, to * c->steps);
    return !isnan(fall) ? fall : training_loss(c, from) - training_loss(c, to);
}

static void add_row(void *course, const LogRow *row) {
    course_add(course, row);
}

void course_read(Course *course, const char *path) {
    log_each(path, add_row, course);
}
