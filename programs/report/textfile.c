#include "programs/report/textfile.h"
#include "base/file.h"
#include "base/textstream.h"

#include <stdlib.h>

bool textfile_write(const char *path, bool (*print)(FILE *out, const void *what, Error *err),
                    const void *what, Error *err) {
    TextStream stream;
    if (!textstream_open(&stream)) return fail(err, "%s: no memory to write it", path);
    bool ok = print(stream.out, what, err), whole = textstream_close(&stream);
    FilePart part = {stream.text, stream.length};
    ok = ok && (whole || fail(err, "%s: no memory to write it", path)) &&
         file_write(path, &part, 1, err);
    free(stream.text);
    return ok;
}
