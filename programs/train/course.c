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
    const double n = c->loss_count, loss = n > 0 ? c->loss_sum / n : NAN;
    const double noise = sqrt(fmax(0, c->loss_squares / n - loss * loss) / n);
    const bool lowest = c->evaluated.seen == 0 || row->validation < c->lowest.validation;
    if (isnan(c->lowest.loss)) c->lowest.loss = loss;
    c->before = c->last;
    c->last = (Evaluation){row->step, loss, noise, row->validation};
    if (lowest) c->lowest = c->last;
    if (c->evaluated.seen == 0 || !(c->floor.loss <= loss)) {
        c->floor = c->last;
        c->peak = 0;
    }
    c->since_lowest = lowest ? 0 : c->since_lowest + 1;
    c->loss_sum = c->loss_squares = c->loss_count = 0;
    keep(&c->evaluated, row);
}

void course_add(Course *c, const LogRow *row) {
    const int steps = row->step - (c->all.seen > 0 ? c->steps : row->step - 1); /* since a row */
    c->steps = row->step;
    c->characters = row->characters;
    c->compute = row->compute;
    c->peak = fmax(c->peak, row->rate);
    c->loss_sum += row->loss * steps;
    c->loss_squares += row->loss * row->loss * steps;
    c->loss_count += steps;
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
    FILE *file = file_stream(path, false, &(Error){0});
    if (!file) return;
    while (log_read(file, &row))
        if (row.step > course->steps) course_add(course, &row);
    fclose(file);
}

double course_validation(const Course *c, double share) {
    double found = NAN;
    for (int i = 0; i < c->evaluated.count && c->evaluated.rows[i].step <= share * c->steps; i++)
        found = c->evaluated.rows[i].validation;
    return found;
}
