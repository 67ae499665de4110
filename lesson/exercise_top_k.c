/* exercise_top_k.c - choosing the next character. Write the function's body; `make exercise-top_k`
 * checks it.
 *
 * A model gave a logit for each of V characters, 0 to V - 1. Keep the k characters with the largest
 * logits (no two logits are equal), and choose among them at random: character i with the
 * probability
 *
 *     p[i] = exp(logits[i]) / sum of exp(logits[j]) over the k characters j
 *
 * The chance is u, a random number from 0 to below 1: add up the p[i], and return the first i at
 * which the sum is above u. A logit may be 1000, whose exp is too large for a double. So subtract
 * the largest logit from each before exp; all p[i] stay the same. (Why?)
 */
#include "lesson/lesson.h"

int sample_top_k(const double *logits, int V, int k, double u) {
    return 0; /* your choice instead of this one */
}
