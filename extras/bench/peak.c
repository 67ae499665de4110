/* peak.c - independent sums in registers, enough to keep every execution unit busy. The peak that
 * the kernels are compared with does not depend on the kernels. */
#include "extras/bench/peak.h"
#include "base/clock.h"

#include <stdlib.h>
#include <string.h>

/* A loop for each vector width: `sums` accumulators of `bytes` each. */
#define LOOP(name, target, bytes, sums)                                                     \
    typedef float Vector_##name __attribute__((vector_size(bytes)));                        \
    target static double name(int rounds, float *kept) {                                    \
        Vector_##name sum[sums], factor, term;                                              \
        for (int i = 0; i < (int)(bytes / sizeof(float)); i++) factor[i] = 0.5f;            \
        term = factor;                                                                      \
        _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) sum[i] = factor + (float)i; \
        double start = clock_seconds();                                                     \
        for (int round = 0; round < rounds; round++) {                                      \
            _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) sum[i] =                \
                sum[i] * factor + term;                                                     \
        }                                                                                   \
        double seconds = clock_seconds() - start;                                           \
        _Pragma("GCC unroll 24") for (int i = 0; i < sums; i++) *kept += sum[i][0];         \
        return 2.0 * rounds * sums * (bytes / sizeof(float)) / seconds * 1e-9;              \
    }

#if defined __x86_64__
LOOP(avx512, __attribute__((target("avx512f,fma"))), 64, 12)
LOOP(avx2, __attribute__((target("avx2,fma"))), 32, 12)
LOOP(base, , 16, 8)
#else
LOOP(base, , 16, 24)
#endif

#if defined __x86_64__
/* Does KERNELS, if it is set, name these kernels? */
static bool asked(const char *kernels) {
    const char *chosen = getenv("KERNELS");
    return !chosen || strcmp(chosen, kernels) == 0;
}
#endif

double peak_float32(int rounds) {
    volatile float kept;
    float sum = 0;
    double gflops = 0;
#if defined __x86_64__
    if (__builtin_cpu_supports("avx512f") && asked("avx512"))
        gflops = avx512(rounds, &sum);
    else if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && asked("avx2"))
        gflops = avx2(rounds, &sum);
    else
#endif
        gflops = base(rounds, &sum);
    kept = sum; /* keeps the compiler from removing the sums */
    (void)kept;
    return gflops;
}
