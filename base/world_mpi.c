/* world_mpi.c - several processes, over MPI (Message Passing Interface, version 3.1, 2015).
 *
 * All is done by messages that do not block, and by looking whether they are done: whoever waits
 * offers the processor to others in between, where an MPI that waits would keep it. */
#include "base/world.h"
#include "base/clock.h"
#include "base/launcher.h"

#include <limits.h>
#include <mpi.h>
#include <sched.h>
#include <string.h>

/* Numbers in a message; messages under way; processes that send straight to each other. */
enum { AT_ONCE = 1 << 30, MOST = 4096, FEW = 16 };

enum { ALL = -1 };

/* What is added up once all has arrived. */
typedef struct {
    float *x, *room;
    size_t count;
    int to; /* a process, or ALL */
} Sum;

static struct {
    int rank, size, beside;
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST]; /* of no interest, but MPICH's way to say so troubles compilers */
    int count;
    Sum sums[MOST];
    int sum_count; /* the same on all processes */
    Traffic traffic;
} world = {.size = 1, .beside = 1};

/* A launcher of another MPI than the program's starts processes of which each believes to be the
 * only one. */
static bool check_launcher(Error *err) {
    return world.size > 1 || (launcher_size() == 1 && launcher_rank() == 0) ||
           fail(err,
                "several processes were started, by an mpirun of another MPI than the one that "
                "this program was built with");
}

bool world_join(Error *err) {
    int provided; /* only the thread that joins sends, beside others that compute */
    MPI_Comm beside;
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &beside);
    MPI_Comm_size(beside, &world.beside);
    MPI_Comm_free(&beside);
    if (check_launcher(err) &&
        (provided >= MPI_THREAD_FUNNELED || fail(err, "this MPI cannot be used beside threads")))
        return true;
    world_leave();
    return false;
}

void world_leave(void) {
    MPI_Finalize();
    world.rank = 0;
    world.size = 1;
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

/* ---- messages under way ---- */

static bool all_done(void) {
    int done = 1;
    if (world.count > 0) MPI_Testall(world.count, world.requests, &done, world.statuses);
    if (done) world.count = 0;
    return done;
}

static void wait_for_all(void) {
    enum { LOOKS = 100 }; /* before the processor is offered to others */
    if (world.count == 0) return;
    double begun = clock_seconds();
    for (int looks = 0; !all_done(); looks++)
        if (looks > LOOKS) sched_yield();
    world.traffic.seconds += clock_seconds() - begun;
}

/* Room for the handle of another one. */
static MPI_Request *next_request(void) {
    if (world.count == MOST) wait_for_all();
    return &world.requests[world.count++];
}

/* How much of what is left goes into the next message. */
static int part_of(size_t left) {
    return left < AT_ONCE ? (int)left : AT_ONCE;
}

/* ---- sums ----
 * A few processes send what is to be added to the one that adds it, and what came of it to each of
 * the others, which over TCP takes less time than MPI's own sums that do not block (docs/scale.md).
 * Where they are many, one would hear too many at once, and MPI adds on the way,
 * along a tree. */

static bool directly(size_t count) {
    return world.size <= FEW && count <= INT_MAX / FEW && world.sum_count < MOST;
}

/* Sends x[count] of process `from` to each of the others. */
static void spread(float *x, size_t count, int from) {
    for (int p = 0; p < world.size; p++)
        if (world.rank == from && p != from)
            MPI_Isend(x, (int)count, MPI_FLOAT, p, 0, MPI_COMM_WORLD, next_request());
        else if (world.rank == p && p != from)
            MPI_Irecv(x, (int)count, MPI_FLOAT, from, 0, MPI_COMM_WORLD, next_request());
}

/* The part of x[count] that process p adds up, where all get the sums. */
static size_t begin_of(size_t count, int p) {
    return count * (size_t)p / (size_t)world.size;
}

/* Has process `to` hear what all have in x[count]. */
static void collect(float *x, size_t count, int to, float *room) {
    MPI_Igather(x, (int)count, MPI_FLOAT, room, (int)count, MPI_FLOAT, to, MPI_COMM_WORLD,
                next_request());
}

static void expect_sum(Sum sum) {
    world.sums[world.sum_count++] = sum;
}

size_t world_room(size_t count, bool of_all) {
    size_t size = (size_t)world.size;
    if (size > FEW) return 0;
    return of_all ? (count + size - 1) / size * size : count * size;
}

void world_add_begin(float *x, size_t count, float *room) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    if (directly(count)) {
        for (int p = 0; p < world.size; p++) {
            size_t begin = begin_of(count, p);
            collect(x + begin, begin_of(count, p + 1) - begin, p, room);
        }
        expect_sum((Sum){.x = x, .count = count, .to = ALL, .room = room});
        return;
    }
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Iallreduce(MPI_IN_PLACE, x + at, part_of(count - at), MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD, next_request());
}

void world_gather_begin(float *x, size_t count, int to, float *room) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    if (directly(count)) {
        collect(x, count, to, room);
        expect_sum((Sum){.x = x, .count = count, .to = to, .room = room});
        return;
    }
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Ireduce(world.rank == to ? MPI_IN_PLACE : x + at, x + at, part_of(count - at),
                    MPI_FLOAT, MPI_SUM, to, MPI_COMM_WORLD, next_request());
}

/* Adds up what has been heard, in the order of the processes. */
static void add_up(const Sum *sum) {
    bool all = sum->to == ALL;
    if (!all && sum->to != world.rank) return;
    size_t begin = all ? begin_of(sum->count, world.rank) : 0;
    size_t count = (all ? begin_of(sum->count, world.rank + 1) : sum->count) - begin;
    float *x = sum->x + begin;
    memcpy(x, sum->room, count * sizeof *x);
    for (int p = 1; p < world.size; p++) {
        const float *part = sum->room + (size_t)p * count;
        for (size_t i = 0; i < count; i++) x[i] += part[i];
    }
}

/* Each tells the others the part that it added up. */
static void exchange(const Sum *sum) {
    for (int p = 0; p < world.size && sum->to == ALL; p++) {
        size_t begin = begin_of(sum->count, p), count = begin_of(sum->count, p + 1) - begin;
        spread(sum->x + begin, count, p);
    }
}

void world_poke(void) {
    if (world.count > 0) all_done();
}

void world_finish(void) {
    wait_for_all();
    for (int i = 0; i < world.sum_count; i++) add_up(&world.sums[i]);
    for (int i = 0; i < world.sum_count; i++) exchange(&world.sums[i]);
    world.sum_count = 0;
    wait_for_all();
}

void world_share_begin(float *x, size_t count, int from) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    if (directly(count)) {
        spread(x, count, from);
        return;
    }
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Ibcast(x + at, part_of(count - at), MPI_FLOAT, from, MPI_COMM_WORLD, next_request());
}

/* ---- and waited for ---- */

void world_tell(void *bytes, size_t size) {
    if (world.size == 1) return;
    for (size_t at = 0; at < size; at += AT_ONCE)
        MPI_Ibcast((char *)bytes + at, part_of(size - at), MPI_BYTE, 0, MPI_COMM_WORLD,
                   next_request());
    world_finish();
}

void world_add(double *x, size_t count) {
    if (world.size == 1) return;
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Ireduce(world.rank == 0 ? MPI_IN_PLACE : x + at, x + at, part_of(count - at),
                    MPI_DOUBLE, MPI_SUM, 0, MPI_COMM_WORLD, next_request());
    world_finish();
    world_tell(x, count * sizeof *x);
}

bool world_agree(bool ok, Error *err) {
    int mine = ok ? world.size : world.rank, first = mine;
    if (world.size == 1) return ok;
    MPI_Iallreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD, next_request());
    world_finish();
    if (first == world.size) return true;
    Error told = *err;
    MPI_Ibcast(&told, sizeof told, MPI_BYTE, first, MPI_COMM_WORLD, next_request());
    world_finish();
    if (first == 0)
        *err = told;
    else
        error_write(err, "process %d: %s", first, told.text);
    return false;
}

Traffic world_traffic(void) {
    return world.traffic;
}
