#include "base/textstream.h"

bool textstream_open(TextStream *stream) {
    *stream = (TextStream){.text = NULL};
    stream->out = open_memstream(&stream->text, &stream->length);
    return stream->out != NULL;
}

bool textstream_close(TextStream *stream) {
    bool whole = !ferror(stream->out);
    return fclose(stream->out) == 0 && whole;
}
