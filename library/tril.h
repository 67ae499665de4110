/* tril.h - tril as a library: tokenizers, models, training, and text.
 *
 * Failures. A function that can fail returns a TrilStatus: TRIL_OK, or the kind of the failure. It
 * then also writes a sentence to *error, unless `error` is NULL. After TRIL_OK *error is as it was.
 * A pointer to a result is NULL after a failure. A pointer that must not be NULL and is gives
 * TRIL_ARGUMENT; functions without a status take no NULL, unless they release something or their
 * comment says so. The sentence of TRIL_TEXT does not name the text: a program may put the name of
 * its file before it. The library never prints, never ends the program, and handles no signals.
 *
 * Ownership. The caller releases what a function makes with the function named in its comment; NULL
 * is allowed there. A pointer that a function returns belongs to the object it was asked of. Texts
 * and options are only read during the call. Texts have a length in bytes and may contain zero
 * bytes.
 *
 * Threads. The library has no state of its own: threads of a program may use different models at
 * the same time. Several threads may generate from, read with, evaluate and save the same model, as
 * long as no thread trains it. All else on one object is for one thread at a time. Only
 * tril_processes_join changes this: what processes share is for the thread that joined. An argument
 * `threads` is the number of threads that a function uses; 0: one for each processor.
 *
 * Losses are in nats per character. A model sees ids, from 0 to the size of its vocabulary - 1. */
#ifndef TRIL_H
#define TRIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#if defined __GNUC__ && !defined _WIN32
#define TRIL_API __attribute__((visibility("default")))
#else
#define TRIL_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum {
    TRIL_OK = 0,
    TRIL_ARGUMENT, /* an invalid value: a size, a rung, NULL */
    TRIL_TEXT,     /* a text that is not UTF-8, is too short, or has an unknown character */
    TRIL_FILE,     /* a file that cannot be read or written, or has other contents than it should */
    TRIL_NO_MEMORY, /* not enough memory */
    TRIL_DIVERGED,  /* the loss of a training, or a model's predictions, are not finite numbers */
    TRIL_STOPPED    /* a callback asked to stop */
} TrilStatus;

typedef struct {
    char text[512]; /* one sentence in UTF-8, without a newline */
} TrilError;

enum {
    TRIL_MAX_CONTEXT = 65536, /* the largest sizes, and the most threads */
    TRIL_MAX_LAYERS = 256,
    TRIL_MAX_WIDTH = 1048576,
    TRIL_MAX_THREADS = 1024,
    TRIL_STANDARD_STEPS = 2500 /* of a training whose steps are unset; fewer if the text is short */
};

/* Returns the version of the library, "0.1.0": a constant. */
TRIL_API const char *tril_version(void);

/* Return the name of rung i of the ladder, from 0, and the idea that it adds to the rung before it:
 * constants; NULL beyond the last rung. */
TRIL_API const char *tril_rung(int i);
TRIL_API const char *tril_rung_idea(int i);

/* ---- tokenizers ---- */

/* The characters that a model knows, and their ids. */
typedef struct TrilTokenizer TrilTokenizer;

/* Make a tokenizer of all characters of a UTF-8 text, of the 256 byte values, or of a model's file
 * (of tril, or a folder of Hugging Face transformers), or copy one. Released by
 * tril_tokenizer_free. */
TRIL_API TrilStatus tril_tokenizer_make(TrilTokenizer **tokenizer, const char *text, size_t length,
                                        TrilError *error);
TRIL_API TrilStatus tril_tokenizer_of_bytes(TrilTokenizer **tokenizer, TrilError *error);
TRIL_API TrilStatus tril_tokenizer_load(TrilTokenizer **tokenizer, const char *path,
                                        TrilError *error);
TRIL_API TrilStatus tril_tokenizer_copy(TrilTokenizer **copy, const TrilTokenizer *tokenizer,
                                        TrilError *error);
TRIL_API void tril_tokenizer_free(TrilTokenizer *tokenizer);

/* Return the size of the vocabulary, and whether its ids stand for byte values (1) or for
 * characters (0). */
TRIL_API int tril_tokenizer_size(const TrilTokenizer *tokenizer);
TRIL_API int tril_tokenizer_has_bytes(const TrilTokenizer *tokenizer);

/* Returns 1 if both give the same ids to the same characters, else 0. */
TRIL_API int tril_tokenizer_same(const TrilTokenizer *one, const TrilTokenizer *other);

/* Returns the id that stands before a text without a prompt: the newline, else the space, else 0.
 */
TRIL_API int32_t tril_tokenizer_start(const TrilTokenizer *tokenizer);

/* Writes the ids of a text to ids[capacity] and their number, at most the bytes of the text, to
 * *count. With ids NULL it only counts. TRIL_TEXT: an unknown character. TRIL_ARGUMENT: too small a
 * capacity; *count is then what is needed, and nothing is written. */
TRIL_API TrilStatus tril_encode(const TrilTokenizer *tokenizer, const char *text, size_t length,
                                int32_t *ids, size_t capacity, size_t *count, TrilError *error);

/* Writes the text of ids[count] to text[capacity] and its bytes, at most 4 for each id, to *length.
 * TRIL_ARGUMENT: an id that is not in the vocabulary; too small a capacity: *length is then what is
 * needed, and `text` has what fits. */
TRIL_API TrilStatus tril_decode(const TrilTokenizer *tokenizer, const int32_t *ids, size_t count,
                                char *text, size_t capacity, size_t *length, TrilError *error);

/* ---- texts ---- */

/* A text as ids, whose end is held out: made once, for any number of trainings. */
typedef struct TrilText TrilText;

/* Makes a text with the ids of a tokenizer. `held_out` is the share at its end that no training
 * sees. TRIL_TEXT: an unknown character; fewer than two characters to train on or held out.
 * Released by tril_text_free, after the trainings on it. */
TRIL_API TrilStatus tril_text_make(TrilText **text, const TrilTokenizer *tokenizer,
                                   const char *bytes, size_t length, double held_out,
                                   TrilError *error);
TRIL_API void tril_text_free(TrilText *text);

typedef struct {
    size_t characters, trained_on; /* all of them; those before the held-out part */
    int distinct;                  /* characters of the vocabulary that occur */
    uint64_t digest;               /* of its bytes: tril_digest */
} TrilExtent;
TRIL_API TrilExtent tril_text_extent(const TrilText *text);

/* Returns the ids of its characters. */
TRIL_API const int32_t *tril_text_ids(const TrilText *text);

/* Returns the number by which files know the text that they were trained on. */
TRIL_API uint64_t tril_digest(const char *text, size_t length);

/* The losses that counting alone gives: on the held-out part, of frequencies in the part before it.
 */
typedef struct {
    double uniform;                 /* each character of the vocabulary is equally likely */
    double unigram, bigram;         /* how often each occurs; how often it follows each other */
    double own_unigram, own_bigram; /* the same on the part in which they were counted */
} TrilCounts;
TRIL_API TrilStatus tril_text_count(const TrilText *text, TrilCounts *counts, TrilError *error);

/* ---- options ---- */

/* The options of a training: the sizes of its model, how long and how fast it trains. ./train, the
 * states of trainings, and presets have the same record. An unset option is chosen later, as its
 * row says (tril_option): a number is then NaN, a name is NULL. Numbers are doubles, so that there
 * is one way to be unset. Begin with tril_options(), and change members.
 *
 * The library does not follow time, eval_every, patience and save_every: they say how a program
 * runs its training, as ./train does. It only checks their ranges and stores the first three in
 * states. */
typedef struct TrilModel TrilModel;
typedef struct {
    const char *rung; /* option "model" */
    double layers, heads, width, kv_heads, hidden, context;
    double dropout;
    double held_out; /* option "val": the share of the text, at its end, that is not trained on */
    bool bytes;      /* the text is bytes, not UTF-8 */
    double steps, time, batch, epochs, eval_every, patience, save_every;
    double learning_rate, weight_decay; /* options "lr" and "decay" */
    double embedding_decay;
    const char *windows, *precision;
    double threads;
    uint64_t seed;
    const TrilModel *teacher; /* half of each target is its prediction. It knows the same
                                 characters, and its context is no shorter. Borrowed until the
                                 training is closed; not to be trained meanwhile. NULL: none */
} TrilOptions;

/* How an option is written, and the type of its member. */
typedef enum {
    TRIL_WHOLE, /* double, a whole number from min to max */
    TRIL_REAL,  /* double, from min to max */
    TRIL_TIME,  /* double, seconds from min to max: 90, 90s, 5m or 2h */
    TRIL_NAME,  /* const char *, one of `names`; of the rungs if that is NULL */
    TRIL_FLAG,  /* bool, written 0 or 1 */
    TRIL_SEED   /* uint64_t */
} TrilKind;

typedef enum {
    TRIL_MODEL, /* the model has it: a resumed training cannot change it */
    TRIL_FIXED, /* a resumed training cannot change it either */
    TRIL_KEPT,  /* a resumed training keeps it, unless it is given another value */
    TRIL_FRESH  /* each run of a program has its own */
} TrilLasting;

typedef struct {
    const char *name; /* on the command line: its member's with - for _, except model, lr, decay
                         and val */
    char letter;      /* its short name; 0: none */
    TrilKind kind;
    double min, max;
    const char *const *names; /* NULL ends them */
    const char *standard;     /* the default, as text; NULL: unset */
    TrilLasting lasting;
    size_t member; /* its offset in TrilOptions */
    const char *section, *argument, *help;
} TrilOption;

/* Returns row i, from 0, of the table of options: a constant; NULL beyond the last. */
TRIL_API const TrilOption *tril_option(int i);

/* Sets an option by its name to a value that is written as on the command line; an empty text
 * unsets it. TRIL_ARGUMENT: no such option; no such value; unsetting a flag or the seed, which are
 * always set. */
TRIL_API TrilStatus tril_options_set(TrilOptions *options, const char *name, const char *text,
                                     TrilError *error);

/* Writes the value of option i to `text` as tril_options_set reads it, and returns 1. If it is
 * unset, or there is no option i, the text is empty, and it returns 0. */
enum { TRIL_OPTION_SIZE = 32 };
TRIL_API int tril_options_get(const TrilOptions *options, int i, char text[TRIL_OPTION_SIZE]);

/* Return the defaults of ./train, and a record in which all is unset but the seed. */
TRIL_API TrilOptions tril_options(void);
TRIL_API TrilOptions tril_options_unset(void);

/* Returns the name of preset i, from 0: a constant; NULL beyond the last. */
TRIL_API const char *tril_preset(int i);

/* Sets the options of the preset of this name. TRIL_ARGUMENT: no such preset. */
TRIL_API TrilStatus tril_options_preset(TrilOptions *options, const char *name, TrilError *error);

/* Checks all ranges, and that a model of `rung` could have these sizes; unset ones count as the
 * smallest. TRIL_ARGUMENT: an option is out of range. */
TRIL_API TrilStatus tril_options_check(const TrilOptions *options, TrilError *error);

/* Returns the sizes of `options` as a model of its rung uses them, with kv_heads and hidden set. A
 * size that the rung ignores is 1. All else is unset. */
TRIL_API TrilOptions tril_options_sizes(const TrilOptions *options);

/* ---- models ---- */

/* A TrilModel is a tokenizer and weights.
 *
 * Makes a model of the sizes of `options` with random weights, which follow from its seed. Copies
 * the tokenizer. TRIL_ARGUMENT: as tril_options_check; an unset size. Released by tril_model_free.
 */
TRIL_API TrilStatus tril_model_make(TrilModel **model, const TrilTokenizer *tokenizer,
                                    const TrilOptions *options, TrilError *error);

/* Reads a model and checks all of it: a file of ./train or tril_model_save, or a folder of Hugging
 * Face transformers. Released by tril_model_free. */
TRIL_API TrilStatus tril_model_load(TrilModel **model, const char *path, TrilError *error);

/* Sets *digest to that of a key in the metadata of the file at `path`, a model or a state: "text",
 * on which it was trained; "training", the number of tril_model_mark; "digest", of the whole file.
 * 0: the file has no such key. Reads its header only. */
TRIL_API TrilStatus tril_file_digest(const char *path, const char *key, uint64_t *digest,
                                     TrilError *error);

/* Makes a model that also knows all characters of a text, as ./train --init does. It predicts what
 * `model` predicts among the characters that both know; the weights of new ones start as a mean,
 * with noise that follows from the seed. Ids of characters change. Without new characters: a copy.
 * Released by tril_model_free. */
TRIL_API TrilStatus tril_model_extend(TrilModel **extended, const TrilModel *model,
                                      const char *text, size_t length, uint64_t seed,
                                      TrilError *error);

/* Writes the model as one file, which ./sample reads. An existing file is replaced only when the
 * new one is complete. */
TRIL_API TrilStatus tril_model_save(const TrilModel *model, const char *path, TrilError *error);

/* Puts this number under the key "training" into the metadata of all files of the model that are
 * written from now on, so that a program knows its own files; 0: none. */
TRIL_API void tril_model_mark(TrilModel *model, uint64_t training);

/* Writes the model for other programs. A path that ends in .gguf becomes a file for llama.cpp,
 * whose matrices are "f32", "f16" or "q8_0". Any other path becomes a folder for Hugging Face
 * transformers, in "f32", which must be missing or empty. Only rungs gpt and modern. */
TRIL_API TrilStatus tril_model_export(const TrilModel *model, const char *path, const char *type,
                                      TrilError *error);

/* Releases a model. Its training must be closed before. */
TRIL_API void tril_model_free(TrilModel *model);

/* Return its tokenizer; its sizes; its number of parameters; and a digest of its weights: equal
 * digests mean equal bits. */
TRIL_API const TrilTokenizer *tril_model_tokenizer(const TrilModel *model);
TRIL_API TrilOptions tril_model_sizes(const TrilModel *model);
TRIL_API size_t tril_model_parameters(const TrilModel *model);
TRIL_API uint64_t tril_model_digest(const TrilModel *model);

/* Returns the loss of these weights on the held-out text, if an evaluation in their training found
 * it; NaN: unknown. */
TRIL_API double tril_model_loss(const TrilModel *model);

/* Returns the value of a key, such as "step", "seed" or "dropout", in the metadata of the file that
 * the model was read from; NULL: none. */
TRIL_API const char *tril_model_note(const TrilModel *model, const char *key);

/* One tensor of the weights. */
typedef struct {
    const char *name;  /* as in the model's file; belongs to the model */
    int rows, columns; /* columns is 1 for a vector */
    int rank;          /* 1: a vector; 2: a matrix */
    float *data; /* [rows, columns], row after row; belongs to the model, which uses what is written
                    there from the next call on */
} TrilTensor;

/* Sets *tensor to tensor i, from 0. Returns 0 beyond the last, else 1. */
TRIL_API int tril_model_tensor(TrilModel *model, int i, TrilTensor *tensor);

/* ---- decisions ---- */

/* A callback that says whether to stop: 0 continues, anything else stops. It is called often.
 * `user` is the caller's. */
typedef int (*TrilStop)(void *user);

/* The training of a rung, unless the options say something else. */
typedef struct {
    double learning_rate, weight_decay;
    double embedding_decay; /* the highest that is chosen by the text; NaN: the rung decays it like
                               the rest */
    double cooldown; /* the last share of the steps, in which the learning rate falls linearly to 0;
                        0: it falls along a cosine */
    int grows;       /* 1: with "auto", windows may grow */
} TrilRecipe;
TRIL_API TrilRecipe tril_rung_recipe(const char *rung);

/* Returns the precision that a name means on this machine, "f32" or "bf16": a constant; NULL: no
 * such name. */
TRIL_API const char *tril_precision(const char *name);

/* Returns how many threads `wanted` means: at most as many as there are processors for this
 * program. Unset (NaN) means that number, or OMP_NUM_THREADS if that is less. */
TRIL_API int tril_threads(double wanted);

/* What kept tril_options_choose from the next larger sizes. */
typedef enum {
    TRIL_LIMIT_NONE, /* there are none, or none were unset */
    TRIL_LIMIT_TIME,
    TRIL_LIMIT_TEXT,
    TRIL_LIMIT_MEMORY
} TrilLimit;

typedef struct {
    double speed; /* characters a second, as measured */
    TrilLimit limit;
    int layers, width, context; /* of the next larger sizes, */
    double worth;               /* and the characters that a model must see to be better */
} TrilChoice;

/* Chooses sizes and batch where they are unset: those of the largest model that becomes better than
 * smaller ones in a training of so many seconds on this machine, in which it sees the text at most
 * `epochs` times (0: no limit). Measures a few steps of each. `stop` (NULL: never) ends it soon,
 * with any sizes. Sets *choice to the reasons. TRIL_TEXT: too short a text for the context.
 * TRIL_ARGUMENT: as tril_options_check; seconds that are not positive. TRIL_NO_MEMORY: even the
 * smallest sizes need too much. */
TRIL_API TrilStatus tril_options_choose(TrilOptions *options, const TrilText *text, double seconds,
                                        TrilStop stop, void *user, TrilChoice *choice,
                                        TrilError *error);

/* Fills unset options with the values that a training on the text would use. `trained`: its model
 * is trained already. A learning rate or weight decay that stays unset, and "auto" windows, are the
 * rung's own. Sets *epochs, which may be NULL, to how often the training would see the text.
 * TRIL_ARGUMENT: as tril_training_open. */
TRIL_API TrilStatus tril_options_decide(TrilOptions *options, const TrilText *text, int trained,
                                        double *epochs, TrilError *error);

/* Returns the most epochs that help a training on so many characters; `trained`: of a trained
 * model. */
TRIL_API double tril_epochs_that_help(double characters, int trained);

/* ---- how large ---- */

/* The memory of a training in bytes, without its text. */
typedef struct {
    double weights;     /* and their packed copies */
    double optimizer;   /* gradients and moments */
    double messages;    /* buffers for what other processes send, if there are any */
    double activations; /* grow with the batch and the context */
    double threads;     /* scratch of all threads */
} TrilMemory;

/* The size of a model, with a vocabulary of this size, and of its training. TRIL_ARGUMENT: as
 * tril_model_make and tril_training_open. */
typedef struct {
    size_t parameters;
    double bytes; /* of all memory */
    TrilMemory memory;
} TrilEstimate;
TRIL_API TrilStatus tril_estimate(const TrilOptions *options, int vocabulary,
                                  TrilEstimate *estimate, TrilError *error);

/* Checks that this machine has the memory for a training on the text; `resumed`: which also holds
 * its state. TRIL_NO_MEMORY: it has not, and the sentence says how much it would take. */
TRIL_API TrilStatus tril_training_fits(const TrilOptions *options, const TrilText *text,
                                       int resumed, TrilError *error);

/* ---- training ---- */

typedef struct TrilTraining TrilTraining;

/* The result of a step. */
typedef struct {
    int step, steps;      /* done and planned */
    double loss;          /* of the batch, before the update */
    double learning_rate; /* of this step */
    double norm;          /* of the gradient */
    double seconds;       /* of all steps so far */
} TrilStep;

/* Begins to train `model` on a text that was made with its ids; borrows both. The same seed, sizes
 * and options train the weights that ./train trains, to the bit, with f32. The text's held-out
 * share counts, not that of the options. TRIL_TEXT: other ids; too short a text for the model's
 * context. TRIL_ARGUMENT: an option out of range; a teacher that does not fit; a model in training
 * already. Released by tril_training_close. */
TRIL_API TrilStatus tril_training_open(TrilTraining **training, TrilModel *model,
                                       const TrilText *text, const TrilOptions *options,
                                       TrilError *error);
TRIL_API void tril_training_close(TrilTraining *training);

/* Returns the options as they were decided, with the sizes of the model and its learning rate. */
TRIL_API TrilOptions tril_training_options(const TrilTraining *training);

/* Return the memory that it takes, and the instruction set that it computes with, "avx2": a
 * constant. */
TRIL_API TrilMemory tril_training_memory(const TrilTraining *training);
TRIL_API const char *tril_training_kernels(const TrilTraining *training);

/* Returns the length of the windows in the next step. */
TRIL_API int tril_training_window(const TrilTraining *training);

/* How far a training has come. */
typedef struct {
    int step, steps;   /* done and planned */
    double seconds;    /* of all steps */
    double recent;     /* the mean loss of the batches since the last evaluation; NaN: none */
    int recent_steps;  /* the number of these batches */
    double lowest;     /* the lowest loss that an evaluation found; NaN: none */
    int lowest_step;   /* after how many steps */
    int since_lowest;  /* evaluations after it */
    double operations; /* of floating point, in all steps */
    double cooling;    /* the step from which the rates fall, by tril_training_cool_down; 0: none */
    int cooled;        /* the step at which they then reach 0 */
} TrilProgress;
TRIL_API TrilProgress tril_training_progress(const TrilTraining *training);

/* Plans another number of steps, from 1: learning rates and windows follow it from the next step
 * on. After tril_training_cool_down the training takes no more steps than were planned there. */
TRIL_API TrilStatus tril_training_set_steps(TrilTraining *training, int steps, TrilError *error);

/* Makes high rates, which no longer lower the loss, fall from now on, as fast as in a training
 * whose peak was planned to end at the lowest loss, and plans fewer steps. Returns 1; 0 if the
 * training would end no earlier, or if its rates do not stay high: then nothing changes. */
TRIL_API int tril_training_cool_down(TrilTraining *training);

/* Takes a step, and sets *step, which may be NULL, to its result. TRIL_ARGUMENT: all are taken.
 * TRIL_DIVERGED: the loss or the norm is no longer finite; the model is then of no use. */
TRIL_API TrilStatus tril_training_step(TrilTraining *training, TrilStep *step, TrilError *error);

/* A callback that is called after each step, in which other functions may use the model. 0
 * continues, anything else stops. `user` is the caller's. */
typedef int (*TrilOnStep)(const TrilStep *step, void *user);

/* Takes all steps that are left; `on_step` may be NULL. TRIL_STOPPED: it asked to stop; another
 * call resumes the training. */
TRIL_API TrilStatus tril_training_run(TrilTraining *training, TrilOnStep on_step, void *user,
                                      TrilError *error);

/* Sets *nats to the mean loss over the held-out text, cut into windows of the model's context that
 * are laid end to end. If it is longer than `characters`, only evenly spaced windows are read,
 * about that many characters, the same each time; 0: all. TRIL_STOPPED: tril_training_set_stop. */
TRIL_API TrilStatus tril_training_evaluate(TrilTraining *training, size_t characters, double *nats,
                                           TrilError *error);

/* Sets the callback that evaluations ask from now on; NULL: none. */
TRIL_API void tril_training_set_stop(TrilTraining *training, TrilStop stop, void *user);

/* Measures each part of a step from now on. */
TRIL_API TrilStatus tril_training_profile(TrilTraining *training, TrilError *error);

typedef struct {
    const char *name;  /* a constant: a layer, forward or backward, or another part */
    double seconds;    /* in all steps since then */
    double operations; /* of floating point; 0: not counted */
} TrilPart;

/* Writes the parts, at most `capacity`, to `parts`. Returns their number. */
TRIL_API int tril_training_parts(const TrilTraining *training, TrilPart *parts, int capacity);

/* ---- states of a training ---- */

/* Writes the state of the training as one file, from which ./train --resume and
 * tril_training_resume continue. It is also a file for tril_model_load. */
TRIL_API TrilStatus tril_training_save(TrilTraining *training, const char *path, TrilError *error);

/* Adds metadata of the program to all states that are saved from now on, in place of that of the
 * same key. Copies key and text. A resumed training begins without any. TRIL_ARGUMENT: a key that
 * the state has itself; a key or a text that is not UTF-8; more than 32 keys. */
TRIL_API TrilStatus tril_training_note(TrilTraining *training, const char *key, const char *text,
                                       TrilError *error);

/* A state that was read: to look at it, and to resume its training. */
typedef struct TrilState TrilState;

/* Reads a state and checks all of it. Released by tril_state_free. */
TRIL_API TrilStatus tril_state_load(TrilState **state, const char *path, TrilError *error);
TRIL_API void tril_state_free(TrilState *state);

/* Return its tokenizer; how far it has come; its decided options, without teacher; and the digests
 * of its text (tril_digest) and of its teacher (tril_model_digest; 0: none). */
TRIL_API const TrilTokenizer *tril_state_tokenizer(const TrilState *state);
TRIL_API TrilProgress tril_state_progress(const TrilState *state);
TRIL_API TrilOptions tril_state_options(const TrilState *state);
TRIL_API uint64_t tril_state_text(const TrilState *state);
TRIL_API uint64_t tril_state_teacher(const TrilState *state);

/* Returns the value of a key of its metadata, one of tril_training_note or of its own, such as
 * "kernels", the instruction set that it was trained with; NULL: none. */
TRIL_API const char *tril_state_note(const TrilState *state, const char *key);

/* Resumes the training of a state on the same text, with the same results as if it had never
 * stopped, or with other options. `options` NULL: the state's. Unset options, and "auto" windows,
 * are those of the state; but an unset learning rate or weight decay is the rung's own. Only
 * ./train --resume follows the rest of a plan of `./train --time` or `--ladder`. *model is the
 * model in training; both are released, the training first. Takes the weights out of the state,
 * which can then only be released, even if this fails for lack of memory. Borrows the text.
 * TRIL_TEXT: another text, other ids, another held-out share. TRIL_ARGUMENT: another teacher. */
TRIL_API TrilStatus tril_training_resume(TrilTraining **training, TrilModel **model,
                                         TrilState *state, const TrilText *text,
                                         const TrilOptions *options, TrilError *error);

/* ---- what a model makes of a text ---- */

/* Sets *nats to the mean loss of a model, in float32, on a part of a text that was made with its
 * ids: the held-out end or, with `trained_on`, the part before it. `characters`: as in
 * tril_training_evaluate. A batch has `batch` windows. TRIL_STOPPED: `stop`, which may be NULL,
 * asked for it. */
TRIL_API TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, int trained_on,
                                       size_t characters, int batch, int threads, TrilStop stop,
                                       void *user, double *nats, TrilError *error);

/* How tril_score treats characters that the model does not know. */
typedef enum {
    TRIL_REFUSE,
    TRIL_SKIP,   /* score the text without them */
    TRIL_UNIFORM /* the same, and each of them costs ln(size of the vocabulary + 1) nats */
} TrilUnknown;

typedef struct {
    TrilUnknown unknown;
    const char *precision; /* of the weights: "f32", "bf16" or "int8" */
    int threads;
} TrilScoring;

/* Returns the defaults of ./sample --score. */
TRIL_API TrilScoring tril_scoring(void);

typedef struct {
    size_t characters, unknown; /* of the whole text, the unknown ones among them */
    double nats; /* the mean over the characters that count, but the first known one */
} TrilScore;

/* Scores a text, as ./sample --score does. The model never sees an unknown character: it reads the
 * known ones, cut into windows of its context, as if nothing had stood between them. TRIL_TEXT:
 * fewer than two known characters; unknown ones, with TRIL_REFUSE: *score then has their number. */
TRIL_API TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                               const TrilScoring *scoring, TrilScore *score, TrilError *error);

/* A text that a model has read. Of a text longer than the context only the end. */
typedef struct TrilReading TrilReading;

/* Reads a text of at least one character, in float32. Borrows the model. `traced`: keeps all that
 * is computed on the way, for tril_reading_line, which needs more memory. Released by
 * tril_reading_close. */
TRIL_API TrilStatus tril_reading_open(TrilReading **reading, const TrilModel *model,
                                      const char *text, size_t length, int traced, int threads,
                                      TrilError *error);
TRIL_API void tril_reading_close(TrilReading *reading);

/* Return the number of characters read, T; their ids [T]; and the number of characters of the text
 * before them. */
TRIL_API int tril_reading_tokens(const TrilReading *reading);
TRIL_API const int32_t *tril_reading_ids(const TrilReading *reading);
TRIL_API size_t tril_reading_skipped(const TrilReading *reading);

/* Returns the logits [T, size of the vocabulary]: row t predicts the character after t. */
TRIL_API const float *tril_reading_logits(const TrilReading *reading);

/* Returns the mean loss on the characters read but the first, in nats; NaN of a single one. */
TRIL_API double tril_reading_loss(const TrilReading *reading);

/* Sets the numbers of layers that attend, and of heads in each; 0 and 0 in a rung without
 * attention. Either may be NULL. */
TRIL_API void tril_reading_heads(const TrilReading *reading, int *layers, int *heads);

/* Writes how much each character attends to each other to weights[T, T]: the sum of each row is 1,
 * and later characters have 0. `capacity`: the numbers in `weights`. TRIL_ARGUMENT: no such head,
 * or too small a capacity. */
TRIL_API TrilStatus tril_reading_attention(const TrilReading *reading, int layer, int head,
                                           float *weights, size_t capacity, TrilError *error);

/* Writes the scores of a head to scores[T, T]: each query (row) times each key (column). Divided by
 * the square root of the head's channels, masked and put through the softmax, they are the weights
 * above. TRIL_ARGUMENT: as above; the mean of rung "average", which has no scores. */
TRIL_API TrilStatus tril_reading_scores(const TrilReading *reading, int layer, int head,
                                        float *scores, size_t capacity, TrilError *error);

/* Columns of an array that a model computes. */
typedef struct {
    int number;        /* of the array: the same one has the same number in every line; 0: none,
                          and all else is 0 */
    int offset, width; /* `width` of its columns, from column `offset` on */
    size_t row;        /* the stride: floats from one row to the next */
    const float *data; /* [T, width]: a row for each character; belongs to the reading */
} TrilArray;

/* A tensor of the weights that a model computes with. */
typedef struct {
    const char *name;  /* as in the model's file; belongs to the model; NULL: none, and all else is
                          0 */
    int rows, columns; /* columns is 1 for a vector */
    const float *data; /* [rows, columns]; belongs to the model */
} TrilWeights;

enum { TRIL_LINE_INPUTS = 3, TRIL_LINE_WEIGHTS = 2 };

/* One line of the computation from ids to logits: a call of a layer. */
typedef struct {
    const char *operation; /* a constant: "embedding", "linear", "layernorm", "rmsnorm", "rotary",
                              "convolution", "attention", "mean", "gelu", "swiglu" or "add" */
    const char *title, *equation; /* constants: a heading for the layer, and its equation in plain
                                     symbols */
    int layer; /* the block of the model, from 0; lines before the blocks have that of the first,
                  lines after them that of the last */
    int heads; /* of attention, rotary positions, and a norm of each head; else 0 or 1 */
    TrilArray inputs[TRIL_LINE_INPUTS]; /* of attention queries, keys and values; of rotary x,
                                           and each position's cosines and sines; of swiglu
                                           gate and up; of add both terms; of an embedding
                                           none; else x */
    TrilArray output;
    TrilWeights weights[TRIL_LINE_WEIGHTS]; /* weight and bias, or an embedding's tables of
                                               characters and positions */
} TrilLine;

/* Sets *line to line i, from 0, of the computation, and returns 1. Beyond the last line, and of a
 * reading that is not traced, it returns 0, and *line stays as it was. Another version of tril may
 * compute a rung in other lines. */
TRIL_API int tril_reading_line(const TrilReading *reading, int i, TrilLine *line);

/* Computes line i for another row: y[width of its output] from x[width of its input], which do not
 * overlap. Returns 1; 0 if there is no such line, or if it is none of linear, layernorm and
 * rmsnorm: then x and y may be NULL. */
TRIL_API int tril_reading_apply(const TrilReading *reading, int i, const float *x, float *y);

/* ---- generation ---- */

typedef struct {
    size_t length;      /* characters to write */
    double temperature; /* higher is bolder; 0: always the likeliest */
    int top_k;          /* among the k likeliest only; 0: all */
    double top_p; /* of these, among the likeliest that have this share of their probability */
    uint64_t seed;
    const char *precision; /* of the weights: "int8", the fastest, "bf16" or "f32" */
    int threads;           /* which do not change the text */
} TrilSampling;

/* Returns the defaults of ./sample. */
TRIL_API TrilSampling tril_sampling(void);

/* A callback that is called with each new character: text[length], 1 to 4 bytes of UTF-8; one byte
 * of a tokenizer of bytes. 0 continues, anything else stops. */
typedef int (*TrilOnText)(const char *text, size_t length, void *user);

/* Continues a prompt, which may be empty and is not given to the callback. The text is that of
 * ./sample with the same settings. TRIL_STOPPED: the callback asked to stop. */
TRIL_API TrilStatus tril_generate(const TrilModel *model, const char *prompt, size_t length,
                                  const TrilSampling *sampling, TrilOnText on_text, void *user,
                                  TrilError *error);

/* The same with the model of a training as it is now, without a prompt: in the training's memory,
 * with its threads and its precision. */
TRIL_API TrilStatus tril_training_generate(TrilTraining *training, const TrilSampling *sampling,
                                           TrilOnText on_text, void *user, TrilError *error);

/* A text that a model writes, character by character. */
typedef struct TrilWriter TrilWriter;

/* Begins a text: number 0 of the seed. Borrows the model; if its weights change meanwhile, the next
 * characters come from old and new ones. The length of the sampling does not count. Released by
 * tril_writer_close. */
TRIL_API TrilStatus tril_writer_open(TrilWriter **writer, const TrilModel *model,
                                     const TrilSampling *sampling, TrilError *error);
TRIL_API void tril_writer_close(TrilWriter *writer);

/* Chooses by this temperature, top_k, top_p and seed from now on. */
TRIL_API TrilStatus tril_writer_set(TrilWriter *writer, const TrilSampling *sampling,
                                    TrilError *error);

/* Forgets all, and begins another text: each number has its own random choices, as the texts of
 * ./sample --samples have. */
TRIL_API void tril_writer_begin(TrilWriter *writer, uint64_t number);

/* Appends characters to the text. TRIL_TEXT: an unknown one; the text is then as it was. */
TRIL_API TrilStatus tril_writer_read(TrilWriter *writer, const char *text, size_t length,
                                     TrilError *error);

/* Appends the next character, and writes it to text[4]. Returns its bytes, 1 to 4; 0, and appends
 * nothing, if the model's predictions are not finite numbers. */
TRIL_API int tril_writer_write(TrilWriter *writer, char text[4]);

/* Writes to p[size] how likely each id is to be chosen after logits[size], a row of a reading. */
TRIL_API TrilStatus tril_probabilities(const TrilSampling *sampling, const float *logits, int size,
                                       double *p, TrilError *error);

/* ---- several processes ---- */

/* Joins the processes that mpirun started. All of them call it once, before they make a model. Sets
 * *number to the number of this process, from 0. From then on the processes share each training,
 * each tril_text_evaluate and each tril_options_choose, one at a time. Process 0 does all that the
 * program does, from this thread. The others only call tril_processes_serve. After a failure each
 * process is alone, and *number is 0 in the one that should report it. TRIL_ARGUMENT: several
 * processes, but a library without MPI, or with another MPI than that of mpirun; other builds of
 * tril; a second call. */
TRIL_API TrilStatus tril_processes_join(int *number, TrilError *error);

/* Takes part in what process 0 shares, until that leaves. Returns at once in process 0, and in one
 * that is alone. */
TRIL_API void tril_processes_serve(void);

/* Leaves the other processes: at the end of the program, in each of them, also if they could not
 * join. If one of them ends without it, or cannot reach the others, MPI ends all. */
TRIL_API void tril_processes_leave(void);

/* Return the number of processes that have joined, and the cost of sharing for this one so far. */
TRIL_API int tril_processes_count(void);

typedef struct {
    double bytes;   /* of gradients and weights that it shared */
    double seconds; /* spent waiting for other processes */
} TrilTraffic;
TRIL_API TrilTraffic tril_processes_traffic(void);

#ifdef __cplusplus
}
#endif

#endif
