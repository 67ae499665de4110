/* mean.c - the plainest way to look back: the mean of all tokens so far. */
#include "model/layers.h"

#include <assert.h>
#include <string.h>

/* The sum that a thread carries along a sequence, for some channels at a time. */
enum { WIDTH = 32 };

/* Of the B sequences times the stretches of WIDTH channels, number i. */
typedef struct {
    size_t b, c, width;
} Stretch;

static size_t stretches(int B, int C) {
    return (size_t)B * (((size_t)C + WIDTH - 1) / WIDTH);
}

static Stretch stretch_of(size_t i, int C) {
    size_t each = ((size_t)C + WIDTH - 1) / WIDTH, c = i % each * WIDTH, rest = (size_t)C - c;
    return (Stretch){i / each, c, rest < WIDTH ? rest : WIDTH};
}

void mean_forward(const Kernels *k, float *y, const float *x, int B, int T, int past, int C) {
    assert(past == 0 || B == 1);
    size_t S = (size_t)past + (size_t)T, row = (size_t)C;
    Share share = team_share(k, stretches(B, C), 1);
    for (size_t i = share.begin; i < share.end; i++) {
        Stretch at = stretch_of(i, C);
        float total[WIDTH] = {0};
        for (size_t s = 0; s < S; s++) {
            k->isa->add(total, x + (at.b * S + s) * row + at.c, at.width);
            if (s < (size_t)past) continue;
            float *to = y + (at.b * (size_t)T + s - (size_t)past) * row + at.c;
            for (size_t c = 0; c < at.width; c++) to[c] = total[c] / (float)(s + 1);
        }
    }
}

void mean_backward(const Kernels *k, float *dx, const float *dy, int B, int T, int C) {
    size_t row = (size_t)C;
    Share share = team_share(k, stretches(B, C), 1);
    for (size_t i = share.begin; i < share.end; i++) {
        Stretch at = stretch_of(i, C);
        float total[WIDTH] = {0};
        for (size_t t = (size_t)T; t-- > 0;) {
            size_t place = (at.b * (size_t)T + t) * row + at.c;
            for (size_t c = 0; c < at.width; c++) total[c] += dy[place + c] / (float)(t + 1);
            memcpy(dx + place, total, at.width * sizeof *dx);
        }
    }
}
