/* request.h - what a person asks of ./train. */
#ifndef TRIL_PROGRAMS_TRAIN_REQUEST_H
#define TRIL_PROGRAMS_TRAIN_REQUEST_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

enum { MAX_RUNGS = 16, WORDS_SIZE = 1024 };

/* The values of the options. Each has a value for "not asked for": a text is NULL, a flag is false,
 * a number is 0 or, where 0 is a value, negative. Texts are borrowed from the command line, or are
 * constants. */
typedef struct {
    char *const *command; /* the words of the command line; NULL ends them */
    double begun;         /* clock_seconds() when they were read */
    const char *input, *init, *teacher, *out, *log, *model, *preset, *precision, *windows;
    int steps, batch, eval_every, threads;
    TrilSizes sizes; /* without the rung, which is `model` */
    double dropout;
    double learning_rate, weight_decay; /* of `model` */
    double embedding_decay;             /* of every rung whose embedding has its own */
    double time;                        /* seconds for the whole program, instead of steps */
    double epochs;                      /* the most epochs; 0: no limit */
    double patience, held_out, save_every;
    uint64_t seed;
    bool has_seed;   /* any number is a seed, so none can mean "not asked for" */
    bool steps_open; /* neither the command line nor a preset says how many steps */
    bool ladder, bytes, resume, continues /* --continue */, profile, quiet, help, version;
} Request;

/* A request that asks for nothing. */
Request request_empty(void);

/* Reads the command line and the preset that it names. Options on the command line override the
 * preset's. Refused: what options_parse refuses, an unknown preset, no text or several, options
 * that contradict each other. With --help or --version nothing else is checked. */
bool request_read(Request *request, int argc, char **argv, Error *err);

/* Returns `request`, completed by `other` where `request` does not ask for anything. Steps and time
 * are two ways to say how long: if `request` asks for steps, the time of `other` is ignored. */
Request request_over(const Request *request, const Request *other);

/* Returns the request of a new training: `request` over the defaults. With --time and without a
 * preset the sizes and the batch stay open. */
Request request_new(const Request *request);

/* Sets *all to the request of a resumed training: `request` over that of `before`. With --continue
 * the training takes no fewer steps and no less time than before. Refused: a change of what a
 * resumed training cannot change. */
bool request_resume(Request *all, const Request *request, const Request *before, Error *err);

/* request_write writes the options that a resumed training keeps, as words of the command line, one
 * a line. request_parse reads them back; unless `all`, some may be missing, as in a state of the
 * library, and then are not asked for. Refused: words that request_write does not write. */
void request_write(const Request *request, char words[WORDS_SIZE]);
bool request_parse(Request *request, const char *words, bool all, Error *err);

/* The name of the rung that name[length] names: a constant. NULL if there is none. */
const char *request_rung(const char *name, size_t length);

/* Sets `names` to the rungs to train, lowest first: all of them, or the bigram and the chosen one.
 * Returns how many. */
int request_rungs(const Request *request, const char *names[MAX_RUNGS]);

/* Prints the options with their defaults to `out`. */
void request_print_options(FILE *out);

#endif
