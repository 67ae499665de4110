#include "programs/train/display.h"
#include "base/escape.h"
#include "base/memory.h"
#include "base/terminal.h"
#include "programs/report/sheet.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { GROUPED_SIZE = 32 };

/* Clears the line that overwrites itself, on a terminal. */
static const char *clear_line(void) {
    return terminal_is(stdout) ? "\r\033[K" : "";
}

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

void show_corpus(const char *path, const Input *input) {
    char all[GROUPED_SIZE], train[GROUPED_SIZE], rest[GROUPED_SIZE];
    escape_string(stdout, path);
    printf(": %s characters, %d distinct; %s train, %s validate\n", grouped(input->length, all),
           input->distinct, grouped(input->train, train),
           grouped(input->length - input->train, rest));
}

void show_added(int added, const Input *input) {
    printf(
        "the model did not know %d of these characters: they are added to its vocabulary, which now "
        "has %d\n",
        added, input->vocabulary);
}

/* 300 thousand, 6 million. */
static const char *rounded(double number, char text[GROUPED_SIZE]) {
    bool millions = number >= 1e6;
    snprintf(text, GROUPED_SIZE, "%.3g %s", number / (millions ? 1e6 : 1e3),
             millions ? "million" : "thousand");
    return text;
}

/* Why the sizes are not larger. */
static void show_limit(const Plan *plan) {
    char worth[GROUPED_SIZE];
    const TrilChoice *c = &plan->choice;
    if (c->limit == TRIL_LIMIT_NONE) return;
    printf("  the next larger size (layers %d, width %d, context %d) ", c->layers, c->width,
           c->context);
    if (c->limit == TRIL_LIMIT_MEMORY)
        puts("does not fit into the memory");
    else
        printf("pays once it has seen %s characters: too many for this %s\n",
               rounded(c->worth, worth), c->limit == TRIL_LIMIT_TIME ? "time" : "text");
}

/* A share from a third on, in words; shares in between round to the nearest. */
static const char *share_in_words(double share) {
    return share < 0.42 ? "a third" : share < 0.58 ? "half" : share < 0.75 ? "two thirds" : "most";
}

/* What a training by the clock does with its time. */
static void show_choice(const Plan *plan, const Input *input) {
    char speed[GROUPED_SIZE], steps[GROUPED_SIZE];
    const TrilSizes *s = &plan->rungs[plan->rung_count - 1].sizes;
    bool enough = plan->epochs > 0 && plan->epochs_seen >= plan->epochs;
    double expected = plan->epochs_seen * (double)input->train / plan_step_characters(plan);
    printf("in %g s: layers %d, heads %d, width %d, steps of %d x %d characters, dropout %g\n",
           plan->time, s->layers, s->heads, s->width, plan->batch, s->context, plan->dropout);
    printf("  this machine trains %s characters a second: about %s steps%s, the whole text %.1f "
           "times%s\n",
           grouped((size_t)plan->choice.speed, speed), grouped((size_t)expected, steps),
           plan->ladder ? " for the last rung" : "", plan->epochs_seen,
           enough ? ", and no more (--epochs)" : "");
    if (!enough && plan->evaluating > 0.33)
        printf("  about %s of the time goes into evaluations; a smaller --val needs less\n",
               share_in_words(plan->evaluating));
    show_limit(plan);
}

static void show_decisions(const Request *request, const Plan *plan, const Input *input) {
    bool dropout = request->dropout < 0 && plan->dropout > 0;
    if (plan->choice.speed > 0)
        show_choice(plan, input);
    else if (plan->steps < request->steps || (plan->time <= 0 && dropout))
        printf("%d steps, dropout %g: the text is seen %.1f times\n", plan->steps, plan->dropout,
               plan->epochs_seen);
}

void show_plan(const Request *request, const Plan *plan, const Input *input, bool resumed) {
    int threads = plan->threads;
    if (request->threads > threads)
        printf("-j %d: this program may use %d processors, and takes %d threads\n",
               request->threads, threads, threads);
    if (!resumed) show_decisions(request, plan, input);
}

void show_set_aside(const char *where) {
    fputs("what was here before is now in ", stdout);
    escape_string(stdout, where);
    putchar('\n');
}

void show_left_out(const char *name, const Input *input) {
    printf("\n%s: left out: of %d characters its table would be larger than is worth it\n", name,
           input->vocabulary);
}

void show_other_log(const char *path, const char *where) {
    escape_string(stdout, path);
    fputs(": has been changed since this training wrote it; it is now in ", stdout);
    escape_string(stdout, where);
    puts(", and a new log begins");
}

/* The program's peak counts, too: reading a long text may take more than training. */
static void show_memory(const TrilMemory *m, const Input *input) {
    enum { PROGRAM = 3 << 20 }; /* itself and its libraries */
    const double MiB = 1048576;
    double text = (double)(input->length * sizeof(int32_t));
    double all = m->weights + m->optimizer + m->messages + m->activations + m->threads;
    all += text + PROGRAM;
    char messages[GROUPED_SIZE] = "";
    if (m->messages > 0) snprintf(messages, sizeof messages, "messages %.1f, ", m->messages / MiB);
    double before = (double)memory_peak();
    if (before > all) all = before;
    printf("  %.1f MiB of memory: weights %.1f, optimizer %.1f, %sactivations %.1f, threads %.1f, "
           "text %.1f\n",
           all / MiB, m->weights / MiB, m->optimizer / MiB, messages, m->activations / MiB,
           m->threads / MiB, text / MiB);
}

void show_training(const RungPlan *rung, const TrilModel *model, const TrilTraining *training,
                   const Plan *plan, const Input *input) {
    char count[GROUPED_SIZE];
    char steps[GROUPED_SIZE] = "", processes[GROUPED_SIZE] = "";
    int done = tril_training_done(training);
    const TrilMemory memory = tril_training_memory(training);
    if (plan->time <= 0) snprintf(steps, sizeof steps, "%d ", plan->steps);
    if (tril_processes_count() > 1)
        snprintf(processes, sizeof processes, ", %d processes", tril_processes_count());
    printf("\n%s: %s\n  %s parameters, %ssteps of %d x %d characters, %s kernels%s\n", rung->name,
           rung->idea, grouped(tril_model_parameters(model), count), steps, plan->batch,
           plan->context, tril_training_kernels(training), processes);
    if (done > 0) printf("  goes on after step %d\n", done);
    show_memory(&memory, input);
}

void show_windows(int next, int last, int done) {
    if (next < last)
        printf("  windows of %d characters %s, which grow to %d\n", next, done ? "now" : "at first",
               last);
}

void show_kernels(const char *before, const TrilTraining *training) {
    const char *now = tril_training_kernels(training);
    bool base = strcmp(before, "base") == 0 || strcmp(now, "base") == 0; /* the others agree */
    if (*before && strcmp(before, now) != 0 && base)
        printf("  trained with %s kernels so far; %s kernels give other last digits\n", before,
               now);
}

void show_sharing(const TrilTraffic *traffic, int steps, double seconds) {
    const double MB = 1e6;
    if (tril_processes_count() > 1 && steps > 0)
        printf("%s  %.3g MB of gradients and weights shared in each step, waited for in %.0f %% of "
               "its time\n",
               clear_line(), traffic->bytes / steps / MB, 100 * traffic->seconds / seconds);
}

/* Characters a second in training steps, evaluations not counted. */
static const char *speed_of(const Progress *p, const Plan *plan, char text[GROUPED_SIZE]) {
    double characters = p->now.step * plan_step_characters(plan);
    return grouped(p->now.seconds > 0 ? (size_t)(characters / p->now.seconds) : 0, text);
}

/* By the clock the number of steps is an estimate. */
static const char *about(const Plan *plan) {
    return plan->time > 0 ? "~" : "";
}

/* One part of the progress line. */
typedef struct {
    const char *text;
    int columns;
} Part;

/* Prints those parts that fit, in this order; `first` says in which order they are tried. */
static void put_parts(const Part *parts, const int *first, int count) {
    int room = screen_of(stdout).columns - 1; /* the cursor stands after the line */
    unsigned taken = 0;
    for (int i = 0; i < count; i++) {
        if (parts[first[i]].columns > room) continue;
        room -= parts[first[i]].columns;
        taken |= 1u << first[i];
    }
    fputs("\r", stdout);
    for (int i = 0; i < count; i++)
        if (taken & (1u << i)) fputs(parts[i].text, stdout);
    fputs("\033[K", stdout);
    fflush(stdout);
}

static void show_parts(const char *place, const char *loss, const char *curve, int curve_columns,
                       const char *speed, const char *left) {
    const Part parts[] = {{place, (int)strlen(place)},
                          {loss, (int)strlen(loss)},
                          {curve, curve_columns},
                          {speed, (int)strlen(speed)},
                          {left, (int)strlen(left)}};
    static const int first[] = {0, 1, 4, 2, 3};
    put_parts(parts, first, sizeof parts / sizeof *parts);
}

/* A dash if an interrupted training has no figure; few digits if a training that diverged has a
 * huge one. */
static const char *figure(double value, int digits, char text[GROUPED_SIZE]) {
    const double huge = 1e6;
    if (isnan(value))
        snprintf(text, GROUPED_SIZE, "-");
    else if (fabs(value) >= huge)
        snprintf(text, GROUPED_SIZE, "%.3g", value);
    else
        snprintf(text, GROUPED_SIZE, "%.*f", digits, value);
    return text;
}

/* 95 s, 12 min or 3.4 h. */
static void write_left(double seconds, char text[GROUPED_SIZE]) {
    const double minute = 60, hour = 3600;
    if (seconds < 2 * minute)
        snprintf(text, GROUPED_SIZE, "  %.0f s left", fmax(0, seconds));
    else if (seconds < 2 * hour)
        snprintf(text, GROUPED_SIZE, "  %.0f min left", seconds / minute);
    else
        snprintf(text, GROUPED_SIZE, "  %.1f h left", seconds / hour);
}

void show_progress(const Progress *p, const Plan *plan, int steps, const Spark *spark) {
    char number[GROUPED_SIZE], curve[2 + SPARK_SIZE] = "  ", place[64], loss[32], speed[64];
    char left[GROUPED_SIZE], recent[GROUPED_SIZE];
    int wide = snprintf(place, sizeof place, "  step %d/%s%d", p->now.step, about(plan), steps);
    wide += snprintf(loss, sizeof loss, "  loss %s", figure(p->now.recent, 4, recent));
    if (wide >= screen_of(stdout).columns)
        snprintf(place, sizeof place, "  %.0f %%", 100.0 * p->now.step / steps);
    snprintf(speed, sizeof speed, "  %s tokens/s", speed_of(p, plan, number));
    write_left(p->seconds / p->now.step * (steps - p->now.step), left);
    spark_text(spark, curve + 2);
    show_parts(place, loss, curve, 2 + spark->count, speed, left);
}

void show_activity(const char *activity) {
    if (!terminal_is(stdout)) return;
    char text[64];
    snprintf(text, sizeof text, "  %s ...", activity);
    printf("\r%.*s\033[K", screen_of(stdout).columns - 1, text);
    fflush(stdout);
}

void show_nothing(void) {
    fputs(clear_line(), stdout);
    fflush(stdout);
}

void show_evaluation(const Progress *p, const Plan *plan, int steps, double recent,
                     double validation, const char *mark, const char *sample) {
    char speed[GROUPED_SIZE], loss[GROUPED_SIZE], held_out[GROUPED_SIZE];
    figure(recent, 4, loss);
    figure(validation, 4, held_out);
    if (p->now.step == 0)
        printf("%s  begins with a validation loss of %s\n        | %s\n", clear_line(), held_out,
               sample);
    else
        printf("%s  step %5d/%s%d  loss %s  validation %s%s  %s tokens/s  %.1f s\n        | %s\n",
               clear_line(), p->now.step, about(plan), steps, loss, held_out, mark,
               speed_of(p, plan, speed), p->seconds, sample);
    fflush(stdout);
}

void show_early_stop(const Progress *p) {
    printf("  no lower loss since step %d: the rest of the training is left out\n",
           p->now.lowest_step);
}

void show_early_decay(const Progress *p) {
    printf("  no lower loss since step %d: the learning rate begins to fall\n", p->now.lowest_step);
}

/* Operations in units of 10^12. */
static const char *tera(double operations, char text[GROUPED_SIZE]) {
    double value = operations / 1e12;
    if (isnan(value))
        snprintf(text, GROUPED_SIZE, "-");
    else
        snprintf(text, GROUPED_SIZE, value < 0.0095 ? "%.4f" : value < 95 ? "%.2f" : "%.0f", value);
    return text;
}

static const char table_format[] = "%-16s  %10s  %7s  %10s  %9s  %6s  %7s%s\n";

static void show_result(const Result *result, bool falls) {
    char parameters[GROUPED_SIZE] = "-", seconds[GROUPED_SIZE] = "-";
    char train[GROUPED_SIZE], validation[GROUPED_SIZE], bits[GROUPED_SIZE], compute[GROUPED_SIZE];
    if (result->seconds >= 0) {
        grouped(result->parameters, parameters);
        snprintf(seconds, sizeof seconds, "%.1f", result->seconds);
    }
    printf(table_format, result->name, parameters, figure(result->train, 4, train),
           figure(result->validation, 4, validation),
           figure(result->validation / log(2.0), 3, bits), tera(result->compute, compute), seconds,
           falls ? " \u2193" : "");
}

void show_results(const Result *results, int count, const Verdict *verdicts, int said) {
    bool any = false;
    putchar('\n');
    printf(table_format, "model", "parameters", "train", "validation", "bits/char", "TFLOP",
           "seconds", "");
    for (int i = 0; i < count; i++) {
        bool falls = verdict_asks_for_more(verdicts, said, results[i].name);
        show_result(&results[i], falls);
        any = any || falls;
    }
    if (any) puts("\u2193 was still falling at its end: more steps would lower it");
    putchar('\n');
    for (int i = 0; i < count; i++)
        if (results[i].digest)
            printf("digest of the weights of %s: %016" PRIx64 "\n", results[i].name,
                   results[i].digest);
}

static const char profile_format[] = "  %-38s  %8.2f  %4.1f %%";

/* Lines with less than this share of the time are summed. */
static const double small = 0.0005;

void show_profile(const char *name, const Stopwatch *watch) {
    char head[64];
    double all = watch->seconds, rest = 0;
    snprintf(head, sizeof head, "where the %.2f s of %s went", all, name);
    printf("\n%-40s  %8s  %6s  %7s\n", head, "seconds", "share", "GFLOP/s");
    for (int i = 0; i < watch->count; i++) {
        const TrilPart *line = &watch->lines[i];
        if (line->seconds < small * all) {
            rest += line->seconds;
            continue;
        }
        printf(profile_format, line->name, line->seconds, 100 * line->seconds / all);
        if (line->operations > 0) printf("  %7.1f", line->operations / line->seconds * 1e-9);
        putchar('\n');
    }
    if (rest > 0) printf(profile_format, "lines of less than 0.05 %", rest, 100 * rest / all);
    if (rest > 0) putchar('\n');
}

/* Prints the words on lines of the screen's width; the first begins at `column`, the others after
 * two spaces. */
static void put_wrapped(const char *text, int column) {
    int columns = screen_of(stdout).columns;
    while (*text) {
        int length = (int)strcspn(text, " ");
        if (column > 2 && column + 1 + length >= columns) {
            fputs("\n ", stdout);
            column = 1;
        }
        printf(" %.*s", length, text);
        column += 1 + length;
        text += length;
        text += strspn(text, " ");
    }
    putchar('\n');
}

void show_verdict(const Verdict *v) {
    fputs(clear_line(), stdout);
    putchar(' ');
    put_wrapped(v->text, 1);
    fflush(stdout);
}

void show_verdicts(const Plan *plan, const Verdict *verdicts, int count) {
    int shown = 0;
    for (int i = 0; i < count; i++) {
        const Verdict *v = &verdicts[i];
        if (plan->ladder && v->kind == STILL_FALLING) continue;
        if (shown++ == 0) putchar('\n');
        printf("%s:", v->rung);
        put_wrapped(v->text, (int)strlen(v->rung) + 1);
    }
}
