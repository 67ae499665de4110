/* checkpoints.c - rungs to files in memory, and back. */
#include "extras/web/answer.h"
#include "extras/web/memfile.h"
#include "extras/web/tab.h"
#include "extras/web/web.h"

#include <stdlib.h>
#include <string.h>

static bool save(const Trainer *trainer, const char *path, TrilError *error) {
    return (trainer->training ? tril_training_save(trainer->training, path, error)
                              : tril_model_save(trainer->model, path, error)) == TRIL_OK;
}

int web_save(int rung) {
    static const char state_file[] = "the state";
    TrilError error;
    size_t length;
    Trainer *trainer = tab_trainer(rung, &error);
    if (!trainer || !save(trainer, state_file, &error)) return answer_refusal(error.text);
    const char *bytes = memfile_bytes(state_file, &length);
    char *copy = malloc(length);
    if (copy) memcpy(copy, bytes, length);
    memfile_remove(state_file);
    return copy ? answer_bytes(copy, length)
                : answer_refusal("not enough memory for the checkpoint");
}

static int rung_of(const TrilModel *model) {
    const char *name = tril_model_sizes(model).rung;
    int rung = 0;
    while (strcmp(tril_rung(rung), name) != 0) rung++;
    return rung;
}

/* Reads the text again with the model's characters, and gives the model those of the text that are
 * new to it. False without such a text: *why says so. */
static bool settle_text(TrilModel **model, TrilError *why) {
    size_t length;
    TrilModel *extended;
    TrilTokenizer *tokenizer;
    const char *text = memfile_bytes(text_file, &length);
    tab_drop_text();
    if (!text) {
        *why = (TrilError){"there is no text to train on"};
        return false;
    }
    if (tril_model_extend(&extended, *model, text, length, tab.options.seed, why) != TRIL_OK)
        return false;
    tril_model_free(*model);
    *model = extended;
    return tril_tokenizer_copy(&tokenizer, tril_model_tokenizer(extended), why) == TRIL_OK &&
           tab_take_text(tokenizer, why);
}

/* Continues a state of a training on this text; else begins with the model, whose rate is then a
 * tenth of the usual one. Without a training *why says why. */
static TrilTraining *train(TrilModel **model, TrilError *why) {
    TrilTraining *training;
    TrilModel *resumed;
    if (tril_training_resume_on(&training, &resumed, checkpoint_file, tab.text, 1, why) ==
        TRIL_OK) {
        tril_model_free(*model);
        *model = resumed;
    } else {
        tril_training_open_on(&training, *model, tab.text, &tab.options, why);
    }
    return training;
}

int web_load(void) {
    TrilError error, why;
    TrilModel *model;
    TrilTraining *training = NULL;
    if (tril_model_load(&model, checkpoint_file, &error) != TRIL_OK) {
        memfile_remove(checkpoint_file);
        return answer_refusal(error.text);
    }
    if (settle_text(&model, &why)) training = train(&model, &why);
    memfile_remove(checkpoint_file);
    int rung = rung_of(model);
    tab.there[rung] = trainer_open(&tab.trainers[rung], model, training, &error);
    if (!tab.there[rung]) {
        trainer_close(&tab.trainers[rung]);
        return answer_refusal(error.text);
    }
    if (!training) tab.trainers[rung].failed = why;
    return web_rungs();
}
