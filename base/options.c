#include "base/options.h"
#include "base/array.h"
#include "base/escape.h"
#include "base/filesystem.h"
#include "base/number.h"
#include "base/terminal.h"

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the text consists of these characters only: number_read also reads "inf". */
static bool made_of(const char *text, const char *characters) {
    return *text && !text[strspn(text, characters)];
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
    uint64_t seed;
    char *end;
    switch (option->kind) {
        case OPTION_INT:
            if (!read_number(option, text, &number, err)) return false;
            *(int *)option->value = (int)number;
            return true;
        case OPTION_WHOLE:
        case OPTION_REAL:
        case OPTION_TIME: return read_number(option, text, option->value, err);
        case OPTION_SEED:
            errno = 0;
            seed = strtoull(text, &end, 10);
            if (!made_of(text, "0123456789") || *end || errno)
                return fail(err, "--%s: '%s' is not a whole number from 0 to %" PRIu64,
                            option->name, text, UINT64_MAX);
            *(uint64_t *)option->value = seed;
            return true;
        case OPTION_PATH:
        case OPTION_TEXT: *(const char **)option->value = text; return true;
        case OPTION_FLAG:
            if (strcmp(text, "0") != 0 && strcmp(text, "1") != 0)
                return fail(err, "--%s: '%.64s' is neither 0 nor 1", option->name, text);
            *(bool *)option->value = *text == '1';
            return true;
        case OPTION_SECTION: break;
    }
    return false;
}

void option_write(const Option *option, char *text, size_t size) {
    const void *value = option->value;
    int digits = 0;
    *text = 0;
    switch (option->kind) {
        case OPTION_INT: snprintf(text, size, "%d", *(const int *)value); break;
        case OPTION_REAL: number_shortest(text, size, *(const double *)value); break;
        case OPTION_WHOLE: number_write(text, size, 'f', 0, *(const double *)value); break;
        case OPTION_TIME: /* is read without an exponent */
            do number_write(text, size, 'f', digits, *(const double *)value);
            while (number_read(text, NULL) != *(const double *)value && digits++ < 16);
            break;
        case OPTION_SEED: snprintf(text, size, "%" PRIu64, *(const uint64_t *)value); break;
        case OPTION_FLAG: snprintf(text, size, "%d", *(const bool *)value); break;
        case OPTION_PATH:
        case OPTION_TEXT: snprintf(text, size, "%s", *(const char *const *)value); break;
        case OPTION_SECTION: break;
    }
}

enum {
    LONG = 0x110000 /* above every code point, because musl's getopt_long decodes UTF-8 */,
    MOST = 64
};

/* Returns the option that getopt_long found: its letter, or LONG plus its index; else NULL. */
static const Option *find(const Option *options, int count, int found) {
    if (found >= LONG) return &options[found - LONG];
    for (int i = 0; i < count && found != 0; i++)
        if (options[i].letter == found) return &options[i];
    return NULL;
}

/* Fails with a message about the word that getopt_long rejected. */
static bool fail_word(const Option *options, int count, char **argv, Error *err) {
    const Option *option = find(options, count, optopt);
    const char letter[] = {'-', (char)optopt, 0}, *word = optopt ? letter : argv[optind - 1];
    const size_t length = strcspn(word, "=");
    int alike = 0; /* names that begin with the word */
    for (int i = 0; i < count && length > 2; i++)
        alike += options[i].name && strncmp(options[i].name, word + 2, length - 2) == 0;
    if (!option && (optopt < 0 || optopt > 0x7F))
        return fail(err, "unknown option with a letter that is not ASCII; see --help");
    if (option && option->kind == OPTION_FLAG)
        return fail(err, "--%s takes no value", option->name);
    if (option) return fail(err, "option '--%s' needs a value; see --help", option->name);
    return fail(err, "%s option '%.*s'; see --help", alike > 1 ? "ambiguous" : "unknown",
                (int)length, word);
}

bool options_parse(const Option *options, int count, int argc, char **argv, int *first,
                   uint64_t *given, Error *err) {
    struct option names[MOST] = {{0}};
    char letters[2 * MOST + 2] = ":", *letter = letters + 1;
    assert(count < MOST);
    for (int i = 0, n = 0; i < count; i++) {
        const int value = options[i].kind == OPTION_FLAG ? no_argument : required_argument;
        if (options[i].kind == OPTION_SECTION) continue;
        names[n++] = (struct option){options[i].name, value, NULL, LONG + i};
        if (options[i].letter) *letter++ = options[i].letter;
        if (options[i].letter && value == required_argument) *letter++ = ':';
    }
    *given = 0;
    opterr = optind = 0; /* no output; 0 begins anew, also on BSDs */
    for (int found; (found = getopt_long(argc, argv, letters, names, NULL)) >= 0;) {
        if (found == '?' || found == ':') return fail_word(options, count, argv, err);
        const Option *option = find(options, count, found);
        *given |= (uint64_t)1 << (option - options);
        if (option->kind == OPTION_FLAG) {
            *(bool *)option->value = true;
            continue;
        }
        if (option->kind == OPTION_PATH) filesystem_slash(optarg);
        if (!option_read(option, optarg, err)) return false;
    }
    *first = optind;
    for (int i = *first; i < argc; i++) filesystem_slash(argv[i]);
    return true;
}

/* Writes " (VALUE)" to text[size], or nothing if the option has no default. */
static void write_default(const Option *option, char *text, size_t size) {
    const OptionKind kind = option->kind;
    char value[250];
    *text = 0;
    if (kind == OPTION_FLAG || kind == OPTION_TIME ||
        (kind == OPTION_INT && *(int *)option->value <= 0) ||
        (kind <= OPTION_REAL && !(*(double *)option->value >= 0)) ||
        ((kind == OPTION_TEXT || kind == OPTION_PATH) && !*(const char **)option->value))
        return;
    option_write(option, value, sizeof value);
    snprintf(text, size, " (%s)", value);
}

int options_columns(FILE *out) {
    const int widest = 80, columns = terminal_columns(out, widest);
    return min_int(columns, widest);
}

void options_print(FILE *out, const Option *options, int count) {
    const int columns = options_columns(out), beside = 26, hang = columns < 60 ? 10 : beside;
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
        int column = hang;
        if (hang == beside)
            column = fprintf(out, "  %-*s ", hang - 3, names);
        else
            fprintf(out, "  %s\n%*s", names, hang, "");
        escape_words(out, text, column, hang, columns);
        fputc('\n', out);
    }
}
