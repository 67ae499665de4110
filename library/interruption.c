/* interruption.c - training/interruption.h without signals: who calls a library, or a page, asks by
 * not calling again. */
#include "training/interruption.h"

void interruption_ignore(void) {}

bool interrupted(void) {
    return false;
}

bool interrupted_twice(void) {
    return false;
}
