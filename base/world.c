/* world.c - world.h for a single process, without MPI. */
#include "base/world.h"

/* As with MPI, a process joins once. */
static atomic_int joins;

static _Atomic bool apart; /* started with others, but cannot reach them */

bool world_join(int *number, Error *err) {
    *number = 0;
    apart = !launcher_alone();
    if (apart)
        return fail(
            err,
            "several processes were started, but this program was built for one; rebuild it with: "
            "make MPI=1");
    return atomic_fetch_add(&joins, 1) == 0 ||
           fail(err, "this process has already joined the others");
}

void world_leave(void) {
    if (apart) launcher_end();
}

int world_size(void) {
    return 1;
}

int world_rank(void) {
    return 0;
}

int world_beside(void) {
    return 1;
}

void world_broadcast(void *bytes, size_t size) {
    (void)bytes, (void)size;
}

void world_allreduce(double *x, size_t count) {
    (void)x, (void)count;
}

bool world_agree(bool ok, Error *err) {
    (void)err;
    return ok;
}

void world_sum_begin(float *x, size_t count, int to, float *buffer) {
    (void)x, (void)count, (void)to, (void)buffer;
}

size_t world_buffer_size(size_t count, int to) {
    (void)count, (void)to;
    return 0;
}

void world_broadcast_begin(float *x, size_t count, int from) {
    (void)x, (void)count, (void)from;
}

void world_progress(void) {}

void world_wait(void) {}

Traffic world_traffic(void) {
    return (Traffic){0, 0};
}
