#include "report/textfile.h"
#include "base/file.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool textfile_write(const char *path, void (*print)(FILE *out, const void *what), const void *what,
                    Error *err) {
    char *text = NULL;
    size_t length = 0;
    FILE *out = open_memstream(&text, &length);
    if (!out) return fail(err, "%s: no memory to write it: %s", path, strerror(errno));
    print(out, what);
    bool whole = !ferror(out);
    whole = fclose(out) == 0 && whole;
    FilePart part = {text, length};
    bool ok =
        whole ? file_write(path, &part, 1, err) : fail(err, "%s: no memory to write it", path);
    free(text);
    return ok;
}
