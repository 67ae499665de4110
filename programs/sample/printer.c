#include "base/clock.h"
#include "base/escape.h"
#include "base/terminal.h"
#include "programs/sample/sample.h"

#include <stdio.h>
#include <string.h>

Printer printer_of(const TrilModel *model) {
    return (Printer){
        .bytes = tril_model_tokenizer(model)->bytes, .terminal = terminal_is(stdout), .last = '\n'};
}

/* Prints the characters that are complete with this byte. */
static void show_byte(Printer *p, char byte) {
    uint32_t code;
    p->pending[p->count++] = byte;
    for (int taken; (taken = utf8_decode(p->pending, p->count, &code)) != UTF8_CUT;) {
        if (taken == UTF8_INVALID)
            fputs("\uFFFD", stdout);
        else
            escape_print(stdout, p->pending, (size_t)taken, "\n\t");
        const size_t used = taken == UTF8_INVALID ? 1 : (size_t)taken;
        p->count -= used;
        memmove(p->pending, p->pending + used, p->count);
    }
}

/* Flushes the output, but not so often that a fast model waits for the terminal. */
void printer_put(Printer *p, const char *text, size_t length) {
    const double often = 0.02, now = clock_seconds();
    if (length == 0) return;
    for (size_t i = 0; i < length && p->terminal; i++) show_byte(p, text[i]);
    if (!p->terminal) fwrite(text, 1, length, stdout);
    p->last = text[length - 1];
    if (now - p->flushed < often) return;
    fflush(stdout);
    p->flushed = now;
}

void printer_end_line(Printer *p) {
    if (p->last != '\n') putchar(p->last = '\n');
    fflush(stdout);
}

void printer_end(Printer *p) {
    if (p->terminal || !p->bytes) printer_end_line(p);
    fflush(stdout);
}
