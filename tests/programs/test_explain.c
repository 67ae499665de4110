/* test_explain.c - the explanation of a prediction: its characters, its size, its numbers, the head
 * that it chooses, the logit lens. */
#include "tests/objects.h"
#include "base/escape.h"
#include "programs/glyph.h"
#include "programs/sample/lens.h"
#include "programs/sample/sample.h"

#include <locale.h>
#include <math.h>

enum { LAYERS = 2, HEADS = 2, WIDTH = 16, CONTEXT = 16, T = 12 };

static const char characters[] = "\nabZ好", text[] = "好ab\n好ab\n好abZ";

/* Characters have the widths of a usual terminal. */
__attribute__((constructor)) static void know_characters(void) {
    setlocale(LC_CTYPE, "C.UTF-8");
}

static TrilModel *subject(const char *rung) {
    TrilOptions sizes = sized(rung, LAYERS, HEADS, WIDTH, CONTEXT);
    sizes.seed = 3;
    TrilModel *model = model_of(tokenizer_of(characters), &sizes);
    shake(model);
    return model;
}

static const TrilReading *read_by(const TrilModel *model) {
    return read_with(model, text, strlen(text), true, 1);
}

/* The explanation of a reading. */
static char *explained(const TrilModel *model, const TrilReading *reading, int columns, int layer,
                       int head) {
    FILE *out = tmpfile();
    size_t length;
    assert_non_null(out);
    assert_ok(explain(out, columns, model, reading, layer, head, &err), err);
    return stream_text(out, &length);
}

/* The numbers after the first `label`. Fails the test unless there are `count`. */
static void row_of(const char *page, const char *label, double *numbers, int count) {
    const char *line = strstr(page, label);
    if (!line) fail_msg("no row %s in %s", label, page);
    line += strlen(label);
    for (int i = 0; i < count; i++) {
        char *end;
        numbers[i] = strtod(line, &end);
        if (end <= line) fail_msg("%s has %d numbers: %.99s in %s", label, i, line, page);
        line = end;
    }
}

/* The probability of each character after the text, from the logits of the reading. */
static int probabilities(const TrilModel *model, const TrilReading *reading, double *p) {
    const int V = tril_model_tokenizer(model)->size;
    const float *logits = reading->logits + (T - 1) * V;
    double sum = 0;
    int likeliest = 0;
    for (int v = 0; v < V; v++) sum += p[v] = exp((double)logits[v]);
    for (int v = 0; v < V; v++) {
        p[v] /= sum;
        if (p[v] > p[likeliest]) likeliest = v;
    }
    return likeliest;
}

static TrilTensor tensor_of(TrilModel *model, const char *name) {
    TrilTensor tensor;
    int i = 0;
    while (tril_model_tensor(model, i++, &tensor))
        if (strcmp(tensor.name, name) == 0) return tensor;
    fail_msg("no tensor %s", name);
    return tensor;
}

/* Clears columns from `first` on. */
static void clear(TrilModel *model, const char *name, int first, int count) {
    const TrilTensor tensor = tensor_of(model, name);
    for (int r = 0; r < tensor.rows; r++)
        for (int c = first; c < first + count; c++) tensor.data[r * tensor.columns + c] = 0;
}

/* ---- visible characters ---- */

TEST(glyphs) {
    static const char *const expected[][2] = {
        {"\n", "↵"},     {"\t", "⇥"},     {" ", "␣"},      {"a", "a"},
        {"\033", "·"},   {"\x7F", "·"},   {"好", "好"},    {"\u0301", "◌\u0301"},
        {"\u3000", "␣"}, {"\u202E", "·"}, {"\u061C", "·"}, {"\U000E0041", "·"}};
    for (size_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const Glyph glyph = glyph_of(tokenizer_of(expected[i][0]), 0);
        assert_string_equal(glyph.text, expected[i][1]);
        assert_int_equal(glyph.columns, strcmp(glyph.text, "好") == 0 ? 2 : 1);
    }
    const TrilTokenizer *bytes = tokenizer_of(NULL);
    assert_string_equal(glyph_of(bytes, 'a').text, "a");
    assert_string_equal(glyph_of(bytes, '\r').text, "·");
    assert_string_equal(glyph_of(bytes, 0xA0).text, "·"); /* half a character, not a space */
    assert_string_equal(glyph_of(bytes, 200).text, "·");
}

/* No control characters remain. */
TEST(safe_glyphs) {
    enum { END = 0x2100 };
    static char all[END * UTF8_MAX + 1];
    char *end = all;
    for (uint32_t code = 1; code < END; code++) end += utf8_encode(code, end);
    TrilTokenizer *tokenizer = tokenizer_of(all); /* the ids follow the order of the codes */
    for (uint32_t code = 1; code < END; code++) {
        if (code == '\r') continue; /* is read as a newline */
        char own[UTF8_MAX + 1] = "", shown[ESCAPE_SIZE];
        size_t length = (size_t)utf8_encode(code, own);
        const Glyph glyph = glyph_of(tokenizer, (int32_t)code - (code < '\r' ? 1 : 2));
        escape_first(own, length, shown);
        if (strcmp(shown, own) != 0 && code != '\n' && code != '\t')
            assert_string_equal(glyph.text, "·");
        for (const char *at = glyph.text; *at;) {
            size_t taken = escape_first(at, strlen(at), shown);
            assert_memory_equal(at, shown, taken);
            at += taken;
        }
    }
}

/* On a line spaces stay spaces. Glyphs that do not fit are dropped. */
TEST(line) {
    TrilTokenizer *tokenizer = tokenizer_of("\n a好");
    const int32_t ids[] = {2, 1, 3, 0, 3, 2};
    char shown[64];
    int columns;
    glyph_line(tokenizer, ids, 6, shown, sizeof shown);
    assert_string_equal(shown, "a 好↵好a");
    assert_int_equal(escape_fitting(shown, strlen(shown), 6, &columns), strlen("a 好↵"));
    assert_int_equal(columns, 5);
    glyph_line(tokenizer, ids, 6, shown, 9); /* of bytes */
    assert_string_equal(shown, "a 好↵");
    glyph_line(tokenizer, ids, 0, shown, sizeof shown);
    assert_string_equal(shown, "");
}

/* ---- the screen ---- */

/* At most 60 lines for twelve characters, none wider than the terminal. The likeliest character
 * comes first, with its probability. */
TEST_OF_EACH(tril_rung, size) {
    static const int widths[] = {40, 41, 80, 133, 1000};
    TrilModel *model = subject(name);
    const TrilReading *reading = read_by(model);
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++) {
        char *page = explained(model, reading, widths[w], ANY, ANY);
        int lines = 0;
        for (char *line = page; *line; lines++) {
            const size_t length = strcspn(line, "\n");
            int columns = 0;
            for (size_t i = 0, bytes; i < length; i += bytes) {
                uint32_t code;
                bytes = (size_t)utf8_decode(line + i, length - i, &code);
                assert_true(bytes > 0);
                columns += code == 0x597D ? 2 : 1;
            }
            if (columns > widths[w]) fail_msg("%d columns: %.*s", columns, (int)length, line);
            line += length + 1;
        }
        if (widths[w] >= 80) assert_in_range(lines, 1, 60);
    }
    double p[8], percent;
    const int32_t first = probabilities(model, reading, p);
    const char *glyph = glyph_of(tril_model_tokenizer(model), first).text;
    row_of(explained(model, reading, 80, ANY, ANY), formatted("characters\n  %s ", glyph), &percent,
           1);
    assert_near(percent, 100 * p[first], 0.051);
}

/* ---- the head ---- */

/* The probability of the likeliest character without a head is that of the model without it, and
 * the head whose absence changes it most is shown. */
TEST(heads) {
    static const char projection[] = "sa_heads.proj.weight";
    double p[8], without[HEADS], shown;
    TrilModel *model = subject("multihead");
    const int first = probabilities(model, read_by(model), p);
    for (int head = 0; head < HEADS; head++) {
        TrilModel *cut = subject("multihead");
        double q[8];
        clear(cut, projection, head * WIDTH / HEADS, WIDTH / HEADS);
        probabilities(cut, read_by(cut), q);
        without[head] = q[first];
        const char *page = explained(model, read_by(model), 200, 0, head);
        const char *said = strstr(page, "would have ");
        assert_non_null(said);
        shown = strtod(said + strlen("would have "), NULL);
        assert_near(shown, 100 * without[head], 0.051);
    }
    const int most = fabs(log(without[1] / p[first])) > fabs(log(without[0] / p[first]));
    row_of(explained(model, read_by(model), 200, ANY, ANY), "\nBlock 0, head", &shown, 1);
    assert_true(shown == most);
}

/* Map, scores and weights are those of the reading and its line, and the output is the sum of the
 * values. */
static void check_head(const TrilModel *model, const TrilReading *reading, int layer, int head) {
    float weights[T * T];
    double row[T], values[T], sum = 0;
    const char *page = explained(model, reading, 80, layer, head);
    TrilLine line;
    int i = 0, heads;
    must(tril_reading_attention(reading, layer, head, weights, T * T, &error));
    while (tril_reading_line(reading, i, &line) && !(line.attends && line.layer == layer)) i++;
    heads = line.heads > 0 ? line.heads : 1;
    row_of(strstr(page, "percent"), "\nZ ", row, T);
    for (int t = 0; t < T; t++) assert_near(row[t], 100 * weights[T * T - T + t], 0.51);
    row_of(page, "\nscore  ", row, T);
    for (int t = 0; t < T; t++)
        assert_near(row[t], score(&line, head, T - 1, t) / sqrt(line.inputs[0].width / heads),
                    0.051);
    row_of(page, "\nweight", row, T);
    for (int t = 0; t < T; t++) assert_near(row[t], weights[T * T - T + t], 0.00051);
    row_of(page, "\nvalue[0]", values, T);
    for (int t = 0; t < T; t++) sum += values[t] * weights[T * T - T + t];
    row_of(page, "\n  output", row, 1);
    assert_near(row[0], sum, 0.051);
    assert_near(
        row[0],
        line.output.data[(T - 1) * line.output.row + (size_t)(head * line.output.width / heads)],
        0.00051);
}

TEST_OF_EACH(tril_rung, numbers) {
    TrilModel *model = subject(name);
    const TrilReading *reading = read_by(model);
    if (strcmp(name, "average") == 0) return; /* has weights, but no scores */
    for (int layer = 0; layer < reading->layers; layer++)
        for (int head = 0; head < reading->heads; head++) check_head(model, reading, layer, head);
}

/* ---- the logit lens ---- */

/* The last stage is the model itself; and the last stage of a first layer, the prediction of the
 * model whose second layer adds nothing. */
TEST(stages) {
    static const char *const last[] = {
        "transformer.h.1.attn.c_proj.weight", "transformer.h.1.attn.c_proj.bias",
        "transformer.h.1.mlp.c_proj.weight", "transformer.h.1.mlp.c_proj.bias"};
    double p[8], q[8], shown;
    TrilModel *whole = subject("gpt"), *cut = subject("gpt");
    for (size_t i = 0; i < sizeof last / sizeof *last; i++)
        clear(cut, last[i], 0, tensor_of(cut, last[i]).columns);
    const int first = probabilities(whole, read_by(whole), p);
    probabilities(cut, read_by(cut), q);
    const char *page = explained(whole, read_by(whole), 80, ANY, ANY);
    const char *row = strstr(page, "\n  MLP 0 ");
    assert_non_null(row);
    shown = strtod(strchr(row, '(') + 1, NULL);
    assert_near(shown, 100 * q[first], 0.051);
    row = strstr(page, "\n  MLP 1 ");
    assert_non_null(row);
    shown = strtod(strchr(row, '(') + 1, NULL);
    assert_near(shown, 100 * p[first], 0.051);
}

/* A branch without attention is an MLP only with its activation; an own layer gives its name. */
TEST(own_layers) {
    TrilLine lines[] = {
        {.operation = "embedding"}, {.operation = "rmsnorm"}, {.operation = "own"},
        {.operation = "linear"},    {.operation = "add"},     {.operation = "linear"},
        {.operation = "gelu"},      {.operation = "linear"},  {.operation = "add"}};
    int stages[] = {0, 4, 8};
    const Lens lens = {.lines = lines, .stages = stages, .count = 9, .stage_count = 3};
    char name[STAGE_NAME];
    lens_name(&lens, 1, name);
    assert_string_equal(name, "own 0");
    lens_name(&lens, 2, name);
    assert_string_equal(name, "MLP 0");
}

/* With counts, the stages end with the model's prediction, and counting's own follows. */
TEST(counts) {
    static const char seen[] = "好ab\n好abZ好ab\n好ab\n好abZ好ab\n";
    TrilOptions options = sized("ngram", LAYERS, HEADS, WIDTH, CONTEXT);
    TrilModel *model = model_of(tokenizer_of(characters), &options);
    begin_on(model, text_of(tril_model_tokenizer(model), seen, strlen(seen), 0.2), &options);
    shake(model);
    double p[8];
    const TrilReading *reading = read_by(model);
    const int first = probabilities(model, reading, p);
    const char *page = explained(model, reading, 80, ANY, ANY), *row = strstr(page, "\n  MLP 1 ");
    assert_non_null(row);
    assert_near(strtod(strchr(row, '(') + 1, NULL), 100 * p[first], 0.051);
    assert_non_null(strstr(page, "\n  counts "));
    assert_non_null(strstr(row, "\n  counts alone "));
}
