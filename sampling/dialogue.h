/* dialogue.h - a text that a person and a model write in turns, line by line. */
#ifndef TRIL_DIALOGUE_H
#define TRIL_DIALOGUE_H

#include "sampling/writer.h"

/* Goes on with ids [count], if there are any, for `length` characters, then reads lines from
 * standard input to its end: a line begins a new line of the text, and the model goes on; with an
 * empty one it just goes on. On a terminal SIGINT ends what is being written, and nothing else. A
 * line with a character that the vocabulary lacks is refused on standard error, and the text stays
 * as it was. */
bool dialogue(Model *model, const Vocab *vocab, const WriterOptions *options, const int32_t *ids,
              size_t count, int length, Error *err);

#endif
