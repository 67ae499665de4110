/* answer.h - the answer to the page's last call: JSON, a piece of a page, text or bytes. */
#ifndef TRIL_EXTRAS_WEB_ANSWER_H
#define TRIL_EXTRAS_WEB_ANSWER_H

#include "base/json.h"

#include <stdio.h>

/* Each sets the answer, which lasts until the next one, and returns what an export returns: 1, or 0
 * if the answer is a message that says why there is none. */

/* Takes bytes [length] from malloc; they may be NULL if length is 0. */
int answer_bytes(char *bytes, size_t length);

/* Ends `json` and takes its text; if it failed, the message. */
int answer_json(Buffer *json, const Error *err);

/* Takes what write(out, what, err) writes; if it returns false, the message. */
int answer_written(bool (*write)(FILE *out, const void *what, Error *err), const void *what);

/* Takes the message; returns 0. */
int answer_refusal(const char *message);

/* Write a member of a JSON object after another: ,"key":number (null if it is not finite) and
 * ,"key":"text". */
void answer_number(Buffer *json, const char *key, double number);
void answer_text(Buffer *json, const char *key, const char *text);

#endif
