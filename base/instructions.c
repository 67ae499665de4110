#include "base/threads.h"

#if defined __x86_64__

#include <cpuid.h>

/* Has the processor these features of CPUID's leaves 1 (ECX) and 7 (EBX), and does the system save
 * these registers (Intel SDM 1, 13.3) when it switches programs? */
static bool has(unsigned basic, unsigned extended, unsigned registers) {
    unsigned a, b, c, d, low, high;
    basic |= 1u << 27; /* OSXSAVE: xgetbv */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & extended) != extended) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & registers) == registers;
}

#else

static bool has(unsigned basic, unsigned extended, unsigned registers) {
    (void)basic, (void)extended, (void)registers;
    return false;
}

#endif

enum { FMA = 1 << 12, AVX2 = 1 << 5, XMM_YMM = 3 << 1, MASKS_ZMM = 7 << 5 };

bool instructions_avx2(void) {
    return has(FMA, AVX2, XMM_YMM);
}

bool instructions_avx512(void) {
    const unsigned f = 1u << 16, dq = 1u << 17, bw = 1u << 30, vl = 1u << 31;
    return has(FMA, AVX2 | f | dq | bw | vl, XMM_YMM | MASKS_ZMM);
}
