/* no_report.c - report.h in a build without extras/page: the page only has the number of the
 * training, by which a later run recognizes the files beside it (outputs.h). */
#include "base/file.h"
#include "base/memory.h"
#include "programs/train/report.h"

struct Report {
    const Plan *plan;
    Outputs *outputs;
};

static bool print_page(FILE *out, void *report, Error *err) {
    const Report *r = report;
    (void)err;
    outputs_begin_page(r->outputs, out);
    fputs(
        "<title>tril</title>\n</head>\n<body>\n<p>This build of tril is without extras/page, which "
        "draws the page of a run.</p>\n</body>\n</html>\n",
        out);
    return true;
}

static bool write_page(Report *r, Error *err) {
    return claims_hold(r->outputs->claims, err) && file_print(r->plan->page, print_page, r, err);
}

bool report_open(Report **report, const Plan *plan, Outputs *outputs, const Result *results,
                 Error *err) {
    (void)results;
    if (!memory_alloc(report, 1, sizeof **report, "the report", err)) return false;
    **report = (Report){plan, outputs};
    return true;
}

void report_close(Report *report) {
    memory_free(report);
}

void report_next(Report *r, const RungFiles *next, const Course *course, int count) {
    Error ignored;
    (void)next, (void)course, (void)count;
    write_page(r, &ignored);
}

void report_renew(Report *r, const TrilModel *model, const Result *now, double at, bool evaluated) {
    (void)r, (void)model, (void)now, (void)at, (void)evaluated;
}

bool report_end(Report *r, int count, const Error *failure, Error *err) {
    (void)count, (void)failure;
    return write_page(r, err);
}
