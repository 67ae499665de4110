/* lesson.h - the functions of the three exercises. Each exercise_NAME.c describes its function. */
#ifndef TRIL_LESSON_LESSON_H
#define TRIL_LESSON_LESSON_H

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

void masked_head(const double *q, const double *k, const double *v, int T, int hs, double *out);
int sample_top_k(const double *logits, int V, int k, double u);
void predict(const char *text, int T, double *logits);

/* For checkers: prints whether got[rows,columns] is as expected to the error given, and if not, the
 * first number that is wrong. `column` names the columns. */
static inline bool is_right(const char *what, const double *got, const double *expected, int rows,
                            int columns, const char *column, double error) {
    for (int i = 0; i < rows * columns; i++)
        if (!(fabs(got[i] - expected[i]) <= error)) { /* a NaN is wrong, too */
            printf("%s: wrong\n    the first wrong number: ", what);
            if (rows > 1) printf("word %d, ", i / columns);
            printf("%s %d is %.6f, not %.6f\n", column, i % columns, got[i], expected[i]);
            return false;
        }
    printf("%s: right\n", what);
    return true;
}

#endif
