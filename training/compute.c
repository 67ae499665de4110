#include "training/compute.h"

#include <math.h>
#include <string.h>

/* Positions are looked up. So are characters, but their table is usually the output layer, too. */
static bool is_position_table(const Tensor *tensor) {
    return strstr(tensor->name, "wpe") || strstr(tensor->name, "position");
}

double compute_of(const Config *config, double characters) {
    Model model;
    Error err;
    if (!model_lay_out(&model, config, &err)) return NAN;
    const Config *c = &model.config; /* sizes that the rung does not use are 1 */
    double parameters = (double)model.parameters;
    for (int i = 0; i < model.tensor_count; i++)
        if (is_position_table(&model.tensors[i])) parameters -= (double)model.tensors[i].size;
    bool looks_back = c->C > 1; /* the bigram, which has no width, does not */
    double attention = looks_back ? 12.0 * c->L * c->T * c->C : 0;
    model_free(&model);
    return characters * (6 * parameters + attention);
}
