#include "training/display.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/world.h"
#include "report/screen.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const char *grouped(size_t number, char text[GROUPED_ROOM]) {
    char plain[GROUPED_ROOM];
    int digits = snprintf(plain, sizeof plain, "%zu", number), to = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0) text[to++] = ',';
        text[to++] = plain[i];
    }
    text[to] = 0;
    return text;
}

void show_corpus(const char *path, const Corpus *corpus) {
    char all[GROUPED_ROOM], train[GROUPED_ROOM], rest[GROUPED_ROOM];
    escape_string(stdout, path);
    printf(": %s characters, %d distinct; %s train, %s validate\n", grouped(corpus->length, all),
           corpus->vocab.size, grouped(corpus->train, train),
           grouped(corpus->length - corpus->train, rest));
}

void show_plan(const Settings *asked, const Settings *s, const Plan *plan) {
    char speed[GROUPED_ROOM];
    const Config *z = &s->sizes;
    bool dropout = asked->sizes.dropout < 0 && z->dropout > 0;
    bool enough = s->epochs > 0 && plan->epochs >= s->epochs;
    if (plan->speed > 0)
        printf("in %g s: layers %d, heads %d, width %d, steps of %d x %d characters, dropout %g; "
               "this machine trains %s of them a second, the whole text %.1f times%s\n",
               s->time, z->L, z->NH, z->C, s->batch, z->T, z->dropout,
               grouped((size_t)plan->speed, speed), plan->epochs,
               enough ? ", and no more (--epochs)" : "");
    else if (s->steps < asked->steps || (s->time <= 0 && dropout))
        printf("%d steps, dropout %g: the text is seen %.1f times\n", s->steps, z->dropout,
               plan->epochs);
}

void show_set_aside(const char *where) {
    fputs("what was here before is now in ", stdout);
    escape_string(stdout, where);
    putchar('\n');
}

void show_other_log(const char *path, const char *where) {
    escape_string(stdout, path);
    fputs(": has been changed since this training wrote it; it is now in ", stdout);
    escape_string(stdout, where);
    puts(", and a new log begins");
}

/* Reading a long text may have taken more than training does. */
static void show_memory(const Run *run, const Corpus *corpus) {
    enum { PROGRAM = 3 << 20 }; /* itself and its libraries */
    const double MiB = 1048576;
    Memory m = run_memory(run);
    size_t text = corpus->length * sizeof *corpus->ids;
    double all =
        (double)(m.weights + m.optimizer + m.messages + m.activations + m.threads + text + PROGRAM);
    char messages[GROUPED_ROOM] = "";
    if (m.messages > 0)
        snprintf(messages, sizeof messages, "messages %.1f, ", (double)m.messages / MiB);
    double before = (double)memory_peak();
    if (before > all) all = before;
    printf("  %.1f MiB of memory: weights %.1f, optimizer %.1f, %sactivations %.1f, threads %.1f, "
           "text %.1f\n",
           all / MiB, (double)m.weights / MiB, (double)m.optimizer / MiB, messages,
           (double)m.activations / MiB, (double)m.threads / MiB, (double)text / MiB);
}

void show_training(const Model *model, const Run *run, const Settings *settings,
                   const Corpus *corpus, int done) {
    const char *name = model->config.model;
    char count[GROUPED_ROOM];
    char steps[GROUPED_ROOM] = "", processes[GROUPED_ROOM] = "";
    if (settings->time <= 0) snprintf(steps, sizeof steps, "%d ", settings->steps);
    if (world_size() > 1) snprintf(processes, sizeof processes, ", %d processes", world_size());
    printf("\n%s: %s\n  %s parameters, %ssteps of %d x %d characters, %s kernels%s\n", name,
           model_idea(name), grouped(model->parameters, count), steps, settings->batch,
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

void show_sharing(const Crew *crew) {
    const double MB = 1e6;
    if (world_size() > 1 && crew->steps > 0)
        printf("%s  %.3g MB of gradients and weights shared in each step, waited for in %.0f %% of "
               "its time\n",
               isatty(STDOUT_FILENO) ? "\r\033[K" : "", crew->traffic.bytes / crew->steps / MB,
               100 * crew->traffic.seconds / crew->seconds);
}

/* Characters a second, of training alone. */
static const char *speed_of(const Progress *p, const Settings *settings, char text[GROUPED_ROOM]) {
    double characters = (double)p->step * settings->batch * settings->sizes.T;
    return grouped(p->learning > 0 ? (size_t)(characters / p->learning) : 0, text);
}

/* By the clock it is not known before how many there will be. */
static const char *about(const Settings *settings) {
    return settings->time > 0 ? "~" : "";
}

void show_progress(const Progress *p, const Settings *settings, int steps, const Spark *spark) {
    char speed[GROUPED_ROOM], course[SPARK_ROOM], before[128], after[128];
    double left = p->seconds / p->step * (steps - p->step);
    int length = snprintf(before, sizeof before, "  step %d/%s%d  loss %.4f ", p->step,
                          about(settings), steps, p->recent);
    length += snprintf(after, sizeof after, "  %s tokens/s  %.0f s left ",
                       speed_of(p, settings, speed), left);
    spark_text(spark, course);
    /* what does not fit would go on in a line that is not written over: it is left out, the course
       first */
    int columns = screen_of(stdout).columns;
    char line[sizeof before + sizeof after];
    snprintf(line, sizeof line, "%s%s", before, after);
    if (length + spark->count < columns)
        printf("\r%s%s%s\033[K", before, course, after);
    else
        printf("\r%.*s\033[K", columns - 1, line);
    fflush(stdout);
}

void show_evaluation(const Progress *p, const Settings *settings, int steps, double validation,
                     const char *mark, const char *excerpt) {
    char speed[GROUPED_ROOM];
    if (p->step == 0)
        printf("  begins with a validation loss of %.4f\n        | %s\n", validation, excerpt);
    else
        printf(
            "%s  step %5d/%s%d  loss %.4f  validation %.4f%s  %s tokens/s  %.1f s\n        | %s\n",
            isatty(STDOUT_FILENO) ? "\r\033[K" : "", p->step, about(settings), steps, p->recent,
            validation, mark, speed_of(p, settings, speed), p->seconds, excerpt);
    fflush(stdout);
}

void show_hopeless(const Progress *p) {
    printf("  no lower loss since step %.0f: the rest of the training is left out\n",
           p->lowest_step);
}

void show_cooling(const Progress *p) {
    printf("  no lower loss since step %.0f: the learning rate begins to fall\n", p->lowest_step);
}

/* A dash where a training that was interrupted has no figure. */
static const char *figure(double value, int digits, char text[GROUPED_ROOM]) {
    snprintf(text, GROUPED_ROOM, isnan(value) ? "-" : "%.*f", digits, value);
    return text;
}

static void show_result(const Result *result) {
    char parameters[GROUPED_ROOM] = "-", seconds[GROUPED_ROOM] = "-";
    char train[GROUPED_ROOM], validation[GROUPED_ROOM], bits[GROUPED_ROOM];
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
