/* test_threads.c - a group of threads: each index works once, all meet at barriers, sleepers wake,
 * and signals stay with the calling thread. A team divides a matrix without gaps; test_properties
 * has its other divisions. */
#include "tests/support.h"
#include "base/threads.h"
#include "model/kernels/team.h"

#include <pthread.h>
#include <time.h>

enum { MOST = 9, SIZE = 64, ROUNDS = 300 };

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

TEST(each_index_once) {
    Visits v = {.threads = NULL};
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
    assert_ok(threads_open(&v.threads, MOST, &err), err); /* nothing to do */
    threads_close(v.threads);
    threads_close(NULL);
    assert_true(threads_processors() >= 1);
}

/* Long pauses, in which the workers fall asleep. */
TEST(sleepers) {
    const struct timespec pause = {.tv_nsec = 20000000};
    Visits v = {.threads = NULL};
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
    int board[SIZE], wrong[SIZE];
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

TEST(barrier) {
    const int more = threads_processors() + 3;
    const int sizes[] = {1, 2, 5, MOST, more < SIZE ? more : SIZE};
    for (int size = 0; size < 5; size++) {
        int most = sizes[size];
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

/* ---- a team ---- */

/* The parts of all threads cover a matrix once. Sixteen threads pack less than if each packed all
 * of the shorter side, and a narrow matrix has work for more threads than it has column grains. */
TEST(parts) {
    enum { SIDE = 130 };
    static const int sides[][2] = {{1, 1}, {5, 130}, {65, 128}, {128, 128}, {130, 17}};
    for (size_t i = 0; i < sizeof sides / sizeof *sides; i++)
        for (int count = 1; count <= 17; count++) {
            int rows = sides[i][0], columns = sides[i][1], covered[SIDE][SIDE] = {{0}};
            for (int t = 0; t < count; t++) {
                Thread thread = {.index = t, .count = count};
                Part part = team_part(&thread, rows, columns, 6, 16);
                if (count == 16 && rows == 128) assert_true(part.rows <= 36 && part.columns <= 32);
                for (int r = part.row; r < part.row + part.rows; r++)
                    for (int c = part.column; c < part.column + part.columns; c++) covered[r][c]++;
            }
            for (int r = 0; r < rows; r++)
                for (int c = 0; c < columns; c++) assert_int_equal(covered[r][c], 1);
        }
}
