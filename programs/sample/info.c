#include "programs/sample/info.h"
#include "base/array.h"
#include "base/escape.h"
#include "library/message.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_note(const TrilModel *model, const char *key) {
    const char *note = tril_model_note(model, key);
    if (!note) return;
    printf("%-16s ", key);
    escape_line(stdout, note, strlen(note));
    putchar('\n');
}

static void print_sizes(const TrilModel *model) {
    const TrilSizes s = tril_model_sizes(model);
    const char *dropout = tril_model_note(model, "dropout"); /* a folder has none */
    printf("%-16s %s\n%-16s %zu\n", "model", s.rung, "parameters", tril_model_parameters(model));
    printf("%-16s %d\n%-16s %d\n%-16s %d\n%-16s %d\n%-16s %g\n", "layers", s.layers, "heads",
           s.heads, "width", s.width, "context", s.context, "dropout",
           dropout ? strtod(dropout, NULL) : 0);
    if (s.kv_heads > 0) printf("%-16s %d\n", "kv_heads", s.kv_heads);
    if (s.hidden > 0) printf("%-16s %d\n", "hidden", s.hidden);
}

static void print_vocabulary(const TrilTokenizer *tokenizer) {
    const int32_t size = tril_tokenizer_size(tokenizer);
    bool bytes = tril_tokenizer_has_bytes(tokenizer);
    printf("%-16s %d %s\n", "vocabulary", (int)size, bytes ? "byte values" : "characters");
    for (int32_t id = 0; id < size && !bytes; id++) {
        char text[4];
        size_t length = 0;
        tril_decode(tokenizer, &id, 1, text, sizeof text, &length, NULL);
        escape_line(stdout, text, length);
    }
    if (!bytes) putchar('\n');
}

static void print_tensors(TrilModel *model) {
    TrilTensor tensor;
    puts("tensors");
    for (int i = 0; tril_model_tensor(model, i, &tensor); i++) {
        printf("  %-44s %d", tensor.name, tensor.rows);
        if (tensor.rank == 2) printf(" x %d", tensor.columns);
        putchar('\n');
    }
}

bool info_print(const char *path, Error *err) {
    static const char *const keys[] = {"step", "seed", "validation_loss", "best_loss"};
    TrilModel *model;
    TrilError error;
    if (tril_model_load(&model, path, &error) != TRIL_OK) return message_take(err, &error, NULL);
    print_sizes(model);
    for (int i = 0; i < COUNT(keys); i++) print_note(model, keys[i]);
    printf("%-16s %016" PRIx64 "\n", "digest", tril_model_digest(model));
    print_vocabulary(tril_model_tokenizer(model));
    print_tensors(model);
    tril_model_free(model);
    return true;
}
