/* check_head.c - checks lesson/exercise_head.c: make exercise-head. */
#include "lesson/lesson.h"

enum { T = 6, HS = 2 };

/* The six words of `make attention`, step 2, and their result in step 3. */
static const double q[] = {0.230914, 1.096610, 0.430637, 1.455058, 0.430046, 1.434288,
                           0.235525, 0.798959, 0.298321, 0.656544, 0.256827, 1.053261};
static const double k[] = {0.366914, 0.764558, 0.443316, 1.141863, 0.436061, 1.115641,
                           0.240834, 0.670630, 0.182706, 0.329231, 0.327464, 0.964190};
static const double v[] = {0.185511, 0.881197, 0.395133, 1.003746, 0.387946, 0.983096,
                           0.239286, 0.549310, 0.149199, 0.334586, 0.322124, 0.786291};
static const double expected[] = {0.185511, 0.881197, 0.311586, 0.954903, 0.339533, 0.965183,
                                  0.312876, 0.874653, 0.286459, 0.789677, 0.299010, 0.804037};

static void attend(const double *queries, int words, double *out) {
    for (int i = 0; i < T * HS; i++) out[i] = NAN; /* until it is set */
    masked_head(queries, k, v, words, HS, out);
}

int main(void) {
    const double zeros[T * HS] = {0};
    double out[T * HS], mean[T * HS], sum[HS] = {0};
    for (int i = 0; i < T * HS; i++) {
        sum[i % HS] += v[i];
        const int seen = i / HS + 1;
        mean[i] = sum[i % HS] / seen;
    }
    attend(q, 1, out);
    bool right = is_right("one word, which sees only itself", out, v, 1, HS, "channel", 1e-5);
    attend(zeros, T, out);
    right &= is_right("queries of 0, which give the mean of the past", out, mean, T, HS, "channel",
                      1e-5);
    attend(q, T, out);
    right &= is_right("the six words of `make attention`", out, expected, T, HS, "channel", 1e-5);
    const double ones[] = {0, 0, 0, 1, 1, 1}, weight = 1 / (1 + exp(-3 / sqrt(3)));
    const double taken[] = {0, 0, 0, weight, weight, weight};
    masked_head(ones, ones, ones, 2, 3, out);
    right &= is_right("two words of three channels", out, taken, 2, 3, "channel", 1e-5);
    return right ? 0 : 1;
}
