#include "programs/train/input.h"
#include "library/message.h"

static bool make_tokenizer(Input *input, const char *path, const char *bytes, size_t length,
                           bool as_bytes, const TrilTokenizer *known, Error *err) {
    TrilError error;
    TrilTokenizer **made = &input->tokenizer;
    TrilStatus status = known      ? tril_tokenizer_copy(made, known, &error)
                        : as_bytes ? tril_tokenizer_of_bytes(made, &error)
                                   : tril_tokenizer_make(made, bytes, length, &error);
    return status == TRIL_OK || message_take(err, &error, path);
}

static bool make_text(Input *input, const char *path, const char *bytes, size_t length,
                      double held_out, Error *err) {
    TrilError error;
    return tril_text_make(&input->text, input->tokenizer, bytes, length, held_out, &error) ==
               TRIL_OK ||
           message_take(err, &error, path);
}

bool input_make(Input *input, const char *path, const char *bytes, size_t length, bool as_bytes,
                double held_out, int context, const TrilTokenizer *known, Error *err) {
    *input = (Input){0};
    if (!make_tokenizer(input, path, bytes, length, as_bytes, known, err) ||
        !make_text(input, path, bytes, length, held_out, err)) {
        input_free(input);
        return false;
    }
    TrilExtent extent = tril_text_extent(input->text);
    input->length = extent.characters;
    input->train = extent.trained_on;
    input->distinct = extent.distinct;
    input->digest = extent.digest;
    input->vocabulary = tril_tokenizer_size(input->tokenizer);
    if (input->train > (size_t)context) return true;
    fail(
        err,
        "%s: too short: of its %zu characters %zu train and %zu validate, but a context of %d needs "
        "at least %d and 2; take a longer text or a smaller --context",
        path, input->length, input->train, input->length - input->train, context, context + 1);
    input_free(input);
    return false;
}

void input_free(Input *input) {
    tril_text_free(input->text);
    tril_tokenizer_free(input->tokenizer);
    *input = (Input){0};
}

size_t input_decode(const Input *input, const int32_t *ids, int count, char *text) {
    const size_t most = 4;
    size_t length = 0;
    tril_decode(input->tokenizer, ids, (size_t)count, text, most * (size_t)count, &length, NULL);
    return length;
}
