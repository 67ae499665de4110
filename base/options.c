#include "base/options.h"
#include "base/filesystem.h"
#include "base/number.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_NAME = 32 };

/* Does the text consist of these characters only? strtol and number_read alone would accept
 * leading blanks and "inf". */
static bool made_of(const char *text, const char *characters) {
    return *text && !text[strspn(text, characters)];
}

/* Parses a whole number and checks the option's range. */
static bool parse_int(const Option *option, const char *text, int *number, Error *err) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (!made_of(text, "+-0123456789") || *end || errno || (double)value < option->min ||
        (double)value > option->max)
        return fail(err, "--%s takes a whole number from %.0f to %.0f, not '%s'", option->name,
                    option->min, option->max, text);
    *number = (int)value;
    return true;
}

static bool parse_seed(const Option *option, const char *text, uint64_t *number, Error *err) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (!made_of(text, "0123456789") || *end || errno)
        return fail(err, "--%s takes a whole number from 0 to %" PRIu64 ", not '%s'", option->name,
                    UINT64_MAX, text);
    return true;
}

static bool parse_real(const Option *option, const char *text, double *number, Error *err) {
    char *end;
    double value = number_read(text, &end);
    if (!made_of(text, "+-.0123456789eE") || *end ||
        !(value >= option->min && value <= option->max))
        return fail(err, "--%s takes a number from %g to %g, not '%s'", option->name, option->min,
                    option->max, text);
    *number = value;
    return true;
}

static bool parse_time(const Option *option, const char *text, double *seconds, Error *err) {
    char *end;
    double value = number_read(text, &end);
    if (*end == 'm') value *= 60;
    if (*end == 'h') value *= 3600;
    bool whole = !*end || (strchr("smh", *end) && !end[1]);
    if (end == text || !made_of(text, ".0123456789smh") || !whole ||
        !(value >= option->min && value <= option->max))
        return fail(err, "--%s takes a time such as 90s, 5m or 2h, from %g to %g seconds, not '%s'",
                    option->name, option->min, option->max, text);
    *seconds = value;
    return true;
}

static bool parse_value(const Option *option, char *text, Error *err) {
    switch (option->kind) {
        case OPTION_FLAG: *(bool *)option->value = true; return true;
        case OPTION_INT: return parse_int(option, text, option->value, err);
        case OPTION_WHOLE: {
            int number = 0;
            bool ok = parse_int(option, text, &number, err);
            if (ok) *(double *)option->value = number;
            return ok;
        }
        case OPTION_SEED: return parse_seed(option, text, option->value, err);
        case OPTION_REAL: return parse_real(option, text, option->value, err);
        case OPTION_TIME: return parse_time(option, text, option->value, err);
        case OPTION_PATH: filesystem_slash(text); /* fall through */
        case OPTION_TEXT: *(const char **)option->value = text; return true;
        case OPTION_SECTION: break;
    }
    return false;
}

bool option_read(const Option *option, const char *text, Error *err) {
    char copy[256];
    snprintf(copy, sizeof copy, "%s", text);
    return parse_value(option, copy, err);
}

/* The number of letters to change, add or remove to get from a to b (Levenshtein, 1965). */
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

/* Refuses a long name that is unknown or ambiguous. The name has `length` letters; a value may
 * follow. */
static bool fail_name(const Option *options, int count, const char *name, int length, Error *err) {
    char known[MAX_NAME + 1];
    snprintf(known, sizeof known, "%.*s", length, name);
    const char *nearest = NULL;
    int min = 4; /* suggest names at most three edits away */
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPTION_SECTION) continue;
        bool begins = length > 0 && strncmp(options[i].name, name, (size_t)length) == 0;
        int distance = begins ? 0 : edit_distance(known, options[i].name);
        if (distance >= min) continue;
        min = distance;
        nearest = options[i].name;
    }
    if (nearest) return fail(err, "unknown option '--%s'; is --%s meant?", known, nearest);
    return fail(err, "unknown option '--%s'; see --help", known);
}

/* The option with this long name, or the only one that begins with it. NULL if there is none. */
static const Option *find_name(const Option *options, int count, const char *name, int length) {
    const Option *found = NULL;
    int matches = 0;
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPTION_SECTION) continue;
        if (strncmp(options[i].name, name, (size_t)length) != 0) continue;
        if (options[i].name[length] == 0) return &options[i];
        found = &options[i];
        matches++;
    }
    return matches == 1 && length > 0 ? found : NULL;
}

static const Option *find_letter(const Option *options, int count, char letter) {
    for (int i = 0; i < count; i++)
        if (options[i].kind != OPTION_SECTION && options[i].letter == letter) return &options[i];
    return NULL;
}

/* Parses "--name", "--name=value" or "--name" with `next` as value. Sets *used to 1 or 2 words. */
static bool parse_name(const Option *options, int count, char *word, char *next, int *used,
                       Error *err) {
    char *name = word + 2, *equals = strchr(name, '=');
    int length = (int)strcspn(name, "=");
    const Option *option = find_name(options, count, name, length);
    if (!option) return fail_name(options, count, name, length, err);
    if (option->kind == OPTION_FLAG) {
        if (equals) return fail(err, "--%s takes no value", option->name);
        return parse_value(option, NULL, err);
    }
    if (equals) return parse_value(option, equals + 1, err);
    *used = 2;
    return next ? parse_value(option, next, err)
                : fail(err, "option '%s' needs a value; see --help", word);
}

/* Parses a word of letters: flags, the last of which may be an option with its value after it or in
 * the next word. */
static bool parse_letters(const Option *options, int count, char *word, char *next, int *used,
                          Error *err) {
    for (char *letter = word + 1; *letter; letter++) {
        const Option *option = find_letter(options, count, *letter);
        if (!option && (unsigned char)*letter < 0x80)
            return fail(err, "unknown option '-%c'; see --help", *letter);
        if (!option) return fail(err, "unknown option '%s'; see --help", word);
        if (option->kind == OPTION_FLAG) {
            if (!parse_value(option, NULL, err)) return false;
            continue;
        }
        if (letter[1]) return parse_value(option, letter + 1, err);
        *used = 2;
        return next ? parse_value(option, next, err)
                    : fail(err, "option '%s' needs a value; see --help", word);
    }
    return true;
}

bool options_parse(const Option *options, int count, int argc, char **argv, int *first,
                   Error *err) {
    *first = 1; /* the words from here to i are operands */
    for (int i = 1; i < argc;) {
        char *word = argv[i], *next = i + 1 < argc ? argv[i + 1] : NULL;
        if (word[0] != '-' || !word[1]) {
            i++;
            continue;
        }
        bool end = strcmp(word, "--") == 0;
        int used = 1;
        if (!end && !(word[1] == '-' ? parse_name(options, count, word, next, &used, err)
                                     : parse_letters(options, count, word, next, &used, err)))
            return false;
        /* Moves the words of the option before the operands. */
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

/* Writes " (VALUE)" to text[size], or nothing if there is no default to show. */
static void write_default(const Option *option, char *text, size_t size) {
    *text = 0;
    switch (option->kind) {
        case OPTION_INT:
            if (*(int *)option->value > 0) snprintf(text, size, " (%d)", *(int *)option->value);
            break;
        case OPTION_WHOLE:
            if (!isnan(*(double *)option->value))
                snprintf(text, size, " (%.0f)", *(double *)option->value);
            break;
        case OPTION_SEED: snprintf(text, size, " (%" PRIu64 ")", *(uint64_t *)option->value); break;
        case OPTION_REAL:
            if (*(double *)option->value >= 0)
                snprintf(text, size, " (%g)", *(double *)option->value);
            break;
        case OPTION_PATH:
        case OPTION_TEXT:
            if (*(const char **)option->value)
                snprintf(text, size, " (%s)", *(const char **)option->value);
            break;
        case OPTION_FLAG:
        case OPTION_TIME:
        case OPTION_SECTION: break;
    }
}

void options_print_entry(FILE *out, const char *name, const char *text) {
    enum { TEXT_COLUMN = 28, COLUMNS = 100 };
    int column = fprintf(out, "  %-26s", name);
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column + 1 + length > COLUMNS) column = fprintf(out, "\n%*s", TEXT_COLUMN, "") - 1;
        column += fprintf(out, " %.*s", length, text);
        text += length;
        text += strspn(text, " ");
    }
    fputc('\n', out);
}

void options_print(FILE *out, const Option *options, int count) {
    for (int i = 0; i < count; i++) {
        const Option *option = &options[i];
        if (option->kind == OPTION_SECTION) {
            fprintf(out, "\n%s:\n", option->help);
            continue;
        }
        char names[64], usual[256], text[512];
        char letter[5] = "    ";
        if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(names, sizeof names, "%s--%s%s%s", letter, option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        write_default(option, usual, sizeof usual);
        snprintf(text, sizeof text, "%s%s", option->help, usual);
        options_print_entry(out, names, text);
    }
}
