/* main.c - the main function of the test programs that have no other. */
#include "tests/support.h"

int main(void) {
    return run_all_tests();
}
