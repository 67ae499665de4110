#include "library/compute.h"

#include <string.h>

/* Positions are looked up. So are characters, but their table is usually the output layer, too. */
static bool is_position_table(const Tensor *tensor) {
    return strstr(tensor->name, "wpe") || strstr(tensor->name, "position");
}

bool compute_of(Compute *compute, const Config *config, Error *err) {
    Model model;
    if (!model_lay_out(&model, config, err)) return false;
    const Config *c = &model.config; /* sizes that the rung does not use are 1 */
    double parameters = (double)model.parameters;
    for (int i = 0; i < model.tensor_count; i++)
        if (is_position_table(&model.tensors[i])) parameters -= (double)model.tensors[i].size;
    bool looks_back = c->C > 1; /* the bigram, which has no width, does not */
    *compute = (Compute){6 * parameters, looks_back ? 12.0 * c->L * c->C : 0};
    model_free(&model);
    return true;
}

double compute_for(Compute compute, double characters, int window) {
    return characters * (compute.parameters + window * compute.looks);
}
