/* test_pace.c - the choice between one thread and several, with given times of a pass. */
#include "tests/support.h"
#include "model/engine/pace.h"

#define WORK 1e6 /* multiply-adds in a pass */

/* Seconds of a pass with one thread and with several. */
typedef struct {
    double alone, shared;
    bool crowded; /* other programs use the processors half of the time */
} Machine;

/* The result of some passes. */
typedef struct {
    int shared; /* shared passes */
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

/* A short text uses one thread: trying several might take longer than the whole text. */
TEST(short) {
    Pace pace = {0};
    assert_int_equal(play(&pace, busy, 150).shared, 0);
}

/* Where several threads are faster they are soon used. One thread is tried now and then. */
TEST(quiet) {
    Pace pace = {0};
    play(&pace, quiet, 500);
    Course course = play(&pace, quiet, 10000);
    assert_true(course.shared > 9900 && course.shared < 10000);
    assert_true(course.seconds < 1.01 * 10000 * quiet.shared);
    const Machine slow = {1, 0.5, false};
    play(&pace, slow, 100);
    course = play(&pace, slow, 1000);
    assert_true(course.shared < 1000 && course.seconds < 1.03 * 1000 * slow.shared);
}

/* Where several are slower, trying them costs at most a hundredth, plus the first try. */
TEST(busy) {
    const Machine machines[] = {busy, alike};
    for (int i = 0; i < 2; i++) {
        Pace pace = {0};
        Course course = play(&pace, machines[i], 20000);
        assert_true(course.shared > 0 && course.shared < 250);
        assert_true(course.seconds < 1.015 * 20000 * machines[i].alone + machines[i].shared);
    }
}

/* While other programs use even the first thread's processor, several threads are not tried. */
TEST(crowded) {
    Pace pace = {0};
    assert_int_equal(play(&pace, crowded, 100000).shared, 0);
    play(&pace, quiet, 500);
    assert_true(play(&pace, quiet, 1000).shared > 900);
}

/* The faster choice may change, in both directions. */
TEST(change) {
    Pace pace = {0};
    play(&pace, busy, 1000);
    play(&pace, quiet, 30000);
    assert_true(play(&pace, quiet, 1000).shared > 900);
    play(&pace, busy, 10);
    assert_true(play(&pace, busy, 1000).shared < 10);
}

/* One delayed pass does not change the choice for long. */
TEST(hiccup) {
    Pace pace = {0};
    play(&pace, busy, 1000);
    play(&pace, (Machine){4e-3, 12e-3, false}, 1);
    assert_true(play(&pace, busy, 1000).shared < 3);
}

/* A long prompt is shared at once, without a trial; training begins so, and soon tries one. */
TEST(long) {
    Pace pace = {.shared = PACE_SHARED_FIRST};
    assert_true(pace_shares(&pace, 1e7));
    assert_in_range(play(&pace, busy, 10000).shared, 1, 10);
    pace = (Pace){0};
    assert_true(pace_shares(&pace, 1e9));
    assert_false(pace_shares(&pace, 1e7));
}
