#include "base/world.h"

#include <stdlib.h>

/* The environment variables of Open MPI, MPICH and queues. */
static int first_of(const char *const names[], int count, int otherwise) {
    for (int i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value) return (int)strtol(value, NULL, 10);
    }
    return otherwise;
}

static int launched(void) {
    return first_of((const char *const[]){"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 2, 1);
}

static int rank(void) {
    return first_of((const char *const[]){"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"}, 3, 0);
}

bool launcher_alone(void) {
    return launched() == 1 && rank() == 0;
}

int launcher_number(void) {
    return launched() == 1 ? 0 : rank();
}
