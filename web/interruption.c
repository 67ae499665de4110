/* interruption.c - training/interruption.h without signals: a page asks by not calling again. */
#include "training/interruption.h"

void interruption_ignore(void) {}

bool interrupted_twice(void) {
    return false;
}
