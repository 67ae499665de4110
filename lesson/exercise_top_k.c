/* exercise_top_k.c - choosing the next character. Write the body of the function; `make
 * exercise-top_k` checks it.
 *
 * A model gave a logit for each of V characters, 0 to V - 1. Keep the k characters with the largest
 * logits (no two are equal), and choose one of them at random, each with the probability
 *
 *     p[i] = exp(logits[i]) / sum                     sum: of exp(logits[j]), of the k kept
 *
 * Chance is u, a random number from 0 to below 1: add up the p[i], and return the first i at which
 * the sum is above u. A logit may be 1000, whose exp is too large for a double. So first subtract
 * the largest logit from all of them; that changes no p[i]. (Why?)
 */
#include "lesson/lesson.h"

int sample_top_k(const double *logits, int V, int k, double u) {
    return 0; /* your choice instead of this one */
}
