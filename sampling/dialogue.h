/* dialogue.h - a text that a person and a model write in turns, line by line. */
#ifndef TRIL_DIALOGUE_H
#define TRIL_DIALOGUE_H

#include "sampling/writer.h"

/* Reads lines from standard input to its end: a line begins a new line of the text, which the
 * writer then goes on with for `length` characters; with an empty one it just goes on. SIGINT ends
 * what is being written, and nothing else. A line with a character that the vocabulary lacks is
 * refused on standard error, and the text stays as it was. */
bool dialogue(Writer *writer, const Vocab *vocab, int length, Error *err);

#endif
