/* worked_attention.c - attention of six words, with every number: make attention. It prints five
 * steps, or one of them: make attention STEP=2.
 *
 * Only the inputs are given here; all else is computed, in plain loops. A table has a row for each
 * word. tests/exercises compares every table with numbers that were computed apart from this
 * project. */
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

enum { T = 6, C = 3, HS = 2 }; /* words, channels of a word, channels of a head */

static const char *const words[T] = {"the", "old", "gray", "cat", "sat", "down"};

/* The vectors of the words. In a model they are trained, as are the weights; these are made up. */
static const double x[T * C] = {0.43, 0.15, 0.89, /* the */
                                0.55, 0.87, 0.66, /* old: it and gray are alike */
                                0.57, 0.85, 0.64, /* gray */
                                0.22, 0.58, 0.33, /* cat */
                                0.77, 0.25, 0.10, /* sat */
                                0.05, 0.80, 0.55};

/* The weights (C, HS) of two heads. */
static const struct Head {
    double query[C * HS], key[C * HS], value[C * HS];
} heads[2] = {{{0.296112, 0.516562, 0.251671, 0.688557, 0.073972, 0.866522},
               {0.136580, 0.102479, 0.184056, 0.726447, 0.315254, 0.687107},
               {0.075635, 0.196638, 0.316412, 0.401740, 0.118568, 0.827395}},
              {{0.316059, -0.168285, 0.456809, -0.337877, 0.511835, -0.091774},
               {0.405806, 0.213361, -0.470421, -0.260051, 0.236805, -0.510543},
               {0.252570, 0.519107, -0.141478, -0.085168, -0.196181, -0.204327}}};

/* Sets y[T,OC] = a[T,IC] b[IC,OC]. */
static void multiply(double *y, const double *a, const double *b, int IC, int OC) {
    for (int t = 0; t < T; t++)
        for (int o = 0; o < OC; o++) {
            double sum = 0;
            for (int i = 0; i < IC; i++) sum += a[t * IC + i] * b[i * OC + o];
            y[t * OC + o] = sum;
        }
}

/* Sets scores[t,s] = q[t] . k[s]: how well key s answers query t. */
static void compare(double *scores, const double *q, const double *k, int channels) {
    for (int t = 0; t < T; t++)
        for (int s = 0; s < T; s++) {
            double sum = 0;
            for (int c = 0; c < channels; c++) sum += q[t * channels + c] * k[s * channels + c];
            scores[t * T + s] = sum;
        }
}

/* Sets weights[t,s] = exp(scores[t,s] / scale) / their sum over s. Behind the mask, where s > t,
 * they are 0. */
static void softmax(double *weights, const double *scores, double scale, bool mask) {
    for (int t = 0; t < T; t++) {
        double sum = 0;
        for (int s = 0; s < T; s++) {
            const bool hidden = mask && s > t;
            weights[t * T + s] = hidden ? 0 : exp(scores[t * T + s] / scale);
            sum += weights[t * T + s];
        }
        for (int s = 0; s < T; s++) weights[t * T + s] /= sum;
    }
}

/* ---- printing ---- */

static void show(const char *name, const char *formula, const double *table, int columns) {
    printf("%s  %d x %d    %s\n", name, T, columns, formula);
    for (int t = 0; t < T; t++) {
        printf("%8s", words[t]);
        for (int c = 0; c < columns; c++) {
            const double number = table[t * columns + c];
            if (number == 0)
                printf("         .");
            else
                printf(" %9.6f", number);
        }
        printf("\n");
    }
    printf("\n");
}

/* Prints the products of one score, for a pocket calculator. */
static void show_score(const double *q, const double *k, int channels, int t, int s) {
    double sum = 0;
    printf("The score of %s for %s:", words[t], words[s]);
    for (int c = 0; c < channels; c++) {
        printf("%s %g x %g", c ? " +" : "", q[t * channels + c], k[s * channels + c]);
        sum += q[t * channels + c] * k[s * channels + c];
    }
    printf(" = %g\n\n", sum);
}

/* Prints the title of a step. Returns false if another one is wanted; 0 is all. */
static bool begins(int step, long wanted, const char *title) {
    if (wanted && wanted != step) return false;
    printf("%d. %s\n\n", step, title);
    return true;
}

int main(int argc, char **argv) {
    const long wanted = argc > 1 ? strtol(argv[1], NULL, 10) : 0;
    if (argc > 1 && (wanted < 1 || wanted > 5)) {
        fprintf(stderr, "attention: there is no step %s; choose 1 to 5\n", argv[1]);
        return 2;
    }
    double weights[T * T], context[T * C];
    if (begins(1, wanted, "Attention without weights: each word compares itself with all words")) {
        double scores[T * T];
        compare(scores, x, x, C);
        softmax(weights, scores, 1, false);
        multiply(context, weights, x, T, C);
        show("plain.x", "six words of three channels", x, C);
        show("plain.scores", "x[t] . x[s]", scores, T);
        show_score(x, x, C, 1, 3);
        show("plain.weights", "softmax(scores): each row sums to 1", weights, T);
        show("plain.context", "weights x: a mean of all words, each with its weight", context, C);
    }

    double q[2][T * HS], k[2][T * HS], v[2][T * HS], scores[2][T * T]; /* of two heads */
    double masked[2][T * T], out[2][T * HS], both[T * 2 * HS];
    for (int h = 0; h < 2; h++) {
        multiply(q[h], x, heads[h].query, C, HS);
        multiply(k[h], x, heads[h].key, C, HS);
        multiply(v[h], x, heads[h].value, C, HS);
        compare(scores[h], q[h], k[h], HS);
        softmax(masked[h], scores[h], sqrt(HS), true);
        multiply(out[h], masked[h], v[h], T, HS);
        for (int i = 0; i < T * HS; i++) both[i / HS * 2 * HS + h * HS + i % HS] = out[h][i];
    }
    if (begins(2, wanted, "Query, key and value: three vectors for each word")) {
        show("qkv.q", "x Wq", q[0], HS);
        show("qkv.k", "x Wk", k[0], HS);
        show("qkv.v", "x Wv", v[0], HS);
        show("qkv.scores", "q[t] . k[s]", scores[0], T);
        show_score(q[0], k[0], HS, 1, 3);
    }
    if (begins(3, wanted, "Each word takes the values of all words, with the scores of step 2")) {
        softmax(weights, scores[0], sqrt(HS), false);
        multiply(context, weights, v[0], T, HS);
        show("qkv.weights", "softmax(scores / sqrt(2)): a head has two channels", weights, T);
        show("qkv.context", "weights v", context, HS);
    }
    if (begins(4, wanted, "The mask: no word sees a later one")) {
        const double equal[T * T] = {0};
        softmax(weights, equal, 1, true);
        multiply(context, weights, x, T, C);
        show("average.weights", "softmax(mask(scores)), if all scores are 0", weights, T);
        show("average.out", "weights x: the mean of the past", context, C);
        show("masked.weights", "softmax(mask(scores of step 2 / sqrt(2)))", masked[0], T);
        show("masked.out", "weights v", out[0], HS);
    }
    if (begins(5, wanted, "Two heads: the second has other weights, and looks elsewhere")) {
        show("masked.weights", "the first head", masked[0], T);
        show("second.weights", "the second head", masked[1], T);
        show("heads.out", "the results of both, side by side", both, 2 * HS);
    }
}
