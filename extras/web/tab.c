/* tab.c - the tab's text, and what belongs to all rungs. */
#include "extras/web/tab.h"
#include "base/memory.h"
#include "extras/web/answer.h"
#include "extras/web/memfile.h"
#include "extras/web/web.h"

#include <string.h>

enum { MAX_TEXT = 32 << 20 };

const char text_file[] = "the text", checkpoint_file[] = "the checkpoint", line_file[] = "the line";

Tab tab = {
    .looked_at = -1,
    .sampling = {.temperature = 0.8, .top_p = 1, .seed = 1337, .precision = "f32", .threads = 1}};

/* ---- bytes from the page ---- */

size_t web_memory_limit(void) {
    return memory_installed();
}

enum { ROOM_TEXT, ROOM_CHECKPOINT, ROOM_LINE };

char *web_room(int kind, size_t length) {
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
    if (!bytes) answer_refusal(err.text);
    return bytes;
}

/* ---- the ladder ---- */

int web_ladder(void) {
    Error err = {0};
    Buffer json = buffer_begin("the answer", &err);
    for (int i = 0; tril_rung(i); i++) {
        buffer_printf(&json, "%s{\"rung\":%d", i ? "," : "[", i);
        answer_text(&json, "name", tril_rung(i));
        answer_text(&json, "idea", tril_rung_idea(i));
        buffer_printf(&json, "}");
    }
    buffer_printf(&json, "]");
    return answer_json(&json, &err);
}

/* ---- the rungs ---- */

static bool is_there(int rung) {
    return rung >= 0 && rung < RUNGS && tab.there[rung];
}

Trainer *tab_trainer(int rung, TrilError *error) {
    if (is_there(rung)) return &tab.trainers[rung];
    snprintf(error->text, sizeof error->text, "there is no such model yet");
    return NULL;
}

void tab_close_look(void) {
    look_close(&tab.look);
    tab.looked_at = -1;
}

void web_drop(int rung) {
    if (!is_there(rung)) return;
    if (tab.looked_at == rung) tab_close_look();
    trainer_close(&tab.trainers[rung]);
    tab.there[rung] = false;
}

static void drop_all(void) {
    for (int i = 0; i < RUNGS; i++) web_drop(i);
}

/* ---- the text ---- */

void tab_drop_text(void) {
    drop_all();
    tril_text_free(tab.text);
    tril_tokenizer_free(tab.tokenizer);
    tab.text = NULL;
    tab.tokenizer = NULL;
}

void web_close(void) {
    tab_drop_text();
    memfile_remove(text_file);
    memfile_remove(checkpoint_file);
    memfile_remove(line_file);
    answer_bytes(NULL, 0);
}

bool tab_take_text(TrilTokenizer *tokenizer, TrilError *error) {
    size_t length;
    TrilText *text;
    TrilCounts counts;
    const char *bytes = memfile_bytes(text_file, &length);
    bool ok = tril_text_make(&text, tokenizer, bytes ? bytes : "", length, tril_options().held_out,
                             error) == TRIL_OK &&
              tril_text_count(text, &counts, error) == TRIL_OK;
    if (!ok) {
        tril_text_free(text);
        tril_tokenizer_free(tokenizer);
        return false;
    }
    tab_drop_text();
    tab.tokenizer = tokenizer;
    tab.text = text;
    tab.counts = counts;
    return true;
}

static int describe_text(void) {
    Error err = {0};
    Buffer json = buffer_begin("the answer", &err);
    buffer_printf(&json, "{\"characters\":%zu,\"train\":%zu,\"vocabulary\":%d",
                  tab.counts.characters, tab.counts.trained_on, tril_tokenizer_size(tab.tokenizer));
    answer_number(&json, "uniform", tab.counts.uniform);
    answer_number(&json, "unigram", tab.counts.unigram);
    answer_number(&json, "bigram", tab.counts.bigram);
    buffer_printf(&json, "}");
    return answer_json(&json, &err);
}

int web_take_text(int bytes) {
    TrilError error;
    TrilTokenizer *tokenizer;
    size_t length;
    const char *text = memfile_bytes(text_file, &length);
    TrilStatus status = bytes ? tril_tokenizer_of_bytes(&tokenizer, &error)
                              : tril_tokenizer_make(&tokenizer, text ? text : "", length, &error);
    return status == TRIL_OK && tab_take_text(tokenizer, &error) ? describe_text()
                                                                 : answer_refusal(error.text);
}
