/* looking.c - a line, and what a rung makes of it. */
#include "base/clock.h"
#include "base/memory.h"
#include "report/explain.h"
#include "web/answer.h"
#include "web/memfile.h"
#include "web/tab.h"
#include "web/tril.h"

#include <stdlib.h>
#include <string.h>

enum { BARS = 16 };

void tril_set_sampler(double temperature, int top_k, double top_p, double seed) {
    tab.sampler = (Sampler){temperature, top_k, top_p, (uint64_t)seed};
}

static bool open_look(int rung, Error *err) {
    Trainer *trainer = tab_trainer(rung, err);
    if (!trainer) return false;
    if (tab.looked_at == rung) return true;
    tab_close_look();
    if (!look_open(&tab.look, &trainer->model, &tab.corpus.vocab, err)) {
        look_close(&tab.look);
        return false;
    }
    tab.looked_at = rung;
    return true;
}

static int say_next(void) {
    Error err = {0};
    JsonText json = json_begin("the answer", &err);
    look_write_next(&tab.look, &tab.sampler, BARS, &json);
    return answer_json(&json, &err);
}

int tril_read_line(int rung) {
    Error err = {0};
    size_t length;
    const char *line = memfile_bytes(line_file, &length);
    return open_look(rung, &err) && look_read(&tab.look, line ? line : "", length, &err)
               ? say_next()
               : answer_refusal(&err);
}

int tril_next(void) {
    Error err = {0};
    if (tab.looked_at >= 0 && tab.look.count > 0) return say_next();
    fail(&err, "no line has been read");
    return answer_refusal(&err);
}

typedef struct {
    int layer, head;
} Head;

static bool write_map(FILE *out, const void *what, Error *err) {
    const Head *head = what;
    return look_draw_map(&tab.look, head->layer, head->head, out, err);
}

int tril_heads(void) {
    Error err = {0};
    AttentionView any;
    int layers = 0, count = 0;
    while (tab.looked_at >= 0 && run_attention(tab.look.run, layers, 0, &any)) layers++;
    while (layers > 0 && run_attention(tab.look.run, 0, count, &any)) count++;
    JsonText json = json_begin("the answer", &err);
    json_printf(&json, "{\"layers\":%d,\"heads\":%d}", layers, count);
    return answer_json(&json, &err);
}

int tril_draw_map(int layer, int head) {
    const Head which = {layer, head};
    return answer_written(write_map, &which);
}

static bool write_steps(FILE *out, const void *what, Error *err) {
    const Head *head = what;
    const Explained explained = {tab.look.model->config.model,
                                 tab.look.model,
                                 tab.look.vocab,
                                 tab.look.ids,
                                 tab.look.count,
                                 0};
    return explain_part(out, &explained, head->layer, head->head, err);
}

int tril_explain(int layer, int head) {
    Error err = {0};
    const Head which = {layer, head};
    if (tab.looked_at >= 0 && tab.look.count > 0) return answer_written(write_steps, &which);
    fail(&err, "no line has been read");
    return answer_refusal(&err);
}

int tril_prompt(int rung) {
    Error err = {0};
    size_t length;
    const char *line = memfile_bytes(line_file, &length);
    if (open_look(rung, &err) && look_prompt(&tab.look, line ? line : "", length, &err)) return 1;
    return answer_refusal(&err);
}

int tril_write_on(int most, double milliseconds) {
    Error err = {0};
    double end = clock_seconds() + milliseconds / 1000;
    char *text = malloc((size_t)most * UTF8_MAX + 1);
    size_t length = 0;
    if (!text || tab.looked_at < 0 || !tab.look.next) {
        free(text);
        fail(&err, "no line has been read");
        return answer_refusal(&err);
    }
    for (int i = 0; i < most && (i == 0 || clock_seconds() < end); i++)
        length += (size_t)look_write(&tab.look, &tab.sampler, text + length);
    return answer_bytes(text, length);
}

/* The text in the line's room as ids, and a run of a rung that reads them. */
static bool open_score(int rung, int32_t **ids, size_t *count, Run **run, Error *err) {
    enum { WINDOWS = 16 };
    size_t length;
    const char *text = memfile_bytes(line_file, &length);
    Trainer *trainer = tab_trainer(rung, err);
    if (!trainer) return false;
    RunOptions options = {
        .batch = WINDOWS, .length = trainer->model.config.T, .frozen = true, .threads = 1};
    return vocab_encode(&tab.corpus.vocab, line_file, text ? text : "", length, ids, count, err) &&
           (*count >= 2 || fail(err, "a score needs two characters")) &&
           run_open(run, &trainer->model, &options, err);
}

int tril_score(int rung) {
    Error err = {0};
    Run *run = NULL;
    int32_t *ids = NULL;
    size_t count = 0;
    bool ok = open_score(rung, &ids, &count, &run, &err);
    JsonText json = json_begin("the answer", &err);
    if (ok) {
        json_printf(&json, "{\"characters\":%zu", count);
        answer_number(&json, "nats", run_evaluate(run, ids, count, 1));
        json_printf(&json, "}");
    }
    run_close(run);
    memory_free(ids);
    if (ok) return answer_json(&json, &err);
    json_end(&json);
    return answer_refusal(&err);
}
