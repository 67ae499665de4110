#include "programs/sample/commands.h"
#include "base/options.h"

#include <inttypes.h>
#include <string.h>

enum { SETTINGS = 5, LINE = 128 };

/* Read as options are, with the same limits as those of the command line. */
static void list(Option options[SETTINGS], Settings *s) {
    const Option rows[SETTINGS] = {
        {0, "temperature", OPTION_REAL, &s->sampling.temperature, 0, 100, "X", "bolder or tamer"},
        {0, "length", OPTION_INT, &s->length, 1, 1e9, "N", "characters to write in a turn"},
        {0, "top-k", OPTION_INT, &s->sampling.top_k, 0, 1e7, "N", "among the N likeliest; 0: all"},
        {0, "top-p", OPTION_REAL, &s->sampling.top_p, 1e-9, 1, "X",
         "among the likeliest that make up this probability"},
        {0, "seed", OPTION_SEED, &s->sampling.seed, 0, 0, "N", "of what is chosen from now on"},
    };
    memcpy(options, rows, sizeof rows);
}

/* Reads "NAME VALUE" as the option --NAME. */
static bool read_setting(Settings *settings, const char *name, const char *value, Error *err) {
    Option options[SETTINGS];
    char word[2 * LINE + 8], *argv[] = {"", word, NULL};
    int first;
    list(options, settings);
    for (int i = 0; i < SETTINGS; i++) {
        if (strcmp(name, options[i].name) != 0) continue;
        if (!*value) return fail(err, "/%s needs a value, as in /%s 1", name, name);
        snprintf(word, sizeof word, "--%s=%s", name, value);
        return options_parse(options, SETTINGS, 2, argv, &first, err);
    }
    return fail(err, "there is no command /%.60s; /help lists them, and // begins a line with /",
                name);
}

bool command_read(Command *command, Settings *settings, const char *line, Error *err) {
    char name[LINE] = "", value[LINE] = "", rest[2] = "";
    Settings changed = *settings;
    int words = sscanf(line, "/%127s %127s %1s", name, value, rest);
    bool is_new = strcmp(name, "new") == 0, is_help = strcmp(name, "help") == 0;
    *command = is_new ? COMMAND_NEW : is_help ? COMMAND_HELP : COMMAND_SET;
    if (words > (is_new || is_help ? 1 : 2)) return fail(err, "/%.60s: too many words", name);
    if (is_new || is_help) return true;
    if (!read_setting(&changed, name, value, err)) return false;
    *settings = changed;
    return true;
}

static void print_value(FILE *out, const Option *option) {
    switch (option->kind) {
        case OPTION_INT: fprintf(out, "%d", *(const int *)option->value); break;
        case OPTION_SEED: fprintf(out, "%" PRIu64, *(const uint64_t *)option->value); break;
        default: fprintf(out, "%g", *(const double *)option->value);
    }
}

void command_print_help(FILE *out, const Settings *settings) {
    Option options[SETTINGS];
    Settings now = *settings;
    list(options, &now);
    fputs("  /new              forgets the text and begins another\n", out);
    for (int i = 0; i < SETTINGS; i++) {
        fprintf(out, "  /%-11s %-4s %s (now ", options[i].name, options[i].argument,
                options[i].help);
        print_value(out, &options[i]);
        fputs(")\n", out);
    }
    fputs("  /help             this list\n  //TEXT            the line /TEXT\n", out);
}
