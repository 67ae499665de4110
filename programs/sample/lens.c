#include "programs/sample/lens.h"
#include "base/memory.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Returns true if the line is a call of that operation. */
static bool line_is(const TrilLine *line, const char *operation) {
    return strcmp(line->operation, operation) == 0;
}

int line_heads(const TrilLine *line) {
    return line->heads > 0 ? line->heads : 1;
}

const float *lens_row(const Lens *lens, const TrilArray *array) {
    return array->data + (size_t)lens->last * array->row;
}

/* ---- the stream ---- */

/* Returns the line that makes an array, or NULL. */
static const TrilLine *maker_of(const Lens *lens, int number) {
    for (const TrilLine *line = lens->lines; line < lens->lines + lens->count; line++)
        if (line->output.number == number) return line;
    return NULL;
}

/* Follows the stream from the embedding through its sums. */
static void follow(Lens *lens) {
    for (int i = lens->count - 1; i >= 0; i--) {
        if (line_is(&lens->lines[i], "embedding")) lens->embedding = i;
        if (line_is(&lens->lines[i], "trusted")) lens->trusted = &lens->lines[i];
    }
    int stream = lens->lines[lens->embedding].output.number;
    for (int i = lens->embedding + 1; i < lens->count; i++) {
        const TrilLine *line = &lens->lines[i];
        if (!line_is(line, "add") ||
            (line->inputs[0].number == stream) == (line->inputs[1].number == stream))
            continue;
        lens->sums[lens->sum_count++] = i;
        stream = line->output.number;
    }
}

bool lens_open(Lens *lens, const TrilModel *model, const TrilReading *reading, Error *err) {
    static const char of[] = "the explanation";
    size_t count = 0, widest = 1;
    TrilLine line;
    for (; tril_reading_line(reading, (int)count, &line); count++)
        if ((size_t)line.output.width > widest) widest = (size_t)line.output.width;
    *lens = (Lens){.last = reading->tokens - 1, .V = tril_model_tokenizer(model)->size};
    if (!memory_alloc(&lens->lines, count, sizeof *lens->lines, of, err) ||
        !memory_alloc(&lens->sums, count, sizeof *lens->sums, of, err) ||
        !memory_alloc(&lens->x, widest, sizeof *lens->x, of, err) ||
        !memory_alloc(&lens->y, widest, sizeof *lens->y, of, err))
        return false;
    while (tril_reading_line(reading, lens->count, &lens->lines[lens->count])) lens->count++;
    follow(lens);
    return true;
}

void lens_close(Lens *lens) {
    memory_free(lens->lines);
    memory_free(lens->sums);
    memory_free(lens->x);
    memory_free(lens->y);
}

int lens_stages(const Lens *lens) {
    return 1 + lens->sum_count;
}

/* Returns the line after which x has the state of a stage. */
static int line_of(const Lens *lens, int stage) {
    return stage > 0 ? lens->sums[stage - 1] : lens->embedding;
}

/* Returns true if a sum adds a linear layer of the counted probabilities. */
static bool adds_counts(const Lens *lens, int sum) {
    for (int i = 0; i < 2; i++) {
        const TrilLine *linear = maker_of(lens, lens->lines[sum].inputs[i].number);
        const TrilLine *from = linear ? maker_of(lens, linear->inputs[0].number) : NULL;
        if (from && line_is(from, "counted")) return true;
    }
    return false;
}

void lens_name(const Lens *lens, int stage, char name[STAGE_NAME]) {
    const int end = line_of(lens, stage);
    const char *added = "MLP";
    for (int i = stage > 0 ? line_of(lens, stage - 1) + 1 : end; i < end; i++)
        if (lens->lines[i].attends) added = lens->lines[i].inputs[1].data ? "attention" : "mean";
    if (stage == 0 || adds_counts(lens, end))
        snprintf(name, STAGE_NAME, stage == 0 ? "embedding" : "counts");
    else
        snprintf(name, STAGE_NAME, "%s %d", added, lens->lines[end].layer);
}

const TrilLine *lens_attention(const Lens *lens, int layer) {
    for (const TrilLine *line = lens->lines; line < lens->lines + lens->count; line++)
        if (line->attends && line->layer == layer) return line;
    return NULL;
}

/* ---- the last steps ---- */

/* y = W x + b */
static void linear(const TrilLine *line, const float *x, float *y) {
    const int in = line->inputs[0].width;
    const float *w = line->weights[0].data, *b = line->weights[1].data;
    for (int o = 0; o < line->output.width; o++, w += in) {
        double sum = b ? (double)b[o] : 0;
        for (int c = 0; c < in; c++) sum += (double)w[c] * (double)x[c];
        y[o] = (float)sum;
    }
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

/* Computes the logits from lens->x, which takes the place of the output of line `from`. */
static const float *apply(Lens *lens, int from) {
    int current = lens->lines[from].output.number;
    float trust = 0, *x = lens->x, *y = lens->y;
    for (const TrilLine *line = &lens->lines[from + 1]; line < lens->lines + lens->count; line++) {
        if (line == lens->trusted) {
            const float *counted = lens_row(lens, &line->inputs[2]);
            for (int v = 0; v < lens->V; v++) x[v] += (1 + trust) * counted[v];
            continue;
        }
        const bool norms = line_is(line, "layernorm") || line_is(line, "rmsnorm");
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
    const TrilArray *state = &lens->lines[line_of(lens, stage)].output;
    memcpy(lens->x, lens_row(lens, state), (size_t)state->width * sizeof *lens->x);
    return apply(lens, line_of(lens, lens->sum_count));
}

const float *lens_without(Lens *lens, const TrilLine *attention, int head) {
    const bool streams = lens->sum_count > 0; /* else the last steps read the heads' outputs */
    const int from = streams ? line_of(lens, lens->sum_count) : (int)(attention - lens->lines);
    const TrilArray *state = &lens->lines[from].output, *output = &attention->output;
    const int size = output->width / line_heads(attention), first = head * size;
    const float *own = lens_row(lens, output);
    memcpy(lens->x, lens_row(lens, state), (size_t)state->width * sizeof *lens->x);
    if (!streams) {
        memset(lens->x + first, 0, (size_t)size * sizeof *lens->x);
        return apply(lens, from);
    }
    const TrilLine *projection = lens->lines;
    while (projection < lens->lines + lens->count && projection->inputs[0].number != output->number)
        projection++;
    if (projection == lens->lines + lens->count || !line_is(projection, "linear")) return NULL;
    const float *w = projection->weights[0].data + first;
    for (int o = 0; o < projection->output.width; o++, w += output->width) {
        double added = 0;
        for (int c = 0; c < size; c++) added += (double)w[c] * (double)own[first + c];
        lens->x[o] -= (float)added;
    }
    return apply(lens, from);
}
