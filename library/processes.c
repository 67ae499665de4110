/* processes.c - several processes that share each training of a program. */
#include "base/launcher.h"
#include "base/world.h"
#include "learning/workers.h"
#include "library/handles.h"

TrilStatus tril_processes_join(int *number, TrilError *error) {
    Error err = {0};
    if (!given(number, "the place for the number", &err))
        return refusal(TRIL_ARGUMENT, &err, error);
    if (!world_join(&err)) {
        *number = launcher_speaks() ? 0 : launcher_rank();
        return refusal(TRIL_ARGUMENT, &err, error);
    }
    *number = world_rank();
    if (workers_meet(&err)) return TRIL_OK;
    world_leave();
    return refusal(TRIL_ARGUMENT, &err, error);
}

void tril_processes_serve(void) {
    workers_execute();
}

void tril_processes_leave(void) {
    if (world_rank() == 0) workers_shutdown();
    world_leave();
}
