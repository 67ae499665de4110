/* test_threads.c - a group of threads: each index works once, all meet at barriers, sleepers wake,
 * and signals stay with the calling thread. */
#include "tests/support.h"
#include "tests/system.h"
#include "base/threads.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

enum { MOST = 9, ROUNDS = 300 };

typedef struct {
    Threads *threads;
    atomic_int visits[MOST];
    int counts[MOST];
    pthread_t who[MOST];
    bool open_to_signals[MOST];
} Visits;

static void visit(void *argument, int index, int count) {
    Visits *v = argument;
    v->open_to_signals[index] = takes_interruptions();
    v->who[index] = pthread_self();
    v->counts[index] = count;
    atomic_fetch_add(&v->visits[index], 1);
}

static void run(Threads *threads, int wanted, void (*work)(void *, int, int), void *argument) {
    work(argument, 0, threads_begin(threads, wanted, work, argument));
    threads_end(threads);
}

static void test_each_index_once(void **state) {
    (void)state;
    Visits v = {.threads = NULL};
    Error err;
    assert_ok(threads_open(&v.threads, MOST, &err), err);
    int expected[MOST] = {0};
    for (int round = 0; round < ROUNDS; round++) {
        int wanted = 1 + round % MOST;
        run(v.threads, wanted, visit, &v);
        for (int i = 0; i < MOST; i++) {
            if (i < wanted) assert_int_equal(v.counts[i], wanted);
            expected[i] += i < wanted;
            assert_int_equal(atomic_load(&v.visits[i]), expected[i]);
        }
    }
    assert_true(pthread_equal(v.who[0], pthread_self()));
    assert_true(v.open_to_signals[0] || system_lacks(SIGNALS));
    for (int i = 1; i < MOST; i++) {
        assert_false(v.open_to_signals[i]);
        for (int j = 0; j < i; j++) assert_false(pthread_equal(v.who[i], v.who[j]));
    }
    threads_close(v.threads);
}

/* Long pauses, in which the workers fall asleep. */
static void test_sleepers(void **state) {
    (void)state;
    const struct timespec pause = {.tv_nsec = 20000000};
    Visits v = {.threads = NULL};
    Error err;
    assert_ok(threads_open(&v.threads, 3, &err), err);
    for (int round = 1; round <= 5; round++) {
        run(v.threads, 3, visit, &v);
        nanosleep(&pause, NULL);
        for (int i = 0; i < 3; i++) assert_int_equal(atomic_load(&v.visits[i]), round);
    }
    threads_close(v.threads); /* also while they sleep */
}

typedef struct {
    Threads *threads;
    int board[MOST], wrong[MOST];
} Turns;

/* Each thread writes its own element, waits, and reads all elements. */
static void take_turns(void *argument, int index, int count) {
    Turns *t = argument;
    for (int round = 1; round <= ROUNDS; round++) {
        t->board[index] = round;
        threads_barrier(t->threads, count);
        for (int i = 0; i < count; i++) t->wrong[index] += t->board[i] != round;
        threads_barrier(t->threads, count);
    }
}

static void test_barrier(void **state) {
    (void)state;
    Error err;
    for (int most = 1; most <= MOST; most += 4) { /* more than there are processors, too */
        Turns t = {.threads = NULL};
        assert_ok(threads_open(&t.threads, most, &err), err);
        run(t.threads, most, take_turns, &t);
        for (int i = 0; i < most; i++) {
            assert_int_equal(t.board[i], ROUNDS);
            assert_int_equal(t.wrong[i], 0);
        }
        threads_close(t.threads);
    }
}

static void test_nothing_to_do(void **state) {
    (void)state;
    Threads *threads;
    Error err;
    assert_ok(threads_open(&threads, MOST, &err), err);
    threads_close(threads);
    threads_close(NULL);
    assert_true(threads_processors() >= 1);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_each_index_once),
        cmocka_unit_test(test_sleepers),
        cmocka_unit_test(test_barrier),
        cmocka_unit_test(test_nothing_to_do),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
