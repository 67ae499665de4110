#include "programs/sample/score.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "library/message.h"

/* Says what the options could do with unknown characters. The file's name may be long: a whole
 * number of characters stays. */
static bool hint(Error *err) {
    char first[151];
    escape_copy(first, sizeof first, err->text);
    return fail(err, "%s; --unknown skip leaves such out, --unknown uniform counts them", first);
}

bool score_file(TrilScore *score, const char *path, const TrilModel *model,
                const TrilScoring *scoring, Error *err) {
    TrilError error;
    char *text;
    size_t length;
    if (!file_read(path, &text, &length, err)) return false;
    bool ok = tril_score(model, text, length, scoring, score, &error) == TRIL_OK ||
              message_take(err, &error, path);
    memory_free(text);
    return ok || (scoring->unknown == TRIL_REFUSE && score->unknown > 0 ? hint(err) : false);
}
