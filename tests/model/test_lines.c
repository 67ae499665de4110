/* test_lines.c - the computation of a model, line by line (tril_reading_line): each line reads
 * outputs of earlier lines, and the model's weights; its numbers follow from these. */
#include "tests/objects.h"

/* A text longer than the context. */
static const char text[] = "THE FOREST AND THE SEA";
enum {
    LENGTH = sizeof text - 1,
    T = 16,
    C = 16,
    BEFORE = LENGTH - T,
    LAYERS = 2,
    HEADS = 4,
    KV_HEADS = 2
};

static TrilModel *make(const char *rung) {
    TrilOptions sizes = sized(rung, LAYERS, HEADS, C, T);
    sizes.kv_heads = KV_HEADS;
    sizes.hidden = 24;
    sizes.seed = 5;
    TrilModel *model = model_of(tokenizer_of(text), &sizes);
    shake(model);
    return model;
}

/* ---- tests ---- */

/* How many results of lines before it a line reads. (The angles of rotary positions are none.) */
static int inputs_of(const char *operation) {
    if (strcmp(operation, "embedding") == 0 || strcmp(operation, "counted") == 0) return 0;
    if (strcmp(operation, "trusted") == 0)
        return 2; /* its third is not the first result of its line */
    if (strcmp(operation, "attention") == 0) return 3;
    return strcmp(operation, "add") == 0 || strcmp(operation, "swiglu") == 0 ? 2 : 1;
}

/* Returns true if line i reads only results of lines before it. */
static void check_inputs(const TrilReading *reading, const TrilLine *line, int i) {
    for (int j = 0; j < inputs_of(line->operation); j++) {
        const TrilArray *input = &line->inputs[j];
        bool made = false;
        TrilLine earlier;
        for (int k = 0; k < i && !made; k++) {
            assert_int_equal(tril_reading_line(reading, k, &earlier), 1);
            const TrilArray *output = &earlier.output;
            made = output->number == input->number &&
                   output->data - output->offset == input->data - input->offset;
        }
        if (!made) fail_msg("line %d, %s: nobody made input %d", i, line->operation, j);
    }
}

/* Returns true if the line's weights are those of the model with that name. */
static void check_weights(TrilModel *model, const TrilLine *line) {
    for (int j = 0; j < TRIL_LINE_WEIGHTS; j++) {
        const TrilTensor *weights = &line->weights[j];
        TrilTensor tensor;
        int i = 0;
        if (!weights->name) continue;
        while (tril_model_tensor(model, i, &tensor) && strcmp(tensor.name, weights->name) != 0) i++;
        assert_string_equal(tensor.name, weights->name);
        assert_true(tensor.data == weights->data);
        assert_int_equal(tensor.rows, weights->rows);
        assert_int_equal(tensor.columns, weights->columns);
    }
}

/* A linear layer and a sum follow from weights and inputs, in double precision. */
static void check_sums(const TrilReading *reading, const TrilLine *line) {
    const TrilArray *x = &line->inputs[0];
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    const bool linear = strcmp(line->operation, "linear") == 0;
    if (!linear && strcmp(line->operation, "add") != 0) return;
    for (int t = 0; t < reading->tokens; t++)
        for (int o = 0; o < line->output.width; o++) {
            double y = linear ? (b ? (double)b[o] : 0) : at(x, t, o) + at(&line->inputs[1], t, o);
            for (int c = 0; linear && c < x->width; c++)
                y += (double)w[o * x->width + c] * at(x, t, c);
            assert_near(at(&line->output, t, o), y, 1e-4);
        }
}

static void check_reading(TrilModel *model, const TrilReading *reading) {
    TrilLine line;
    int count = 0;
    for (; tril_reading_line(reading, count, &line); count++) {
        check_inputs(reading, &line, count);
        check_weights(model, &line);
        check_sums(reading, &line);
        assert_in_range(line.layer, 0, LAYERS - 1);
    }
    assert_true(count > 0 && line.output.data == reading->logits);
    assert_int_equal(line.output.width, tril_model_tokenizer(model)->size);
    assert_int_equal(tril_reading_line(reading, -1, &line), 0);
}

/* The lines of every rung lead from the ids to the logits, also with several threads, and of a
 * single character. Of a long text the end is read; the logits are those of a reading that keeps
 * nothing, to the bit. */
TEST_OF_EACH(tril_rung, lines) {
    TrilModel *model = make(name);
    size_t V = (size_t)tril_model_tokenizer(model)->size, count;
    for (int i = 0; i < 4; i++) {
        const size_t length = i % 2 ? LENGTH : 1;
        const TrilReading *traced = read_with(model, text, length, 1, i < 2 ? 1 : 4);
        const TrilReading *plain = read_with(model, text, length, 0, 1);
        const int tokens = traced->tokens, skipped = i % 2 ? BEFORE : 0;
        int32_t ids[LENGTH];
        TrilLine line;
        check_reading(model, traced);
        assert_int_equal(tril_reading_line(plain, 0, &line), 0);
        assert_int_equal(tokens, i % 2 ? T : 1);
        assert_int_equal(traced->skipped, skipped);
        tril_encode(tril_model_tokenizer(model), text, LENGTH, ids, LENGTH, &count, &error);
        assert_memory_equal(traced->ids, ids + skipped, (size_t)tokens * sizeof *ids);
        assert_memory_equal(traced->logits, plain->logits, (size_t)tokens * V * sizeof(float));
    }
}

/* The softmax of the scores of the line's queries and keys is the map, in which nothing later is
 * read; the line's output is the mean of its values by the map. A mean is a map without scores. */
static void check_map(const TrilReading *reading, const TrilLine *line, int head) {
    float weights[T * T];
    const double scale = 1 / sqrt(line->inputs[0].width / line->heads);
    const int size = line->output.width / line->heads,
              sharing = line->output.width / line->inputs[2].width; /* heads with the same values */
    must(tril_reading_attention(reading, line->layer, head, weights, T * T, &error));
    for (int t = 0; t < T; t++) {
        double total = 0;
        for (int s = 0; s <= t; s++) total += exp(score(line, head, t, s) * scale);
        for (int s = 0; s < T; s++) {
            const double weight = s <= t ? exp(score(line, head, t, s) * scale) / total : 0;
            assert_near(weights[t * T + s], weight, s <= t ? 1e-5 : 0);
        }
        for (int c = 0; c < size; c++) {
            double mean = 0;
            for (int s = 0; s <= t; s++)
                mean += weights[t * T + s] * at(&line->inputs[2], s, head / sharing * size + c);
            assert_near(at(&line->output, t, head * size + c), mean, 1e-4);
        }
    }
}

TEST(maps) {
    float weights[T * T];
    TrilLine line;
    TrilTensor tensor;
    int heads = 0;
    for (int r = 0; tril_rung(r); r++) {
        const TrilReading *reading = read_with(make(tril_rung(r)), text, LENGTH, 1, 1);
        for (int i = 0; tril_reading_line(reading, i, &line); i++)
            for (int head = 0; strcmp(line.operation, "attention") == 0 && head < line.heads;
                 head++)
                check_map(reading, &line, head), heads++;
    }
    assert_true(heads > 0);
    const TrilReading *reading = read_with(make("average"), text, LENGTH, 1, 1);
    assert_int_equal(tril_reading_attention(reading, 0, 0, weights, T * T, &error), TRIL_OK);
    for (int i = 0; i < T * T; i++)
        assert_near(weights[i], i % T <= i / T ? 1.0 / (i / T + 1) : 0, 1e-6);
    /* large scores have weights, too */
    TrilModel *large = make("head");
    for (int i = 0; tril_model_tensor(large, i, &tensor); i++)
        for (int j = 0; j < tensor.rows * tensor.columns; j++) tensor.data[j] *= 1000;
    must(
        tril_reading_attention(read_with(large, text, LENGTH, 1, 1), 0, 0, weights, T * T, &error));
    for (int i = 0; i < T * T; i++) assert_true(weights[i] >= 0 && weights[i] <= 1);
}
