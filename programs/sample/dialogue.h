/* dialogue.h - a person and a model take turns writing a text, line by line. */
#ifndef TRIL_PROGRAMS_SAMPLE_DIALOGUE_H
#define TRIL_PROGRAMS_SAMPLE_DIALOGUE_H

#include "programs/sample/writer.h"

/* Prints and continues `prompt`, if it is not empty, by `length` characters. Then reads standard
 * input to its end. Each input line becomes a new line of the text, and the model continues it. An
 * empty line adds nothing: the model just continues. A line that begins with / is a command
 * (commands.h);
 * // begins a line of text with /. After /new the next text is the next one of --samples. On a
 * terminal SIGINT stops only the current continuation. Refused: no memory. Refused on standard
 * error, with the text unchanged: a line with a character that is not in the vocabulary, an unknown
 * command, and, on a terminal, a line with an escape sequence, which is what an arrow key sends. */
bool dialogue(const TrilModel *model, const TrilSampling *sampling, const char *stop,
              const char *prompt, int length, Error *err);

#endif
