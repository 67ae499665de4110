/* no_page.c - explain_page in a build without extras/page: fails. */
#include "programs/report/explain.h"

bool explain_page(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err) {
    (void)models, (void)count, (void)layer, (void)head;
    return fail(err, "--html %s: this build is without extras/page, which writes pages", path);
}
