/* tab.h - what the page's tab holds: its text, the rungs that train on it, and the one that a
 * person looks at. Shared by the files behind tril.h. */
#ifndef TRIL_WEB_TAB_H
#define TRIL_WEB_TAB_H

#include "web/look.h"
#include "web/trainer.h"

typedef struct {
    Corpus corpus; /* without a text: a vocabulary at most */
    bool has_text, as_bytes;
    Counts counts;               /* of the text */
    Request asked;               /* what the rungs that are added next are made of */
    Trainer trainers[MAX_RUNGS]; /* by the rung's place in the ladder */
    bool there[MAX_RUNGS];
    Look look;
    int looked_at; /* the rung of `look`; -1: none */
    Sampler sampler;
} Tab;

extern Tab tab;

/* The names of the files in memory that bring bytes from the page. Messages begin with them. */
extern const char text_file[], checkpoint_file[], line_file[];

/* The trainer of a rung; NULL with a message if there is none. */
Trainer *tab_trainer(int rung, Error *err);

/* Closes `look`, or what belongs to all rungs. */
void tab_close_look(void);
void tab_drop_all(void);

/* Reads the text in its file, with all characters of the vocabulary `known` (NULL: none), and
 * counts it. All rungs go. Refused: what corpus_load refuses; then all stays. */
bool tab_read_text(bool bytes, const Vocab *known, Error *err);

#endif
