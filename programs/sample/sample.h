/* sample.h - the command line of ./sample, and the functions that carry it out. */
#ifndef TRIL_PROGRAMS_SAMPLE_SAMPLE_H
#define TRIL_PROGRAMS_SAMPLE_SAMPLE_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/utf8.h"
#include "library/tril.h"
#include "programs/common.h"
#include "programs/texts.h"

#include <stdio.h>

/* Texts that were not given are NULL. */
typedef struct {
    char *const *checkpoints; /* [count], as named */
    int count;
    const char *prompt, *prompt_file; /* the prompt is empty if neither was given */
    size_t prompt_length;             /* its bytes */
    const char *copied;
    bool quiet;
    int length, samples;
    TrilSampling sampling; /* except its length */
    const char *precision; /* as given */
    /* at most one of these is given, instead of writing */
    bool interactive, info;
    const char *score, *explain;
    int layer, head; /* for explain, or ANY */
    bool help, version;
} Arguments;

/* Reads the command line. Fails where options_parse fails and, without --help and --version, for
 * options that exclude each other and for an unknown name of --precision. */
bool arguments_read(Arguments *a, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void arguments_print_options(void);

/* Writes the path of checkpoint i, or of the default one if none is named. Fails if that is
 * missing; the message then says how to get one. */
bool arguments_checkpoint(const Arguments *a, int i, char path[PROGRAM_PATH], Error *err);

/* Checks that the model knows all characters of a text. The message begins with `name`. */
bool arguments_known(const TrilModel *model, const char *name, const char *text, size_t length,
                     Error *err);

/* ---- text on standard output (printer.c) ---- */

/* Prints generated text, each character as soon as it is chosen. A pipe or a file gets it
 * unchanged; from a byte model, exactly its bytes. A terminal gets whole characters, U+FFFD for
 * bytes that are not UTF-8, and escaped control characters. */
typedef struct {
    bool bytes, terminal;   /* ids stand for byte values; standard output is a terminal */
    char pending[UTF8_MAX]; /* [count]: bytes of an incomplete character */
    size_t count;
    char last;      /* the last byte printed; a newline before the first */
    double flushed; /* when the output was flushed */
} Printer;

Printer printer_of(const TrilModel *model);

/* Prints characters that the model knows. */
void printer_put(Printer *printer, const char *text, size_t length);

/* Prints a newline if the last line has none; the text itself does not change. printer_end does the
 * same at the end of a text, except when a pipe or a file gets the text of a byte model. */
void printer_end_line(Printer *printer);
void printer_end(Printer *printer);

/* ---- a dialogue (dialogue.c) ---- */

/* Prints and continues the prompt, if it is not empty; with --quiet only the continuations.
 * Then reads standard input to its end. Each line becomes a new line of the text, and the model
 * continues it. An empty line adds nothing: the model just continues. On a terminal SIGINT stops
 * only the current continuation. Prints a message on standard error, and leaves the text unchanged,
 * for an unknown character or (on a terminal) an arrow key. */
bool dialogue(const TrilModel *model, const Arguments *arguments, Error *err);

/* ---- copied passages (copied.c) ---- */

/* For --copied: a text, divided as in the model's training run, and the model's own texts. */
typedef struct {
    const TrilTokenizer *tokenizer; /* the model's */
    Texts files;                    /* the text's, and that of --val-file, if the run had one */
    TrilText *text;
    bool other;             /* true if this is not the text of the model's training run */
    const char *trained_on; /* the name of that text, or NULL; borrowed */
    Buffer written;         /* ids, with -1 after each text */
    size_t characters;      /* in it */
    Error failed;           /* the error that left `written` incomplete */
} Copies;

/* Reads the text at `path`. It is closed by copies_close, even after a failure. Fails if a file
 * cannot be read, or has a character that the model does not know. */
bool copies_open(Copies *copies, const TrilModel *model, const char *path, Error *err);

/* Adds a part of the model's text, as tril_generate passes it. */
void copies_take(Copies *copies, const char *text, size_t length, bool ended);

/* Prints on standard error the lengths of the passages that the model's texts and, for comparison,
 * the held-out text share with the training part. */
bool copies_show(Copies *copies, Error *err);
void copies_close(Copies *copies);

/* ---- inspection (inspect.c) ---- */

/* Prints, for --info, the contents of the model's file at `path`. */
void inspect_file(TrilModel *model, const char *path);

/* Prints, for --score, each model's loss on a text: lines or a table. */
bool inspect_score(const Arguments *arguments, Error *err);

/* ---- explanation (explain.c) ---- */

/* Shows, for --explain, how a text leads to the next character. */
bool explain_text(const TrilModel *model, const Arguments *arguments, Error *err);

/* Writes to `out`, in lines of at most `columns` >= 40 columns: the likeliest next characters; the
 * map of one head, and its numbers for the last character; the predictions of the model if it ended
 * earlier. ANY layer or head: the one that changes the probability of the likeliest character most
 * by its output. The reading is traced. Fails for a layer or head that the model does not have, and
 * without memory. */
enum { ANY = -1 };
bool explain(FILE *out, int columns, const TrilModel *model, const TrilReading *reading, int layer,
             int head, Error *err);

#endif
