/* json.h - writes JSON that may stand in a script element of an HTML page. */
#ifndef TRIL_EXTRAS_PAGE_JSON_H
#define TRIL_EXTRAS_PAGE_JSON_H

#include <stdbool.h>
#include <stdio.h>

/* Initialize with {.out = file}. In the functions below, `key` is NULL in an array, and for the
 * outermost value. */
typedef struct {
    FILE *out;
    bool comma; /* the next value follows another */
} Json;

/* Begin and end an object or an array: the bracket is one of {}[]. */
void json_open(Json *json, const char *key, char bracket);
void json_close(Json *json, char bracket);

/* Writes a text. Markup characters are escaped; control and format characters, except newlines and
 * tabs, and bytes that are not UTF-8 become U+FFFD. */
void json_text(Json *json, const char *key, const char *text);

/* Writes a number with up to twelve significant digits, or null if it is not finite. json_numbers
 * writes an array of `count`, without a key. */
void json_number(Json *json, const char *key, double number);
void json_numbers(Json *json, const double *numbers, int count);

#endif
