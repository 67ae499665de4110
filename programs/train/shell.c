#include "programs/train/shell.h"
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>

static void put_word(Buffer *out, const char *word, size_t length) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    /* some shells replace a word that begins with an equals sign by the path of a command */
    if (length > 0 && *word != '=' && strspn(word, plain) >= length) {
        buffer_put(out, word, length);
        return;
    }
    buffer_put(out, "'", 1);
    for (size_t taken; length > 0; word += taken, length -= taken) {
        char shown[ESCAPE_SIZE];
        taken = escape_first(word, length, shown);
        const char *text = *word == '\'' ? "'\\''" : shown;
        buffer_put(out, text, strlen(text));
    }
    buffer_put(out, "'", 1);
}

void shell_word(Buffer *out, const char *word) {
    put_word(out, word, strlen(word));
}

void shell_program(Buffer *out, const char *name) {
    static const char both[] = "tril ";
    const char *command = strrchr(name, ' ');
    const size_t length = strlen(both), before = command ? (size_t)(command + 1 - name) : 0;
    const bool two = before >= length && strncmp(command + 1 - length, both, length) == 0;
    const size_t program = two ? before - 1 : strlen(name);
    put_word(out, name, program);
    buffer_put(out, name + program, strlen(name + program));
}

void shell_command(Buffer *out, char *const *words, int count, size_t most) {
    const size_t begin = out->length;
    for (int i = 0; i < count; i++) {
        if (out->length - begin > most) {
            buffer_put(out, " ...", 4);
            return;
        }
        if (i > 0) buffer_put(out, " ", 1);
        (i > 0 ? shell_word : shell_program)(out, words[i]);
    }
}

void shell_path(Buffer *out, const char *path) {
    if (*path == '-' && path[1]) buffer_put(out, "./", 2);
    shell_word(out, path);
}
