/* dialogue.h - a person and a model take turns writing a text, line by line. */
#ifndef TRIL_DIALOGUE_H
#define TRIL_DIALOGUE_H

#include "sampling/writer.h"

/* Prints and continues ids [count], if any, by `length` characters. Then reads standard input to
 * its end. Each input line becomes a new line of the text, and the model continues it. An empty
 * line adds nothing: the model just continues. On a terminal SIGINT stops only the current
 * continuation. A line with a character that is not in the vocabulary is refused on standard error
 * and leaves the text unchanged. */
bool dialogue(Model *model, const Vocab *vocab, const WriterOptions *options, const int32_t *ids,
              size_t count, int length, Error *err);

#endif
