/* no_report.c - report.h in a build without extras/page: the page only says so. */
#include "base/file.h"
#include "programs/train/report.h"

bool report_open(Ladder *l, Error *err) {
    (void)l, (void)err;
    return true;
}

void report_close(Ladder *l) {
    (void)l;
}

void report_next(Ladder *l, const RungPlan *next) {
    (void)next;
    report_end(l, NULL, &(Error){0});
}

void report_renew(Ladder *l, const TrilModel *model, double at, bool evaluated) {
    (void)l, (void)model, (void)at, (void)evaluated;
}

bool report_end(Ladder *l, const Error *failure, Error *err) {
    static const char page[] =
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
        "<title>tril</title>\n</head>\n<body>\n<p>This build of tril is without extras/page, which "
        "draws the page of a run.</p>\n</body>\n</html>\n";
    (void)failure;
    return folder_hold(l->plan->folder, err) &&
           file_write(l->plan->page, &(FilePart){page, sizeof page - 1}, 1, err);
}
