/* number.h - numbers as text, with a decimal point in every locale: a program that uses the library
 * may have set one with a comma. Every number in a file or an option goes through here. */
#ifndef TRIL_NUMBER_H
#define TRIL_NUMBER_H

#include <stddef.h>

/* Enough for any float, and for 17 digits of any double with style 'g'. */
enum { NUMBER_SIZE = 64 };

/* Writes x to text[size] as printf does with "%.*f" (style 'f') or "%.*g" ('g'). Returns its
 * length. */
int number_write(char *text, size_t size, char style, int digits, double x);

/* Writes the shortest text from which number_read gets x back. */
void number_shortest(char *text, size_t size, double x);

/* Reads a decimal number, inf or nan at the beginning of `text`, as strtod does. Sets *end (unless
 * it is NULL) to what follows; to `text`, and returns 0, if there is no number. */
double number_read(const char *text, char **end);

#endif
