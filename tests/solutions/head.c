/* head.c - a solution of lesson/exercise_head.c. */
#include "lesson/lesson.h"

void masked_head(const double *q, const double *k, const double *v, int T, int hs, double *out) {
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int c = 0; c < hs; c++) out[t * hs + c] = 0;
        for (int s = 0; s <= t; s++) {
            double score = 0;
            for (int c = 0; c < hs; c++) score += q[t * hs + c] * k[s * hs + c];
            const double weight = exp(score / sqrt(hs));
            sum += weight;
            for (int c = 0; c < hs; c++) out[t * hs + c] += weight * v[s * hs + c];
        }
        for (int c = 0; c < hs; c++) out[t * hs + c] /= sum;
    }
}
