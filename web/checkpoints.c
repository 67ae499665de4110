/* checkpoints.c - rungs to files in memory, and back. */
#include "formats/trained.h"
#include "web/answer.h"
#include "web/memfile.h"
#include "web/tab.h"
#include "web/tril.h"

#include <stdlib.h>
#include <string.h>

int tril_save(int rung) {
    static const char state_file[] = "the state";
    Error err = {0};
    size_t length;
    Trainer *trainer = tab_trainer(rung, &err);
    if (!trainer || !trainer_save(trainer, state_file, &err)) return answer_refusal(&err);
    const char *bytes = memfile_bytes(state_file, &length);
    char *copy = malloc(length);
    if (copy) memcpy(copy, bytes, length);
    memfile_remove(state_file);
    if (copy) return answer_bytes(copy, length);
    fail(&err, "not enough memory for the checkpoint");
    return answer_refusal(&err);
}

/* What a checkpoint brings: the model, its vocabulary, and if it is the state of a training on this
 * text, how that goes on. */
typedef struct {
    State state;
    Vocab vocab;
    bool goes_on;
    int rung;
} Given;

static void free_given(Given *given) {
    state_free(&given->state);
    vocab_free(&given->vocab);
}

static int rung_of(const char *name) {
    for (int i = 0; model_name(i) && i < MAX_RUNGS; i++)
        if (strcmp(model_name(i), name) == 0) return i;
    return -1;
}

/* Reads the checkpoint in its room: a model, or a state. */
static bool read_given(Given *given, Error *err) {
    Error none;
    *given = (Given){.rung = -1};
    if (!state_load(&given->state, checkpoint_file, &none) &&
        !checkpoint_load(&given->state.checkpoint, checkpoint_file, err))
        return false;
    const Checkpoint *c = &given->state.checkpoint;
    given->rung = rung_of(c->model.config.model);
    if (trained_vocab(c, checkpoint_file, &given->vocab, err)) return true;
    free_given(given);
    return false;
}

/* Reads the text again with the model's vocabulary, and extends the model if the text has more
 * characters. Without a text there is only the vocabulary: *why says so. */
static bool settle_text(Given *given, Error *why, Error *err) {
    size_t length;
    const Vocab *vocab = &given->vocab;
    bool text = memfile_bytes(text_file, &length) || fail(why, "there is no text to train on");
    if (!text || !tab_read_text(vocab->bytes, vocab, why)) {
        tab_drop_all();
        corpus_free(&tab.corpus);
        tab.has_text = false;
        return vocab_copy(&tab.corpus.vocab, vocab, err);
    }
    int context = given->state.checkpoint.model.config.T;
    if (tab.corpus.train <= (size_t)context)
        fail(why, "the text is too short to train on with a context of %d", context);
    if (tab.corpus.vocab.size == vocab->size) return true;
    Trained trained = {given->state.checkpoint, given->vocab};
    bool ok = trained_extend(&trained, &tab.corpus.vocab, tab.asked.seed, err);
    given->state.checkpoint = trained.checkpoint;
    given->vocab = trained.vocab;
    return ok;
}

/* Continues a state as ./train --resume does; else begins with the model as ./train --init does, at
 * a tenth of the usual rate. */
static bool request_of(const Given *given, Request *request, Error *err) {
    const double gentle = 0.1;
    const Config *config = &given->state.checkpoint.model.config;
    *request = tab.asked;
    if (given->goes_on && !request_parse(request, given->state.words, err)) return false;
    request->model = model_name(given->rung);
    request->precision = "f32";
    request->sizes = *config;
    request->bytes = given->vocab.bytes;
    if (!given->goes_on)
        request->learning_rate = gentle * recipe_of(request->model).peak.learning_rate;
    return true;
}

int tril_load(void) {
    Error err = {0}, why = {0};
    Given given;
    Request request;
    bool ok = read_given(&given, &err);
    memfile_remove(checkpoint_file);
    if (!ok) return answer_refusal(&err);
    const Checkpoint *c = &given.state.checkpoint;
    int rung = given.rung;
    ok = settle_text(&given, &why, &err);
    given.goes_on =
        tab.has_text && !*why.text && c->first_moments && given.state.text == tab.corpus.digest;
    ok = ok && request_of(&given, &request, &err) &&
         trainer_open(&tab.trainers[rung], &request, &tab.corpus, c,
                      given.goes_on ? &given.state.progress : NULL, &err);
    free_given(&given);
    tab.there[rung] = ok;
    if (!ok) {
        trainer_close(&tab.trainers[rung]);
        return answer_refusal(&err);
    }
    tab.trainers[rung].failed = why;
    return tril_rungs();
}
