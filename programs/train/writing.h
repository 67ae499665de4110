/* writing.h - how a model continues a line of the held-out text: what each rung wrote at its end,
 * to be read side by side. */
#ifndef TRIL_PROGRAMS_TRAIN_WRITING_H
#define TRIL_PROGRAMS_TRAIN_WRITING_H

#include "base/utf8.h"
#include "programs/train/plan.h"

enum { LINE_TOKENS = 20, WRITING_TOKENS = 200 }; /* at most */

/* Text, in the bytes of its characters. */
typedef struct {
    char text[WRITING_TOKENS * UTF8_MAX];
    size_t length;
} Writing;

/* A line of the held-out text: `tokens` ids of the text from `start` on. */
typedef struct {
    size_t start;
    int tokens; /* 1 to LINE_TOKENS */
} Line;

/* The start of the first line that is long enough; the start of the held-out text if there is no
 * such line. */
Line writing_line(const Input *input);

/* The part of the line that models continue: without the word that its end cuts in two. */
Line writing_prompt(const Input *input);

/* The text of ids [count], at most WRITING_TOKENS. */
void writing_of(Writing *writing, const Input *input, const int32_t *ids, int count);

/* Generates WRITING_TOKENS characters after the prompt, with the checkpoint of a rung and the
 * plan's seed. Empty if there is no such file, or if it belongs to another text. Refused: a
 * checkpoint that cannot be read, no memory. */
bool writing_generate(Writing *writing, const RungPlan *rung, const Plan *plan, const Input *input,
                      Error *err);

#endif
