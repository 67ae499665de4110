/* products.c - the speed of the matrix products of a linear layer, for bench/peers/products.py.
 *
 *     products THREADS
 *
 * Reads lines "PRODUCT N C OC SECONDS", where PRODUCT is forward, backward or gradients, from N
 * tokens of C channels to OC. Repeats the product for that long, the packing of the weights
 * included, and answers with a line: the GFLOP/s. */
#include "base/clock.h"
#include "model/layers/compute.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char product[16];
    int N, C, OC;
    double seconds;
} Order;

/* x[N,C], y[N,OC], weights w[OC,C] and their gradients, or what stands for them. */
typedef struct {
    Order order;
    float *x, *y, *packed, *halves;
    Param w;
} Layer;

static float *numbers(size_t count) {
    float *at = aligned_alloc(64, (count * sizeof *at + 63) / 64 * 64);
    if (!at) exit(EXIT_FAILURE);
    for (size_t i = 0; i < count; i++) at[i] = 0.001f * (float)(i % 1000);
    return at;
}

/* In blocks of tokens, as a pass takes them. */
static void multiply(const Thread *thread, void *argument) {
    enum { BLOCK = 96 };
    Layer *l = argument;
    const Order *o = &l->order;
    size_t C = (size_t)o->C, OC = (size_t)o->OC;
    if (strcmp(o->product, "gradients") == 0) {
        compute_linear_gradients(thread, l->halves, NULL, l->y, l->x, o->N, o->C, o->OC);
        team_barrier(thread);
        compute_linear_gradients_reduce(thread, l->w, (Param){0}, l->halves, NULL, o->N, o->C,
                                        o->OC);
        return;
    }
    bool backward = strcmp(o->product, "backward") == 0;
    linear_pack(thread, l->packed, l->w.w, o->C, o->OC, backward);
    team_barrier(thread);
    Share own = team_share(thread, (size_t)o->N, BLOCK);
    for (size_t n = own.begin; n < own.end; n += BLOCK) {
        int count = (int)(own.end - n < BLOCK ? own.end - n : BLOCK);
        float *x = l->x + n * C, *y = l->y + n * OC;
        if (backward)
            compute_linear_backward(thread, x, y, l->w, count, o->C, o->OC);
        else
            compute_linear(thread, y, x, l->w, (Param){0}, count, o->C, o->OC);
    }
}

static double measure(Team *team, int threads, const Isa *isa, const Order *o) {
    size_t weights = (size_t)o->C * (size_t)o->OC, N = (size_t)o->N;
    Layer l = {.order = *o, .x = numbers(N * (size_t)o->C), .y = numbers(N * (size_t)o->OC)};
    l.packed = numbers(linear_packed_size(isa, &float32_products, o->C, o->OC));
    l.w = (Param){numbers(weights), numbers(weights), l.packed};
    l.halves = numbers(2 * weights);
    team_run(team, threads, multiply, &l); /* warms up */
    double begun = clock_seconds(), now = begun;
    int count = 0;
    for (; now - begun < o->seconds; count++, now = clock_seconds())
        team_run(team, threads, multiply, &l);
    float *all[] = {l.x, l.y, l.w.w, l.w.dw, l.packed, l.halves};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    return 2.0 * o->N * (double)weights * count / (now - begun) * 1e-9;
}

int main(int argc, char **argv) {
    Error err;
    Team *team;
    Order o;
    int threads = argc > 1 ? atoi(argv[1]) : 1;
    const Isa *isa = isa_choose(&err);
    if (!isa || !team_open(&team, isa, &float32_products, threads, 0, &err)) {
        fprintf(stderr, "products: %s\n", err.text);
        return EXIT_FAILURE;
    }
    while (scanf("%15s %d %d %d %lf", o.product, &o.N, &o.C, &o.OC, &o.seconds) == 5) {
        printf("%.3f\n", measure(team, threads, isa, &o));
        fflush(stdout);
    }
    team_close(team);
    return EXIT_SUCCESS;
}
