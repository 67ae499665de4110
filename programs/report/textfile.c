#include "programs/report/textfile.h"
#include "base/file.h"
#include "base/textstream.h"

#include <stdlib.h>

bool textfile_write(const char *path, void (*print)(FILE *out, const void *what), const void *what,
                    Error *err) {
    TextStream stream;
    bool whole = textstream_open(&stream);
    if (whole) {
        print(stream.out, what);
        whole = textstream_close(&stream);
    }
    FilePart part = {stream.text, stream.length};
    bool ok =
        whole ? file_write(path, &part, 1, err) : fail(err, "%s: no memory to write it", path);
    free(stream.text);
    return ok;
}
