#include "extras/windows/tests/cmocka.h"

static jmp_buf group;

void leave_test(int how, const char *file, int line, const char *why) {
    if (how == FAILED) fprintf(stderr, "%s:%d: error: %s\n", file, line, why);
    longjmp(group, how);
}

/* Prints the lines of cmocka that tests/run reads. */
int run_group(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
              int (*teardown)(void **state)) {
    void *state = NULL;
    volatile int totals[3] = {0};
    if (setjmp(group) != GOES_ON || (setup && setup(&state) != 0)) return 1;
    for (volatile size_t i = 0; i < count; i++) {
        int how = setjmp(group);
        if (how == GOES_ON) tests[i].run(&state);
        totals[how]++;
        printf("[ %s ] %s\n",
               how == FAILED    ? " FAILED "
               : how == SKIPPED ? "SKIPPED "
                                : "      OK",
               tests[i].name);
        fflush(stdout);
    }
    if (teardown) teardown(&state);
    printf("[  PASSED  ] %d test(s).\n", totals[GOES_ON]);
    if (totals[SKIPPED] > 0) printf("[  SKIPPED ] %d test(s)\n", totals[SKIPPED]);
    if (totals[FAILED] > 0) printf("[  FAILED  ] %d test(s)\n", totals[FAILED]);
    return totals[FAILED];
}
