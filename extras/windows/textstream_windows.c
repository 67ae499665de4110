#include "base/textstream.h"

#include <fcntl.h>
#include <io.h>
#include <stdint.h>
#include <stdlib.h>
#include <windows.h>

/* Windows removes the file when it is closed, also if the program is killed. */
bool textstream_open(TextStream *stream) {
    WCHAR folder[MAX_PATH + 1], path[MAX_PATH + 1];
    *stream = (TextStream){.text = NULL};
    if (!GetTempPathW(MAX_PATH + 1, folder) || !GetTempFileNameW(folder, L"trl", 0, path))
        return false;
    HANDLE file = CreateFileW(path, GENERIC_READ | GENERIC_WRITE, 0, NULL, CREATE_ALWAYS,
                              FILE_ATTRIBUTE_TEMPORARY | FILE_FLAG_DELETE_ON_CLOSE, NULL);
    int descriptor = file == INVALID_HANDLE_VALUE ? -1 : _open_osfhandle((intptr_t)file, _O_BINARY);
    if (descriptor < 0 && file != INVALID_HANDLE_VALUE) CloseHandle(file);
    stream->out = descriptor < 0 ? NULL : _fdopen(descriptor, "w+b");
    if (!stream->out && descriptor >= 0) _close(descriptor);
    return stream->out != NULL;
}

bool textstream_close(TextStream *stream) {
    FILE *file = stream->out;
    bool whole = fflush(file) == 0 && !ferror(file);
    const int64_t length = whole ? _ftelli64(file) : -1;
    if (length >= 0 && (stream->text = malloc((size_t)length + 1))) {
        rewind(file);
        stream->length = fread(stream->text, 1, (size_t)length, file);
        stream->text[stream->length] = 0;
    }
    whole = stream->text && stream->length == (size_t)length;
    fclose(file);
    return whole;
}
