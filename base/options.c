#include "base/options.h"
#include "base/escape.h"
#include "base/filesystem.h"
#include "base/number.h"
#include "base/terminal.h"

#include <errno.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 32 };

/* True if the text consists of these characters only: number_read also reads "inf". */
static bool made_of(const char *text, const char *characters) {
    return *text && !text[strspn(text, characters)];
}

static bool read_seed(const Option *option, const char *text, uint64_t *seed, Error *err) {
    char *end;
    errno = 0;
    uint64_t value = strtoull(text, &end, 10);
    if (!made_of(text, "0123456789") || *end || errno)
        return fail(err, "--%s: '%s' is not a whole number from 0 to %" PRIu64, option->name, text,
                    UINT64_MAX);
    *seed = value;
    return true;
}

static bool read_number(const Option *option, const char *text, double *number, Error *err) {
    bool time = option->kind == OPTION_TIME, real = option->kind == OPTION_REAL;
    const char *unit, *characters = time   ? ".0123456789smh"
                                    : real ? "+-.0123456789eE"
                                           : "+-0123456789";
    char *end;
    double value = number_read(text, &end);
    if (time && end > text && *end && (unit = strchr("smh", *end))) {
        value *= *unit == 'm' ? 60 : *unit == 'h' ? 3600 : 1;
        end++;
    }
    if (!made_of(text, characters) || *end || !(value >= option->min && value <= option->max))
        return fail(err, "--%s: '%s' is not a %s from %.10g to %.10g%s", option->name, text,
                    time   ? "time"
                    : real ? "number"
                           : "whole number",
                    option->min, option->max, time ? " seconds, such as 90s, 5m or 2h" : "");
    *number = value;
    return true;
}

bool option_read(const Option *option, const char *text, Error *err) {
    double number;
    switch (option->kind) {
        case OPTION_INT:
            if (!read_number(option, text, &number, err)) return false;
            *(int *)option->value = (int)number;
            return true;
        case OPTION_WHOLE:
        case OPTION_REAL:
        case OPTION_TIME: return read_number(option, text, option->value, err);
        case OPTION_SEED: return read_seed(option, text, option->value, err);
        case OPTION_PATH:
        case OPTION_TEXT: *(const char **)option->value = text; return true;
        case OPTION_FLAG:
        case OPTION_SECTION: break;
    }
    return false;
}

/* Returns the number of letters to change, add or remove to get from a to b (Levenshtein, 1965). */
static int edit_distance(const char *a, const char *b) {
    int row[MAX_NAME + 1];
    int length = (int)strlen(b);
    for (int j = 0; j <= length; j++) row[j] = j;
    for (int i = 0; a[i]; i++) {
        int diagonal = row[0];
        row[0] = i + 1;
        for (int j = 0; j < length; j++) {
            int change = diagonal + (a[i] != b[j]);
            int shorter = 1 + (row[j] < row[j + 1] ? row[j] : row[j + 1]);
            diagonal = row[j + 1];
            row[j + 1] = change < shorter ? change : shorter;
        }
    }
    return row[length];
}

/* Returns the option with this long name of `length` letters, or the only one that begins with it.
 * On failure NULL. */
static const Option *find_name(const Option *options, int count, const char *name, int length,
                               Error *err) {
    char known[MAX_NAME + 1];
    snprintf(known, sizeof known, "%.*s", length, name);
    const Option *found = NULL, *nearest = NULL;
    int matches = 0, min = 4; /* suggests names at most three edits away */
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPTION_SECTION) continue;
        bool begins = length > 0 && strncmp(options[i].name, name, (size_t)length) == 0;
        int distance = begins ? 0 : edit_distance(known, options[i].name);
        if (begins && !options[i].name[length]) return &options[i];
        if (begins && matches++ == 0) found = &options[i];
        if (distance < min) nearest = &options[i];
        if (distance < min) min = distance;
    }
    if (matches == 1) return found;
    if (nearest)
        fail(err, "unknown option '--%s'; did you mean --%s?", known, nearest->name);
    else
        fail(err, "unknown option '--%s'; see --help", known);
    return NULL;
}

/* Returns the option with the letter at `letter` in the argument `word`. On failure NULL. */
static const Option *find_letter(const Option *options, int count, const char *word,
                                 const char *letter, Error *err) {
    for (int i = 0; i < count; i++)
        if (options[i].kind != OPTION_SECTION && options[i].letter == *letter) return &options[i];
    bool ascii = (unsigned char)*letter < 0x80;
    fail(err, "unknown option '%s'; see --help", ascii ? (char[]){'-', *letter, 0} : word);
    return NULL;
}

/* Parses "--name", "--name=value" or letters: flags, the last of which may be an option with its
 * value attached. The value may also be the next argument; then *used is 2. */
static bool parse_word(const Option *options, int count, char *word, char *next, int *used,
                       Error *err) {
    bool by_name = word[1] == '-';
    char *at = word + 1 + by_name, *value = NULL;
    const Option *option;
    do {
        size_t length = by_name ? strcspn(at, "=") : 1;
        option = by_name ? find_name(options, count, at, (int)length, err)
                         : find_letter(options, count, word, at, err);
        if (!option) return false;
        at += length;
        if (option->kind == OPTION_FLAG) {
            if (by_name && *at) return fail(err, "--%s takes no value", option->name);
            *(bool *)option->value = true;
        }
    } while (option->kind == OPTION_FLAG && *at);
    if (option->kind == OPTION_FLAG) return true;
    value = *at ? at + by_name : next;
    *used = *at ? 1 : 2;
    if (!value) return fail(err, "option '%s' needs a value; see --help", word);
    if (option->kind == OPTION_PATH) filesystem_slash(value);
    return option_read(option, value, err);
}

bool options_parse(const Option *options, int count, int argc, char **argv, int *first,
                   Error *err) {
    *first = 1; /* argv[*first] to argv[i - 1] are operands */
    for (int i = 1; i < argc;) {
        char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (word[0] != '-' || !word[1]) {
            i++;
            continue;
        }
        bool end = strcmp(word, "--") == 0;
        int used = 1;
        if (!end && !parse_word(options, count, word, next, &used, err)) return false;
        /* moves the option's arguments before the operands */
        for (int moved = 0; moved < used; moved++, i++, (*first)++) {
            char *taken = argv[i];
            memmove(argv + *first + 1, argv + *first, (size_t)(i - *first) * sizeof *argv);
            argv[*first] = taken;
        }
        if (end) break;
    }
    for (int i = *first; i < argc; i++) filesystem_slash(argv[i]);
    return true;
}

/* Writes " (VALUE)" to text[size], or nothing if the option has no default. */
static void write_default(const Option *option, char *text, size_t size) {
    const OptionKind kind = option->kind;
    *text = 0;
    if (kind == OPTION_SEED)
        snprintf(text, size, " (%" PRIu64 ")", *(uint64_t *)option->value);
    else if (kind == OPTION_INT && *(int *)option->value > 0)
        snprintf(text, size, " (%d)", *(int *)option->value);
    else if ((kind == OPTION_WHOLE || kind == OPTION_REAL) && *(double *)option->value >= 0)
        snprintf(text, size, " (%.10g)", *(double *)option->value);
    else if ((kind == OPTION_PATH || kind == OPTION_TEXT) && *(const char **)option->value)
        snprintf(text, size, " (%s)", *(const char **)option->value);
}

int options_columns(FILE *out) {
    const int widest = 100, window = terminal_is(out) ? terminal_columns(out) : 0;
    return window > 0 && window < widest ? window : widest;
}

void options_print(FILE *out, const Option *options, int count) {
    const int hang = 29;
    for (const Option *option = options; option < options + count; option++) {
        if (option->kind == OPTION_SECTION) {
            fprintf(out, "\n%s:\n", option->help);
            continue;
        }
        char names[64], usual[256], text[512], letter[] = "-?, ";
        letter[1] = option->letter;
        write_default(option, usual, sizeof usual);
        snprintf(names, sizeof names, "%-4s--%s%s%s", option->letter ? letter : "", option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        snprintf(text, sizeof text, "%s%s", option->help, usual);
        escape_words(out, text, fprintf(out, "  %-26s ", names), hang, options_columns(out));
        fputc('\n', out);
    }
}
