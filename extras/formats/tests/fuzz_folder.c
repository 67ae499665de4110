/* fuzz_folder.c - a folder of transformers whose JSON files have any content is an error, or a
 * whole model. The bytes are config.json, tokenizer.json and the index of the weights, with a byte
 * 1 between two; the weights are stored ones. */
#include "tests/fuzz/fuzz.h"
#include "base/file.h"
#include "data/data.h"
#include "library/formats.h"
#include "tests/system.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define GOLDEN "extras/formats/tests/golden/"

void fuzz_folder(const uint8_t *bytes, size_t length);

static void put(const char *folder, const char *name, const void *bytes, size_t length) {
    char path[512];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    remove(path);
    FILE *file = bytes ? fopen(path, "wb") : NULL;
    if (bytes && (!file || fwrite(bytes, 1, length, file) != length)) fuzz_fail("it is written");
    if (file) fclose(file);
}

void fuzz_folder(const uint8_t *bytes, size_t length) {
    static const char *const names[] = {"config.json", "tokenizer.json",
                                        "model.safetensors.index.json"};
    static char *weights[2];
    static size_t lengths[2];
    char folder[400];
    Error err = {0};
    Model model;
    Vocab vocab;
    if (!weights[0] &&
        (!file_read(GOLDEN "gpt2/model.safetensors", &weights[0], &lengths[0], &err) ||
         !file_read(GOLDEN "qwen3/model.safetensors", &weights[1], &lengths[1], &err)))
        fuzz_fail("stored weights");
    const uint8_t *end = bytes + length;
    const bool qwen = length > 0 && *bytes == 'q';
    if (length > 0) bytes++;
    snprintf(folder, sizeof folder, "%s/tril-fuzz-%d", fuzz_files(), (int)getpid());
    make_folder(folder);
    for (int i = 0; i < 3; i++) {
        const uint8_t *next = bytes ? memchr(bytes, 1, (size_t)(end - bytes)) : NULL;
        put(folder, names[i], bytes, (size_t)((next ? next : end) - (bytes ? bytes : end)));
        bytes = next ? next + 1 : NULL;
    }
    put(folder, "model.safetensors", weights[qwen], lengths[qwen]);
    const Format *format = format_to_read(folder);
    if (format && format->read(&model, &vocab, folder, &err)) {
        if (vocab.size != model.config.V) fuzz_fail("a row for each character");
        model_free(&model);
        vocab_free(&vocab);
    } else if (format && (strstr(err.text, folder) != err.text || strchr(err.text, '\n'))) {
        fuzz_fail("one sentence");
    }
    for (int i = 0; i < 3; i++) put(folder, names[i], NULL, 0);
    put(folder, "model.safetensors", NULL, 0);
    rmdir(folder);
}
