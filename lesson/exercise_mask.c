/* exercise_mask.c - a wrong mask to find. This small model predicts the next character, but it
 * cheats: its attention looks into the future. `make exercise-mask` shows it: it changes one
 * character of a text at a time, and says which predictions change. Find the wrong line; mend it.
 *
 *     x      = a vector for each character            made up here
 *     out    = softmax(mask(x x^T / sqrt(C))) x
 *     logits = (x + out) E^T                          E: the vectors of all characters
 */
#include "lesson/lesson.h"

enum { C = 8, V = 128, LONGEST = 64 }; /* channels, vocabulary (ASCII), characters of a text */

static double embedding(int character, int c) {
    return sin(0.7 * character * (c + 1));
}

/* Hides the characters that position t must not see: softmax turns minus infinity into 0. */
static void mask(double *score, int t, int T) {
    for (int s = T - 1; s > t + 1; s--) score[s] = -INFINITY;
}

/* Sets logits[T,V]: row t is the prediction after text[t]. */
void predict(const char *text, int T, double *logits) {
    for (int t = 0; t < T; t++) {
        double score[LONGEST], sum = 0, y[C];
        for (int s = 0; s < T; s++) {
            score[s] = 0;
            for (int c = 0; c < C; c++)
                score[s] += embedding(text[t], c) * embedding(text[s], c) / sqrt(C);
        }
        mask(score, t, T);
        for (int s = 0; s < T; s++) sum += exp(score[s]);
        for (int c = 0; c < C; c++) {
            y[c] = embedding(text[t], c);
            for (int s = 0; s < T; s++) y[c] += exp(score[s]) / sum * embedding(text[s], c);
        }
        for (int i = 0; i < V; i++) {
            logits[t * V + i] = 0;
            for (int c = 0; c < C; c++) logits[t * V + i] += y[c] * embedding(i, c);
        }
    }
}
