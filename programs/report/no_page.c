/* no_page.c - explain_page in a build without extras/page: fails. */
#include "programs/report/explain.h"

bool explain_page(const char *path, const Question *question, Error *err) {
    (void)question;
    return fail(err, "--html %s: this build is without extras/page, which writes pages", path);
}
