/* decimal.h - a locale with another decimal point and a dot for thousands, for a test. */
#ifndef TRIL_DECIMAL_H
#define TRIL_DECIMAL_H

#include "tests/scratch.h"

#include <locale.h>

/* Makes the locale in the scratch directory, and sets it for this process: until setlocale(LC_ALL,
 * "C"). `point` is written as in a source file of localedef. Fails if this system cannot. */
static inline bool decimal_point(const char *point, const char *charmap) {
    static char name[] = "points0"; /* another each time: a known name keeps its meaning */
    name[6]++;
    const char *text =
        formatted("comment_char %%\nescape_char /\nLC_NUMERIC\ndecimal_point \"%s\"\n"
                  "thousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n",
                  point);
    scratch_put("point", text, strlen(text));
    if (system_lacks(SHELL_TOOLS)) return false;
    run_shell(formatted("localedef -c %s -i '%s' '%s' >'%s' 2>&1", charmap, scratch("point"),
                        scratch(name), scratch("said"))); /* it warns of the other categories */
    setenv("LOCPATH", scratch_directory(), 1);
    bool set = setlocale(LC_ALL, name) && *localeconv()->decimal_point != '.';
    scratch_remove(scratch(name));
    if (!set) print_message("no locale with the decimal point %s can be made here\n", point);
    return set;
}

#endif
