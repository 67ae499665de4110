/* tril.h - tril as a library: tokenizers, models, training, and text.
 *
 * Failures. A function that can fail returns a TrilStatus. After a failure *error has a sentence
 * and a pointer to a result is NULL; after TRIL_OK *error is arbitrary. NULL for a pointer gives
 * TRIL_ARGUMENT, unless a comment allows it; functions without a status accept it only to release.
 * An option or a number out of range is TRIL_ARGUMENT. The sentence of TRIL_TEXT does not name the
 * text, so that a program can put the name of its file before it. The library never prints, never
 * ends the program, and handles no signals.
 *
 * Ownership. The caller releases a new object with the function of its kind, such as
 * tril_model_free or tril_writer_close, after the objects that were made from it. A pointer that a
 * function returns, or that a record has, belongs to the object that it was called for, or is a
 * constant. Texts and options are only read during the call. Texts have a length in bytes and may
 * contain zero bytes. Members of objects are to be read, unless their comment says otherwise.
 *
 * Threads. Different threads may use different objects at the same time. Several threads may
 * generate from, read with, evaluate and save the same model, as long as no thread trains it. Any
 * other use of one object is for one thread at a time: a function with a status then fails with
 * TRIL_BUSY, tril_training_cool_down returns false, and tril_writer_write does nothing. A function
 * uses at most `threads` threads, and at most one per processor; 0, or unset in TrilOptions: as
 * many as OMP_NUM_THREADS says or, without it, one per processor.
 *
 * Losses are in nats per character. Unknown losses and unset options are NaN; all else that does
 * not apply is 0 or NULL. A model sees ids from 0 to the size of its vocabulary - 1. Functions that
 * return row i of a list count from 0, and return NULL or false beyond the last row. */
#ifndef TRIL_H
#define TRIL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif
#if defined __GNUC__ && !defined _WIN32 /* the shared library exports these functions alone */
#pragma GCC visibility push(default)
#endif

typedef enum {
    TRIL_OK = 0,
    TRIL_ARGUMENT,  /* an invalid value: a size, a rung, NULL */
    TRIL_TEXT,      /* a text that is not UTF-8, is too short, or has an unknown character */
    TRIL_FILE,      /* a file that cannot be read or written, or whose contents are invalid */
    TRIL_NO_MEMORY, /* not enough memory */
    TRIL_DIVERGED,  /* a loss, predictions or weights are not finite numbers */
    TRIL_STOPPED,   /* a callback asked to stop */
    TRIL_BUSY       /* an object that another thread is using */
} TrilStatus;

typedef struct {
    char text[512];    /* one sentence in UTF-8, without a newline */
    TrilStatus status; /* the kind of the failure, which the function returned */
} TrilError;

enum {
    TRIL_MAX_CONTEXT = 65536, /* the largest sizes, and the most threads */
    TRIL_MAX_LAYERS = 256,
    TRIL_MAX_WIDTH = 1048576,
    TRIL_MAX_THREADS = 1024
};

/* The version of this header, and that of the library. */
#define TRIL_VERSION "0.2.0"
const char *tril_version(void);

/* Return the name of rung i of the ladder, and the idea that it adds to the rung before it. */
const char *tril_rung(int i);
const char *tril_rung_idea(int i);

/* ---- tokenizers ---- */

/* The characters that a model knows, and their ids.
 *
 * Every text and prompt in UTF-8 is read by the same rules: a byte order mark at its beginning is
 * left out; CR LF and CR are newlines; a zero byte is an error. A tokenizer that knows one of these
 * characters, as a model from elsewhere may, reads it as it is; one of bytes reads all so. */
typedef struct TrilTokenizer {
    uint32_t *codes; /* code points, in order; the id of each is its place */
    int size;        /* of the vocabulary */
    bool bytes;      /* the ids stand for the 256 byte values */
} TrilTokenizer;

/* Makes a tokenizer of all characters of a UTF-8 text or, if `text` is NULL, of the 256 bytes.
 * TRIL_TEXT: an empty text; bytes that are not UTF-8. */
TrilStatus tril_tokenizer_make(TrilTokenizer **tokenizer, const char *text, size_t length,
                               TrilError *error);
void tril_tokenizer_free(TrilTokenizer *tokenizer);

/* Returns true if both give the same ids to the same characters. */
bool tril_tokenizer_same(const TrilTokenizer *one, const TrilTokenizer *other);

/* Writes the ids of a text to ids[capacity] and their number, at most the bytes of the text, to
 * *count. If `ids` is NULL, only counts. TRIL_TEXT: an unknown character. TRIL_ARGUMENT: too small
 * a capacity; *count is then the capacity needed, and no id is written. */
TrilStatus tril_encode(const TrilTokenizer *tokenizer, const char *text, size_t length,
                       int32_t *ids, size_t capacity, size_t *count, TrilError *error);

/* Writes the text of ids[count] to text[capacity] and its bytes, at most 4 for each id, to *length.
 * TRIL_ARGUMENT: an unknown id; too small a capacity, as above, but `text` has the beginning. */
TrilStatus tril_decode(const TrilTokenizer *tokenizer, const int32_t *ids, size_t count, char *text,
                       size_t capacity, size_t *length, TrilError *error);

/* ---- texts ---- */

/* A text as ids. The part at its end is held out: no training run sees it. */
typedef struct TrilText {
    TrilTokenizer vocab;           /* a copy of the tokenizer */
    double held_out;               /* the share at its end that is held out */
    int32_t *ids;                  /* of its characters */
    size_t characters, trained_on; /* all of them; those before the held-out part */
    int distinct;                  /* characters of the vocabulary that occur */
    uint64_t digest;               /* of its bytes; by it, files identify the text of a training */
    bool returns;                  /* it has CR LF or CR, which are read as newlines */
    size_t counted; /* to set, also before resuming: to save time, tril_text_count and models that
                       count read only so many from its start, at least 2; 0: all to train on */
} TrilText;

/* Joins texts [count] for tril_text_make with *held_out: first the beginnings of all, then the
 * ends, which are held out. If *held_out is NaN, the last text is held out, and *held_out becomes
 * its share. A newline follows each part but the last, except with `bytes`. Writes *length bytes to
 * `joined`, which has room for all texts and 2 * count bytes more. TRIL_TEXT: text *which is not
 * UTF-8; or it is the last, and its length cannot be held out. */
TrilStatus tril_text_join(const char *const *texts, const size_t *lengths, int count, bool bytes,
                          double *held_out, char *joined, size_t *length, int *which,
                          TrilError *error);

/* Makes a text with the ids of a tokenizer, and holds out this share. TRIL_TEXT: an unknown
 * character; fewer than two characters to train on or held out. */
TrilStatus tril_text_make(TrilText **text, const TrilTokenizer *tokenizer, const char *bytes,
                          size_t length, double held_out, TrilError *error);
void tril_text_free(TrilText *text);

/* Sets longest[i], for each of ids[count], such as a text that a model wrote, to the length of the
 * longest passage of these ids that has ids[i] and that the training part of `text` has, too; 0:
 * none. A negative id is in no passage, and so divides texts. */
TrilStatus tril_text_copied(const TrilText *text, const int32_t *ids, size_t count,
                            int32_t *longest, TrilError *error);

/* The losses of counting alone: on the held-out part, with frequencies from the part before it, and
 * (own) on the part before it. Predicted are all held-out characters or, evenly spaced, as many as
 * were counted; by n-grams at most 524,288 of them, and of their own part one in nine or fewer. */
typedef struct {
    double uniform;         /* each character of the vocabulary is equally likely */
    double unigram, bigram; /* from frequencies of characters; of pairs */
    double own_unigram, own_bigram;
    /* how often each follows the order - 1 before it, with modified Kneser-Ney smoothing, in the
       last 16,777,216 characters at most. Own: in each tenth without the counts of that tenth */
    double ngram, own_ngram;     /* in windows: as for a model, nothing before the window is seen */
    double running, own_running; /* of the running text: all before is seen */
    int order; /* 7, or 8 or 9 if each lowers own_ngram; less for a text that repeats itself much */
} TrilCounts;

/* Sets *counts, in windows of `context` characters. */
TrilStatus tril_text_count(const TrilText *text, int context, TrilCounts *counts, TrilError *error);

/* ---- options ---- */

/* The options of a training run. The rows of tril_option have their meanings, and how an unset one
 * is chosen. Time, eval_every and patience are for programs: the library checks and stores them. */
typedef struct {
    const char *rung; /* option "model" */
    double layers, heads, width, kv_heads, context;
    double hidden; /* no option: the channels inside the MLP of a model from another program;
                      unset: 8/3 of the width, rounded up to a multiple of 32 */
    double dropout;
    double held_out; /* option "val" */
    bool bytes;
    double steps, time, batch, epochs, eval_every, patience;
    double learning_rate; /* option "lr" */
    const char *precision;
    double threads;
    uint64_t seed;
} TrilOptions;

/* The notation of an option, and the type of its member. */
typedef enum {
    TRIL_WHOLE, /* double, a whole number from min to max */
    TRIL_REAL,  /* double, from min to max */
    TRIL_TIME,  /* double, seconds from min to max: 90, 90s, 5m or 2h */
    TRIL_NAME,  /* const char *, one of `names` */
    TRIL_FLAG,  /* bool, written 0 or 1 */
    TRIL_SEED   /* uint64_t */
} TrilKind;

/* What a resumed training run does with the value of an option. */
typedef enum {
    TRIL_MODEL, /* fixed by the model's sizes */
    TRIL_FIXED, /* fixed by the run */
    TRIL_KEPT,  /* restored from the state, unless it is given another value */
    TRIL_FRESH  /* not stored: chosen anew */
} TrilOnResume;

typedef struct {
    const char *name; /* its member's, with - for _, except model, lr and val */
    char letter;      /* its short name, if it has one */
    TrilKind kind;
    double min, max;
    const char *const *names; /* NULL ends them */
    const char *standard;     /* the default as text, if there is one */
    TrilOnResume on_resume;
    size_t member; /* its offset in TrilOptions */
    const char *section, *argument, *help;
} TrilOption;

/* Return row i of the table of options; the name of preset i; the defaults of ./train. */
const TrilOption *tril_option(int i);
const char *tril_preset(int i);
TrilOptions tril_options(void);

/* Sets an option by its name to a value in the notation of the command line; an empty text unsets
 * it, unless it is a flag or the seed. "preset" sets all options of a preset. */
TrilStatus tril_options_set(TrilOptions *options, const char *name, const char *text,
                            TrilError *error);

/* Writes option i as tril_options_set reads it; of an unset one no text, and returns false. */
enum { TRIL_OPTION_SIZE = 32 };
bool tril_options_get(const TrilOptions *options, int i, char text[TRIL_OPTION_SIZE]);

/* Fails if option i, which is set, has no effect on a training run with these options, such as
 * dropout on a rung without it, or epochs beside steps. Without a rung, one that uses it is meant.
 * TRIL_ARGUMENT: it has none; the rung or the option is unknown. */
TrilStatus tril_option_effect(int i, const TrilOptions *options, TrilError *error);

/* ---- models ---- */

/* A tokenizer and weights. */
typedef struct TrilModel TrilModel;

/* Makes a model of the sizes of `options`, which must be set, with random weights, which follow
 * from its seed. Copies the tokenizer. */
TrilStatus tril_model_make(TrilModel **model, const TrilTokenizer *tokenizer,
                           const TrilOptions *options, TrilError *error);

/* Reads a model and checks all of it: a file of ./train or tril_model_save. */
TrilStatus tril_model_load(TrilModel **model, const char *path, TrilError *error);

/* Makes a model that also knows all characters of a text, as ./train --init does. It predicts the
 * same among the characters that both know, but may have other ids; the weights of new ones start
 * as a mean, with noise that follows from the seed. */
TrilStatus tril_model_extend(TrilModel **extended, const TrilModel *model, const char *text,
                             size_t length, uint64_t seed, TrilError *error);
void tril_model_free(TrilModel *model);

/* An entry of the metadata of a file: key and value, both UTF-8. */
typedef struct {
    const char *key, *text;
} TrilMetadata;

/* Writes the model as a file for ./sample, with this metadata, up to an entry without a key; NULL:
 * none. Replaces an existing file of tril once the new one is whole. TRIL_FILE: anything else is at
 * `path`, such as a link. TRIL_ARGUMENT: a key of tril's own, or twice; no UTF-8; more entries than
 * fit (80 always do). TRIL_DIVERGED: a number that is not finite; nothing is written. */
TrilStatus tril_model_save(const TrilModel *model, const char *path, const TrilMetadata *metadata,
                           TrilError *error);

const TrilTokenizer *tril_model_tokenizer(const TrilModel *model);
TrilOptions tril_model_sizes(const TrilModel *model);
size_t tril_model_parameters(const TrilModel *model);

/* Returns the digest of the parameters and of the counted text, equal for equal bits. */
uint64_t tril_model_digest(const TrilModel *model);

/* Returns the held-out loss of these weights, if an evaluation in their training found it. */
double tril_model_loss(const TrilModel *model);

/* Returns the value of a key, such as "step", in the metadata of the model's file, or NULL. */
const char *tril_model_metadata(const TrilModel *model, const char *key);

/* Returns the order of its counts (TrilCounts). Sets *characters to the number of counted ones. */
int tril_model_counted(const TrilModel *model, size_t *characters);

/* A tensor of the weights. tril_model_tensor sets *tensor to tensor i; tril_model_loss is then
 * unknown, because the weights may change. */
typedef struct {
    const char *name;  /* as in the model's file */
    int rows, columns; /* columns is 1 for a vector */
    int rank;          /* 1 for a vector, 2 for a matrix */
    float *data;       /* [rows, columns]; the model uses changed numbers from the next call on */
} TrilTensor;
bool tril_model_tensor(TrilModel *model, int i, TrilTensor *tensor);

/* ---- decisions ---- */

/* Is called often. Every callback gets the caller's `user`, and returns 0 unless it shall stop. */
typedef int (*TrilStop)(void *user);

/* Fills unset options with the values that a training run on the text would use; a learning rate
 * that stays unset means the rung's own. `trained`, here and below: the model is already trained.
 * Sets *epochs, which may be NULL, to how often the training would see the text. */
TrilStatus tril_options_decide(TrilOptions *options, const TrilText *text, bool trained,
                               double *epochs, TrilError *error);

/* The reason why tril_options_choose did not choose the next larger sizes. */
typedef enum {
    TRIL_LIMIT_NONE, /* there are no larger ones, or all sizes were set */
    TRIL_LIMIT_TIME,
    TRIL_LIMIT_TEXT,
    TRIL_LIMIT_MEMORY
} TrilLimit;

typedef struct {
    /* measured. If `seconds` have no room for 20 steps, `speed` is that of a smaller batch, and the
       next two are 1 and INFINITY */
    double speed;    /* characters a second in steps with whole windows */
    double slowdown; /* the time of such a step divided by that of one with the shortest windows */
    double evaluating; /* characters a second in evaluations */
    TrilLimit limit;
    TrilOptions larger;           /* with the next larger sizes or batch */
    double break_even_characters; /* characters of training after which they are better */
} TrilChoice;

/* Chooses the unset sizes and the unset batch: those of the largest model that, after `seconds` of
 * training on this machine, is better than all smaller ones, and sees the text at most
 * options.epochs times; if that is unset, it becomes the most that helps. Measures a few steps of
 * each model. Sets *choice to the reasons. TRIL_TEXT: too short a text for the context. */
TrilStatus tril_options_choose(TrilOptions *options, const TrilText *text, bool trained,
                               double seconds, TrilChoice *choice, TrilError *error);

/* Sets *parameters to the number of a model with a vocabulary of this size, and *bytes to those of
 * its training run, without the text. TRIL_NO_MEMORY: this machine has less. */
TrilStatus tril_estimate(const TrilOptions *options, int vocabulary, size_t *parameters,
                         double *bytes, TrilError *error);

/* ---- training ---- */

typedef struct TrilTraining TrilTraining;

/* Opens a training run of `model`, which has no other, on a text that was made with its vocabulary;
 * borrows both. With f32, the same seed, sizes and options give the weights of ./train, to the bit.
 * TRIL_TEXT: another vocabulary; too short a text for the context. States: see tril_state_load. */
TrilStatus tril_training_open(TrilTraining **training, TrilModel *model, const TrilText *text,
                              const TrilOptions *options, TrilError *error);
void tril_training_close(TrilTraining *training);

/* Returns the decided options, with the sizes of the model and its learning rate. */
TrilOptions tril_training_options(const TrilTraining *training);

typedef struct {
    int step, steps;        /* done and planned */
    double seconds;         /* spent in all steps */
    double loss;            /* of the last step's batch, before the update */
    double norm;            /* of its gradient, before clipping */
    double learning_rate;   /* the last step's */
    double recent;          /* the mean loss of the batches since the last evaluation, if any */
    int recent_steps;       /* the number of these batches */
    double lowest;          /* the lowest loss that an evaluation found; unknown before the first */
    int lowest_step;        /* the steps done at that evaluation */
    int since_lowest;       /* evaluations after that one */
    double operations;      /* floating-point operations in all steps */
    double cooldown_begin;  /* the first step of an early cooldown, if there is one */
    int cooldown_end;       /* the step at which it ends */
    int windows_grow;       /* 1 if windows may be short at first, else 0; set when the run began */
    double embedding_decay; /* as it began; unset if the embedding decays like other matrices */
} TrilProgress;
TrilProgress tril_training_progress(const TrilTraining *training);

/* Plans another number of steps, at least 1 and those done, which learning rates and windows follow
 * from the next step on. tril_training_cool_down limits it. */
TrilStatus tril_training_set_steps(TrilTraining *training, int steps, TrilError *error);

/* Starts the cooldown early, with the slope of a run whose cooldown begins at the step of the
 * lowest loss, and plans its end. Returns false and changes nothing before the first step, without
 * a phase of constant rates, during an early cooldown, or if that ends the run no sooner. */
bool tril_training_cool_down(TrilTraining *training);

/* Takes a step. TRIL_ARGUMENT: none is left. TRIL_DIVERGED: its loss or norm is no longer finite,
 * and the model useless. */
TrilStatus tril_training_step(TrilTraining *training, TrilError *error);

/* Sets *nats to the mean loss over the held-out text, in windows of the model's context laid end to
 * end; with a positive number of `characters`, in evenly spaced ones of about so many characters,
 * the same each time. `stop` may be NULL. */
TrilStatus tril_training_evaluate(TrilTraining *training, size_t characters, TrilStop stop,
                                  void *user, double *nats, TrilError *error);

/* A part of training steps, as ./train --profile measures them. */
typedef struct {
    const char *name;  /* a layer, forward or backward, or "optimizer" */
    double seconds;    /* spent in all steps */
    double operations; /* floating-point operations, if counted */
} TrilPart;

/* The same as tril_model_save for the state of the training: one file for ./train --resume and
 * tril_state_load, which tril_model_load reads, too. */
TrilStatus tril_training_save(TrilTraining *training, const char *path,
                              const TrilMetadata *metadata, TrilError *error);

typedef struct {
    TrilProgress progress;
    TrilOptions options; /* decided */
    uint64_t text;       /* TrilText.digest of the text */
} TrilState;

/* Reads a state: the facts of its training, and its model. tril_training_open then resumes that
 * training, with the state's options as if it had never stopped, or with others; once. It fails
 * with TRIL_TEXT for another text or held-out share. Only ./train --resume completes the plan
 * of `./train --time` or `--ladder`. */
TrilStatus tril_state_load(TrilModel **model, TrilState *state, const char *path, TrilError *error);

/* ---- evaluating, scoring and reading a text ---- */

/* The same as tril_training_evaluate for a model, in float32, on the held-out part of a text of its
 * vocabulary or, with `on_training_part`, on the part before it. `batch` is in windows. */
TrilStatus tril_text_evaluate(const TrilText *text, const TrilModel *model, bool on_training_part,
                              size_t characters, int batch, int threads, TrilStop stop, void *user,
                              double *nats, TrilError *error);

/* Scores a text, as ./sample --score does; `precision` is that of the weights, "f32" or "int8". The
 * model reads the known characters, in windows of its context, as if nothing stood between them.
 * TRIL_TEXT: fewer than two of them. */
typedef struct {
    size_t characters, unknown; /* the text's length; the unknown characters in it */
    double nats;                /* the mean over the known characters, without the first one */
} TrilScore;
TrilStatus tril_score(const TrilModel *model, const char *text, size_t length,
                      const char *precision, int threads, TrilScore *score, TrilError *error);

/* The result of reading a text. Only the last `context` characters are read. An empty text is read
 * as one character: newline if the model knows it, else space, else id 0. */
typedef struct TrilReading {
    int tokens;          /* T, the number of characters read */
    const int32_t *ids;  /* [T] */
    size_t skipped;      /* characters of the text that were not read */
    const float *logits; /* [T, size of the vocabulary]: row t predicts the character after t */
    double loss;         /* the mean on all characters read but the first; unknown for one */
    int layers, heads;   /* layers that attend, and heads in each */
} TrilReading;

/* Reads a text in float32. Borrows the model. If `traced`, keeps all intermediate results for
 * tril_reading_line, which needs more memory. */
TrilStatus tril_reading_open(TrilReading **reading, const TrilModel *model, const char *text,
                             size_t length, bool traced, int threads, TrilError *error);
void tril_reading_close(TrilReading *reading);

/* Returns the length of the longest run of characters that ends with row t and occurs in the text
 * that the model counted: at most its order - 1. */
int tril_reading_match(const TrilReading *reading, int t);

/* Writes the attention of each character (row) to each other one (column) to weights[T, T], which
 * has room for `capacity` numbers. Each row sums to 1, and later characters have 0. */
TrilStatus tril_reading_attention(const TrilReading *reading, int layer, int head, float *weights,
                                  size_t capacity, TrilError *error);

/* Columns of an array that a model computes. */
typedef struct {
    int number;        /* from 1; the same array has the same number in every line */
    int offset, width; /* `width` of its columns, from column `offset` on */
    size_t row;        /* the stride: floats from one row to the next */
    const float *data; /* [T, width]: a row for each character */
} TrilArray;

enum { TRIL_LINE_INPUTS = 3, TRIL_LINE_WEIGHTS = 2 };

/* One line of the computation from ids to logits. Arrays and tensors that it has not are empty. */
typedef struct {
    const char *operation;        /* such as "embedding" or "linear" */
    const char *title, *equation; /* the operation's heading, and its equation */
    int layer;    /* the transformer block, from 0; before all blocks that of the first, after them
                     that of the last */
    int heads;    /* 1 but in attention, rotary positions, and a norm of each head */
    bool attends; /* each row of its output is a weighted mean of rows up to its own */
    TrilArray inputs[TRIL_LINE_INPUTS]; /* attention: queries, keys, values; rotary: x, and each
                                           position's cosines and sines; swiglu: gate, up; add: both
                                           terms; trusted: x, the trust, ln of the counted
                                           probabilities; embedding, counted: none; else x */
    TrilArray output;
    TrilTensor weights[TRIL_LINE_WEIGHTS]; /* of the model: weight and bias, or an embedding's
                                              tables of characters and positions */
} TrilLine;

/* Sets *line to line i; only a traced reading has any. Other versions may have other lines. */
bool tril_reading_line(const TrilReading *reading, int i, TrilLine *line);

/* ---- generation ---- */

typedef struct {
    size_t length;      /* characters to write */
    const char *stop;   /* a text also ends after writing this, unless it is NULL or empty */
    double temperature; /* higher is bolder; 0 always takes the likeliest */
    int top_k;          /* chooses among the k likeliest; 0: among all */
    double top_p;  /* of those, chooses among the likeliest with this share of their probability */
    double counts; /* weight, from 0 to 1, of the logits that a model adds by counting; must be 1
                      for a model that has counted nothing */
    uint64_t seed;
    const char *precision; /* that of the weights: "int8", the fastest, or "f32" */
    int threads;           /* any number writes the same text */
} TrilSampling;

/* Returns the defaults of ./sample. */
TrilSampling tril_sampling(void);

/* Continues a prompt, which may be empty, `count` times, as ./sample does with the same settings,
 * also between the steps of a training run. Writes many texts at a time, so that they share each
 * read of the weights. Passes them to `on_text` in order, in the calling thread, the first while it
 * is written: text[length], whole characters of text `number`; `ended`: the last, maybe none. */
typedef int (*TrilOnText)(size_t number, const char *text, size_t length, bool ended, void *user);
TrilStatus tril_generate(const TrilModel *model, const char *prompt, size_t length,
                         const TrilSampling *sampling, size_t count, TrilOnText on_text, void *user,
                         TrilError *error);

/* A text that a model writes, character by character: the first of tril_generate with the same
 * settings, without an end. Borrows the model, whose weights should not change meanwhile. */
typedef struct TrilWriter TrilWriter;
TrilStatus tril_writer_open(TrilWriter **writer, const TrilModel *model,
                            const TrilSampling *sampling, TrilError *error);
void tril_writer_close(TrilWriter *writer);

/* Uses this temperature, top_k, top_p, counts and seed from now on. */
TrilStatus tril_writer_set(TrilWriter *writer, const TrilSampling *sampling, TrilError *error);

/* Appends characters to the text. TRIL_TEXT: an unknown one; the text is then unchanged. */
TrilStatus tril_writer_append(TrilWriter *writer, const char *text, size_t length,
                              TrilError *error);

/* Appends the next character, and writes it to text[4]. Returns its bytes; 0 if the predictions are
 * not finite numbers. tril_writer_stopped returns true if the characters written since the last
 * tril_writer_append end with the stop text. */
int tril_writer_write(TrilWriter *writer, char text[4]);
bool tril_writer_stopped(const TrilWriter *writer);

/* Writes the probability of choosing each id to p[size], given logits[size]. Ignores `counts`. */
TrilStatus tril_probabilities(const TrilSampling *sampling, const float *logits, int size,
                              double *p, TrilError *error);

#if defined __GNUC__ && !defined _WIN32
#pragma GCC visibility pop
#endif
#ifdef __cplusplus
}
#endif

#endif
