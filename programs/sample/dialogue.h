/* dialogue.h - a user and a model take turns writing a text, line by line. */
#ifndef TRIL_PROGRAMS_SAMPLE_DIALOGUE_H
#define TRIL_PROGRAMS_SAMPLE_DIALOGUE_H

#include "programs/sample/arguments.h"

/* Prints and continues the prompt, if it is not empty. Then reads standard input to its end. Each
 * line becomes a new line of the text, and the model continues it. An empty line adds nothing: the
 * model just continues. A line that begins with / is a command, as /help says; // begins a line of
 * text with /. After /new the next text is the next one of --samples. On a terminal SIGINT stops
 * only the current continuation. A line with an unknown character, an unknown command and, on a
 * terminal, an escape sequence, which an arrow key sends, leave the text unchanged and cause a
 * message on standard error. */
bool dialogue(const TrilModel *model, const Arguments *arguments, Error *err);

#endif
