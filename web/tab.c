/* tab.c - the tab's text, and what belongs to all rungs. */
#include "web/tab.h"
#include "base/memory.h"
#include "web/answer.h"
#include "web/memfile.h"
#include "web/tril.h"

#include <string.h>

enum { MAX_TEXT = 32 << 20, CONTEXT_OF_TEXT = 8 };

static const double held_out = 0.1; /* the share of the text, as in ./train */

const char text_file[] = "the text", checkpoint_file[] = "the checkpoint", line_file[] = "the line";

Tab tab = {.looked_at = -1, .sampler = {.temperature = 0.8, .top_p = 1, .seed = 1337}};

/* ---- bytes from the page ---- */

size_t tril_memory_limit(void) {
    return memory_installed();
}

enum { ROOM_TEXT, ROOM_CHECKPOINT, ROOM_LINE };

char *tril_room(int kind, size_t length) {
    Error err = {0};
    char *bytes = NULL;
    const char *name = kind == ROOM_TEXT   ? text_file
                       : kind == ROOM_LINE ? line_file
                                           : checkpoint_file;
    if (kind == ROOM_TEXT && length > MAX_TEXT)
        fail(&err, "a text of %.0f MB is too long for this page, which takes %d; ./train takes it",
             (double)length / 1e6, MAX_TEXT / 1000000);
    else
        memfile_make(name, length, &bytes, &err);
    if (!bytes) answer_refusal(&err);
    return bytes;
}

/* ---- the ladder ---- */

int tril_ladder(void) {
    Error err = {0};
    JsonText json = json_begin("the answer", &err);
    for (int i = 0; model_name(i); i++) {
        json_printf(&json, "%s{\"rung\":%d", i ? "," : "[", i);
        answer_text(&json, "name", model_name(i));
        answer_text(&json, "idea", model_idea(model_name(i)));
        json_printf(&json, "}");
    }
    json_printf(&json, "]");
    return answer_json(&json, &err);
}

/* ---- the rungs ---- */

static bool is_there(int rung) {
    return rung >= 0 && rung < MAX_RUNGS && tab.there[rung];
}

Trainer *tab_trainer(int rung, Error *err) {
    if (is_there(rung)) return &tab.trainers[rung];
    fail(err, "there is no such model yet");
    return NULL;
}

void tab_close_look(void) {
    if (tab.looked_at >= 0) look_close(&tab.look);
    tab.looked_at = -1;
}

void tril_drop(int rung) {
    if (!is_there(rung)) return;
    if (tab.looked_at == rung) tab_close_look();
    trainer_close(&tab.trainers[rung]);
    tab.there[rung] = false;
}

void tab_drop_all(void) {
    for (int i = 0; i < MAX_RUNGS; i++) tril_drop(i);
}

void tril_close(void) {
    tab_drop_all();
    corpus_free(&tab.corpus);
    tab.has_text = false;
    memfile_remove(text_file);
    memfile_remove(checkpoint_file);
    memfile_remove(line_file);
    answer_bytes(NULL, 0);
}

/* ---- the text ---- */

static int describe_text(void) {
    Error err = {0};
    JsonText json = json_begin("the answer", &err);
    json_printf(&json, "{\"characters\":%zu,\"train\":%zu,\"vocabulary\":%d", tab.corpus.length,
                tab.corpus.train, tab.corpus.vocab.size);
    answer_number(&json, "uniform", tab.counts.uniform);
    answer_number(&json, "unigram", tab.counts.unigram_held_out);
    answer_number(&json, "bigram", tab.counts.bigram_held_out);
    json_printf(&json, "}");
    return answer_json(&json, &err);
}

bool tab_read_text(bool bytes, const Vocab *known, Error *err) {
    Corpus read;
    if (!corpus_load(&read, text_file, bytes, held_out, CONTEXT_OF_TEXT, known, err)) return false;
    if (!count_losses(read.ids, read.train, read.ids + read.train, read.length - read.train,
                      read.vocab.size, &tab.counts, err)) {
        corpus_free(&read);
        return false;
    }
    tab_drop_all();
    corpus_free(&tab.corpus);
    tab.corpus = read;
    tab.has_text = true;
    tab.as_bytes = bytes;
    return true;
}

int tril_take_text(int bytes) {
    Error err = {0};
    return tab_read_text(bytes, NULL, &err) ? describe_text() : answer_refusal(&err);
}
