/* width.h - the columns that a character takes on a screen: as the C library says on POSIX
 * (width_posix.c), by a table on Windows (width_windows.c). */
#ifndef TRIL_BASE_WIDTH_H
#define TRIL_BASE_WIDTH_H

#include <stdint.h>

/* Takes the user's locale, or a UTF-8 locale if the user's knows few characters. Call it once,
 * first.
 */
void width_prepare(void);

/* 0, 1 or 2; -1 if the character cannot be shown. */
int width_of(uint32_t code);

#endif
