/* train.c - trains models on a text, and shows side by side what each idea of the ladder buys.
 *
 * The arguments and what the training starts from give its options; decided, they are the plan,
 * which is carried out. Of several processes the first does all this, and sends the others
 * commands. */
#include "base/file.h"
#include "base/terminal.h"
#include "library/message.h"
#include "programs/program.h"
#include "programs/train/display.h"
#include "programs/train/interruption.h"
#include "programs/train/ladder.h"
#include "programs/train/outputs.h"
#include "programs/train/plan.h"
#include "programs/train/start.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int show_help(const char *program) {
    program_usage(
        program,
        " [options] FILE\n\nTrains a bigram and a modern GPT on a text, or every rung of the "
        "ladder,\nand compares them.");
    puts("\nRungs of the ladder, for --model:");
    for (int i = 0; tril_rung(i); i++) printf("  %-10s %s\n", tril_rung(i), tril_rung_idea(i));
    command_line_print_options(stdout);
    return EXIT_SUCCESS;
}

/* The files are claimed first: whatever is in the way is found before the text is read. */
static bool train(const Arguments *arguments, Start *start, const TrilOptions *options,
                  Error *err) {
    Input input = {0};
    Files *files = NULL;
    Outputs *outputs = NULL;
    Plan plan;
    bool shows = !arguments->quiet,
         ladder = start->resumed ? start->saved.ladder : arguments->ladder;
    bool ok = files_name(&files, arguments, options->rung, ladder, err) &&
              outputs_open(&outputs, files, err) &&
              (!start->resumed || outputs_check_state(outputs, &start->saved, err)) &&
              start_read_text(start, arguments, options, &input, err);
    if (ok) interruption_catch(shows);
    if (ok && shows) show_corpus(arguments->input, &input);
    if (ok && shows && start->added > 0)
        show_line("the model lacks %d of these characters; with them, its vocabulary has %d",
                  start->added, input.vocabulary);
    bool measures = ok && !isnan(options->time) && !start->resumed && shows;
    if (measures) show_activity("measuring the speed of this machine");
    ok = ok && plan_make(&plan, arguments, options, files, ladder, &input, start->teacher,
                         start->resumed, err);
    if (measures) show_activity(NULL);
    if (ok) plan.training = start_training(start, &plan, &input);
    if (ok && shows && arguments->options.threads > plan.options.threads)
        show_line("-j %g: this program may use only %g processors", arguments->options.threads,
                  plan.options.threads);
    if (ok && shows && !start->resumed) show_plan(&plan, &input);
    ok = ok && ladder_train(&plan, &input, outputs, start, err) && file_flush_output(err);
    input_free(&input);
    outputs_close(outputs);
    files_free(files);
    return ok;
}

/* Checks the sizes for each rung that will be trained. */
static bool check_options(const Arguments *arguments, const TrilOptions *options, Error *err) {
    TrilError error;
    for (int i = 0; tril_rung(i); i++) {
        TrilOptions of = *options;
        bool trained = arguments->ladder || i == 0 || strcmp(tril_rung(i), options->rung) == 0;
        of.rung = tril_rung(i);
        if (trained && tril_options_check(&of, &error) != TRIL_OK)
            return message_take(err, &error, NULL);
    }
    return true;
}

static int first_process(int argc, char **argv) {
    Arguments arguments;
    TrilOptions options;
    Start start;
    Error err = {0};
    if (!command_line_read(&arguments, argc, argv, &err))
        return program_failed("train", EXIT_USAGE, &err);
    if (arguments.help) return show_help(*argv);
    if (arguments.version) return program_version();
    terminal_send_lines(stdout);
    if (!start_load(&start, &options, &arguments, &err))
        return program_failed("train", EXIT_FAILURE, &err);
    int status = EXIT_SUCCESS;
    if (!check_options(&arguments, &options, &err))
        status = EXIT_USAGE;
    else if (!train(&arguments, &start, &options, &err))
        status = EXIT_FAILURE;
    start_free(&start);
    return status == EXIT_SUCCESS ? status : program_failed("train", status, &err);
}

int main(int argc, char **argv) {
    int number, status = EXIT_SUCCESS;
    TrilError error;
    Error err;
    terminal_prepare(&argc, &argv);
    if (tril_processes_join(&number, &error) != TRIL_OK) {
        message_take(&err, &error, NULL);
        status = number == 0 ? program_failed("train", EXIT_FAILURE, &err) : EXIT_FAILURE;
    } else if (number == 0) {
        status = first_process(argc, argv);
    } else {
        interruption_ignore(); /* the first process gets the signals, too, and decides when to end
                                */
        tril_processes_serve();
    }
    tril_processes_leave();
    return status;
}
