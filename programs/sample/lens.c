#include "programs/sample/lens.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the line is a call of that operation. */
static bool line_is(const TrilLine *line, const char *operation) {
    return strcmp(line->operation, operation) == 0;
}

static bool is_norm(const TrilLine *line) {
    return line_is(line, "layernorm") || line_is(line, "rmsnorm");
}

double dot_product(const float *a, const float *b, int n) {
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)a[i] * (double)b[i];
    return sum;
}

const float *lens_row(const Lens *lens, const TrilArray *array) {
    return array->data + (size_t)lens->last * array->row;
}

/* ---- the stream ---- */

/* Follows the stream from the embedding through its sums. */
static void follow(Lens *lens) {
    int stream = 0;
    for (int i = 0; i < lens->count; i++) {
        const TrilLine *line = &lens->lines[i];
        const bool begins = stream == 0 && line_is(line, "embedding");
        const bool grows = stream > 0 && line_is(line, "add") &&
                           (line->inputs[0].number == stream) != (line->inputs[1].number == stream);
        if (line_is(line, "trusted")) lens->trusted = line;
        if (!begins && !grows) continue;
        lens->stages[lens->stage_count++] = i;
        stream = line->output.number;
    }
}

bool lens_open(Lens *lens, const TrilReading *reading, Error *err) {
    static const char of[] = "the explanation";
    size_t count = 0, widest = 1;
    TrilLine line;
    for (; tril_reading_line(reading, (int)count, &line); count++)
        if ((size_t)line.output.width > widest) widest = (size_t)line.output.width;
    *lens = (Lens){.last = reading->tokens - 1};
    if (!memory_alloc(&lens->lines, count, sizeof *lens->lines, of, err) ||
        !memory_alloc(&lens->stages, count, sizeof *lens->stages, of, err) ||
        !memory_alloc(&lens->x, widest, sizeof *lens->x, of, err) ||
        !memory_alloc(&lens->y, widest, sizeof *lens->y, of, err))
        return false;
    while (tril_reading_line(reading, lens->count, &lens->lines[lens->count])) lens->count++;
    follow(lens);
    return true;
}

void lens_close(Lens *lens) {
    memory_free(lens->lines);
    memory_free(lens->stages);
    memory_free(lens->x);
    memory_free(lens->y);
}

void lens_name(const Lens *lens, int stage, char name[STAGE_NAME]) {
    const int begin = stage > 1 ? lens->stages[stage - 1] + 1 : 0, end = lens->stages[stage];
    const char *added = "linear"; /* or the layer that attends, or else the last of the others */
    bool counted = false, attends = false;
    for (const TrilLine *line = &lens->lines[begin]; line < &lens->lines[end]; line++) {
        counted = counted || line_is(line, "counted");
        if (attends || line_is(line, "embedding") || line_is(line, "linear") || is_norm(line))
            continue;
        attends = line->attends;
        added = line_is(line, "gelu") || line_is(line, "swiglu") ? "MLP" : line->operation;
    }
    if (stage == 0 || counted)
        snprintf(name, STAGE_NAME, stage == 0 ? "embedding" : "counts");
    else
        snprintf(name, STAGE_NAME, "%s %d", added, lens->lines[end].layer);
}

/* ---- the last steps ---- */

/* y = W x + b */
static void linear(const TrilLine *line, const float *x, float *y) {
    const int in = line->inputs[0].width;
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    for (int o = 0; o < line->output.width; o++, w += in)
        y[o] = (float)(dot_product(w, x, in) + (b ? (double)b[o] : 0));
}

/* LayerNorm: y = (x - mean) / sqrt(variance + 1e-5) w + b; RMSNorm: y = x / sqrt(mean of x x +
 * 1e-6) w. */
static void norm(const TrilLine *line, const float *x, float *y) {
    const bool centered = line_is(line, "layernorm");
    const int n = line->inputs[0].width;
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    double mean = 0, variance = centered ? 1e-5 : 1e-6;
    for (int c = 0; c < n && centered; c++) mean += (double)x[c] / n;
    for (int c = 0; c < n; c++) variance += ((double)x[c] - mean) * ((double)x[c] - mean) / n;
    for (int c = 0; c < n; c++)
        y[c] =
            (float)(((double)x[c] - mean) / sqrt(variance) * (double)w[c] + (b ? (double)b[c] : 0));
}

/* Sets lens->x to the last character's row of x after a stage. */
static void take_stage(Lens *lens, int stage) {
    const TrilArray *state = &lens->lines[lens->stages[stage]].output;
    memcpy(lens->x, lens_row(lens, state), (size_t)state->width * sizeof *lens->x);
}

/* Computes the logits from lens->x, which takes the place of the last stage. */
static const float *finish(Lens *lens) {
    const TrilLine *line = &lens->lines[lens->stages[lens->stage_count - 1]];
    int current = line->output.number;
    float trust = 0, *x = lens->x, *y = lens->y;
    while (++line < lens->lines + lens->count) {
        if (line == lens->trusted) {
            const float *counted = lens_row(lens, &line->inputs[2]);
            for (int v = 0; v < line->output.width; v++) x[v] += (1 + trust) * counted[v];
            continue;
        }
        const bool norms = is_norm(line);
        if (line->inputs[0].number != current || line->heads > 1 ||
            !(norms || line_is(line, "linear")))
            return NULL;
        if (lens->trusted && line->output.number == lens->trusted->inputs[1].number) {
            linear(line, x, &trust);
            continue;
        }
        (norms ? norm : linear)(line, x, y);
        float *read = x;
        x = y;
        y = read;
        current = line->output.number;
    }
    return x;
}

const float *lens_logits(Lens *lens, int stage) {
    if (lens->stage_count < 2) return NULL;
    take_stage(lens, stage);
    return finish(lens);
}

const float *lens_without(Lens *lens, const TrilLine *attention, int head) {
    const TrilArray *output = &attention->output;
    const int size = output->width / attention->heads, first = head * size;
    const float *own = lens_row(lens, output) + first;
    const TrilLine *projection = attention, *end = lens->lines + lens->count;
    while (projection < end && projection->inputs[0].number != output->number) projection++;
    if (lens->stage_count < 2 || projection == end || !line_is(projection, "linear")) return NULL;
    const float *w = projection->weights[0].data + first;
    take_stage(lens, lens->stage_count - 1);
    for (int o = 0; o < projection->output.width; o++, w += output->width)
        lens->x[o] -= (float)dot_product(w, own, size);
    return finish(lens);
}
