#include "programs/train/display.h"
#include "base/array.h"
#include "base/digest.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "programs/common.h"
#include "programs/train/budget.h"
#include "programs/train/interruption.h"
#include "programs/train/shell.h"

#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- lines ---- */

enum { NUMBER_SIZE = 32 };

static void clear_line(void) {
    if (terminal_is(stdout)) fputs("\r\033[K", stdout);
    fflush(stdout);
}

void show_line(const char *format, ...) {
    char line[2 * PATH_SIZE + VERDICT_SIZE], *text = line;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    clear_line();
    if (*text == '\n') putchar(*text++);
    program_words(stdout, 0, 4, text);
    fflush(stdout);
}

/* ---- the beginning ---- */

void show_corpus(const Plan *plan) {
    enum { MOST = 8 }; /* files to name; the page names all */
    const TrilText *input = plan->corpus;
    const Texts *texts = &plan->texts;
    for (int i = 0; texts->count > 1 && i < texts->count && i < MOST; i++)
        show_line("%s", texts->files[i].path);
    if (texts->count > MOST) show_line("... and %d more", texts->count - MOST);
    show_line("%s: %s, %d distinct; %s to train on, %s held out", texts->name,
              count_of((double)input->characters, "character"), input->distinct,
              grouped((double)input->trained_on),
              grouped((double)(input->characters - input->trained_on)));
    if (input->returns) show_line("line ends: CR LF and CR are read as LF");
    if (plan->repeated > 0.1)
        show_line("%.0f%% of the held-out text is in the training text, too, in passages of 50 "
                  "characters or more; its loss is lower than that of new text; remove the copies",
                  100 * plan->repeated);
    if (input->characters < ENOUGH_CHARACTERS && !plan->init)
        show_line(
            "the text is short: a model needs about %s characters to learn more than pairs of "
            "characters; --init MODEL begins with a trained model",
            grouped(ENOUGH_CHARACTERS));
    if (plan->added > 0)
        show_line("%d of these characters %s new to the model; its vocabulary grows to %d",
                  plan->added, plan->added == 1 ? "is" : "are", plan->corpus->vocab.size);
}

void show_decisions(const Plan *plan, const RungPlan *sized) {
    const TrilChoice *c = &sized->pace;
    const TrilOptions *o = &sized->options, *asked = &plan->arguments->options;
    const double read = o->steps * plan_step_characters(plan),
                 epochs = read / (double)plan->corpus->trained_on;
    if (!plan_has_time(plan)) {
        if ((isnan(asked->steps) && !plan->arguments->preset && o->steps < TRIL_STANDARD_STEPS) ||
            (isnan(asked->dropout) && o->dropout > 0))
            show_line("%s, dropout %g, %.1f epochs", count_of(o->steps, "step"), o->dropout,
                      epochs);
        return;
    }
    const bool enough = o->epochs > 0 && epochs * (1 + 1 / o->steps) > o->epochs;
    const double shown = enough ? o->epochs : epochs, few = 0.1; /* 0.02, not 0.0 */
    const int rungs = plan->ladder ? plan->rung_count : 1;
    const double lasts = rungs * o->steps * budget_step(plan, sized), much = 0.8;
    const char *limit = !enough                  ? ""
                        : lasts < much * o->time ? ", the limit (--epochs); it ends early"
                                                 : ", the limit (--epochs)";
    show_line("chosen for %.10g s: layers %g, heads %g, width %g, steps of %g x %g characters, "
              "dropout %g",
              o->time, o->layers, o->heads, o->width, o->batch, o->context, o->dropout);
    show_line("  this machine trains %s on %s characters a second: about %s, %.*f epochs%s",
              sized->name, grouped(round(plan_step_characters(plan) / budget_step(plan, sized))),
              count_of(round(o->steps), "step"), shown < few ? 3 : 1, shown, limit);
    if (c->limit == TRIL_LIMIT_NONE) return;
    char why[120] = "does not fit into memory";
    if (c->limit != TRIL_LIMIT_MEMORY)
        snprintf(why, sizeof why, "is better only if it reads %s characters, more than %s",
                 grouped(1e4 * round(c->break_even_characters / 1e4)),
                 c->limit == TRIL_LIMIT_TIME ? "it can in this time" : "this text offers");
    show_line("  the next larger size (layers %g, width %g, steps of %g x %g) %s", c->larger.layers,
              c->larger.width, c->larger.batch, c->larger.context, why);
}

void show_training(const RungPlan *rung, const TrilModel *model, const TrilTraining *training,
                   const Plan *plan, bool alone) {
    char processes[NUMBER_SIZE] = "", grows[2 * NUMBER_SIZE] = "";
    const char *now = tril_training_kernels(training),
               *before = rung->resumed ? tril_model_metadata(model, "kernels") : now;
    const int done = tril_training_progress(training).step, window = tril_training_window(training);
    if (window < plan->options.context)
        snprintf(grows, sizeof grows, ", windows of %d %s", window, done ? "now" : "at first");
    if (world_size() > 1) snprintf(processes, sizeof processes, ", %d processes", world_size());
    if (alone) {
        show_line("%s: %s", rung->name, rung->idea);
        show_line("  %s, %s of %g x %g characters%s%s",
                  count_of((double)tril_model_parameters(model), "parameter"),
                  plan_has_time(plan) ? "steps" : count_of(plan->options.steps, "step"),
                  plan->options.batch, plan->options.context, grows, processes);
    }
    const bool alone_to_train = !plan->ladder && !rung->baseline && !plan_has_time(plan);
    if (done > 0 && alone_to_train && done >= plan->options.steps)
        show_line("  %s has taken all %s; more --steps train it further", rung->name,
                  count_of(done, "step"));
    else if (done > 0)
        show_line("  %s resumes after step %d", rung->name, done);
    bool base = strcmp(before, "base") == 0 || strcmp(now, "base") == 0; /* the others agree */
    if (strcmp(before, now) != 0 && base)
        show_line("  trained with %s kernels so far; with %s kernels the last digits differ",
                  before, now);
}

/* ---- while it trains ---- */

/* Returns the sign before the number of steps, which with a time limit is an estimate. */
static const char *about(const Plan *plan) {
    return plan_has_time(plan) ? "~" : "";
}

void show_progress(const Result *r, const Plan *plan, int steps) {
    enum { PLACE, LOSS, LEFT, SPEED, PARTS }; /* where space is short, the first ones */
    const double minute = 60, hour = 3600;
    char parts[PARTS][48];
    int room = terminal_columns(stdout, 80) - 1; /* the cursor follows the line */
    double left = fmax(0, r->seconds / r->now.step * (steps - r->now.step));
    const size_t size = sizeof *parts;
    snprintf(parts[PLACE], size, "  %s: step %d/%s%d", r->name, r->now.step, about(plan), steps);
    snprintf(parts[LOSS], size, "  loss %s", figure(r->now.recent, 4));
    if (strlen(parts[PLACE]) + strlen(parts[LOSS]) > (size_t)room)
        snprintf(parts[PLACE], size, "  %.0f%%", 100.0 * r->now.step / steps);
    snprintf(parts[SPEED], size, "  %s characters/s",
             grouped(r->now.seconds > 0 ? r->course->row.characters / r->now.seconds : 0));
    if (left < 2 * minute)
        snprintf(parts[LEFT], size, "  %.0f s left", left);
    else if (left < 2 * hour)
        snprintf(parts[LEFT], size, "  %.0f min left", left / minute);
    else
        snprintf(parts[LEFT], size, "  %.1f h left", left / hour);
    putchar('\r');
    for (int i = 0; i < PARTS && (room -= (int)strlen(parts[i])) >= 0; i++) fputs(parts[i], stdout);
    fputs("\033[K", stdout);
    fflush(stdout);
}

void show_activity(const Plan *plan, const char *activity) {
    char text[64] = "";
    if (plan->arguments->quiet || !terminal_is(stdout)) return;
    if (activity) snprintf(text, sizeof text, "  %s ...", activity);
    printf("\r%.*s\033[K", terminal_columns(stdout, 80) - 1, text);
    fflush(stdout);
}

void show_evaluation(const Result *r, const Plan *plan, int steps, double recent, double validation,
                     const char *mark, const char *sample) {
    char line[128];
    int used =
        r->now.step == 0
            ? snprintf(line, sizeof line, "  begins with a held-out loss of %s%s",
                       figure(validation, 4), mark)
            : snprintf(line, sizeof line, "  step %5d/%s%d  loss %s  held-out %s%s", r->now.step,
                       about(plan), steps, figure(recent, 4), figure(validation, 4), mark);
    const int left = terminal_columns(stdout, INT_MAX) - used - 3, least = 8;
    const int length = (int)escape_fitting(sample, strlen(sample), left, &used);
    if (left < least)
        show_line("%s", line);
    else
        show_line("%s | %.*s", line, length, sample);
}

void show_sharing(const Traffic *traffic, int steps, double seconds) {
    const double MB = 1e6;
    if (world_size() > 1 && steps > 0)
        show_line(
            "  %.3g MB of gradients and weights exchanged in each step, which takes %.0f%% of "
            "the time",
            traffic->bytes / steps / MB, 100 * traffic->seconds / seconds);
}

/* ---- the results ---- */

/* The columns of the table. `least`: columns of the narrowest terminal that shows it. */
static const struct {
    const char *name;
    int width, least;
} table[] = {{"model", -16, 0},    {"parameters", 10, 60}, {"train", 7, 0},   {"held-out", 10, 0},
             {"bits/char", 9, 80}, {"TFLOP", 6, 80},       {"seconds", 7, 60}};

static void show_row(const char *const cells[COUNT(table)], const char *mark) {
    const int columns = terminal_columns(stdout, INT_MAX);
    for (int i = 0; i < COUNT(table); i++)
        if (columns >= table[i].least)
            printf("%s%*s", i > 0 ? "  " : "", table[i].width, cells ? cells[i] : table[i].name);
    puts(mark);
}

void show_head(void) {
    clear_line();
    putchar('\n');
    show_row(NULL, "");
}

void show_result(const Result *r) {
    const bool trained = r->course != NULL;
    char held_out[NUMBER_SIZE];
    snprintf(held_out, sizeof held_out, "%s%s", r->sampled ? "~" : "", figure(r->validation, 4));
    clear_line();
    show_row((const char *[]){r->name, trained ? grouped((double)r->parameters) : "-",
                              figure(r->train, 4), held_out, figure(r->validation / log(2.0), 3),
                              figure_tera(r->now.operations / TERA),
                              figure(trained ? r->seconds : NAN, 1)},
             r->verdict.falling ? " \u2193" : "");
    fflush(stdout);
}

void show_legend(const Plan *plan, const Result *results, int count) {
    bool falling = false, sampled = false;
    for (const Result *r = results; r < results + count; r++) {
        falling = falling || r->verdict.falling;
        sampled = sampled || r->sampled;
    }
    const bool guessed = plan_shows_steps(plan) && plan_has_time(plan); /* the number of steps */
    const char *marks[] = {plan_shows_steps(plan) ? "* the lowest so far, kept" : NULL,
                           plan_shows_steps(plan) ? "\u21b5 a new line" : NULL,
                           guessed   ? "~ about"
                           : sampled ? "~ about, on a part of the held-out text"
                                     : NULL,
                           falling ? "\u2193 still falling at the end" : NULL};
    char legend[160] = "";
    for (int i = 0; i < COUNT(marks); i++)
        if (marks[i])
            snprintf(legend + strlen(legend), sizeof legend - strlen(legend), "%s%s",
                     *legend ? "   " : "", marks[i]);
    if (*legend) show_line("%s", legend);
}

static void put_path(Buffer *lines, const char *before, const char *path) {
    buffer_put(lines, before, strlen(before));
    shell_path(lines, path);
}

/* The columns before a command. In a ladder the rungs are named. */
static int columns_before(const Plan *plan) {
    return plan->ladder ? 32 : 25;
}

static bool has_usual_out(const Plan *plan) {
    return strcmp(plan->arguments->out, PROGRAM_OUT) == 0;
}

/* Adds the command that writes text with a rung's model. */
static void put_sampler(Buffer *lines, const Plan *plan, const RungPlan *rung) {
    static const char own[] = "train"; /* tril-sample is beside tril-train */
    const char *train = *plan->arguments->command;
    size_t length = strlen(train), end = strlen(own);
    char sampler[PATH_SIZE] = "./sample", label[64];
    if (length >= end && strcmp(train + length - end, own) == 0)
        snprintf(sampler, PATH_SIZE, "%.*ssample", (int)(length - end), train);
    snprintf(label, sizeof label, "To read what %s writes:", plan->ladder ? rung->name : "it");
    buffer_printf(lines, "%-*s", columns_before(plan), label);
    shell_program(lines, sampler);
    buffer_printf(lines, " -n 500");
    if (!rung->chosen)
        put_path(lines, " ", rung->checkpoint);
    else if (!has_usual_out(plan))
        put_path(lines, " ", plan->arguments->out);
    buffer_printf(lines, "\n");
}

/* Adds the command that resumes the run, to train `longer` or, if that is empty, as planned. */
static void put_resuming(Buffer *lines, const Plan *plan, const Result *model, const char *longer) {
    const Arguments *a = plan->arguments;
    const int best = model && model->characters <= 0 ? model->course->lowest.step : 0;
    const int steps = model ? model->course->row.step : 0;
    if (best > 0 && best < steps) {
        put_path(lines, "\n", model->rung->checkpoint);
        buffer_printf(lines, " is the best model so far (step %d); training stopped at step %d.",
                      best, steps);
    }
    buffer_printf(lines, "%s",
                  *longer ? "To train it further:     " : "\nInterrupted.  To resume: ");
    if (!*longer && plan->resumed) { /* not yet: the state has the options of the run before */
        shell_command(lines, a->command, a->count, SIZE_MAX); /* plan->command may be cut */
        buffer_printf(lines, "\n");
        return;
    }
    shell_program(lines, *a->command);
    buffer_printf(lines, " --resume%s%s", *longer ? " " : "", longer);
    if (!has_usual_out(plan)) put_path(lines, " --out ", a->out);
    if (a->val_file) put_path(lines, " --val-file ", a->val_file);
    for (int i = 0; i < a->text_count; i++) put_path(lines, " ", a->texts[i]);
    buffer_printf(lines, "\n");
}

bool show_next_steps(const Plan *plan, const Result *model, const Result *best, bool page,
                     Error *err) {
    const bool stopped = interrupted();
    const char *longer = model && !stopped && !plan->ladder ? model->verdict.longer : "";
    Buffer lines = buffer_begin("the next commands", err);
    if (model) put_sampler(&lines, plan, model->rung);
    if (best && best != model && file_kind(best->rung->checkpoint) == FILE_REGULAR)
        put_sampler(&lines, plan, best->rung);
    if (model && page) {
        buffer_printf(&lines, "%-*s", columns_before(plan),
                      plan->ladder ? "To see what they learned:" : "To see what it learned:");
        put_path(&lines, "", plan->page);
        buffer_printf(&lines, "\n");
    }
    if ((*longer || stopped) && file_kind(plan->state_file) == FILE_REGULAR)
        put_resuming(&lines, plan, model, longer);
    const bool ok = !lines.failed;
    if (lines.length > 0) fwrite(lines.bytes, 1, lines.length, stdout);
    buffer_end(&lines);
    return ok;
}

/* ---- the profile ---- */

static int longer_first(const void *a, const void *b) {
    double one = ((const TrilPart *)a)->seconds, other = ((const TrilPart *)b)->seconds;
    return (other > one) - (other < one);
}

void show_profile(const char *of, const TrilText *text, const RungTimes *t) {
    const double small = 0.0005; /* lines with less than this share of the time are summed */
    TrilPart lines[MAX_PARTS + 4];
    int count = t->count;
    double parts = 0, rest = 0;
    memcpy(lines, t->parts, sizeof t->parts);
    for (int i = 0; i < count; i++) parts += lines[i].seconds;
    lines[count++] = (TrilPart){"waiting, and the rest of the steps", t->steps - parts, 0};
    lines[count++] = (TrilPart){"evaluations", t->evaluations, 0};
    lines[count++] = (TrilPart){"outside the steps", t->all - t->steps - t->evaluations, 0};
    qsort(lines, (size_t)count, sizeof *lines, longer_first);
    while (count > 0 && lines[count - 1].seconds < small * t->all) rest += lines[--count].seconds;
    if (rest > 0) lines[count++] = (TrilPart){"lines of less than 0.05%", rest, 0};
    /* reading a long text may take more memory than training and its samples, with weights of a
     * byte; the program and its libraries take the rest */
    const double MiB = 1048576, program = 3 * MiB;
    const double needed = t->memory + (double)(text->characters * sizeof(int32_t)) + program;
    show_line("\nwhere the %.2f s of %s went", t->all, of);
    show_line("  %.1f MiB of memory, %s kernels; digest of the weights of %s: %s",
              fmax(needed, (double)memory_peak()) / MiB, t->kernels, of,
              digest_text(t->digest).text);
    printf("  %-35s  %8s  %6s  GFLOP/s\n", "", "seconds", "share");
    for (const TrilPart *line = lines; line < lines + count; line++)
        printf("  %-35s  %8.2f  %5.1f%%  %7s\n", line->name, line->seconds,
               100 * line->seconds / t->all,
               figure(line->operations > 0 ? line->operations / line->seconds * 1e-9 : NAN, 1));
}
