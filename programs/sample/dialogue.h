/* dialogue.h - a user and a model take turns writing a text, line by line. */
#ifndef TRIL_PROGRAMS_SAMPLE_DIALOGUE_H
#define TRIL_PROGRAMS_SAMPLE_DIALOGUE_H

#include "programs/sample/arguments.h"

/* Prints and continues the prompt, if it is not empty. Then reads standard input to its end. Each
 * line becomes a new line of the text, and the model continues it. An empty line adds nothing: the
 * model just continues. A line that begins with / is a command, as /help says; // begins a line of
 * text with /. After /new the next text is the next one of --samples. On a terminal SIGINT stops
 * only the current continuation. On standard error, with the text unchanged, a message answers a
 * line with a character that is not in the vocabulary, an unknown command and, on a terminal, a
 * line with an escape sequence, which is what an arrow key sends. */
bool dialogue(const TrilModel *model, const Arguments *arguments, Error *err);

#endif
