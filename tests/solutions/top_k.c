/* top_k.c - a solution of lesson/exercise_top_k.c. */
#include "lesson/lesson.h"

/* Returns true if fewer than k logits are larger than that of character i. */
static bool is_kept(const double *logits, int V, int k, int i) {
    int larger = 0;
    for (int j = 0; j < V; j++) larger += logits[j] > logits[i];
    return larger < k;
}

int sample_top_k(const double *logits, int V, int k, double u) {
    double largest = logits[0], sum = 0, below = 0;
    for (int i = 1; i < V; i++) largest = fmax(largest, logits[i]);
    for (int i = 0; i < V; i++)
        if (is_kept(logits, V, k, i)) sum += exp(logits[i] - largest);
    int chosen = 0;
    for (int i = 0; i < V && below <= u * sum; i++)
        if (is_kept(logits, V, k, i)) {
            below += exp(logits[i] - largest);
            chosen = i;
        }
    return chosen;
}
