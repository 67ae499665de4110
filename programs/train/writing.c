#include "programs/train/writing.h"
#include "base/file.h"
#include "library/message.h"

#include <string.h>

/* The id of a character; -1: the vocabulary has it not. */
static int32_t id_of(const Input *input, char character) {
    int32_t id;
    size_t count;
    bool known =
        tril_encode(input->tokenizer, &character, 1, &id, 1, &count, NULL) == TRIL_OK && count == 1;
    return known ? id : -1;
}

Line writing_line(const Input *input) {
    enum { MIN_LINE = 8 };
    const int32_t *ids = tril_text_ids(input->text), newline = id_of(input, '\n');
    size_t held_out = input->length - input->train, start = input->train;
    int tokens = held_out > LINE_TOKENS ? LINE_TOKENS : (int)held_out - 1;
    for (size_t i = input->train; i + (size_t)tokens < input->length; i++) {
        if (ids[i] != newline) continue;
        if (i > start + MIN_LINE && start > input->train) break;
        start = i + 1;
    }
    if (start + (size_t)tokens >= input->length) start = input->train;
    return (Line){start, tokens};
}

Line writing_prompt(const Input *input) {
    enum { MIN_PROMPT = 8 };
    Line line = writing_line(input);
    const int32_t *ids = tril_text_ids(input->text) + line.start;
    const int32_t newline = id_of(input, '\n'), space = id_of(input, ' ');
    int end = 0; /* of the line's own text */
    while (end < line.tokens && ids[end] != newline) end++;
    int word = end;
    if (end == line.tokens)
        while (word > MIN_PROMPT && ids[word - 1] != space) word--;
    if (word > MIN_PROMPT) end = word;
    return (Line){line.start, end > 0 ? end : line.tokens};
}

void writing_of(Writing *writing, const Input *input, const int32_t *ids, int count) {
    int most = count < WRITING_TOKENS ? count : WRITING_TOKENS;
    writing->length = input_decode(input, ids, most, writing->text);
}

/* Appends a character. */
static int take_character(const char *text, size_t length, void *user) {
    Writing *writing = user;
    memcpy(writing->text + writing->length, text, length);
    writing->length += length;
    return 0;
}

static TrilStatus generate(Writing *writing, const TrilModel *model, const Plan *plan,
                           const Input *input, TrilError *error) {
    char prompt[LINE_TOKENS * UTF8_MAX];
    Line line = writing_prompt(input);
    size_t length =
        input_decode(input, tril_text_ids(input->text) + line.start, line.tokens, prompt);
    TrilSampling sampling = tril_sampling();
    sampling.length = WRITING_TOKENS;
    sampling.seed = plan->seed;
    sampling.precision = "f32";
    sampling.threads = plan->threads;
    return tril_generate(model, prompt, length, &sampling, take_character, writing, error);
}

bool writing_generate(Writing *writing, const RungPlan *rung, const Plan *plan, const Input *input,
                      Error *err) {
    TrilError error;
    TrilModel *kept;
    writing->length = 0;
    if (!file_exists(rung->checkpoint)) return true;
    TrilStatus status = tril_model_load(&kept, rung->checkpoint, &error);
    if (status == TRIL_OK && tril_tokenizer_same(tril_model_tokenizer(kept), input->tokenizer))
        status = generate(writing, kept, plan, input, &error);
    tril_model_free(kept);
    return status == TRIL_OK || message_take(err, &error, NULL);
}
