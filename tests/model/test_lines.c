/* test_lines.c - the computation of a model, line by line (tril_reading_line): each number of each
 * line follows from the numbers of the lines before it and from the weights, by the layer's
 * definition in double precision. */
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

/* Reads the first `length` characters of the text, and keeps its lines or not. */
static TrilReading *trace(const TrilModel *model, size_t length, int threads, int lines) {
    return read_with(model, text, length, lines, threads);
}

static double at(const TrilArray *array, int t, int column) {
    return (double)array->data[(size_t)t * array->row + (size_t)column];
}

/* ---- what each layer should have computed: column `c` of token `t` ---- */

static double embedding(const TrilReading *reading, const TrilLine *line, int t, int c) {
    const TrilWeights *tokens = &line->weights[0], *positions = &line->weights[1];
    const int32_t id = tril_reading_ids(reading)[t];
    double x = (double)tokens->data[id * tokens->columns + c];
    return positions->data ? x + (double)positions->data[t * positions->columns + c] : x;
}

static double linear(const TrilLine *line, int t, int c) {
    const TrilWeights *w = &line->weights[0], *b = &line->weights[1];
    double sum = b->data ? (double)b->data[c] : 0;
    assert_int_equal(w->rows, line->output.width);
    assert_int_equal(w->columns, line->inputs[0].width);
    for (int i = 0; i < w->columns; i++)
        sum += (double)w->data[c * w->columns + i] * at(&line->inputs[0], t, i);
    return sum;
}

/* Of all channels, or of each head's; layernorm has a mean. */
static double norm(const TrilLine *line, int t, int c, bool centered) {
    const TrilArray *x = &line->inputs[0];
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    int size = x->width / line->heads, first = c / size * size;
    double mean = 0, variance = 0;
    for (int i = first; i < first + size && centered; i++) mean += at(x, t, i) / size;
    for (int i = first; i < first + size; i++) variance += pow(at(x, t, i) - mean, 2) / size;
    double scaled = (at(x, t, c) - mean) / sqrt(variance + (centered ? 1e-5 : 1e-6));
    return scaled * (double)w[c - first] + (b ? (double)b[c - first] : 0);
}

static double convolution(const TrilLine *line, int t, int c) {
    const TrilWeights *taps = &line->weights[0];
    double sum = at(&line->inputs[0], t, c);
    for (int k = 0; k < taps->rows && k <= t; k++)
        sum += (double)taps->data[k * taps->columns + c] * at(&line->inputs[0], t - k, c);
    return sum;
}

static double rotary(const TrilLine *line, int t, int c) {
    const TrilArray *x = &line->inputs[0], *angles = &line->inputs[1];
    int size = x->width / line->heads, half = size / 2, i = c % half, first = c / size * size;
    double angle = t / pow(10000, 2.0 * i / size);
    assert_near(at(angles, t, i), cos(angle), 1e-5);
    assert_near(at(angles, t, half + i), sin(angle), 1e-5);
    double one = at(x, t, first + i), other = at(x, t, first + half + i);
    return c - first < half ? one * cos(angle) - other * sin(angle)
                            : other * cos(angle) + one * sin(angle);
}

static double mean(const TrilLine *line, int t, int c) {
    double sum = 0;
    for (int s = 0; s <= t; s++) sum += at(&line->inputs[0], s, c) / (t + 1);
    return sum;
}

/* The score of tokens t and s in a head, before it is scaled. Heads share keys and values. */
static double score(const TrilLine *line, int head, int t, int s) {
    const TrilArray *q = &line->inputs[0], *k = &line->inputs[1];
    int size = q->width / line->heads, shared = head / (line->heads / (k->width / size));
    double sum = 0;
    for (int i = 0; i < size; i++) sum += at(q, t, head * size + i) * at(k, s, shared * size + i);
    return sum;
}

static double attention(const TrilLine *line, int t, int c) {
    const TrilArray *q = &line->inputs[0], *v = &line->inputs[2];
    int size = q->width / line->heads, head = c / size;
    int shared = head / (line->heads / (v->width / size));
    double sum = 0, total = 0;
    for (int s = 0; s <= t; s++) {
        double weight = exp(score(line, head, t, s) / sqrt(size));
        sum += weight * at(v, s, shared * size + c % size);
        total += weight;
    }
    return sum / total;
}

static double activation(const TrilLine *line, int t, int c, bool gated) {
    double x = at(&line->inputs[0], t, c);
    if (gated) return x / (1 + exp(-x)) * at(&line->inputs[1], t, c);
    return x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x))) / 2;
}

/* The squares of a row of roots sum to 1. */
static double counted(const TrilLine *line, int t, int c) {
    double rest = 1;
    for (int v = 0; v < line->output.width; v++)
        if (v != c) rest -= at(&line->output, t, v) * at(&line->output, t, v);
    return sqrt(rest);
}

static double trusted(const TrilLine *line, int t, int c) {
    return at(&line->inputs[0], t, c) +
           (1 + at(&line->inputs[1], t, 0)) * at(&line->inputs[2], t, c);
}

static double computed(const TrilReading *reading, const TrilLine *line, int t, int c) {
    const char *name = line->operation;
    if (strcmp(name, "embedding") == 0) return embedding(reading, line, t, c);
    if (strcmp(name, "linear") == 0) return linear(line, t, c);
    if (strcmp(name, "layernorm") == 0) return norm(line, t, c, true);
    if (strcmp(name, "rmsnorm") == 0) return norm(line, t, c, false);
    if (strcmp(name, "convolution") == 0) return convolution(line, t, c);
    if (strcmp(name, "rotary") == 0) return rotary(line, t, c);
    if (strcmp(name, "mean") == 0) return mean(line, t, c);
    if (strcmp(name, "attention") == 0) return attention(line, t, c);
    if (strcmp(name, "gelu") == 0) return activation(line, t, c, false);
    if (strcmp(name, "swiglu") == 0) return activation(line, t, c, true);
    if (strcmp(name, "add") == 0) return at(&line->inputs[0], t, c) + at(&line->inputs[1], t, c);
    if (strcmp(name, "counted") == 0) return counted(line, t, c);
    if (strcmp(name, "trusted") == 0) return trusted(line, t, c);
    fail_msg("tril.h knows no operation %s", name);
    return NAN;
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

/* True if line i reads only results of lines before it. */
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

/* True if the line's weights are those of the model with that name. */
static void check_weights(TrilModel *model, const TrilLine *line) {
    for (int j = 0; j < TRIL_LINE_WEIGHTS; j++) {
        const TrilWeights *weights = &line->weights[j];
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

/* The last row of a linear layer or a norm, once more. */
static void check_apply(const TrilReading *reading, const TrilLine *line, int i) {
    static const char *const rows[] = {"linear", "layernorm", "rmsnorm"};
    const TrilArray *x = &line->inputs[0], *y = &line->output;
    float again[256];
    bool row = false;
    const int t = tril_reading_tokens(reading) - 1;
    assert_true(y->width <= 256);
    for (int j = 0; j < 3; j++) row = row || strcmp(rows[j], line->operation) == 0;
    const float *last = x->number ? x->data + (size_t)t * x->row : again;
    assert_int_equal(tril_reading_apply(reading, i, last, again), row);
    for (int c = 0; c < y->width && row; c++) assert_near(again[c], at(y, t, c), 1e-5);
}

static void check_line(const TrilReading *reading, const TrilLine *line, int i) {
    for (int t = 0; t < tril_reading_tokens(reading); t++)
        for (int c = 0; c < line->output.width; c++) {
            double expected = computed(reading, line, t, c), found = at(&line->output, t, c);
            if (!(fabs(found - expected) <= 1e-4 * (1 + fabs(expected))))
                fail_msg("line %d, %s: %g instead of %g", i, line->operation, found, expected);
        }
}

static void check_reading(TrilModel *model, const TrilReading *reading) {
    TrilLine line;
    int count = 0;
    for (; tril_reading_line(reading, count, &line); count++) {
        check_inputs(reading, &line, count);
        check_weights(model, &line);
        check_line(reading, &line, count);
        check_apply(reading, &line, count);
        assert_in_range(line.layer, 0, LAYERS - 1);
    }
    assert_true(count > 0 && line.output.data == tril_reading_logits(reading));
    assert_int_equal(line.output.width, tril_tokenizer_size(tril_model_tokenizer(model)));
    assert_int_equal(tril_reading_line(reading, -1, &line), 0);
    assert_int_equal(tril_reading_apply(reading, count, NULL, NULL), 0);
}

/* The lines of every rung lead from the ids to the logits, also with several threads, and of a
 * single character. Of a long text the end is read; the logits are those of a reading that keeps
 * nothing, to the bit. */
TEST(lines) {
    for (int r = 0; tril_rung(r); r++) {
        TrilModel *model = make(tril_rung(r));
        size_t V = (size_t)tril_tokenizer_size(tril_model_tokenizer(model)), count;
        for (int i = 0; i < 4; i++) {
            const size_t length = i % 2 ? LENGTH : 1;
            const TrilReading *traced = trace(model, length, i < 2 ? 1 : 4, 1);
            const TrilReading *plain = trace(model, length, 1, 0);
            const int tokens = tril_reading_tokens(traced), skipped = i % 2 ? BEFORE : 0;
            int32_t ids[LENGTH];
            TrilLine line;
            check_reading(model, traced);
            assert_int_equal(tril_reading_line(plain, 0, &line), 0);
            assert_int_equal(tokens, i % 2 ? T : 1);
            assert_int_equal(tril_reading_skipped(traced), skipped);
            tril_encode(tril_model_tokenizer(model), text, LENGTH, ids, LENGTH, &count, &error);
            assert_memory_equal(tril_reading_ids(traced), ids + skipped,
                                (size_t)tokens * sizeof *ids);
            assert_memory_equal(tril_reading_logits(traced), tril_reading_logits(plain),
                                (size_t)tokens * V * sizeof(float));
        }
    }
}

/* The scores of each rung with attention are those of the line's queries and keys, and their
 * softmax is the map, in which nothing later is read. A mean is a map without scores. */
static void check_scores(const TrilReading *reading, const TrilLine *line, int head) {
    float scores[T * T], weights[T * T];
    const double scale = 1 / sqrt(line->inputs[0].width / line->heads);
    assert_int_equal(tril_reading_scores(reading, line->layer, head, scores, T * T, &error),
                     TRIL_OK);
    assert_int_equal(tril_reading_attention(reading, line->layer, head, weights, T * T, &error),
                     TRIL_OK);
    for (int t = 0; t < T; t++) {
        double total = 0;
        for (int s = 0; s <= t; s++) total += exp((double)scores[t * T + s] * scale);
        for (int s = 0; s < T; s++) {
            const double weight = exp((double)scores[t * T + s] * scale) / total;
            assert_near(scores[t * T + s], score(line, head, t, s), 1e-5);
            assert_near(weights[t * T + s], s <= t ? weight : 0, s <= t ? 1e-5 : 0);
        }
    }
}

TEST(scores) {
    float scores[T * T], weights[T * T];
    TrilLine line;
    int heads = 0;
    for (int r = 0; tril_rung(r); r++) {
        const TrilReading *reading = trace(make(tril_rung(r)), LENGTH, 1, 1);
        for (int i = 0; tril_reading_line(reading, i, &line); i++)
            for (int head = 0; strcmp(line.operation, "attention") == 0 && head < line.heads;
                 head++)
                check_scores(reading, &line, head), heads++;
    }
    assert_true(heads > 0);
    const TrilReading *reading = trace(make("modern"), LENGTH, 1, 1);
    assert_int_equal(tril_reading_scores(reading, 0, HEADS, scores, T * T, &error), TRIL_ARGUMENT);
    assert_int_equal(tril_reading_scores(reading, 0, 0, scores, T * T - 1, &error), TRIL_ARGUMENT);
    reading = trace(make("average"), LENGTH, 1, 1);
    assert_int_equal(tril_reading_scores(reading, 0, 0, scores, T * T, &error), TRIL_ARGUMENT);
    expect_error(error, "");
    assert_int_equal(tril_reading_attention(reading, 0, 0, weights, T * T, &error), TRIL_OK);
    for (int i = 0; i < T * T; i++)
        assert_near(weights[i], i % T <= i / T ? 1.0 / (i / T + 1) : 0, 1e-6);
}
