/* world_mpi.c - world.h over MPI (Message Passing Interface, version 3.1, 2015).
 *
 * Uses non-blocking messages and polls for completion. A process that waits yields the processor
 * between polls; a blocking wait in MPI would occupy it. */
#include "base/world.h"

#include <mpi.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The most messages in flight, and the most sums. */
enum { MAX = 4096 };

/* A sum to compute when all its messages have arrived. */
typedef struct {
    float *x, *buffer;
    size_t count;
    int to; /* a process, or EVERYONE */
} Sum;

static struct {
    int rank, size, beside;
    MPI_Request requests[MAX];
    MPI_Status statuses[MAX]; /* never read: MPICH's way to ignore them causes warnings */
    int count;
    Sum sums[MAX];
    int sum_count; /* the same on all processes */
    Traffic traffic;
} world = {.size = 1, .beside = 1};

bool world_join(Error *err) {
    int provided; /* only the thread that joins sends; other threads compute */
    MPI_Comm beside;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &beside);
    MPI_Comm_size(beside, &world.beside);
    MPI_Comm_free(&beside);
    if (provided < MPI_THREAD_FUNNELED)
        return fail(err, "this MPI does not support programs with threads");
    return world.rank == 0 ||
           (freopen("/dev/null", "r", stdin) && freopen("/dev/null", "w", stdout)) ||
           fail(err, "/dev/null: cannot be opened");
}

void world_blame(Error *err) {
    const struct timespec time = {.tv_sec = 5};
    const Error own = *err;
    if (world.rank == 0) return;
    nanosleep(&time, NULL);
    error_write(err, "process %d: %s", world.rank, own.text);
}

/* MPICH's mpirun may end at once, so it first gets a moment to read the message. */
void world_leave(int status) {
    const struct timespec moment = {.tv_nsec = 200000000};
    if (status == EXIT_SUCCESS || world.size == 1) {
        MPI_Finalize();
        return;
    }
    nanosleep(&moment, NULL);
    MPI_Abort(MPI_COMM_WORLD, status);
}

int world_size(void) {
    return world.size;
}

int world_rank(void) {
    return world.rank;
}

int world_beside(void) {
    return world.beside;
}

/* ---- messages in flight ---- */

static bool all_done(void) {
    int done = 1;
    if (world.count > 0) MPI_Testall(world.count, world.requests, &done, world.statuses);
    if (done) world.count = 0;
    return done;
}

static void wait_for_all(void) {
    enum { LOOKS = 100 }; /* before yielding the processor */
    if (world.count == 0) return;
    double begun = clock_seconds();
    for (int looks = 0; !all_done(); looks++)
        if (looks > LOOKS) sched_yield();
    world.traffic.seconds += clock_seconds() - begun;
}

/* Returns the slot of a new request. */
static MPI_Request *next_request(void) {
    if (world.count == MAX) wait_for_all();
    return &world.requests[world.count++];
}

/* ---- sums ----
 * All processes send their terms to one, which adds them and sends the sums back. Over TCP this is
 * faster than MPI's own non-blocking sums, which add along a tree (docs/scale.md). */

/* Sends x[count] from process `from` to each other process. */
static void spread(float *x, size_t count, int from) {
    for (int p = 0; p < world.size; p++)
        if (world.rank == from && p != from)
            MPI_Isend(x, (int)count, MPI_FLOAT, p, 0, MPI_COMM_WORLD, next_request());
        else if (world.rank == p && p != from)
            MPI_Irecv(x, (int)count, MPI_FLOAT, from, 0, MPI_COMM_WORLD, next_request());
}

/* Returns the first element of x[count] that process p adds in an allreduce. */
static size_t begin_of(size_t count, int p) {
    return count * (size_t)p / (size_t)world.size;
}

/* Gathers x[count] of all processes in process `to`. */
static void collect(float *x, size_t count, int to, float *buffer) {
    MPI_Igather(x, (int)count, MPI_FLOAT, buffer, (int)count, MPI_FLOAT, to, MPI_COMM_WORLD,
                next_request());
}

size_t world_buffer_size(size_t count, int to) {
    size_t size = (size_t)world.size;
    if (size == 1 || (to != EVERYONE && to != world.rank)) return 0;
    return to == EVERYONE ? (count + size - 1) / size * size : count * size;
}

void world_sum_begin(float *x, size_t count, int to, float *buffer) {
    if (world.size == 1) return;
    if (world.sum_count == MAX) world_wait();
    world.traffic.bytes += (double)count * sizeof *x;
    world.sums[world.sum_count++] = (Sum){.x = x, .buffer = buffer, .count = count, .to = to};
    for (int p = 0; p < world.size && to == EVERYONE; p++) {
        size_t begin = begin_of(count, p);
        collect(x + begin, begin_of(count, p + 1) - begin, p, buffer);
    }
    if (to != EVERYONE) collect(x, count, to, buffer);
}

/* Adds the received terms in the order of the processes. */
static void add_up(const Sum *sum) {
    bool all = sum->to == EVERYONE;
    if (!all && sum->to != world.rank) return;
    size_t begin = all ? begin_of(sum->count, world.rank) : 0;
    size_t count = (all ? begin_of(sum->count, world.rank + 1) : sum->count) - begin;
    float *x = sum->x + begin;
    memcpy(x, sum->buffer, count * sizeof *x);
    for (int p = 1; p < world.size; p++) {
        const float *part = sum->buffer + (size_t)p * count;
        for (size_t i = 0; i < count; i++) x[i] += part[i];
    }
}

/* Sends this process's part of an allreduce to the others. */
static void exchange(const Sum *sum) {
    for (int p = 0; p < world.size && sum->to == EVERYONE; p++) {
        size_t begin = begin_of(sum->count, p), count = begin_of(sum->count, p + 1) - begin;
        spread(sum->x + begin, count, p);
    }
}

void world_progress(void) {
    if (world.count > 0) all_done();
}

void world_wait(void) {
    wait_for_all();
    for (int i = 0; i < world.sum_count; i++) add_up(&world.sums[i]);
    for (int i = 0; i < world.sum_count; i++) exchange(&world.sums[i]);
    world.sum_count = 0;
    wait_for_all();
}

void world_broadcast_begin(float *x, size_t count, int from) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    spread(x, count, from);
}

/* ---- collective, blocking ---- */

void world_broadcast(void *bytes, size_t size) {
    const size_t most = 1 << 30; /* of a message */
    if (world.size == 1) return;
    for (size_t at = 0; at < size; at += most)
        MPI_Ibcast((char *)bytes + at, (int)(size - at < most ? size - at : most), MPI_BYTE, 0,
                   MPI_COMM_WORLD, next_request());
    world_wait();
}

void world_allreduce(double *x, size_t count) {
    if (world.size == 1) return;
    MPI_Ireduce(world.rank == 0 ? MPI_IN_PLACE : x, x, (int)count, MPI_DOUBLE, MPI_SUM, 0,
                MPI_COMM_WORLD, next_request());
    world_wait();
    world_broadcast(x, count * sizeof *x);
}

bool world_agree(bool ok, Error *err) {
    int mine = ok ? world.size : world.rank, first = mine;
    if (world.size == 1) return ok;
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, next_request());
    world_wait();
    if (first == world.size) return true;
    Error told = *err;
    MPI_Ibcast(&told, sizeof told, MPI_BYTE, first, MPI_COMM_WORLD, next_request());
    world_wait();
    if (first == 0)
        *err = told;
    else
        error_write(err, "process %d: %s", first, told.text);
    return false;
}

Traffic world_traffic(void) {
    return world.traffic;
}
