#include "programs/train/next_steps.h"
#include "base/shell.h"
#include "programs/train/interruption.h"

#include <stdio.h>
#include <string.h>

/* The name of ./sample where ./train is called `train`: tril-sample beside tril-train. */
static void sampler_name(const char *train, char name[PATH_SIZE]) {
    static const char own[] = "train";
    size_t length = strlen(train), end = sizeof own - 1;
    bool known = length >= end && strcmp(train + length - end, own) == 0;
    snprintf(name, PATH_SIZE, "%.*ssample", known ? (int)(length - end) : 2, known ? train : "./");
}

static void show_command(const char *before, const char *program, const char *options) {
    fputs(before, stdout);
    shell_word(stdout, program, shell_put);
    fputs(options, stdout);
}

static void show_path(const char *before, const char *path) {
    fputs(before, stdout);
    shell_path(stdout, path, shell_put);
}

static bool usual_out(const Plan *plan) {
    return strcmp(plan->out, "out/model.safetensors") == 0;
}

/* The options that name the files of the training. */
static void show_files(const Plan *plan) {
    if (plan->files->teacher) show_path(" --teacher ", plan->files->teacher);
    if (!usual_out(plan)) show_path(" --out ", plan->out);
    if (plan->log) show_path(" --log ", plan->log);
    show_path(" ", plan->files->text);
    putchar('\n');
}

static void show_sampling(const Plan *plan) {
    char sampler[PATH_SIZE];
    sampler_name(*plan->command, sampler);
    show_command("\nTo read what it writes:  ", sampler, " -n 500");
    if (!usual_out(plan)) show_path(" ", plan->out);
    putchar('\n');
}

static void show_longer(const Plan *plan, const char *longer) {
    show_command("To train it further:     ", *plan->command, " --resume ");
    fputs(longer, stdout);
    show_files(plan);
}

void show_next_steps(const Plan *plan, bool trained, bool page, const char *longer) {
    if (trained) show_sampling(plan);
    if (trained && page) {
        show_path("To see what it learnt:   ", plan->files->page);
        putchar('\n');
    }
    if (trained && !interrupted() && !plan->ladder && longer) show_longer(plan, longer);
    if (interrupted()) {
        show_command("\nInterrupted.  To go on:  ", *plan->command, " --resume");
        show_files(plan);
    }
}
