/* rotary.c - positions as turns of queries and keys. */
#include "model/layers.h"

#include <math.h>

void rotary_turns(const Kernels *k, float *turns, int T, int past, int hs) {
    Share own = team_share(k, (size_t)T, 1);
    int half = hs / 2;
    for (size_t t = own.begin; t < own.end; t++) {
        size_t position = (size_t)past + t;
        float *cosine = turns + position * (size_t)hs, *sine = cosine + half;
        for (int i = 0; i < half; i++) {
            double angle = (double)position * pow(10000, -2.0 * i / hs);
            cosine[i] = (float)cos(angle);
            sine[i] = (float)sin(angle);
        }
    }
}

/* Row r of the batch belongs to the token r / NH. */
static void turn(const Kernels *k, float *y, const float *x, const float *turns, size_t first,
                 int rows, int T, int past, int NH, int hs, float way) {
    size_t width = (size_t)hs;
    int half = hs / 2;
    for (size_t r = 0; r < (size_t)rows; r++) {
        size_t position = (size_t)past + (first + r) / (size_t)NH % (size_t)T;
        const float *cosine = turns + position * width;
        k->isa->rotate(y + r * width, x + r * width, cosine, cosine + half, way, half);
    }
}

void rotary_forward(const Kernels *k, float *y, const float *x, const float *turns, size_t first,
                    int rows, int T, int past, int NH, int hs) {
    turn(k, y, x, turns, first, rows, T, past, NH, hs, 1);
}

void rotary_backward(const Kernels *k, float *dx, const float *dy, const float *turns, size_t first,
                     int rows, int T, int NH, int hs) {
    turn(k, dx, dy, turns, first, rows, T, 0, NH, hs, -1);
}
