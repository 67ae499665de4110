/* exercise_head.c - a masked head by hand. Write the function's body; `make exercise-head` checks
 * it.
 *
 * There are T words. Each has a query, a key and a value of hs channels; channel c of word t is
 * number t * hs + c of q, k, v and out. Set all of out:
 *
 *     score[s]  = q[t] . k[s] / sqrt(hs)                          for s <= t: no word sees a later
 * one weight[s] = exp(score[s]) / (exp(score[0]) + ... + exp(score[t])) out[t]    = weight[0] v[0]
 * + ... + weight[t] v[t]
 */
#include "lesson/lesson.h"

void masked_head(const double *q, const double *k, const double *v, int T, int hs, double *out) {
    for (int i = 0; i < T * hs; i++) out[i] = 0; /* your loops instead of this one */
}
