#include "base/shell.h"
#include "base/escape.h"

#include <stdbool.h>
#include <string.h>

void shell_put(FILE *out, const char *text, size_t length) {
    fwrite(text, 1, length, out);
}

/* Some shells look up a command for a word that begins with an equals sign. */
static bool is_plain(const char *word) {
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-./=:,+@%";
    return *word && *word != '=' && word[strspn(word, plain)] == 0;
}

static bool is_escaped(const char *text, size_t length, size_t *taken) {
    char shown[ESCAPE_ROOM];
    *taken = escape_first(text, length, shown);
    return strncmp(shown, text, *taken) != 0;
}

static bool any_escaped(const char *word) {
    for (size_t left = strlen(word), taken; left > 0; word += taken, left -= taken)
        if (is_escaped(word, left, &taken)) return true;
    return false;
}

/* In single quotes; one within them ends them, stands for itself, and begins them again. */
static void put_quoted(FILE *out, const char *word, ShellPut *put) {
    put(out, "'", 1);
    for (size_t plain = strcspn(word, "'"); word[plain]; plain = strcspn(word, "'")) {
        put(out, word, plain);
        put(out, "'\\''", 4);
        word += plain + 1;
    }
    put(out, word, strlen(word));
    put(out, "'", 1);
}

/* The format of a printf: octal digits for what is escaped, and for what means something to it, as
 * a dash does that comes first. */
static void put_format(FILE *out, const char *word, size_t length, ShellPut *put) {
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

void shell_word(FILE *out, const char *word, ShellPut *put) {
    size_t length = strlen(word), end = length;
    if (is_plain(word)) {
        put(out, word, length);
    } else if (!any_escaped(word)) {
        put_quoted(out, word, put);
    } else {
        /* $(...) drops the ends of lines that come last: they stand behind it as they are */
        while (end > 0 && word[end - 1] == '\n') end--;
        put(out, "\"$(printf '", 11);
        put_format(out, word, end, put);
        put(out, "')\"", 3);
        if (end < length) put_quoted(out, word + end, put);
    }
}

void shell_path(FILE *out, const char *path, ShellPut *put) {
    if (*path != '-') {
        shell_word(out, path, put);
        return;
    }
    put(out, "./", 2);
    shell_word(out, path, put);
}
