/* plan.h - a training: its files, where it starts, its text, and its decided options. Complete
 * before the first step, and constant from then on. */
#ifndef TRIL_PROGRAMS_TRAIN_PLAN_H
#define TRIL_PROGRAMS_TRAIN_PLAN_H

#include "programs/train/command_line.h"
#include "programs/train/course.h"

enum { MAX_RUNGS = 16, PATH_SIZE = 1024, TRAIN_BATCHES = 32 /* at most, for the last losses */ };

/* A rung to train, and the files that it writes. */
typedef struct {
    const char *name, *idea;    /* constants */
    bool chosen;                /* it is --model */
    bool baseline;              /* it was not asked for: it is there for comparison */
    char checkpoint[PATH_SIZE]; /* of --model: --out; else beside it */
    char log[PATH_SIZE];        /* beside NAME.safetensors as NAME.csv, unless --log says */
} RungFiles;

/* The text of the training as ids. */
typedef struct {
    TrilText *text;
    TrilTokenizer *tokenizer;
    size_t length;   /* characters */
    size_t train;    /* characters for training, from the start; the rest is held out */
    int vocabulary;  /* the size of the tokenizer's, which may know more than this text has */
    int distinct;    /* characters of the vocabulary that occur in the text */
    uint64_t digest; /* of the file's bytes */
} Input;

enum { VERDICT_SIZE = 400 };

typedef enum {
    NO_VERDICT,
    OVERFITTING, /* these two also appear while the rung still trains */
    RATE_TOO_HIGH,
    TEXT_TOO_SHORT,
    NOT_COMPARABLE, /* from here on, more steps would lower the loss */
    TOO_FEW_STEPS,
    STILL_FALLING
} VerdictKind;

typedef struct {
    VerdictKind kind;
    int step;                /* where it begins: of OVERFITTING, the step of the model that was
                                kept; 0: nowhere */
    char text[VERDICT_SIZE]; /* one to three sentences, in UTF-8 */
} Verdict;

/* A line of the table of losses. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation; /* nats per character */
    double seconds;           /* negative: needed no training */
    double characters;        /* seen in training; if it ended early, planned */
    double time;              /* plan_time: 0 if steps counted */
    uint64_t digest;          /* of the weights (tril_model_digest); 0: unknown */
    double compute;           /* floating-point operations of the training; NaN: unknown */
    const Course *course;     /* how the training went; borrowed. NULL: unknown; the log has it, not
                                 the state */
    uint64_t log_digest;      /* of the whole log */
    Verdict verdict;          /* set by verdicts_judge */
} Result;

/* How far the training of one rung has come. The library keeps `now` in the state; all else is
 * metadata that only ./train reads. */
typedef struct {
    TrilProgress now;
    double best;         /* lowest validation loss saved; infinite before the first */
    double seconds;      /* since the beginning */
    double log_length;   /* bytes of the log */
    double time_limit;   /* with --time: the plan_time whose share is used up; 0: it is not */
    double early_stop;   /* steps planned when its patience ended it early; 0: it did not */
    uint64_t log_digest; /* of the log's bytes */
} Progress;

typedef struct {
    const Arguments *arguments; /* borrowed */
    TrilOptions options;        /* of the last rung; plan_options has those of each */
    bool ladder;                /* every rung was asked for */
    uint64_t training;          /* the number by which the training knows its files; never 0 */

    /* files */
    RungFiles rungs[MAX_RUNGS]; /* lowest first */
    int rung_count;
    char state_file[PATH_SIZE]; /* NAME.last.safetensors */
    char page[PATH_SIZE];       /* report.html beside --out */
    char table[PATH_SIZE];      /* ladder.csv beside --out; empty without --ladder */

    /* the start: at most one of `state` and `init` */
    TrilState *state;        /* of the training that is resumed; owned; NULL: none */
    uint64_t state_digest;   /* of its file */
    Progress progress;       /* of its rung, */
    Result known[MAX_RUNGS]; /* and the results of the rungs before */
    int known_count;
    TrilModel *init, *teacher; /* of --init and --teacher; owned; NULL: none */
    uint64_t teacher_digest;   /* 0: none */
    int added;                 /* characters of the text that `init` did not know */

    Input input;
} Plan;

/* The options of one rung: the learning rate, the weight decay and the teacher are for --model
 * alone. */
TrilOptions plan_options(const Plan *plan, const RungFiles *rung);

/* True if both are sizes of the same model. */
bool plan_same_sizes(const TrilOptions *one, const TrilOptions *other);

bool plan_has_time(const Plan *plan); /* a time limit, not a number of steps */
bool plan_is_bf16(const Plan *plan);  /* products are in bf16 */
double plan_time(const Plan *plan);   /* the time limit in seconds, 0 if there is none */

/* The number of characters in a step. */
double plan_step_characters(const Plan *plan);

/* The time of an evaluation of the held-out text, in steps: about. */
double plan_evaluation(const Plan *plan);

/* The work after the last step, in evaluations: one of the last weights, then the best weights on
 * the training text and, unless that is `known`, on the held-out text. */
double plan_closing(const Plan *plan, bool known);

#endif
