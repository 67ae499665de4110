/* textstream.h - a stream of stdio whose text stays in memory: open_memstream on POSIX
 * (textstream_posix.c), a temporary file on Windows (textstream_windows.c), which lacks it. */
#ifndef TRIL_BASE_TEXTSTREAM_H
#define TRIL_BASE_TEXTSTREAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

typedef struct {
    FILE *out;
    char *text; /* after textstream_close; the caller releases it with free */
    size_t length;
} TextStream;

/* Opens it. False if there is no memory; nothing is then to be closed, and `text` is NULL. */
bool textstream_open(TextStream *stream);

/* Closes it and sets its text. False if anything was lost. */
bool textstream_close(TextStream *stream);

#endif
