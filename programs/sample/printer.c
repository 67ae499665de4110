#include "programs/sample/printer.h"
#include "base/clock.h"
#include "base/escape.h"
#include "base/terminal.h"

#include <stdio.h>

Printer printer_of(const TrilModel *model) {
    return (Printer){
        .bytes = tril_model_tokenizer(model)->bytes, .terminal = terminal_is(stdout), .last = '\n'};
}

/* Flushes the output, but not so often that a fast model waits for the terminal. */
static void flush(Printer *p) {
    const double often = 0.02, now = clock_seconds();
    if (now - p->flushed < often) return;
    fflush(stdout);
    p->flushed = now;
}

void printer_put(Printer *p, const char *text, size_t length) {
    char whole[4 * UTF8_MAX];
    if (length == 0) return;
    if (!p->terminal)
        fwrite(text, 1, length, stdout);
    else if (!p->bytes)
        escape_print(stdout, text, length, "\n\t");
    for (size_t i = 0; i < length && p->terminal && p->bytes; i++)
        escape_print(stdout, whole, (size_t)utf8_stream(&p->pending, text[i], whole), "\n\t");
    p->last = text[length - 1];
    flush(p);
}

void printer_end_line(Printer *p) {
    if (p->last != '\n') putchar(p->last = '\n');
    fflush(stdout);
}

void printer_end(Printer *p) {
    if (p->terminal || !p->bytes) printer_end_line(p);
    fflush(stdout);
}
