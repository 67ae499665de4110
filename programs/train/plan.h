/* plan.h - a training run: its files, where it starts, its text, and its decided options, complete
 * before the first step and constant from then on, but for the models, which are trained; and its
 * results. */
#ifndef TRIL_PROGRAMS_TRAIN_PLAN_H
#define TRIL_PROGRAMS_TRAIN_PLAN_H

#include "base/buffer.h"
#include "programs/train/command_line.h"
#include "programs/train/log.h"
#include "programs/train/folder.h"
#include "programs/texts.h"

enum {
    MAX_RUNGS = 16,
    TRAIN_BATCHES = 32 /* most batches of the final training loss */
};

enum { VERDICT_SIZE = 400, LONGER_SIZE = 64 };

typedef enum {
    NO_VERDICT,
    RATE_TOO_HIGH, /* this and the next also appear while the rung trains */
    OVERFITTING,
    NO_BETTER, /* than counting, or than the rung before */
    TOO_SHORT, /* the same, after too few steps */
    STILL_FALLING
} VerdictKind;

typedef struct {
    VerdictKind kind;
    bool falling;             /* more steps would lower the loss, so the table marks it */
    char longer[LONGER_SIZE]; /* options that train longer, such as "--steps 800"; empty if the
                                 verdict says something else, the last evaluations were not the
                                 lowest, or the text would be seen more often than helps */
    char text[VERDICT_SIZE];  /* a sentence in UTF-8 */
} Verdict;

/* A line of the table of losses: a rung, whose training may still be in progress, or a closed form.
 * States have `now`; what else has to be known to resume is their metadata (saved.h). */
typedef struct {
    const char *name;
    const struct RungPlan *rung; /* NULL for a baseline that is counted, not trained */
    const Course *course;        /* that of the rung; borrowed */
    size_t parameters;
    double train, validation; /* nats per character; while it trains, the lowest so far */
    bool sampled;             /* `validation` is of a sample of the held-out text */
    Verdict verdict;          /* set by verdicts_judge */
    TrilProgress now;
    double best;       /* lowest validation loss of saved weights, or INFINITY */
    double seconds;    /* since the beginning of the training */
    double other;      /* of these, spent outside of the steps */
    double characters; /* seen in a complete training; planned, if it ended early; else 0 */
    double time;       /* the time limit of the run, once the rung has used its share */
    double early_stop; /* the planned steps, once --patience has ended it */
} Result;

/* A rung to train, and the files that it writes. */
typedef struct RungPlan {
    const char *name, *idea; /* constants */
    bool chosen;             /* the rung of --model */
    bool baseline;           /* not requested, but trained for comparison */
    bool resumed;            /* the state is of this rung */
    const Result *known;     /* its result, if the resumed training run began it; borrowed */
    bool left_out;           /* a baseline that is not trained */
    TrilOptions options;     /* the plan's, and the rung's own decisions */
    TrilChoice pace;         /* with a time limit: as measured before the training */
    char checkpoint[PATH_SIZE], log[PATH_SIZE];
} RungPlan;

typedef struct {
    const Arguments *arguments; /* borrowed */
    TrilOptions options;        /* the same in all rungs, and the decisions of --model */
    bool ladder;                /* trains every rung */
    Buffer command;             /* for a shell; owned */

    /* files */
    Texts texts;               /* owned */
    RungPlan rungs[MAX_RUNGS]; /* lowest first */
    int rung_count;
    Folder *folder; /* that of --out, locked; owned */
    char state_file[PATH_SIZE], page[PATH_SIZE], table[PATH_SIZE];

    /* the start: at most one of `resumed` and `init` */
    TrilModel *resumed;          /* the model of the state to resume, if any; owned */
    TrilState state;             /* its facts */
    Result known[MAX_RUNGS + 1]; /* the results so far of its rung, and of those before it */
    int known_count;
    TrilModel *init; /* of --init, if given; owned */
    int added;       /* characters of the text that `init` did not know */

    /* the text */
    TrilText *corpus; /* its ids; the vocabulary may have characters that the text lacks */
    double repeated;  /* tril_text_repeated, if that is shown */
    TrilCounts counts;
    double counted; /* the characters to train on that counting reads, from their start; 0: all */
    double part;    /* of the held-out text that evaluations read, the same in all rungs: 1, or less
                       if all of it would take too much of the time */
} Plan;

/* The results that need no training. */
enum { UNIFORM, UNIGRAM, PAIRS, NGRAM, RUNNING, CLOSED_FORMS };

/* A training run: the rungs of a plan, trained one after another. */
typedef struct {
    Plan *plan;                               /* borrowed */
    struct Report *report;                    /* owned */
    Result results[CLOSED_FORMS + MAX_RUNGS]; /* [count]: the closed forms, then the rungs so far,
                                                 the one in training included */
    Course courses[CLOSED_FORMS + MAX_RUNGS]; /* the rungs', at their indices in `results` */
    int count;
    int shown;         /* results that the table has */
    Error failed;      /* the first error of writing a file, or empty */
    char ngram[2][24]; /* the names of NGRAM and RUNNING */
} Ladder;

/* Sets metadata[] to that of all files of the run. Returns how many entries it has. */
enum { PLAN_METADATA = 3 };
int plan_metadata(const Plan *plan, TrilMetadata metadata[PLAN_METADATA]);

/* Returns true if both are sizes of the same model. */
bool plan_same_sizes(const TrilOptions *one, const TrilOptions *other);

bool plan_has_time(const Plan *plan); /* true with a time limit, false with a number of steps */
/* Returns true if each evaluation is printed: not with --quiet, nor with --ladder, whose table
 * grows by a row for each rung. */
bool plan_shows_steps(const Plan *plan);

bool plan_is_bf16(const Plan *plan); /* true if products are in bf16 */

/* Returns true if the rung's windows grow, in a training run that begins now. */
bool plan_windows_grow(const Plan *plan, const RungPlan *rung);

/* Returns the number of characters in a step. */
double plan_step_characters(const Plan *plan);

/* Returns the seconds of the time limit that are left now; negative if it has passed. */
double plan_left(const Plan *plan);

/* Returns true if only a part of the text is counted. */
bool plan_counts_part(const Plan *plan);

/* Returns the number of characters held out. */
double plan_held_out(const Plan *plan);

/* Returns how many of them an evaluation reads; 0: all. */
size_t plan_evaluated(const Plan *plan);

#endif
