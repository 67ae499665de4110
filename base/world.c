/* world.c - one process, alone. */
#include "base/world.h"
#include "base/launcher.h"

bool world_join(Error *err) {
    if (launcher_size() == 1 && launcher_rank() == 0) return true;
    return fail(err,
                "several processes were started, but this program is built for one; for several "
                "it is built with: make MPI=1");
}

void world_leave(void) {}

int world_size(void) {
    return 1;
}

int world_rank(void) {
    return 0;
}

int world_beside(void) {
    return 1;
}

void world_tell(void *bytes, size_t size) {
    (void)bytes, (void)size;
}

void world_add(double *x, size_t count) {
    (void)x, (void)count;
}

bool world_agree(bool ok, Error *err) {
    (void)err;
    return ok;
}

void world_add_begin(float *x, size_t count, float *room) {
    (void)x, (void)count, (void)room;
}

void world_gather_begin(float *x, size_t count, int to, float *room) {
    (void)x, (void)count, (void)to, (void)room;
}

size_t world_room(size_t count, bool of_all) {
    (void)count, (void)of_all;
    return 0;
}

void world_share_begin(float *x, size_t count, int from) {
    (void)x, (void)count, (void)from;
}

void world_poke(void) {}

void world_finish(void) {}

Traffic world_traffic(void) {
    return (Traffic){0, 0};
}
