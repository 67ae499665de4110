/* train.c - trains models on a text, and compares the ideas of the ladder side by side.
 *
 * The arguments become a plan, and the ladder carries it out: on every process, if MPI started
 * several. */
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/options.h"
#include "base/terminal.h"
#include "base/world.h"
#include "programs/common.h"
#include "programs/train/display.h"
#include "programs/train/ladder.h"
#include "programs/train/planning.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show_help(const char *program) {
    program_usage(
        program, "[options] FILE...",
        "Trains a character-level model on a text, and a bigram to compare it with. A FILE may "
        "be - for standard input. The end of each file is held out.");
    puts("\nThe rungs, for --model:");
    for (int i = 0; tril_rung(i); i++) {
        int column = printf("  %-10s ", tril_rung(i));
        escape_words(stdout, tril_rung_idea(i), column, column, options_columns(stdout));
        putchar('\n');
    }
    command_line_print_options();
    return program_printed("train");
}

/* Checks that every process was started alike. */
static bool same_arguments(int argc, char **argv, Error *err) {
    Digest digest = digest_start();
    digest_add(&digest, TRIL_VERSION, sizeof TRIL_VERSION);
    for (int i = 1; i < argc; i++) digest_add(&digest, argv[i], strlen(argv[i]) + 1);
    return world_same(digest_value(&digest),
                      "has another command line than the first process, or another version", err);
}

/* Checks that every process read the same text and, if any, the same model or state. */
static bool same_files(const Plan *plan, Error *err) {
    const uint64_t model = plan->init ? tril_model_digest(plan->init) : 0;
    const char *state = plan->resumed ? tril_model_metadata(plan->resumed, "digest") : "";
    return world_same(plan->corpus->digest, "reads another text than the first process", err) &&
           world_same(model, "begins with another model than the first process", err) &&
           world_same(digest_bytes(state, strlen(state)),
                      "resumes another state than the first process", err);
}

static bool train(Plan *plan, Error *err) {
    if (!plan_read_text(plan, err) || !same_files(plan, err)) return false;
    if (!plan->arguments->quiet) show_corpus(plan);
    return plan_decide(plan, err) && ladder_train(plan, err) && file_flush_output(err);
}

/* Returns the exit status. *err is empty unless a message is to be printed. */
static int run(int argc, char **argv, Error *err) {
    Arguments arguments;
    Plan *plan;
    if (!same_arguments(argc, argv, err)) return EXIT_FAILURE;
    if (!command_line_read(&arguments, argc, argv, err)) return EXIT_USAGE;
    if (arguments.help) return show_help(*argv);
    if (arguments.version) return program_version("train");
    terminal_send_lines();
    int status = plan_open(&plan, &arguments, err);
    if (status == EXIT_SUCCESS && !train(plan, err)) status = EXIT_FAILURE;
    plan_close(plan);
    return status;
}

int main(int argc, char **argv) {
    Error err = {0};
    terminal_prepare(&argc, &argv);
    const int status = world_join(&err) ? run(argc, argv, &err) : EXIT_FAILURE;
    if (status != EXIT_SUCCESS && *err.text) {
        world_blame(&err);
        program_failed("train", status, &err);
    }
    world_leave(status);
    return status;
}
