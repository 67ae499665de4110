#include "training/compute.h"

#include <math.h>
#include <string.h>

/* Positions are looked up. So are characters, but their table is usually the output layer, too. */
static bool is_position_table(const Tensor *tensor) {
    return strstr(tensor->name, "wpe") || strstr(tensor->name, "position");
}

Compute compute_of(const Config *config) {
    Model model;
    Error err;
    if (!model_lay_out(&model, config, &err)) return (Compute){NAN, NAN};
    const Config *c = &model.config; /* sizes that the rung does not use are 1 */
    double parameters = (double)model.parameters;
    for (int i = 0; i < model.tensor_count; i++)
        if (is_position_table(&model.tensors[i])) parameters -= (double)model.tensors[i].size;
    bool looks_back = c->C > 1; /* the bigram, which has no width, does not */
    Compute compute = {6 * parameters, looks_back ? 12.0 * c->L * c->C : 0};
    model_free(&model);
    return compute;
}

double compute_for(Compute compute, double characters, int window) {
    return characters * (compute.parameters + window * compute.looks);
}
