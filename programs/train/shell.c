#include "programs/train/shell.h"
#include "base/escape.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

void shell_put(void *out, const char *text, size_t length) {
    fwrite(text, 1, length, out);
}

static bool is_escaped(const char *text, size_t length, size_t *taken) {
    char shown[ESCAPE_SIZE];
    *taken = escape_first(text, length, shown);
    return strncmp(shown, text, *taken) != 0;
}

/* Writes the word in single quotes. A single quote in it becomes '\''. */
static void put_quoted(void *out, const char *word, ShellPut *put) {
    put(out, "'", 1);
    for (size_t plain = strcspn(word, "'"); word[plain]; plain = strcspn(word, "'")) {
        put(out, word, plain);
        put(out, "'\\''", 4);
        word += plain + 1;
    }
    put(out, word, strlen(word));
    put(out, "'", 1);
}

/* Writes the word as a printf format: octal escapes for control characters and for characters that
 * printf interprets. A leading dash is one of these. */
static void put_format(void *out, const char *word, size_t length, ShellPut *put) {
    for (size_t taken; length > 0; word += taken, length -= taken) {
        bool spelled = is_escaped(word, length, &taken) || strchr("'\\%-", *word);
        if (!spelled) put(out, word, taken);
        for (size_t i = 0; i < taken && spelled; i++) {
            char octal[5];
            snprintf(octal, sizeof octal, "\\%03o", (unsigned)(unsigned char)word[i]);
            put(out, octal, 4);
        }
    }
}

void shell_word(void *out, const char *word, ShellPut *put) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    size_t length = strlen(word), end = length;
    bool escaped = false;
    for (size_t at = 0, taken; at < length; at += taken)
        escaped = is_escaped(word + at, length - at, &taken) || escaped;
    /* some shells replace a word that begins with an equals sign by the path of a command */
    if (*word && *word != '=' && word[strspn(word, plain)] == 0) {
        put(out, word, length);
    } else if (!escaped) {
        put_quoted(out, word, put);
    } else {
        /* $(...) removes trailing newlines: write them after it */
        while (end > 0 && word[end - 1] == '\n') end--;
        put(out, "\"$(printf '", 11);
        put_format(out, word, end, put);
        put(out, "')\"", 3);
        if (end < length) put_quoted(out, word + end, put);
    }
}

void shell_program(void *out, const char *name, ShellPut *put) {
    static const char both[] = "tril";
    const char *blank = strrchr(name, ' ');
    size_t before = blank ? (size_t)(blank - name) : 0;
    char own[1024];
    if (before < sizeof both - 1 || before >= sizeof own ||
        memcmp(blank - (sizeof both - 1), both, sizeof both - 1) != 0) {
        shell_word(out, name, put);
        return;
    }
    memcpy(own, name, before);
    own[before] = 0;
    shell_word(out, own, put);
    put(out, blank, strlen(blank));
}

void shell_path(void *out, const char *path, ShellPut *put) {
    if (*path == '-' && path[1]) put(out, "./", 2);
    shell_word(out, path, put);
}
