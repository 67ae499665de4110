/* Below library/tril.h: it shows the file, with notes that only its format knows. */
#include "sampling/info.h"
#include "base/escape.h"
#include "formats/trained.h"

#include <inttypes.h>
#include <stdio.h>

static void print_note(const Checkpoint *checkpoint, const char *key) {
    const Note *note = checkpoint_note(checkpoint, key);
    if (!note) return;
    printf("%-16s ", key);
    escape_line(stdout, note->value, note->length);
    putchar('\n');
}

static void print_all(const Checkpoint *checkpoint, const Vocab *vocab) {
    const Model *model = &checkpoint->model;
    const Config *c = &model->config;
    printf("%-16s %s\n%-16s %zu\n", "model", c->model, "parameters", model->parameters);
    printf("%-16s %d\n%-16s %d\n%-16s %d\n%-16s %d\n%-16s %g\n", "layers", c->L, "heads", c->NH,
           "width", c->C, "context", c->T, "dropout", c->dropout);
    if (c->NKV > 0) printf("%-16s %d\n", "kv_heads", c->NKV);
    if (c->H > 0) printf("%-16s %d\n", "hidden", c->H);
    static const char *const keys[] = {"step", "seed", "validation_loss", "best_loss"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) print_note(checkpoint, keys[i]);
    printf("%-16s %016" PRIx64 "\n", "digest", model_digest(model));
    printf("%-16s %d %s\n", "vocabulary", vocab->size, vocab->bytes ? "byte values" : "characters");
    if (!vocab->bytes) {
        for (int id = 0; id < vocab->size; id++) {
            char text[UTF8_MAX];
            escape_line(stdout, text, (size_t)vocab_text(vocab, id, text));
        }
        putchar('\n');
    }
    puts("tensors");
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        printf("  %-44s %d", tensor->name, tensor->shape[0]);
        if (tensor->rank == 2) printf(" x %d", tensor->shape[1]);
        putchar('\n');
    }
}

bool info_print(const char *path, Error *err) {
    Trained trained;
    if (!trained_load(&trained, path, err)) return false;
    print_all(&trained.checkpoint, &trained.vocab);
    trained_free(&trained);
    return true;
}
