/* settings.h - what a person asks of ./train. */
#ifndef TRIL_SETTINGS_H
#define TRIL_SETTINGS_H

#include "model/model.h"

enum { MAX_RUNGS = 16, PATH_ROOM = 1024, WORDS_ROOM = 1024 };

typedef struct {
    const char *input, *init, *out, *log, *model, *preset, *precision;
    int steps, batch, eval_every, threads;
    Config sizes; /* V and the model's name are filled in later; negative dropout: by the text */
    Precision multiply_in;
    double learning_rate; /* of `model`; negative: its own */
    double decay;         /* weight decay of `model`; negative: its own */
    double held_out, save_every;
    double time;     /* seconds that all may take; 0: steps count */
    double epochs;   /* that a training sees the text at most, where nobody chose the steps;
                        negative: as many as are known to help; 0: any number */
    double begun;    /* clock_seconds() when the program began */
    double patience; /* a share of the training: ended early after that without a lower loss */
    uint64_t seed;
    bool steps_open; /* nobody chose them */
    bool go_on;      /* resume if the training there is of this text, else begin */
    bool ladder, bytes, resume, quiet, help, version;
    char *const *command;   /* the command line's words; NULL ends them */
    char words[WORDS_ROOM]; /* those of them that a resumed training takes over, a line for each */
} Settings;

#endif
