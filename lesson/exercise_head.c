/* exercise_head.c - a masked head by hand. Write the body of the function; `make exercise-head`
 * checks it.
 *
 * There are T words. Each has a query, a key and a value of hs channels: channel c of word t is
 * number t * hs + c of q, k and v. Set all numbers of out, which are in the same order:
 *
 *     score[s]  = q[t] . k[s] / sqrt(hs)              for s <= t, for no word sees a later one
 *     weight[s] = exp(score[s]) / sum                 sum: of exp(score[0]) to exp(score[t])
 *     out[t]    = weight[0] v[0] + ... + weight[t] v[t]
 */
#include "lesson/lesson.h"

void masked_head(const double *q, const double *k, const double *v, int T, int hs, double *out) {
    for (int i = 0; i < T * hs; i++) out[i] = 0; /* your loops instead of this one */
}
