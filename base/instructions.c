#include "base/instructions.h"

#if defined __x86_64__

#include <cpuid.h>

/* Does the system save these registers (Intel SDM 1, 13.3) when it switches programs? */
static bool saves(unsigned registers) {
    const unsigned osxsave = 1u << 27;
    unsigned a, b, c, d, low, high;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave)) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & registers) == registers;
}

/* Leaf 7 of CPUID. */
static unsigned extended_features(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) ? b : 0;
}

bool instructions_avx2(void) {
    const unsigned fma = 1u << 12, avx2 = 1u << 5, xmm_and_ymm = 3u << 1;
    unsigned a, b, c, d;
    return __get_cpuid(1, &a, &b, &c, &d) && (c & fma) && (extended_features() & avx2) &&
           saves(xmm_and_ymm);
}

bool instructions_avx512(void) {
    const unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31,
                   all = f | dq | bw | vl;
    const unsigned masks_and_zmm = 7u << 5;
    return instructions_avx2() && (extended_features() & all) == all && saves(masks_and_zmm);
}

#else

bool instructions_avx2(void) {
    return false;
}

bool instructions_avx512(void) {
    return false;
}

#endif
