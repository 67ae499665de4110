/* fuzz_command.c - any command line of ./train is an error, or gives valid options. The bytes are
 * its words, a line each. */
#include "tests/fuzz/fuzz.h"
#include "base/error.h"
#include "programs/train/command_line.h"

#include <string.h>

void fuzz_command(const uint8_t *bytes, size_t length) {
    enum { WORDS = 32, LONGEST = 1024 };
    char text[LONGEST + 1], *words[WORDS + 2] = {"train", text};
    int count = 2;
    Arguments arguments;
    TrilOptions options = tril_options();
    TrilError error;
    Error err = {0};
    if (length > LONGEST) return;
    if (length > 0) memcpy(text, bytes, length);
    text[length] = 0;
    for (char *at = text; count <= WORDS && (at = strchr(at, '\n')); words[count++] = at) *at++ = 0;
    words[count] = NULL;
    if (!command_line_read(&arguments, count, words, &err)) {
        if (!*err.text) fuzz_fail("a message");
    } else if (!arguments.help && !arguments.version &&
               command_line_apply(&arguments, OVER_DEFAULTS, &options, &err)) {
        for (int i = 0; tril_option(i); i++) {
            char before[TRIL_OPTION_SIZE], after[TRIL_OPTION_SIZE];
            TrilOptions again = options;
            if (tril_options_get(&options, i, before) != 1) continue;
            if (tril_options_set(&again, tril_option(i)->name, before, &error) != TRIL_OK ||
                tril_options_get(&again, i, after) != 1 || strcmp(before, after) != 0)
                fuzz_fail("an option as it was written");
        }
        command_line_apply(&arguments, OVER_RUN, &options, &err);
    }
}
