/* world.c - world.h for a single process, without MPI. */
#include "base/world.h"

bool world_join(Error *err) {
    (void)err;
    return true;
}

void world_blame(Error *err) {
    (void)err;
}

void world_leave(int status) {
    (void)status;
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
