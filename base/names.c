#include "base/names.h"

#include <stdio.h>
#include <string.h>

bool name_find(const char *const *names, const char *name, int *index, const char *what,
               Error *err) {
    char list[128] = "";
    for (*index = 0; names[*index]; ++*index) {
        const size_t length = strlen(list);
        if (strcmp(names[*index], name) == 0) return true;
        snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", names[*index]);
    }
    return fail(err, "%s: '%.64s' is not one of %s", what, name, list);
}
