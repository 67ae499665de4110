/* test_extend.c - a trained model learns new characters: the known ones keep their weights, the new
 * ones start as an average, and ./train --init does this for any text. */
#include "library/handles.h"
#include "tests/state.h"
#include "tests/table.h"

/* ---- a model of every rung ---- */

enum { BEFORE = 5, AFTER = 8, T = 12 };

/* The new tokens are the first, one in the middle and the last. */
static const int32_t sources[AFTER] = {-1, 0, 1, -1, 2, 3, 4, -1};

static Model *build(const char *name, int C) {
    Config config = {.V = BEFORE, .T = T, .L = 2, .NH = 4, .C = C};
    snprintf(config.model, sizeof config.model, "%s", name);
    Model *model = new_model(&config, 3);
    float *noise = random_floats(4, model->weights_size);
    for (int i = 0; i < model->tensor_count; i++) /* biases and norms, too; not the padding */
        for (size_t j = 0; j < model->tensors[i].size && !strstr(model->tensors[i].name, "ngram");
             j++)
            model->weights[model->tensors[i].offset + j] += 0.1f * noise[j] + 0.03f;
    count_letters(model);
    return model;
}

static Model *extend(Model *model, uint64_t seed) {
    assert_ok(model_extend(model, AFTER, sources, seed, &err), err);
    assert_int_equal(model->config.V, AFTER);
    return model;
}

/* The logits of the known tokens after text of known tokens. */
static void read_logits(Model *model, const int32_t *ids, float logits[T][AFTER]) {
    RunOptions options = {.batch = 1, .length = T, .threads = 1};
    Run *run = open_run(model, &options);
    int V = model->config.V;
    const float *all = run_forward(run, ids, 1, T);
    for (int t = 0; t < T; t++) memcpy(logits[t], all + t * V, (size_t)V * sizeof **logits);
}

/* With known tokens only, an extended model predicts what it predicted before. */
TEST_OF_EACH(model_name, known) {
    Model *model = build(name, 16);
    float before[T][AFTER], after[T][AFTER];
    int32_t *ids = random_ids(5, T, BEFORE), renumbered[T], places[BEFORE] = {0};
    read_logits(model, ids, before);
    extend(model, 1);
    for (int i = 0; i < AFTER; i++)
        if (sources[i] >= 0) places[sources[i]] = i;
    for (int t = 0; t < T; t++) renumbered[t] = places[ids[t]];
    read_logits(model, renumbered, after);
    /* a counted model gives a part of its last discount to the new tokens */
    const double near = model_has_ngram(&model->config) ? 0.5 : 1e-5;
    for (int t = 0; t < T; t++)
        for (int v = 0; v < BEFORE; v++) assert_near(after[t][places[v]], before[t][v], near);
}

/* The mean of the known numbers that row i and column j of an extended tensor stand for: those of
 * its source, or of all if it is new. Where `grown` is false, it is its own source. */
static double known_mean(const Tensor *tensor, const float *known, const bool grown[2], int i,
                         int j) {
    int begin[] = {grown[0] ? sources[i] : i, grown[1] ? sources[j] : j}, end[2];
    double sum = 0;
    for (int side = 0; side < 2; side++) {
        end[side] = begin[side] < 0 ? tensor->shape[side] : begin[side] + 1;
        if (begin[side] < 0) begin[side] = 0;
    }
    for (int row = begin[0]; row < end[0]; row++)
        for (int column = begin[1]; column < end[1]; column++)
            sum += (double)known[row * tensor->shape[1] + column];
    return sum / ((end[0] - begin[0]) * (end[1] - begin[1]));
}

/* Every number is that mean, but new vectors are half the tensor's deviation away from it. Returns
 * true if the tensor has grown. */
static bool check_tensor(const Model *before, const Model *after, int tensor) {
    const Tensor *from = &before->tensors[tensor], *to = &after->tensors[tensor];
    const float *old = before->weights + from->offset, *new = after->weights + to->offset;
    const bool grown[] = {to->shape[0] > from->shape[0], to->shape[1] > from->shape[1]};
    const bool vectors = grown[0] && !grown[1] && to->shape[1] > 1;
    const double mean = known_mean(from, old, (bool[]){true, true}, 0, 0); /* token 0 is new */
    double squares = 0, away = 0;
    int count = 0;
    for (size_t i = 0; i < from->size; i++) squares += pow((double)old[i] - mean, 2);
    for (int i = 0; i < to->shape[0]; i++)
        for (int j = 0; j < to->shape[1]; j++) {
            double difference =
                (double)new[i * to->shape[1] + j] - known_mean(from, old, grown, i, j);
            if (vectors && sources[i] < 0)
                away += difference * difference, count++;
            else
                assert_near(difference, 0, 1e-6);
        }
    if (vectors) assert_near(sqrt(away / count) / sqrt(squares / (double)from->size), 0.5, 0.1);
    return grown[0] || grown[1];
}

TEST_OF_EACH(model_name, new) {
    const Model *before = build(name, 64), *after = extend(build(name, 64), 1);
    const Model *again = extend(build(name, 64), 1), *other = extend(build(name, 64), 2);
    int grown = 0;
    for (int i = 0; i < before->tensor_count; i++) grown += check_tensor(before, after, i);
    assert_true(grown > 0);
    size_t bytes = after->weights_size * sizeof(float);
    assert_memory_equal(after->weights, again->weights, bytes);
    bool noisy = memcmp(after->weights, other->weights, bytes) != 0;
    assert_int_equal(noisy, strcmp(name, "bigram") != 0);
}

/* ---- ./train --init ---- */

#define TINY "-l 1 -w 16 -H 2 -c 16 -b 4 -j 1 --precision f32 "

/* A training run that starts from a model has its loss at the start, and continues as usual. */
TEST(init) {
    must_run("train -q " TINY "-s 300 --eval-every 20 -o @first " ACT);
    const double first = row_of("modern").validation;
    must_run("train --init @first/model.safetensors -b 4 -j 1 -s 200 -o @next " ACT);
    assert_near(first_loss(), first, 2e-3); /* in bf16 */
    assert_true(row_of("modern").validation < first);
    /* if the loss never falls, the model stays as it was */
    must_run("train -q --init @first/model.safetensors -b 4 -j 1 -s 3 --lr 1 -o @worse " ACT);
    assert_near(row_of("modern").validation, first, 1e-4);
    /* a state is a model, too, and a model of bytes knows all texts */
    must_run("train -q --bytes " TINY "-s 2 -o @bytes " ACT);
    char *text = slurp(ACT, NULL);
    text[100] = '\xE9';
    scratch_put("latin", text, 3000);
    must_run("train -q --init @bytes/state.safetensors -b 4 -s 2 -o @other @latin " ACT);
    must_run("sample --info @other");
    expect_line("256");
}

/* A model whose heads share keys and values, and whose MLP has an unusual size, keeps its shape,
 * also in a resumed training run. */
TEST(shared_heads) {
    must_run(
        "train -q -b 4 -j 1 -s 40 --kv-heads 1 --init tests/golden/formats/imported.safetensors "
        "-o @shared " ACT);
    const double first = row_of("modern").validation;
    must_run("train -q -r -s 80 -o @shared " ACT);
    assert_true(row_of("modern").validation < first);
    must_run("sample --info @shared");
    assert_true(atoi(after("\nkv_heads ")) == 1 && atoi(after("\nhidden ")) == 19);
}

/* After an interruption --resume no longer needs the model, trains no baseline that was not there,
 * and ends with the same bits. */
TEST(init_resumed) {
    static const char how[] = "-b 4 -j 1 -s 200 --eval-every 50 -d 0.1";
    skip_without(SIGNALS);
    must_run("train -q " TINY "-s 100 -o @base " ACT);
    must_run("train -q %s --init @base/model.safetensors -o @whole " ACT, how);
    run_clocked(0.01, " 15@2", "train %s --init @base/model.safetensors -o @parts " ACT, how);
    expect_success();
    expect_line("train --resume --out ");
    scratch_remove(scratch("base"));
    must_run("train -r -j 1 -o @parts " ACT);
    assert_false(scratch_has("parts/bigram.safetensors"));
    expect_same_model("whole/model.safetensors", "parts/model.safetensors");
}
