/* plan.h - all decisions of a training, made once, before it begins. */
#ifndef TRIL_PROGRAMS_TRAIN_PLAN_H
#define TRIL_PROGRAMS_TRAIN_PLAN_H

#include "programs/train/input.h"
#include "programs/train/files.h"

enum { TRAIN_BATCHES = 32 }; /* at most, for the training loss at the end */

/* One rung of the ladder. */
typedef struct {
    const char *name, *idea;      /* constants */
    const char *checkpoint, *log; /* paths; borrowed from the files */
    bool chosen;                  /* it is --model */
    bool baseline;                /* nobody asked for it: it is there for comparison */
    TrilSizes sizes;
    TrilOptions options; /* decided */
} RungPlan;

/* Complete when plan_make returns, and constant from then on. */
typedef struct {
    RungPlan rungs[MAX_RUNGS]; /* lowest first */
    int rung_count;
    const char *model; /* --model, one of them */
    bool ladder;       /* every rung was asked for */
    /* what all rungs share */
    int batch, context, threads;
    bool bf16; /* products are in bf16 */
    double dropout;
    uint64_t seed;
    uint64_t teacher;  /* the digest of --teacher; 0: there is none */
    uint64_t training; /* by which it knows its files: start_training */
    /* how long */
    int steps;         /* of each rung; ignored if there is a time */
    double time;       /* seconds for the whole program, since `begun`; 0: steps count */
    double begun;      /* clock_seconds() */
    double epochs;     /* the most epochs of a rung, by the clock; 0: no limit */
    double patience;   /* the training ends early after this share of it without a lower loss */
    int eval_every;    /* steps between evaluations; ignored if there is a time */
    double save_every; /* the most seconds between two saves of the state */
    /* the basis of these decisions */
    TrilChoice choice;  /* by the clock; its speed is 0 if steps count */
    double epochs_seen; /* the expected number of epochs; 0: resumed */
    double evaluating;  /* by the clock: the expected share of the time for evaluations; 0: not
                           known */
    /* what the training reads, writes and prints; all borrowed */
    const Files *files;
    const char *out, *log; /* --out and --log of the request; log may be NULL */
    char *const *command;  /* the words of the command line; NULL ends them */
    bool quiet, profile;
    char words[WORDS_SIZE]; /* the decisions as the state stores them: request_write */
} Plan;

/* Decides what `request` leaves open (tril_options_decide). By the clock, the sizes are chosen for
 * the time and the measured speed of this machine. Without a request for steps, a short text gets
 * fewer. A resumed training has nothing to decide. The plan borrows `files` and the texts of
 * `request`. `teacher` is the model of --teacher, or NULL; it takes part in what is measured.
 * Refused: too little memory; a teacher with a shorter context; an interruption while the speed is
 * measured. */
bool plan_make(Plan *plan, const Request *request, const Files *files, const Input *input,
               const TrilModel *teacher, bool resumed, Error *err);

/* Are both the sizes of the same model? */
bool plan_same_sizes(const TrilSizes *one, const TrilSizes *other);

/* The number of characters in a step. */
double plan_step_characters(const Plan *plan);

/* The number of batches in `length` characters. */
double plan_batches(const Plan *plan, size_t length);

/* The time of an evaluation of the held-out text, in steps: about. */
double plan_evaluation(const Plan *plan, const Input *input);

/* The work after the last step, in evaluations: one of the last weights, then the best weights on
 * the training text and, unless that is `known`, on the held-out text. */
double plan_closing(const Plan *plan, const Input *input, bool known);

#endif
