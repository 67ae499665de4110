#include "training/display.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/world.h"
#include "report/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { GROUPED_SIZE = 32 };

/* 1234567 as 1,234,567; returns `text`. */
static const char *grouped(size_t number, char text[GROUPED_SIZE]) {
    char plain[GROUPED_SIZE];
    int digits = snprintf(plain, sizeof plain, "%zu", number), to = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0) text[to++] = ',';
        text[to++] = plain[i];
    }
    text[to] = 0;
    return text;
}

void show_no_state(const char *path) {
    escape_string(stdout, path);
    puts(": not there yet: training begins");
}

void show_corpus(const char *path, const Corpus *corpus) {
    char all[GROUPED_SIZE], train[GROUPED_SIZE], rest[GROUPED_SIZE];
    escape_string(stdout, path);
    printf(": %s characters, %d distinct; %s train, %s validate\n", grouped(corpus->length, all),
           corpus->vocab.size, grouped(corpus->train, train),
           grouped(corpus->length - corpus->train, rest));
}

static void show_decisions(const Request *request, const Plan *plan) {
    char speed[GROUPED_SIZE];
    const Config *c = &plan->rungs[plan->rung_count - 1].config;
    bool dropout = request->sizes.dropout < 0 && c->dropout > 0;
    bool enough = plan->epochs > 0 && plan->epochs_seen >= plan->epochs;
    if (plan->speed > 0)
        printf("in %g s: layers %d, heads %d, width %d, steps of %d x %d characters, dropout %g; "
               "this machine trains %s of them a second, the whole text %.1f times%s\n",
               plan->time, c->L, c->NH, c->C, plan->run.batch, c->T, c->dropout,
               grouped((size_t)plan->speed, speed), plan->epochs_seen,
               enough ? ", and no more (--epochs)" : "");
    else if (plan->steps < request->steps || (plan->time <= 0 && dropout))
        printf("%d steps, dropout %g: the text is seen %.1f times\n", plan->steps, c->dropout,
               plan->epochs_seen);
}

void show_plan(const Request *request, const Plan *plan, bool resumed) {
    int threads = plan->run.threads;
    if (request->threads > threads)
        printf("-j %d: this program may use %d processors, and takes %d threads\n",
               request->threads, threads, threads);
    if (!resumed) show_decisions(request, plan);
}

void show_set_aside(const char *where) {
    fputs("what was here before is now in ", stdout);
    escape_string(stdout, where);
    putchar('\n');
}

void show_left_out(const char *name, const Corpus *corpus) {
    printf("\n%s: left out: of %d characters its table would be larger than is worth it\n", name,
           corpus->vocab.size);
}

void show_other_log(const char *path, const char *where) {
    escape_string(stdout, path);
    fputs(": has been changed since this training wrote it; it is now in ", stdout);
    escape_string(stdout, where);
    puts(", and a new log begins");
}

/* The program's peak counts, too: reading a long text may take more than training. */
static void show_memory(const Run *run, const Corpus *corpus) {
    enum { PROGRAM = 3 << 20 }; /* itself and its libraries */
    const double MiB = 1048576;
    Memory m = run_memory(run);
    size_t text = corpus->length * sizeof *corpus->ids;
    double all =
        (double)(m.weights + m.optimizer + m.messages + m.activations + m.threads + text + PROGRAM);
    char messages[GROUPED_SIZE] = "";
    if (m.messages > 0)
        snprintf(messages, sizeof messages, "messages %.1f, ", (double)m.messages / MiB);
    double before = (double)memory_peak();
    if (before > all) all = before;
    printf("  %.1f MiB of memory: weights %.1f, optimizer %.1f, %sactivations %.1f, threads %.1f, "
           "text %.1f\n",
           all / MiB, (double)m.weights / MiB, (double)m.optimizer / MiB, messages,
           (double)m.activations / MiB, (double)m.threads / MiB, (double)text / MiB);
}

void show_training(const Model *model, const Run *run, const Plan *plan, const Corpus *corpus,
                   int done) {
    const char *name = model->config.model;
    char count[GROUPED_SIZE];
    char steps[GROUPED_SIZE] = "", processes[GROUPED_SIZE] = "";
    if (plan->time <= 0) snprintf(steps, sizeof steps, "%d ", plan->steps);
    if (world_size() > 1) snprintf(processes, sizeof processes, ", %d processes", world_size());
    printf("\n%s: %s\n  %s parameters, %ssteps of %d x %d characters, %s kernels%s\n", name,
           model_idea(name), grouped(model->parameters, count), steps, plan->run.batch,
           model->config.T, run_kernels(run), processes);
    if (done > 0) printf("  goes on after step %d\n", done);
    show_memory(run, corpus);
}

void show_kernels(const Progress *p, const Run *run) {
    const char *now = run_kernels(run);
    if (*p->kernels && strcmp(p->kernels, now) != 0)
        printf("  trained with %s kernels so far; %s kernels give other last digits\n", p->kernels,
               now);
}

void show_sharing(const Workers *workers) {
    const double MB = 1e6;
    if (world_size() > 1 && workers->steps > 0)
        printf("%s  %.3g MB of gradients and weights shared in each step, waited for in %.0f %% of "
               "its time\n",
               isatty(STDOUT_FILENO) ? "\r\033[K" : "",
               workers->traffic.bytes / workers->steps / MB,
               100 * workers->traffic.seconds / workers->seconds);
}

/* Characters a second in training steps, evaluations not counted. */
static const char *speed_of(const Progress *p, const Plan *plan, char text[GROUPED_SIZE]) {
    double characters = p->step * plan_step_characters(plan);
    return grouped(p->step_seconds > 0 ? (size_t)(characters / p->step_seconds) : 0, text);
}

/* By the clock the number of steps is an estimate. */
static const char *about(const Plan *plan) {
    return plan->time > 0 ? "~" : "";
}

void show_progress(const Progress *p, const Plan *plan, int steps, const Spark *spark) {
    char speed[GROUPED_SIZE], curve[SPARK_SIZE], before[128], after[128];
    double left = p->seconds / p->step * (steps - p->step);
    int length = snprintf(before, sizeof before, "  step %d/%s%d  loss %.4f ", p->step, about(plan),
                          steps, p->recent);
    length += snprintf(after, sizeof after, "  %s tokens/s  %.0f s left ", speed_of(p, plan, speed),
                       left);
    spark_text(spark, curve);
    /* what does not fit would begin a second line, which nothing overwrites: it is left out, the
       curve first */
    int columns = screen_of(stdout).columns;
    char line[sizeof before + sizeof after];
    snprintf(line, sizeof line, "%s%s", before, after);
    if (length + spark->count < columns)
        printf("\r%s%s%s\033[K", before, curve, after);
    else
        printf("\r%.*s\033[K", columns - 1, line);
    fflush(stdout);
}

void show_evaluation(const Progress *p, const Plan *plan, int steps, double validation,
                     const char *mark, const char *sample) {
    char speed[GROUPED_SIZE];
    if (p->step == 0)
        printf("  begins with a validation loss of %.4f\n        | %s\n", validation, sample);
    else
        printf(
            "%s  step %5d/%s%d  loss %.4f  validation %.4f%s  %s tokens/s  %.1f s\n        | %s\n",
            isatty(STDOUT_FILENO) ? "\r\033[K" : "", p->step, about(plan), steps, p->recent,
            validation, mark, speed_of(p, plan, speed), p->seconds, sample);
    fflush(stdout);
}

void show_early_stop(const Progress *p) {
    printf("  no lower loss since step %.0f: the rest of the training is left out\n",
           p->lowest_step);
}

void show_early_decay(const Progress *p) {
    printf("  no lower loss since step %.0f: the learning rate begins to fall\n", p->lowest_step);
}

/* A dash if an interrupted training has no figure. */
static const char *figure(double value, int digits, char text[GROUPED_SIZE]) {
    snprintf(text, GROUPED_SIZE, isnan(value) ? "-" : "%.*f", digits, value);
    return text;
}

static void show_result(const Result *result) {
    char parameters[GROUPED_SIZE] = "-", seconds[GROUPED_SIZE] = "-";
    char train[GROUPED_SIZE], validation[GROUPED_SIZE], bits[GROUPED_SIZE];
    if (result->seconds >= 0) {
        grouped(result->parameters, parameters);
        snprintf(seconds, sizeof seconds, "%.1f", result->seconds);
    }
    printf("%-16s  %10s  %8s  %10s  %9s  %7s\n", result->name, parameters,
           figure(result->train, 4, train), figure(result->validation, 4, validation),
           figure(result->validation / log(2.0), 3, bits), seconds);
}

void show_results(const Result *results, int count) {
    printf("\n%-16s  %10s  %8s  %10s  %9s  %7s\n", "model", "parameters", "train", "validation",
           "bits/char", "seconds");
    for (int i = 0; i < count; i++) show_result(&results[i]);
}
