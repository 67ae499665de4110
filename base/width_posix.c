#define _XOPEN_SOURCE 700 /* wcwidth */
#include "base/width.h"

#include <locale.h>
#include <wchar.h>

void width_prepare(void) {
    setlocale(LC_CTYPE, "");
    if (wcwidth(0x4E00) != 2) setlocale(LC_CTYPE, "C.UTF-8");
}

int width_of(uint32_t code) {
    return wcwidth((wchar_t)code);
}
