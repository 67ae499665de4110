/* number.h - numbers as text in files and options, with a decimal point in every locale: a program
 * that uses the library may have set a locale with a decimal comma. */
#ifndef TRIL_BASE_NUMBER_H
#define TRIL_BASE_NUMBER_H

#include <stdbool.h>
#include <stddef.h>

/* Enough for any float, and for 17 digits of any double with style 'g'. */
enum { NUMBER_SIZE = 64 };

/* Writes x to text[size] like printf: "%.*f" if style is 'f', "%.*g" if 'g'. With 'f', what rounds
 * to zero has no sign. Returns its length. */
int number_write(char *text, size_t size, char style, int digits, double x);

/* Writes the shortest text from which number_read gets x back. */
void number_shortest(char *text, size_t size, double x);

/* Reads a decimal number, inf or nan at the beginning of `text`, like strtod. Sets *end, unless
 * `end` is NULL, to the text after it. If there is no number, returns 0 and sets *end to `text`. */
double number_read(const char *text, char **end);

/* Returns true if all of floats[count], which need not be aligned, are finite. */
bool floats_finite(const void *floats, size_t count);

#endif
