#include "programs/sample/checkpoint.h"
#include "base/file.h"
#include "base/filesystem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Takes the number of a folder earlier-N that holds a model, if it is higher than *last. */
static void take_earlier(void *last, const char *name) {
    static const char prefix[] = "earlier-";
    const size_t begin = sizeof prefix - 1;
    int *highest = last;
    char path[64], *end;
    Error none;
    if (strncmp(name, prefix, begin) != 0) return;
    long number = strtol(name + begin, &end, 10);
    if (*end || number <= *highest || number > INT_MAX) return;
    snprintf(path, sizeof path, "out/earlier-%ld/model.safetensors", number);
    if (file_can_be_read(path, &none)) *highest = (int)number;
}

static void fail_missing(const char *path, Error *err) {
    int earlier = 0; /* the highest number of the folders out/earlier-N that hold a model */
    filesystem_each("out", take_earlier, &earlier);
    if (earlier > 0)
        fail(err,
             "%s: there is none; out/earlier-%d/model.safetensors is the model of an earlier "
             "training, name it to take it",
             path, earlier);
    else
        fail(err, "%s: there is none; train one (train FILE), or name a checkpoint", path);
}

const char *checkpoint_path(const SampleRequest *r, int i, Error *err) {
    if (i > 0) return r->checkpoints[i];
    if (r->checkpoint_count > 0 || file_exists(r->checkpoint)) return r->checkpoint;
    fail_missing(r->checkpoint, err);
    return NULL;
}
