#include "base/filesystem.h"
#include "base/world.h"

#include <limits.h>
#include <stdlib.h>
#include <time.h>

/* Returns the number in the first of these environment variables that is set. */
static int first_of(const char *const names[], int count, int otherwise) {
    for (int i = 0; i < count; i++) {
        const char *number = getenv(names[i]);
        if (number) return (int)strtol(number, NULL, 10);
    }
    return otherwise;
}

/* The variables of Open MPI, MPICH and job queues. */
bool launcher_alone(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    return first_of(sizes, 2, 1) == 1 && first_of(ranks, 3, 0) == 0;
}

/* MPICH's mpirun listens to each process at the socket PMI_FD. It may end this one at once, so it
 * first gets a moment to read the output. Open MPI's needs no command: it ends them all when
 * one exits with a status other than 0. */
void launcher_end(void) {
    const struct timespec moment = {.tv_nsec = 200000000};
    const char *given = getenv("PMI_FD");
    char *end;
    if (!given) return;
    const long descriptor = strtol(given, &end, 10);
    if (end == given || *end != 0 || descriptor < 0 || descriptor > INT_MAX) return;
    nanosleep(&moment, NULL);
    filesystem_send((int)descriptor, "cmd=abort exitcode=1\n");
}
