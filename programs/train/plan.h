/* plan.h - all decisions of a training, made once, before it begins; and its files. */
#ifndef TRIL_PROGRAMS_TRAIN_PLAN_H
#define TRIL_PROGRAMS_TRAIN_PLAN_H

#include "programs/train/command_line.h"
#include "programs/train/input.h"

enum { MAX_RUNGS = 16, PATH_SIZE = 1024, TRAIN_BATCHES = 32 /* at most, for the last losses */ };

/* A rung to train, and the files that it writes. */
typedef struct {
    const char *name, *idea;    /* constants */
    bool chosen;                /* it is --model */
    bool baseline;              /* it was not asked for: it is there for comparison */
    char checkpoint[PATH_SIZE]; /* of --model: --out; else beside it */
    char log[PATH_SIZE];        /* beside NAME.safetensors as NAME.csv, unless --log says */
} RungFiles;

/* Every file that a training reads or writes, by its path. */
typedef struct {
    const char *text, *init, *teacher; /* to read; borrowed; NULL without --init, --teacher */
    RungFiles rungs[MAX_RUNGS];        /* lowest first */
    int rung_count;
    char state[PATH_SIZE]; /* the state of the training: NAME.last.safetensors */
    char page[PATH_SIZE];  /* report.html beside --out */
    char table[PATH_SIZE]; /* ladder.csv beside --out; empty without --ladder */
} Files;

/* Names the files of a training of all rungs, or of `rung` and its baseline. The caller releases
 * *files with files_free; on failure it is NULL. Fails for a path that is too long, no memory. */
bool files_name(Files **files, const Arguments *arguments, const char *rung, bool ladder,
                Error *err);
void files_free(Files *files);

/* Makes the path of the state beside the checkpoint `out`. */
bool files_state(const char *out, char path[PATH_SIZE], Error *err);

/* The name of the rung that name[length] names: a constant; NULL: there is none. */
const char *rung_of(const char *name, size_t length);

/* Complete when plan_make returns, and constant from then on. */
typedef struct {
    const Arguments *arguments; /* borrowed, as are the files */
    const Files *files;
    const RungFiles *rungs; /* of the files */
    int rung_count;
    bool ladder;         /* every rung was asked for */
    TrilOptions options; /* decided, for all rungs: plan_options */
    uint64_t teacher;    /* the digest of --teacher; 0: there is none */
    uint64_t training;   /* by which it knows its files: start_training */
    TrilChoice choice;   /* with a time limit; its speed is 0 if steps count */
    double epochs_seen;  /* the expected number of epochs; 0: resumed */
    double evaluating; /* with a time limit: the expected share of the time for evaluations; 0: not
                          known */
} Plan;

/* Decides what `options` leave unset (tril_options_decide). With a time limit, the sizes are chosen
 * for the time and the measured speed of this machine. A resumed training has nothing to decide.
 * `teacher` is the model of --teacher, or NULL. Fails for too little memory, a teacher that does
 * not fit, an interruption while the speed is measured. */
bool plan_make(Plan *plan, const Arguments *arguments, const TrilOptions *options,
               const Files *files, bool ladder, const Input *input, const TrilModel *teacher,
               bool resumed, Error *err);

/* The options of one rung: the learning rate, the weight decay and the teacher are for --model
 * alone.
 */
TrilOptions plan_options(const Plan *plan, const RungFiles *rung);

/* True if both are sizes of the same model. */
bool plan_same_sizes(const TrilOptions *one, const TrilOptions *other);

bool plan_has_time(const Plan *plan); /* a time limit, not a number of steps */
bool plan_is_bf16(const Plan *plan);  /* products are in bf16 */
double plan_time(const Plan *plan);   /* the time limit in seconds, 0 if there is none */

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
