#include "programs/train/report.h"
#include "base/clock.h"
#include "base/memory.h"
#include "programs/train/interruption.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pause = 2, /* seconds from one page to the next, at least */
    share = 0.02,              /* of the time for writing pages, at most */
    silence = 30,        /* seconds without an evaluation until the page is written all the same */
    first_reload = 5,    /* seconds until the browser looks again: at first and at least, */
    latest_reload = 600; /* and at most */

struct Report {
    const Plan *plan;
    const Input *input;
    Outputs *outputs;
    const Result *results;
    int count;
    Writing writings[MAX_RUNGS]; /* by the rung's place in the plan */
    int version;                 /* pages written so far */
    double written, allowed;     /* clock_seconds() when the last page was written; before which no
                                    other may be */
};

bool report_open(Report **report, const Plan *plan, const Input *input, Outputs *outputs,
                 const Result *results, Error *err) {
    if (!memory_alloc(report, 1, sizeof **report, "the report", err)) return false;
    **report = (Report){.plan = plan, .input = input, .outputs = outputs, .results = results};
    return true;
}

void report_close(Report *report) {
    memory_free(report);
}

static bool write_page(Report *r, const PageLive *live, const ReportRung *under_way,
                       const char *failure, Error *err) {
    const ReportSource source = {.plan = r->plan,
                                 .input = r->input,
                                 .results = r->results,
                                 .count = r->count,
                                 .writings = r->writings,
                                 .live = live,
                                 .under_way = under_way,
                                 .failure = failure,
                                 .table = outputs_table(r->outputs)};
    return outputs_hold(r->outputs, err) && report_write(&source, err);
}

/* ---- while the training runs ---- */

/* Says what is trained, and sets *done to the share of it that is done. `now`: NULL before the
 * first step. A training that is resumed took time before this program began; a rung that is left
 * out counts as none. */
static void describe(const Report *r, const RungPlan *rung, const Progress *now, double at,
                     char *text, size_t size, double *done) {
    const Plan *plan = r->plan;
    int trained = 0, left = plan->rung_count - (int)(rung - plan->rungs); /* this one included */
    double steps = now ? now->now.step : 0, took = now ? now->seconds : 0;
    for (int i = 0; i < r->count; i++) {
        if (r->results[i].seconds < 0) continue; /* a closed form */
        trained++;
        took += r->results[i].seconds;
    }
    took = fmax(took, at - plan->begun);
    *done = plan->time > 0 ? took / plan->time
                           : (trained + fmin(1, steps / plan->steps)) / (trained + left);
    *done = fmin(1, fmax(0, *done));
    int length = snprintf(text, size, "Training %s, model %d of %d: ", rung->name, trained + 1,
                          trained + left);
    text += length;
    size -= (size_t)length;
    if (!now)
        snprintf(text, size, "it begins.");
    else if (plan->time > 0)
        snprintf(text, size, "step %.0f, %.0f of %.0f seconds in all.", steps, took, plan->time);
    else
        snprintf(text, size, "step %.0f of %d, %.0f seconds so far.", steps, plan->steps,
                 now->seconds);
}

static void write_live(Report *r, const RungPlan *rung, const ReportRung *under_way) {
    char status[160];
    double begun = clock_seconds();
    PageLive live = {.status = status, .version = r->version + 1, .every = first_reload};
    Error err;
    if (r->version > 0) live.every = fmin(latest_reload, fmax(first_reload, begun - r->written));
    describe(r, rung, under_way ? under_way->progress : NULL, begun, status, sizeof status,
             &live.share);
    if (write_page(r, &live, under_way, NULL, &err)) r->version++;
    r->written = clock_seconds();
    r->allowed = r->written + fmax(pause, (r->written - begun) * (1 / share - 1));
}

bool report_due(const Report *r, double now, bool evaluated) {
    return now >= r->allowed && (evaluated || now - r->written >= silence);
}

void report_renew(Report *r, const ReportRung *under_way) {
    write_live(r, under_way->rung, under_way);
}

/* Generates what the rungs that are done write. One that cannot is left out. */
static void collect_writings(Report *r) {
    Error err;
    for (int i = 0; i < r->plan->rung_count && !interrupted_twice(); i++) {
        const RungPlan *rung = &r->plan->rungs[i];
        bool done = false;
        for (int n = 0; n < r->count; n++)
            done = done || strcmp(r->results[n].name, rung->name) == 0;
        if (done && r->writings[i].length == 0)
            writing_generate(&r->writings[i], rung, r->plan, r->input, &err);
    }
}

void report_next(Report *r, const RungPlan *next, int count) {
    r->count = count;
    collect_writings(r);
    write_live(r, next, NULL);
}

/* ---- the end ---- */

bool report_end(Report *r, int count, const Error *failure, Error *err) {
    r->count = count;
    collect_writings(r);
    return write_page(r, NULL, NULL, failure ? failure->text : NULL, err);
}
