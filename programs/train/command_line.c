#include "programs/train/command_line.h"
#include "base/array.h"
#include "base/world.h"
#include "base/options.h"
#include "programs/common.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MAX_ROWS = 64 };

/* Lists by section the options of the table, whose values are members of `o`, and the program's
 * own, whose values are members of `a`. Returns how many. */
static int list(Option rows[MAX_ROWS], Arguments *a, TrilOptions *o) {
    enum { FIRST = 6 }; /* so many of its own belong to the table's first section */
    const Option own[] = {
        {0, "preset", OPTION_TEXT, &a->preset, .argument = "NAME",
         "small (default), quick, base, nanogpt-cpu, nanogpt-gpu"},
        {0, "ladder", OPTION_FLAG, &a->ladder, .help = "train every rung on the same budget"},
        {0, "init", OPTION_PATH, &a->init, .argument = "MODEL", "begin with a trained model"},
        {'o', "out", OPTION_PATH, &a->out, .argument = "DIR", "the folder of the run"},
        {'r', "resume", OPTION_FLAG, &a->resume, .help = "resume the run of --out"},
        {0, "continue", OPTION_FLAG, &a->continues,
         .help = "resume if text and model are the same, else start anew"},
        {0, "val-file", OPTION_PATH, &a->val_file, .argument = "FILE",
         "a text (or -) to hold out, not the end of the others"},
        {.kind = OPTION_SECTION, .help = "Other"},
        {0, "profile", OPTION_FLAG, &a->profile,
         .help = "print each rung's times, memory, kernels and a digest of its weights"},
        {'q', "quiet", OPTION_FLAG, &a->quiet,
         .help = "print only the table of results and what follows it"},
        {'h', "help", OPTION_FLAG, &a->help, .help = "print this help"},
        {0, "version", OPTION_FLAG, &a->version, .help = "print the version"},
    };
    int count = 0, next = 0;
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *t = tril_option(i), *before = tril_option(i - 1);
        if (!before || strcmp(before->section, t->section) != 0) {
            while (before && next < FIRST) rows[count++] = own[next++];
            rows[count++] = (Option){.kind = OPTION_SECTION, .help = t->section};
        }
        rows[count++] = (Option){t->letter, t->name, (OptionKind)t->kind, (char *)o + t->member,
                                 t->min,    t->max,  t->argument,         t->help};
    }
    while (next < COUNT(own)) rows[count++] = own[next++];
    return count;
}

/* Reads all arguments. */
static bool parse(Arguments *a, int *first, Error *err) {
    Option rows[MAX_ROWS];
    const int count = list(rows, a, &a->options);
    uint64_t given;
    if (!options_parse(rows, count, a->count, a->command, first, &given, err)) return false;
    for (int i = 0; i < count; i++)
        if (rows[i].kind == OPTION_SEED) a->seeded = given >> i & 1;
    return true;
}

/* Replaces names by the table's constants. */
static bool take_names(TrilOptions *o, Error *err) {
    TrilError error;
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *t = tril_option(i);
        const char *name;
        if (t->kind != TRIL_NAME) continue;
        memcpy(&name, (char *)o + t->member, sizeof name);
        if (name && !*name) return fail(err, "--%s: the name is empty", t->name);
        if (name && tril_options_set(o, t->name, name, &error) != TRIL_OK)
            return fail(err, "--%s", error.text);
    }
    return true;
}

static bool check(const Arguments *a, int operands, Error *err) {
    if (operands == 0 && a->resume)
        return fail(err, "no text FILE given; name the text that the run began with");
    if (operands == 0) return fail(err, "no text FILE given; try: %s my.txt", *a->command);
    if (!isnan(a->options.steps) && !isnan(a->options.time))
        return fail(err, "--steps and --time both limit the run; give only one");
    if (!isnan(a->options.held_out) && a->val_file)
        return fail(err, "--val and --val-file both say what is held out; give only one");
    if (a->ladder && a->init)
        return fail(err, "--init is for one model, but --ladder trains several; give only one");
    if (a->resume && a->continues)
        return fail(err,
                    "--resume fails without a run to resume, but --continue then starts a new run; "
                    "give only one");
    if (a->resume && a->init)
        return fail(err, "--init begins a new run, but --resume resumes one; give only one");
    if (a->preset && a->init)
        return fail(err, "--init and --preset both set the sizes; give only one");
    return true;
}

bool command_line_read(Arguments *a, int argc, char **argv, Error *err) {
    int first;
    TrilOptions with_preset = tril_options();
    *a = (Arguments){.command = argv,
                     .count = argc,
                     .begun = world_seconds(),
                     .options = tril_options_empty(),
                     .out = PROGRAM_OUT};
    if (!parse(a, &first, err)) return false;
    a->texts = argv + first;
    a->text_count = argc - first;
    return a->help || a->version ||
           (check(a, argc - first, err) && take_names(&a->options, err) &&
            command_line_apply(a, OVER_DEFAULTS, &with_preset, err));
}

/* ---- options over options ---- */

/* Fails if the command line changes an option that the model or the run fixes. Sizes are compared
 * with their defaults filled in, so repeating a default is no change; the option then stays unset.
 */
static bool check_fixed(OptionBase over, const TrilOptions *before, TrilOptions *o, Error *err) {
    const TrilOptions sizes[] = {tril_options_sizes(before), tril_options_sizes(o)};
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *t = tril_option(i);
        const bool size = t->on_resume == TRIL_MODEL;
        char was[TRIL_OPTION_SIZE], now[TRIL_OPTION_SIZE];
        if (!size && t->kind != TRIL_FLAG && !(over == OVER_RUN && t->on_resume == TRIL_FIXED))
            continue;
        tril_options_get(size ? &sizes[0] : before, i, was);
        tril_options_get(size ? &sizes[1] : o, i, now);
        if (strcmp(was, now) != 0 && t->kind == TRIL_FLAG)
            return fail(err, "was trained without --%s; leave it out", t->name);
        if (strcmp(was, now) != 0)
            return fail(err, "was trained with --%s=%s, not --%s=%s; give the same value", t->name,
                        was, t->name, now);
        tril_options_get(before, i, was);
        tril_options_set(o, t->name, was, &(TrilError){0});
    }
    return true;
}

bool command_line_apply(const Arguments *a, OptionBase over, TrilOptions *o, Error *err) {
    const TrilOptions before = *o, *given = &a->options;
    TrilError error;
    if (a->preset && tril_options_set(o, "preset", a->preset, &error) != TRIL_OK)
        return fail(err, "--%s", error.text);
    if (!isnan(given->steps) || (a->preset && isnan(given->time))) o->time = NAN;
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *t = tril_option(i);
        char text[TRIL_OPTION_SIZE];
        const bool set = tril_options_get(given, i, text) && (t->kind != TRIL_SEED || a->seeded) &&
                         (t->kind != TRIL_FLAG || strcmp(text, "0") != 0);
        if (set && tril_options_set(o, t->name, text, err) != TRIL_OK) return false;
    }
    const bool asked = !isnan(given->steps) || !isnan(given->time); /* for another limit */
    if (over == OVER_RUN && a->continues && !asked) {
        o->time = before.time;
        o->steps = before.steps;
    } else if (over == OVER_RUN && a->continues && isnan(before.time) == isnan(o->time)) {
        o->time = fmax(o->time, before.time);
        o->steps = fmax(o->steps, before.steps);
    }
    return over == OVER_DEFAULTS || check_fixed(over, &before, o, err);
}

void command_line_print_options(void) {
    Option rows[MAX_ROWS];
    TrilOptions usual = tril_options();
    Arguments a = {.out = PROGRAM_OUT};
    options_print(stdout, rows, list(rows, &a, &usual));
}
