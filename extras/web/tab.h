/* tab.h - what the page's tab holds: its text, the rungs that train on it, and the one that a
 * person looks at. Shared by the files behind web.h. */
#ifndef TRIL_EXTRAS_WEB_TAB_H
#define TRIL_EXTRAS_WEB_TAB_H

#include "extras/web/look.h"
#include "extras/web/trainer.h"

enum { RUNGS = 16 }; /* at most */

typedef struct {
    TrilTokenizer *tokenizer; /* of the text, and of all models that train on it */
    TrilText *text;           /* NULL: there is none */
    TrilCounts counts;        /* of the text */
    TrilOptions options;      /* of the rungs that are added next */
    Trainer trainers[RUNGS];  /* by the rung's place in the ladder */
    bool there[RUNGS];
    Look look;
    int looked_at; /* the rung of `look`; -1: none */
    TrilSampling sampling;
} Tab;

extern Tab tab;

/* The names of the files in memory that bring bytes from the page. Messages begin with them. */
extern const char text_file[], checkpoint_file[], line_file[];

/* The trainer of a rung; NULL with a message if there is none. */
Trainer *tab_trainer(int rung, TrilError *error);

/* Closes `look`. */
void tab_close_look(void);

/* Drops all rungs and what is known of the text. Its file stays. */
void tab_drop_text(void);

/* Takes the text in its file with the ids of this tokenizer, which it takes over, and counts it.
 * All rungs go. Refused: what tril_text_make refuses; then all stays. */
bool tab_take_text(TrilTokenizer *tokenizer, TrilError *error);

#endif
