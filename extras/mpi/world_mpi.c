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
    int to; /* a process, or ALL_PROCESSES */
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

/* The elements that process p adds: if ALL_PROCESSES needs the sum, an equal part; else all or
 * none. */
typedef struct {
    size_t begin, count;
} Part;

static Part part_of(const Sum *sum, int p) {
    const size_t size = (size_t)world.size, next = (size_t)p + 1;
    if (sum->to != ALL_PROCESSES) return (Part){0, p == sum->to ? sum->count : 0};
    const size_t begin = sum->count * (size_t)p / size;
    return (Part){begin, sum->count * next / size - begin};
}

size_t world_buffer_size(size_t count, int to) {
    size_t size = (size_t)world.size;
    if (size == 1 || (to != ALL_PROCESSES && to != world.rank)) return 0;
    return to == ALL_PROCESSES ? (count + size - 1) / size * size : count * size;
}

void world_sum_begin(float *x, size_t count, int to, float *buffer) {
    if (world.size == 1) return;
    if (world.sum_count == MAX) world_wait();
    world.traffic.bytes += (double)count * sizeof *x;
    const Sum *sum = &world.sums[world.sum_count++];
    world.sums[world.sum_count - 1] = (Sum){x, buffer, count, to};
    for (int p = 0; p < world.size; p++) {
        const Part part = part_of(sum, p);
        if (part.count > 0)
            MPI_Igather(x + part.begin, (int)part.count, MPI_FLOAT, buffer, (int)part.count,
                        MPI_FLOAT, p, MPI_COMM_WORLD, next_request());
    }
}

/* Adds the received terms in the order of the processes. */
static void add_up(const Sum *sum) {
    const Part own = part_of(sum, world.rank);
    float *x = sum->x + own.begin;
    if (own.count > 0) memcpy(x, sum->buffer, own.count * sizeof *x);
    for (int p = 1; p < world.size; p++) {
        const float *term = sum->buffer + (size_t)p * own.count;
        for (size_t i = 0; i < own.count; i++) x[i] += term[i];
    }
}

void world_progress(void) {
    if (world.count > 0) all_done();
}

void world_wait(void) {
    wait_for_all();
    for (const Sum *sum = world.sums; sum < world.sums + world.sum_count; sum++) {
        add_up(sum);
        for (int p = 0; p < world.size && sum->to == ALL_PROCESSES; p++)
            spread(sum->x + part_of(sum, p).begin, part_of(sum, p).count, p);
    }
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
