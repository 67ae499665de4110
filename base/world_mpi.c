/* world_mpi.c - several processes, over MPI (Message Passing Interface, version 3.1, 2015).
 *
 * All is done by collectives that do not block, and by looking whether they are done: whoever waits
 * offers the processor to the others in between, where an MPI that waits would keep it. */
#include "base/world.h"
#include "base/clock.h"

#include <mpi.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>

enum { AT_ONCE = 1 << 30, MOST = 1024 }; /* numbers in a message; messages under way */

static struct {
    int rank, size;
    MPI_Request requests[MOST];
    MPI_Status statuses[MOST]; /* of no interest, but MPICH's way to say so troubles compilers */
    int count;
    Traffic traffic;
} world = {.size = 1};

/* A launcher of another MPI than the program's starts processes of which each believes to be the
 * only one. */
static bool check_launcher(Error *err) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    for (int i = 0; i < 2 && world.size == 1; i++) {
        const char *size = getenv(sizes[i]);
        if (size && strtol(size, NULL, 10) > 1)
            return fail(err,
                        "%s processes were started, by an mpirun of another MPI than the one that "
                        "this program was built with",
                        size);
    }
    return true;
}

bool world_join(Error *err) {
    int provided; /* only the thread that joins sends, beside others that compute */
    MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world.rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world.size);
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

/* ---- messages under way ---- */

static bool all_done(void) {
    int done = 1;
    if (world.count > 0) MPI_Testall(world.count, world.requests, &done, world.statuses);
    if (done) world.count = 0;
    return done;
}

void world_poke(void) {
    if (world.count > 0) all_done();
}

void world_finish(void) {
    enum { LOOKS = 100 }; /* before the processor is offered to others */
    if (world.count == 0) return;
    double begun = clock_seconds();
    for (int looks = 0; !all_done(); looks++)
        if (looks > LOOKS) sched_yield();
    world.traffic.seconds += clock_seconds() - begun;
}

/* Room for the handle of another one. */
static MPI_Request *next_request(void) {
    if (world.count == MOST) world_finish();
    return &world.requests[world.count++];
}

/* How much of what is left goes into the next message. */
static int part_of(size_t left) {
    return left < AT_ONCE ? (int)left : AT_ONCE;
}

void world_add_begin(float *x, size_t count) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Iallreduce(MPI_IN_PLACE, x + at, part_of(count - at), MPI_FLOAT, MPI_SUM,
                       MPI_COMM_WORLD, next_request());
}

void world_gather_begin(float *x, size_t count, int to) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
    for (size_t at = 0; at < count; at += AT_ONCE)
        MPI_Ireduce(world.rank == to ? MPI_IN_PLACE : x + at, x + at, part_of(count - at),
                    MPI_FLOAT, MPI_SUM, to, MPI_COMM_WORLD, next_request());
}

void world_share_begin(float *x, size_t count, int from) {
    if (world.size == 1) return;
    world.traffic.bytes += (double)count * sizeof *x;
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

/* The first one adds up: others might round otherwise. */
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
