/* train.c - trains models on a text, and shows side by side what each idea of the ladder buys.
 *
 * A person's request, and what the training starts from, become a plan; the plan is carried out. Of
 * several processes the first does all this, and sends the others commands. */
#include "base/file.h"
#include "base/terminal.h"
#include "base/width.h"
#include "library/message.h"
#include "programs/program.h"
#include "programs/train/display.h"
#include "programs/train/interruption.h"
#include "programs/train/ladder.h"
#include "programs/train/outputs.h"
#include "programs/train/plan.h"
#include "programs/train/request.h"
#include "programs/train/start.h"

#include <stdio.h>
#include <stdlib.h>

static int show_help(const char *program) {
    program_usage(
        program,
        " [options] FILE\n\nTrains a bigram and a modern GPT on a text, or every rung of the "
        "ladder,\nand compares them.");
    puts("\nRungs of the ladder, for --model:");
    for (int i = 0; tril_rung(i); i++) printf("  %-10s %s\n", tril_rung(i), tril_rung_idea(i));
    request_print_options(stdout);
    return EXIT_SUCCESS;
}

/* Are the sizes that a person asks for valid, for each rung? */
static bool check_sizes(const Request *request, Error *err) {
    const char *names[MAX_RUNGS + 1];
    TrilError error;
    int count = request_rungs(request, names);
    names[count++] = request->model; /* first of all, for it may be unknown */
    for (int i = count; i-- > 0;) {
        TrilSizes sizes = request->sizes;
        sizes.rung = names[i];
        if (tril_sizes_check(&sizes, &error) != TRIL_OK) return message_take(err, &error, NULL);
    }
    return true;
}

/* The files are claimed first: whatever is in the way is found before the text is read. */
static bool train(const Request *request, Start *start, Error *err) {
    Input input = {0};
    Files *files = NULL;
    Outputs *outputs = NULL;
    Plan plan;
    bool ok = files_name(&files, request, err) && outputs_open(&outputs, files, err) &&
              (!start->resumed || outputs_check_state(outputs, &start->saved, err)) &&
              start_read_text(start, request, &input, err);
    if (ok) interruption_catch(!request->quiet);
    if (ok && !request->quiet) show_corpus(request->input, &input);
    if (ok && !request->quiet && start->added > 0)
        show_line("the model lacks %d of these characters; with them, its vocabulary has %d",
                  start->added, input.vocabulary);
    bool measures = request->time > 0 && !start->resumed;
    if (ok && measures && !request->quiet) show_activity("measuring the speed of this machine");
    ok = ok && plan_make(&plan, request, files, &input, start->teacher, start->resumed, err);
    if (measures && !request->quiet) show_activity(NULL);
    if (ok) plan.training = start_training(start, &plan, &input);
    if (ok && !request->quiet && request->threads > plan.threads)
        show_line("-j %d: this program may use only %d processors", request->threads, plan.threads);
    if (ok && !request->quiet && !start->resumed)
        show_plan(&plan, &input,
                  plan.steps < request->steps || (request->dropout < 0 && plan.dropout > 0));
    ok = ok && ladder_train(&plan, &input, outputs, start, err) && file_flush_output(err);
    input_free(&input);
    outputs_close(outputs);
    files_free(files);
    return ok;
}

static int first_process(int argc, char **argv) {
    Request asked, request; /* by the command line; in all */
    Start start;
    Error err = {0};
    width_prepare();
    if (!request_read(&asked, argc, argv, &err)) return program_failed("train", EXIT_USAGE, &err);
    if (asked.help) return show_help(*argv);
    if (asked.version) return program_version();
    terminal_send_lines(stdout);
    if (!start_load(&start, &request, &asked, &err))
        return program_failed("train", EXIT_FAILURE, &err);
    int status = EXIT_SUCCESS;
    if (!check_sizes(&request, &err))
        status = EXIT_USAGE;
    else if (!train(&request, &start, &err))
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
