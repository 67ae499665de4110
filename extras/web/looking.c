/* looking.c - a line, and what a rung makes of it. */
#include "base/clock.h"
#include "base/utf8.h"
#include "extras/web/answer.h"
#include "extras/web/memfile.h"
#include "extras/web/tab.h"
#include "extras/web/web.h"

#include <stdlib.h>

enum { BARS = 16 };

static const char no_line[] = "no line has been read";

void web_set_sampler(double temperature, int top_k, double top_p, double seed) {
    tab.sampling.temperature = temperature;
    tab.sampling.top_k = top_k;
    tab.sampling.top_p = top_p;
    tab.sampling.seed = (uint64_t)seed;
}

static bool look_at(int rung, TrilError *error) {
    Trainer *trainer = tab_trainer(rung, error);
    if (!trainer) return false;
    if (tab.looked_at == rung) return true;
    tab_close_look();
    tab.look = look_open(trainer->model);
    tab.looked_at = rung;
    return true;
}

/* The text in the line's room. */
static const char *line_given(size_t *length) {
    const char *line = memfile_bytes(line_file, length);
    return line ? line : "";
}

static int say_next(void) {
    Error err = {0};
    TrilError error;
    Buffer json = buffer_begin("the answer", &err);
    if (look_write_next(&tab.look, &tab.sampling, BARS, &json, &error))
        return answer_json(&json, &err);
    buffer_end(&json);
    return answer_refusal(error.text);
}

int web_read_line(int rung) {
    TrilError error;
    size_t length;
    const char *line = line_given(&length);
    return look_at(rung, &error) && look_read(&tab.look, line, length, &error)
               ? say_next()
               : answer_refusal(error.text);
}

int web_next(void) {
    return tab.look.reading ? say_next() : answer_refusal(no_line);
}

typedef struct {
    int layer, head;
} Head;

int web_heads(void) {
    Error err = {0};
    int layers = 0, heads = 0;
    if (tab.look.reading) tril_reading_heads(tab.look.reading, &layers, &heads);
    Buffer json = buffer_begin("the answer", &err);
    buffer_printf(&json, "{\"layers\":%d,\"heads\":%d}", layers, heads);
    return answer_json(&json, &err);
}

static bool write_map(FILE *out, const void *what, Error *err) {
    const Head *head = what;
    return look_draw_map(&tab.look, head->layer, head->head, out, err);
}

int web_draw_map(int layer, int head) {
    const Head which = {layer, head};
    return tab.look.reading ? answer_written(write_map, &which) : answer_refusal(no_line);
}

static bool write_steps(FILE *out, const void *what, Error *err) {
    const Head *head = what;
    return look_explain(&tab.look, head->layer, head->head, out, err);
}

int web_explain(int layer, int head) {
    const Head which = {layer, head};
    return tab.look.reading ? answer_written(write_steps, &which) : answer_refusal(no_line);
}

int web_prompt(int rung) {
    TrilError error;
    size_t length;
    const char *line = line_given(&length);
    return (look_at(rung, &error) && look_prompt(&tab.look, line, length, &tab.sampling, &error)) ||
           answer_refusal(error.text);
}

int web_write_on(int most, double milliseconds) {
    TrilError error;
    double end = clock_seconds() + milliseconds / 1000;
    if (!tab.look.writer) return answer_refusal(no_line);
    if (tril_writer_set(tab.look.writer, &tab.sampling, &error) != TRIL_OK)
        return answer_refusal(error.text);
    char *text = malloc((size_t)most * UTF8_MAX + 1);
    if (!text) return answer_refusal("not enough memory for the text");
    size_t length = 0;
    for (int i = 0; i < most && (i == 0 || clock_seconds() < end); i++)
        length += (size_t)tril_writer_write(tab.look.writer, text + length);
    if (length > 0) return answer_bytes(text, length);
    free(text);
    return answer_refusal("the model's predictions are not finite numbers");
}

int web_score(int rung) {
    Error err = {0};
    TrilError error;
    size_t length, count = 0;
    double nats;
    const char *text = line_given(&length);
    const Trainer *trainer = tab_trainer(rung, &error);
    if (!trainer || tril_evaluate(trainer->model, text, length, 1, &nats, &error) != TRIL_OK)
        return answer_refusal(error.text);
    tril_encode(tril_model_tokenizer(trainer->model), text, length, NULL, 0, &count, NULL);
    Buffer json = buffer_begin("the answer", &err);
    buffer_printf(&json, "{\"characters\":%zu", count);
    answer_number(&json, "nats", nats);
    buffer_printf(&json, "}");
    return answer_json(&json, &err);
}
