/* check_top_k.c - checks lesson/exercise_top_k.c: make exercise-top_k. It chooses a thousand times,
 * with u = 0, 0.001, ..., and compares how often each character was chosen with its probability. */
#include "lesson/lesson.h"

enum { V = 5, TIMES = 1000 };

int main(void) {
    const double chances[V] = {1, 8, 2, 4, 5}; /* e to the logits, without the shift */
    static const struct {
        int k;
        double shift, least; /* kept are chances of `least` or more */
        const char *what;
    } cases[] = {{1, 0, 8, "k = 1, the likeliest"},
                 {2, 0, 5, "k = 2"},
                 {3, 0, 4, "k = 3"},
                 {V, 0, 1, "k = 5, all"},
                 {2, 1000, 5, "k = 2, logits of 1000 and more"}};
    bool right = true;
    for (int n = 0; n < (int)(sizeof cases / sizeof *cases); n++) {
        double logits[V], shares[V] = {0}, expected[V], sum = 0;
        for (int i = 0; i < V; i++) {
            logits[i] = log(chances[i]) + cases[n].shift;
            expected[i] = chances[i] < cases[n].least ? 0 : chances[i];
            sum += expected[i];
        }
        for (int i = 0; i < V; i++) expected[i] /= sum;
        for (int i = 0; i < TIMES; i++) {
            const int chosen = sample_top_k(logits, V, cases[n].k, (double)i / TIMES);
            if (chosen < 0 || chosen >= V) {
                printf("%s: wrong\n    it chose %d, which is no character\n", cases[n].what,
                       chosen);
                return 1;
            }
            if (expected[chosen] == 0) {
                printf("%s: wrong\n    with u = %g it chose %d, which is not kept\n", cases[n].what,
                       (double)i / TIMES, chosen);
                return 1;
            }
            shares[chosen] += 1.0 / TIMES;
        }
        right &=
            is_right(cases[n].what, shares, expected, 1, V, "the share of character", 1.5 / TIMES);
    }
    return right ? 0 : 1;
}
