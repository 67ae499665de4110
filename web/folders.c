/* folders.c - formats/huggingface.h and formats/tokenizer.h for a page, which has no folders to
 * read models from. */
#include "formats/huggingface.h"
#include "formats/tokenizer.h"

bool model_import(Model *model, const char *directory, const int32_t *rows, int count, Error *err) {
    (void)model, (void)rows, (void)count;
    return fail(err, "%s: a page reads no folders", directory);
}

bool tokenizer_import(Vocab *vocab, const char *directory, int32_t **rows, Error *err) {
    (void)vocab, (void)rows;
    return fail(err, "%s: a page reads no folders", directory);
}
