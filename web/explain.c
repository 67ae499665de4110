/* explain.c - the steps from a line to its next character. The only file of the page that looks
 * below library/tril.h: the lines of a model's program, with all that they computed, are for who
 * teaches, and a library that showed them could never change them. */
#include "library/handles.h"
#include "report/explain.h"
#include "web/look.h"

bool look_explain(const Look *look, int layer, int head, FILE *out, Error *err) {
    Model *model = &look->model->model;
    const Explained explained = {.name = model->config.model,
                                 .model = model,
                                 .vocab = vocab_of(look->model),
                                 .ids = look->ids,
                                 .T = look->count};
    return explain_part(out, &explained, layer, head, err);
}
