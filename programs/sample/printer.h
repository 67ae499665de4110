/* printer.h - prints generated text, each character as soon as it is chosen.
 *
 * A pipe or a file gets the text unchanged; from a byte model, exactly its bytes. A terminal gets
 * whole characters, U+FFFD for bytes that are not UTF-8, and escaped control characters. */
#ifndef TRIL_PROGRAMS_SAMPLE_PRINTER_H
#define TRIL_PROGRAMS_SAMPLE_PRINTER_H

#include "base/utf8.h"
#include "library/tril.h"

typedef struct {
    bool bytes, terminal; /* ids stand for byte values; standard output is a terminal */
    Utf8Stream pending;   /* bytes of an incomplete character */
    char last;            /* the last byte printed; a newline before the first */
    double flushed;       /* when the output was flushed */
} Printer;

/* Returns a printer of a model's text, at its beginning. */
Printer printer_of(const TrilModel *model);

/* Prints characters that the model knows. */
void printer_put(Printer *printer, const char *text, size_t length);

/* Prints a newline if the last line has none; the text itself does not change. printer_end does the
 * same at the end of a text, except when a pipe or a file gets the text of a byte model. */
void printer_end_line(Printer *printer);
void printer_end(Printer *printer);

#endif
