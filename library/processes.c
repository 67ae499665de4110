/* processes.c - several processes that share each training of a program. */
#include "base/world.h"
#include "library/workers.h"
#include "library/handles.h"

TrilStatus tril_processes_join(int *number, TrilError *error) {
    Error err = {0};
    if (!given(number, "the place for the number", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    return world_join(number, &err) && workers_meet(&err) ? TRIL_OK
                                                          : refusal(TRIL_ARGUMENT, &err, error);
}

void tril_processes_serve(void) {
    if (world_rank() > 0) workers_execute();
}

void tril_processes_leave(void) {
    workers_shutdown();
    world_leave();
}

int tril_processes_count(void) {
    return world_size();
}

TrilTraffic tril_processes_traffic(void) {
    const Traffic traffic = world_traffic();
    return (TrilTraffic){traffic.bytes, traffic.seconds};
}
