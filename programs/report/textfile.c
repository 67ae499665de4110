#include "programs/report/textfile.h"
#include "base/file.h"
#include "base/filesystem.h"

#include <stdlib.h>

bool textfile_make(char **text, size_t *length, const char *path,
                   bool (*print)(FILE *out, const void *what, Error *err), const void *what,
                   Error *err) {
    TextStream stream;
    *text = NULL;
    if (!textstream_open(&stream)) return fail(err, "%s: no memory to write it", path);
    bool ok = print(stream.out, what, err), whole = textstream_close(&stream);
    *text = stream.text;
    *length = stream.length;
    if (ok && whole) return true;
    free(*text);
    *text = NULL;
    return ok ? fail(err, "%s: no memory to write it", path) : false;
}

bool textfile_write(const char *path, bool (*print)(FILE *out, const void *what, Error *err),
                    const void *what, Error *err) {
    char *text;
    size_t length;
    bool ok = textfile_make(&text, &length, path, print, what, err) &&
              file_write(path, &(FilePart){text, length}, 1, err);
    free(text);
    return ok;
}
