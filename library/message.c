#include "library/message.h"
#include "base/array.h"

#include <string.h>

bool message_take(Error *err, const TrilError *error, const char *name) {
    static const char *const names[] = {"the text: ", "the prompt: "};
    for (int i = 0; name && i < COUNT(names); i++)
        if (strncmp(error->text, names[i], strlen(names[i])) == 0)
            return fail(err, "%s: %s", name, error->text + strlen(names[i]));
    return fail(err, "%s", error->text);
}

bool message_knows(const TrilModel *model, const char *name, const char *text, size_t length,
                   Error *err) {
    TrilError error;
    size_t count;
    return tril_encode(tril_model_tokenizer(model), text, length, NULL, 0, &count, &error) ==
               TRIL_OK ||
           message_take(err, &error, name);
}
