/* test_recipe.c - every rung can be trained, even if library/recipe.c does not know it. */
#include "tests/support.h"
#include "library/recipe.h"

enum { B = 4, T = 8, V = 9, STEPS = 200 };

/* A rung without a recipe of its own learns one batch, and every tensor changes. (tests/bits has
 * the weights that each rung gets with its own.) */
TEST_OF_EACH(model_name, every_rung_learns) {
    const Recipe recipe = recipe_of("a new one");
    Config config = {.V = V, .T = T, .L = 2, .NH = 2, .C = 16};
    snprintf(config.model, sizeof config.model, "%s", name);
    Bench *bench = bench_open(&config, B, 1, 3);
    const Model *model = bench->model, *start = new_model(&config, 3);
    int32_t *ids = random_ids(1, B * T + 1, V);
    double first = 0, last = 0;
    for (int step = 0; step <= STEPS; step++) {
        Optimizer now = recipe_step(&recipe, step, STEPS);
        run_forward_training(bench->run, ids, B, T, NULL);
        last = run_backward(bench->run, ids + 1);
        if (step == 0) first = last;
        run_update(bench->run, &now);
    }
    if (!(last < first - 0.1)) fail_msg("%s: from a loss of %g to %g", name, first, last);
    for (int i = 0; i < model->tensor_count; i++) {
        const size_t at = model->tensors[i].offset, bytes = model->tensors[i].size * sizeof(float);
        if (memcmp(start->weights + at, model->weights + at, bytes) == 0)
            fail_msg("%s: %s stays as it was", name, model->tensors[i].name);
    }
}

/* The windows grow from a quarter of the context to all of it, and none is too short. */
TEST(windows_grow) {
    const Recipe modern = recipe_of("modern"), gpt = recipe_of("gpt");
    enum { ALL = 100 };
    for (int context = 1; context <= 1024; context += context < 300 ? 1 : 59) {
        int before = 1;
        for (int step = 0; step < ALL; step++) {
            int window = recipe_window(&modern, context, step, ALL);
            assert_true(context % window == 0 && window >= before);
            assert_true(window == context || window >= 64);
            assert_int_equal(recipe_window(&gpt, context, step, ALL), context);
            before = window;
        }
        assert_int_equal(before, context);
    }
    assert_int_equal(recipe_window(&modern, 256, 64, ALL), 64);
    assert_int_equal(recipe_window(&modern, 256, 65, ALL), 128);
    assert_int_equal(recipe_window(&modern, 256, 88, ALL), 128);
    assert_int_equal(recipe_window(&modern, 256, 89, ALL), 256);
    assert_int_equal(recipe_window(&modern, 128, 64, ALL), 64);
    assert_int_equal(recipe_window(&modern, 130, 0, ALL), 65);
}

/* A rate follows from sizes and steps, and --lr overrides both; so a wider or deeper gpt learns as
 * a narrow one does, and a bigram reaches its counts in few steps and in many. */
TEST(rates) {
    TrilOptions options = tril_options_empty();
    const double least = tril_rung_rate("bigram", &options);
    double before = INFINITY;
    for (int steps = 10; steps < 5000; steps *= 2) { /* fewer steps, a higher peak */
        options.steps = steps;
        const double rate = tril_rung_rate("bigram", &options);
        assert_true(rate <= before && rate >= least);
        before = rate;
    }
    assert_near(before, least, 0);
    options.steps = 100;
    options.layers = 2;
    options.width = 96;
    const double usual = tril_rung_rate("gpt", &options);
    options.width = 192;
    assert_near(tril_rung_rate("gpt", &options), usual / 2, 1e-12);
    options.layers = 8;
    assert_near(tril_rung_rate("gpt", &options), usual / 4, 1e-12);
    options.learning_rate = 0.5;
    for (int i = 0; tril_rung(i); i++) {
        const Recipe recipe = recipe_with(tril_rung(i), &options);
        double highest = 0;
        int warm = 0;
        for (int step = 0; step < 100; step++) {
            const double rate = recipe_step(&recipe, step, 100).learning_rate;
            if (rate > highest) highest = rate, warm = step;
        }
        assert_near(highest, 0.5, 0.02); /* some fall right after the warm-up */
        assert_true(warm >= 1 && warm <= 30);
        assert_true(strcmp(tril_rung(i), "gpt") != 0 || warm == 30);
    }
}

/* The windows grow, and the embedding decays less, where a text is seen a few times; not if most
 * of its characters are rare. */
TEST(epochs) {
    const Recipe modern = recipe_of("modern");
    assert_near(recipe_embedding_decay(&modern, 61, 2, 1e6), 0.25, 0);
    assert_near(recipe_embedding_decay(&modern, 61, 1, 122e3), 0.5, 0);
    assert_near(recipe_embedding_decay(&modern, 61, 0.1, 1e6), 0.061, 0);
    assert_near(recipe_embedding_decay(&modern, 61, 5, 1e6), 1, 0);
    assert_near(recipe_embedding_decay(&modern, 61, 0.1, 1e4), 1, 0);
    assert_true(tril_windows_grow("modern", 8, false));
    assert_false(tril_windows_grow("modern", 8.01, false));
    assert_false(tril_windows_grow("modern", 1, true));
    assert_false(tril_windows_grow("gpt", 1, false));
}

/* The embedding has a decay of its own. Muon's rungs average squares over fewer steps. */
TEST(decays) {
    static const char *const names[] = {"modern", "gpt", "a new one"};
    for (int i = 0; i < 3; i++) {
        const Recipe recipe = recipe_of(names[i]);
        assert_near(recipe.peak.matrix_decay, 0.1, 0);
        assert_near(recipe.peak.weight_decay, i == 0 ? 1 : 0.1, 0);
        assert_near(recipe.peak.beta2, i == 0 ? 0.95 : 0.99, 0);
    }
}
