/* dialogue.h - a person and a model write a text in turns, line by line. */
#ifndef TRIL_DIALOGUE_H
#define TRIL_DIALOGUE_H

#include "sampling/writer.h"

/* The model continues ids [count], if there are any, by `length` characters. Then standard input is
 * read to its end: each line begins a new line of the text, and the model continues it; an empty
 * line adds nothing, and the model just continues. On a terminal SIGINT only stops what is being
 * written. A line with a character that the vocabulary lacks is refused on standard error, and the
 * text stays as it was. */
bool dialogue(Model *model, const Vocab *vocab, const WriterOptions *options, const int32_t *ids,
              size_t count, int length, Error *err);

#endif
