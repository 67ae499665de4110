#include "programs/train/course.h"
#include "base/file.h"

#include <math.h>

static void keep(Rows *kept, const LogRow *row) {
    if (kept->every == 0) kept->every = 1;
    if (kept->count > 0 && (kept->seen - 1) % kept->every != 0) kept->count--;
    if (kept->count == COURSE_KEPT) {
        for (int i = 0; i < COURSE_KEPT; i += 2) kept->rows[i / 2] = kept->rows[i];
        kept->count /= 2;
        kept->every *= 2;
    }
    kept->rows[kept->count++] = *row;
    kept->seen++;
}

static void add_evaluation(Course *c, const LogRow *row) {
    const double loss = c->loss_count > 0 ? c->loss_sum / c->loss_count : NAN;
    const bool lowest = c->evaluated.seen == 0 || row->validation < c->lowest.validation;
    if (c->evaluated.seen == 1) c->second_loss = loss;
    c->before = c->last;
    c->last = (Evaluation){row->step, loss, row->validation};
    if (lowest) c->lowest = c->last;
    c->since_lowest = lowest ? 0 : c->since_lowest + 1;
    c->loss_sum = c->loss_count = 0;
    keep(&c->evaluated, row);
}

/* Small batches need a longer interval. */
static void add_to_interval(Course *c, const LogRow *row) {
    const double enough = fmax(2000, row->characters / 200);
    const int few = 20;
    c->interval.sum += row->loss;
    c->interval.squares += row->loss * row->loss;
    if (++c->interval.rows < few || row->characters - c->interval.begin < enough) return;
    const int n = c->interval.rows;
    const double mean = c->interval.sum / n;
    if (c->floor.noise == 0 || mean < c->floor.loss) {
        c->floor.loss = mean;
        c->floor.noise = sqrt(fmax(1e-12, c->interval.squares / n - mean * mean) / n);
    }
    if (mean - c->floor.loss > c->rise.to - c->rise.from) {
        c->rise.step = row->step;
        c->rise.from = c->floor.loss;
        c->rise.to = mean;
        c->rise.rate = row->rate;
    }
    c->interval.sum = c->interval.squares = c->interval.rows = 0;
    c->interval.begin = row->characters;
}

void course_add(Course *c, const LogRow *row) {
    const int steps = row->step - (c->all.seen > 0 ? c->steps : row->step - 1); /* since a row */
    c->steps = row->step;
    c->characters = row->characters;
    c->compute = row->compute;
    c->loss_sum += row->loss * steps;
    c->loss_count += steps;
    add_to_interval(c, row);
    keep(&c->all, row);
    if (!isnan(row->validation)) add_evaluation(c, row);
}

void course_begin(Course *c, double validation) {
    add_evaluation(c, &(LogRow){.rate = NAN,
                                .loss = NAN,
                                .validation = validation,
                                .norm = NAN,
                                .speed = NAN,
                                .compute = NAN});
}

void course_read(Course *course, const char *path) {
    LogRow row;
    FILE *file = file_stream(path, STREAM_READ, &(Error){0});
    if (!file) return;
    while (log_read(file, &row))
        if (row.step > course->steps) course_add(course, &row);
    fclose(file);
}

double course_validation(const Course *c, double share) {
    const double step = share * c->steps;
    const LogRow *before = NULL;
    for (const LogRow *row = c->evaluated.rows; row < c->evaluated.rows + c->evaluated.count;
         row++) {
        if (row->step == step) return row->validation;
        if (row->step > step)
            return !before
                       ? NAN
                       : before->validation + (step - before->step) / (row->step - before->step) *
                                                  (row->validation - before->validation);
        before = row;
    }
    return NAN;
}
