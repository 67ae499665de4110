#include "base/options.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_OPTIONS = 48, MAX_NAME = 32 };

/* The value's text is a whole number within the option's range, written to *number. */
static bool parse_int(const Option *option, const char *text, int *number, Error *err) {
    char *end;
    errno = 0;
    long value = strtol(text, &end, 10);
    if (end == text || *end || errno || (double)value < option->least ||
        (double)value > option->most)
        return fail(err, "--%s takes a whole number from %.0f to %.0f, not '%s'", option->name,
                    option->least, option->most, text);
    *number = (int)value;
    return true;
}

static bool parse_seed(const Option *option, const char *text, uint64_t *number, Error *err) {
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end || errno)
        return fail(err, "--%s takes a whole number from 0 to %" PRIu64 ", not '%s'", option->name,
                    UINT64_MAX, text);
    return true;
}

static bool parse_real(const Option *option, const char *text, double *number, Error *err) {
    char *end;
    double value = strtod(text, &end);
    if (end == text || *end || !(value >= option->least && value <= option->most))
        return fail(err, "--%s takes a number from %g to %g, not '%s'", option->name, option->least,
                    option->most, text);
    *number = value;
    return true;
}

static bool parse_value(const Option *option, const char *text, Error *err) {
    switch (option->kind) {
        case OPTION_FLAG: *(bool *)option->value = true; return true;
        case OPTION_INT: return parse_int(option, text, option->value, err);
        case OPTION_SEED: return parse_seed(option, text, option->value, err);
        case OPTION_REAL: return parse_real(option, text, option->value, err);
        case OPTION_TEXT: *(const char **)option->value = text; return true;
        case OPTION_SECTION: break;
    }
    return false;
}

/* How many letters must be changed, added or dropped to get from a to b (Levenshtein, 1965). */
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

static bool fail_unknown(const Option *options, int count, const char *word, Error *err) {
    if (strncmp(word, "--", 2) != 0) return fail(err, "unknown option '%s'; see --help", word);
    char name[MAX_NAME + 1];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    const char *nearest = NULL;
    int least = MAX_NAME;
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPTION_SECTION) continue;
        int distance = edit_distance(name, options[i].name);
        if (distance < least) {
            least = distance;
            nearest = options[i].name;
        }
    }
    if (least <= 3) return fail(err, "unknown option '--%s'; is --%s meant?", name, nearest);
    return fail(err, "unknown option '--%s'; see --help", name);
}

/* The word of argv that getopt_long has just refused, for the message. */
static const char *refused_word(char *const argv[], char letter[3]) {
    /* A letter may stand inside a bundle such as -qx: getopt then names it in optopt. */
    if (optopt > 0 && optopt < 128) {
        letter[0] = '-';
        letter[1] = (char)optopt;
        letter[2] = 0;
        return letter;
    }
    return argv[optind - 1];
}

bool options_parse(const Option *options, int count, int argc, char **argv, int *first,
                   Error *err) {
    struct option names[MAX_OPTIONS + 1] = {{0}};
    char letters[2 * MAX_OPTIONS + 2] = ":"; /* the colon tells "no argument" from "unknown" */
    size_t used = 1;
    int named = 0;
    if (count > MAX_OPTIONS) return fail(err, "more than %d options", MAX_OPTIONS);
    for (int i = 0; i < count; i++) {
        if (options[i].kind == OPTION_SECTION) continue;
        bool takes = options[i].kind != OPTION_FLAG;
        names[named].name = options[i].name;
        names[named].has_arg = takes ? required_argument : no_argument;
        names[named++].val = 256 + i; /* above every letter */
        if (!options[i].letter) continue;
        letters[used++] = options[i].letter;
        if (takes) letters[used++] = ':';
    }
    opterr = 0;
    optind = 1;
    for (int code; (code = getopt_long(argc, argv, letters, names, NULL)) != -1;) {
        char letter[3];
        if (code == '?') return fail_unknown(options, count, refused_word(argv, letter), err);
        if (code == ':')
            return fail(err, "option '%s' needs a value; see --help", argv[optind - 1]);
        int i = code - 256;
        if (code < 256)
            for (i = 0; options[i].letter != code;) i++;
        if (!parse_value(&options[i], optarg, err)) return false;
    }
    *first = optind;
    return true;
}

static void print_default(FILE *out, const Option *option) {
    switch (option->kind) {
        case OPTION_INT:
            if (*(int *)option->value) fprintf(out, " (%d)", *(int *)option->value);
            break;
        case OPTION_SEED: fprintf(out, " (%" PRIu64 ")", *(uint64_t *)option->value); break;
        case OPTION_REAL:
            if (*(double *)option->value >= 0) fprintf(out, " (%g)", *(double *)option->value);
            break;
        case OPTION_TEXT:
            if (*(const char **)option->value) fprintf(out, " (%s)", *(const char **)option->value);
            break;
        case OPTION_FLAG:
        case OPTION_SECTION: break;
    }
}

void options_print(FILE *out, const Option *options, int count) {
    for (int i = 0; i < count; i++) {
        const Option *option = &options[i];
        if (option->kind == OPTION_SECTION) {
            fprintf(out, "\n%s\n", option->help);
            continue;
        }
        char names[64];
        char letter[5] = "    ";
        if (option->letter) snprintf(letter, sizeof letter, "-%c, ", option->letter);
        snprintf(names, sizeof names, "%s--%s%s%s", letter, option->name,
                 option->argument ? " " : "", option->argument ? option->argument : "");
        fprintf(out, "  %-26s %s", names, option->help);
        print_default(out, option);
        fputc('\n', out);
    }
}
