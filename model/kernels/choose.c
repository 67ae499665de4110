/* choose.c - which instruction set this processor runs. */
#include "model/kernels/kernels.h"
#include "model/kernels/matmul.h"
#include "base/memory.h"

#if defined _OPENMP
#include <omp.h>
#endif
#include <stdlib.h>
#include <string.h>

extern const Isa isa_base;
#if defined __x86_64__
extern const Isa isa_avx2, isa_avx512;
#endif

int kernels_available(const Isa *tables[ISA_MAX]) {
    int count = 0;
    tables[count++] = &isa_base;
#if defined __x86_64__
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
        tables[count++] = &isa_avx2;
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
            tables[count++] = &isa_avx512;
    }
#endif
    return count;
}

static const Isa *choose(Error *err) {
    const Isa *tables[ISA_MAX];
    int count = kernels_available(tables);
    const char *wanted = getenv("KERNELS");
    if (!wanted || !*wanted) return tables[count - 1];
    for (int i = 0; i < count; i++)
        if (strcmp(tables[i]->name, wanted) == 0) return tables[i];
    fail(err, "KERNELS=%s: this processor runs base%s%s", wanted, count > 1 ? ", avx2" : "",
         count > 2 ? ", avx512" : "");
    return NULL;
}

bool kernels_open(Kernels *kernels, int threads, int longest, Error *err) {
    *kernels = (Kernels){.isa = choose(err), .threads = threads};
    if (!kernels->isa) return false;
    /* Whole cache lines, so that no two threads write to the same one. */
    kernels->row_room = ((size_t)longest + 15) / 16 * 16;
    if (memory_alloc(&kernels->packed, MATMUL_PACKED, sizeof(float), "the matrix kernels", err) &&
        memory_alloc(&kernels->rows, 2 * (size_t)threads * kernels->row_room, sizeof(float),
                     "the attention kernels", err))
        return true;
    kernels_close(kernels);
    return false;
}

void kernels_close(Kernels *kernels) {
    memory_free(kernels->packed);
    memory_free(kernels->rows);
    *kernels = (Kernels){0};
}

void kernels_rows(const Kernels *kernels, float **first, float **second) {
    size_t thread = 0;
#if defined _OPENMP
    thread = (size_t)omp_get_thread_num();
#endif
    *first = kernels->rows + 2 * thread * kernels->row_room;
    *second = *first + kernels->row_room;
}
