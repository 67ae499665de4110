/* products.c - the speed of the matrix products of a linear layer, for
 * extras/bench/peers/products.py.
 *
 *     products THREADS
 *
 * Reads lines "PRODUCT N C OC SECONDS", where PRODUCT is forward, backward or gradients, from N
 * tokens of C channels to OC. Repeats the product for that long, the packing of the weights
 * included, and answers with a line: the GFLOP/s. */
#include "base/clock.h"
#include "extras/bench/layer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct {
    char product[16];
    int N, C, OC;
    double seconds;
} Order;

typedef struct {
    const Order *order;
    Layer layer;
    float *packed;
} Product;

static void multiply(const Thread *thread, void *argument) {
    Product *product = argument;
    const Order *o = product->order;
    if (strcmp(o->product, "gradients") != 0) {
        layer_pack(thread, product->packed, product->layer.weights[0].w, o->C, o->OC,
                   strcmp(o->product, "backward") == 0);
        team_barrier(thread);
    }
    layer_work(thread, &product->layer);
}

static double measure(Team *team, int threads, const Isa *isa, const Order *o) {
    size_t weights = (size_t)o->C * (size_t)o->OC;
    size_t forward = float32_products.packed_size(isa, o->C, o->OC);
    size_t backward = float32_products.packed_size(isa, o->OC, o->C);
    Product product = {.order = o,
                       .packed = layer_numbers(forward > backward ? forward : backward)};
    Layer *l = &product.layer;
    Linear w = {.weight = 1, .in = o->C, .out = o->OC};
    layer_open(l, 1, o->N);
    Array x = program_array(&l->program, o->C, PER_TOKEN), y = linear(&l->program, x, w);
    l->program.backward = l->program.count;
    linear_backward(&l->program, y, w);
    linear_gradients(&l->program, w, y, x);
    layer_allocate(l);
    l->weights[0] = (Param){layer_numbers(weights), layer_numbers(weights), product.packed};
    l->first = strcmp(o->product, "forward") == 0 ? 0 : strcmp(o->product, "backward") == 0 ? 1 : 2;
    l->end = l->first < 2 ? l->first + 1 : 4;
    team_run(team, threads, multiply, &product); /* warms up */
    double begun = clock_seconds(), now = begun;
    int count = 0;
    for (; now - begun < o->seconds; count++, now = clock_seconds())
        team_run(team, threads, multiply, &product);
    float *all[] = {l->weights[0].w, l->weights[0].dw, product.packed};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    layer_close(l);
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
