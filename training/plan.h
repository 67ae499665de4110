/* plan.h - what is decided before a training begins: all of it, once. */
#ifndef TRIL_TRAINING_PLAN_H
#define TRIL_TRAINING_PLAN_H

#include "data/data.h"
#include "training/files.h"
#include "training/recipe.h"

/* One rung of the ladder. */
typedef struct {
    const char *name;
    const char *checkpoint, *log; /* paths; borrowed from the files */
    bool chosen;                  /* it is --model */
    bool baseline;                /* nobody asked for it: it is there to compare with */
    Config config;
    Recipe recipe;
} RungPlan;

/* Complete when plan_make returns, and constant from then on. */
typedef struct {
    RungPlan rungs[MAX_RUNGS]; /* lowest first */
    int rung_count;
    const char *model; /* --model, one of them */
    bool ladder;       /* every rung was asked for */
    RunOptions run;    /* batch, context, threads, precision, seed */
    /* how long */
    int steps;         /* of each rung; do not count if there is a time */
    double time;       /* seconds for the whole program, since `begun`; 0: steps count */
    double begun;      /* clock_seconds() */
    double epochs;     /* how often a rung sees the text at most, by the clock; 0: no limit */
    double patience;   /* the share of a training without a lower loss that ends it early */
    int eval_every;    /* steps between evaluations; do not count if there is a time */
    double save_every; /* seconds between two saves of the state, at most */
    /* what these decisions rest on */
    double speed;       /* characters a second, as measured; 0: not measured */
    double epochs_seen; /* how often the text is expected to be seen; 0: not known */
    /* what it reads, writes and prints; all borrowed */
    const Files *files;
    const char *out, *log; /* --out, --log as they were asked for; log may be NULL */
    char *const *command;  /* the words of the command line; NULL ends them */
    bool quiet;
    char words[WORDS_SIZE]; /* the decisions as the state keeps them: request_write */
} Plan;

/* Decides what `request` leaves open. By the clock the sizes are those that the time is worth.
 * Steps that nobody asked for become fewer if the text is too short for them. Dropout depends on
 * how often the text is seen, and on the number of weights. A training that is resumed has nothing
 * open. Refused: too little memory; an interruption while the speed is measured. */
bool plan_make(Plan *plan, const Request *request, const Files *files, const Corpus *corpus,
               bool resumed, Error *err);

/* The characters that a step trains on. */
double plan_step_characters(const Plan *plan);

#endif
