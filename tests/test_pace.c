/* test_pace.c - one thread or several, on machines that are simulated: each says how long a pass
 * takes either way. */
#include "tests/support.h"
#include "model/pace.h"

#define WORK 1e6 /* multiply-adds in a pass */

/* How long passes take with one thread and with several. */
typedef struct {
    double alone, shared;
    bool crowded; /* other programs have the processors for half of the time */
} Machine;

/* What came of some passes. */
typedef struct {
    int shared; /* of them */
    double seconds;
} Course;

static Course play(Pace *pace, Machine machine, int passes) {
    Course course = {0};
    for (int i = 0; i < passes; i++) {
        bool shared = pace_shares(pace, WORK);
        double seconds = shared ? machine.shared : machine.alone;
        double worked = machine.crowded ? seconds / 2 : shared ? 2 * seconds : seconds;
        pace_note(pace, shared, WORK, seconds, worked);
        course.shared += shared;
        course.seconds += seconds;
    }
    return course;
}

static const Machine quiet = {50e-6, 30e-6, false}, alike = {50e-6, 55e-6, false},
                     busy = {50e-6, 12e-3, false}, crowded = {50e-6, 12e-3, true};

/* A text that is soon over is one thread's: to try several might take longer than all of it. */
static void test_short(void **state) {
    (void)state;
    Pace pace = {0};
    assert_int_equal(play(&pace, busy, 150).shared, 0);
}

/* Where several are faster they are soon taken, and one is tried now and then. */
static void test_quiet(void **state) {
    (void)state;
    Pace pace = {0};
    play(&pace, quiet, 500);
    Course course = play(&pace, quiet, 10000);
    assert_true(course.shared > 9000 && course.shared < 10000);
    assert_true(course.seconds < 1.05 * 10000 * quiet.shared);
}

/* Where they are slower they cost a twentieth at most, and a first try. */
static void test_busy(void **state) {
    (void)state;
    const Machine machines[] = {busy, alike};
    for (int i = 0; i < 2; i++) {
        Pace pace = {0};
        Course course = play(&pace, machines[i], 20000);
        assert_true(course.shared > 0 && course.shared < 1000);
        assert_true(course.seconds < 1.055 * 20000 * machines[i].alone + machines[i].shared);
    }
}

/* Where one thread does not even have its own processor, several are not tried, before that ends.
 */
static void test_crowded(void **state) {
    (void)state;
    Pace pace = {0};
    assert_int_equal(play(&pace, crowded, 100000).shared, 0);
    play(&pace, quiet, 500);
    assert_true(play(&pace, quiet, 1000).shared > 900);
}

/* What was slower may become faster, and the other way round. */
static void test_change(void **state) {
    (void)state;
    Pace pace = {0};
    play(&pace, busy, 1000);
    play(&pace, quiet, 10000);
    assert_true(play(&pace, quiet, 1000).shared > 900);
    play(&pace, busy, 10);
    assert_true(play(&pace, busy, 1000).shared < 10);
}

/* A pass that is held up once does not make it the slower way for long. */
static void test_hiccup(void **state) {
    (void)state;
    Pace pace = {0};
    play(&pace, busy, 1000);
    play(&pace, (Machine){4e-3, 12e-3, false}, 1);
    assert_true(play(&pace, busy, 1000).shared < 3);
}

/* A long prompt is not kept waiting: it is shared at once, whatever has gone by. */
static void test_long(void **state) {
    (void)state;
    const Pace pace = {0};
    assert_true(pace_shares(&pace, 1e9));
    assert_false(pace_shares(&pace, 1e7));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_short),  cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_busy),   cmocka_unit_test(test_crowded),
        cmocka_unit_test(test_change), cmocka_unit_test(test_hiccup),
        cmocka_unit_test(test_long),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
