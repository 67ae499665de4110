#include "base/launcher.h"

#include <stdlib.h>

static int first_of(const char *const names[], int count, int otherwise) {
    for (int i = 0; i < count; i++) {
        const char *value = getenv(names[i]);
        if (value) return (int)strtol(value, NULL, 10);
    }
    return otherwise;
}

int launcher_size(void) {
    static const char *const sizes[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"};
    return first_of(sizes, 2, 1);
}

int launcher_rank(void) {
    static const char *const ranks[] = {"OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK"};
    return first_of(ranks, 3, 0);
}

bool launcher_speaks(void) {
    return launcher_rank() == 0 || launcher_size() == 1;
}
