#include "programs/train/shell.h"
#include "base/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void shell_put(void *out, const char *text, size_t length) {
    fwrite(text, 1, length, out);
}

static void put_word(void *out, const char *word, size_t length, ShellPut *put) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    /* some shells replace a word that begins with an equals sign by the path of a command */
    if (length > 0 && *word != '=' && strspn(word, plain) >= length) {
        put(out, word, length);
        return;
    }
    put(out, "'", 1);
    for (size_t taken; length > 0; word += taken, length -= taken) {
        char shown[ESCAPE_SIZE];
        taken = escape_first(word, length, shown);
        const char *text = *word == '\'' ? "'\\''" : shown;
        put(out, text, strlen(text));
    }
    put(out, "'", 1);
}

void shell_word(void *out, const char *word, ShellPut *put) {
    put_word(out, word, strlen(word), put);
}

void shell_program(void *out, const char *name, ShellPut *put) {
    static const char both[] = "tril ";
    const char *command = strrchr(name, ' ');
    const size_t length = strlen(both), before = command ? (size_t)(command + 1 - name) : 0;
    const bool two = before >= length && strncmp(command + 1 - length, both, length) == 0;
    const size_t program = two ? before - 1 : strlen(name);
    put_word(out, name, program, put);
    put(out, name + program, strlen(name + program));
}

void shell_path(void *out, const char *path, ShellPut *put) {
    if (*path == '-' && path[1]) put(out, "./", 2);
    shell_word(out, path, put);
}
