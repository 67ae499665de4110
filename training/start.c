#include "training/start.h"
#include "training/recipe.h"

#include <string.h>

bool start_settle(Settings *s, const Trained *start, Error *err) {
    const double gentler = 0.1; /* the share of a training's own rate */
    const Config *has = &start->checkpoint.model.config;
    Config *asked = &s->sizes;
    const struct {
        const char *name;
        int *asked, has;
    } sizes[] = {{"number of layers", &asked->L, has->L},
                 {"number of heads", &asked->NH, has->NH},
                 {"width", &asked->C, has->C},
                 {"context", &asked->T, has->T}};
    if (s->model && strcmp(s->model, has->model) != 0)
        return fail(err, "%s: is a %s, not a %s", s->init, has->model, s->model);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (*sizes[i].asked > 0 && *sizes[i].asked != sizes[i].has)
            return fail(err, "%s: its %s is %d, not %d", s->init, sizes[i].name, sizes[i].has,
                        *sizes[i].asked);
        *sizes[i].asked = sizes[i].has;
    }
    if (s->bytes && !start->vocab.bytes)
        return fail(err, "%s: reads UTF-8 characters, and not --bytes", s->init);
    s->bytes = start->vocab.bytes;
    int rung = 0; /* whose name outlives the model */
    while (strcmp(model_name(rung), has->model) != 0) rung++;
    s->model = model_name(rung);
    if (s->learning_rate < 0) s->learning_rate = gentler * recipe_of(s->model).peak.learning_rate;
    return true;
}
