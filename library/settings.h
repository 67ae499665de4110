/* settings.h - what a training is asked for: what of that is open, how it is decided, and the words
 * in which a state stores it. */
#ifndef TRIL_LIBRARY_SETTINGS_H
#define TRIL_LIBRARY_SETTINGS_H

#include "library/recipe.h"

enum { WORDS_SIZE = 1024 };

typedef enum { WINDOWS_AUTO, WINDOWS_GROW, WINDOWS_WHOLE } Windows; /* recipe_window */

typedef struct {
    Config config; /* a negative dropout is open */
    int steps;     /* 0: open */
    double epochs; /* the most passes over the text, if the steps are open; 0: no limit; negative:
                      open */
    int batch;
    double learning_rate;   /* the peak; 0: open */
    double weight_decay;    /* of matrices; negative: the rung's own */
    double embedding_decay; /* negative: open */
    Windows windows;        /* WINDOWS_AUTO is open */
    double held_out;
    bool bytes; /* the text is bytes */
    Precision precision;
    uint64_t seed;
} Settings;

/* The settings of a training that is asked for nothing, on a model of the default sizes. */
Settings settings_usual(void);

/* Decides what is open, for a training on `characters` of a text; `trained`: of a model that is
 * trained already. A short text gets fewer steps. Dropout depends on the epochs and on the number
 * of weights, the decay of the embedding on the epochs and on the vocabulary, and windows do not
 * grow if the epochs are many. Returns the epochs. */
double settings_decide(Settings *settings, size_t characters, bool trained);

/* Completes the settings of a state that does not say how the embedding decays: then it is the full
 * decay, which changed in proportion to that of the matrices. */
void settings_complete(Settings *settings);

/* The most epochs that help a training on a text of so many characters. */
double settings_epochs_that_help(double characters, bool trained);

/* Returns the rung's recipe with what is asked of it. */
Recipe settings_recipe(const Settings *settings);

/* Writes the settings as words of the command line of ./train, one a line. */
void settings_write(const Settings *settings, char words[WORDS_SIZE]);

/* Reads them back. Other words are left out, and so are the model and its sizes. Words of a time
 * when windows never grew mean whole ones. Refused: words that are no settings. */
bool settings_read(Settings *settings, const char *words, Error *err);

/* The precision of products by its name, f32, bf16 or auto: what pays on this machine. The windows
 * by theirs: auto, grow or whole. Refused: another name. */
bool settings_precision(const char *name, Precision *precision, Error *err);
bool settings_windows(const char *name, Windows *windows, Error *err);

/* The name of each; constants. */
const char *settings_precision_name(Precision precision);
const char *settings_windows_name(Windows windows);

#endif
