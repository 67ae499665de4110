/* choose.c - chooses the instruction set, and the bfloat16 products, for this processor. */
#define _DEFAULT_SOURCE /* syscall */
#include "model/kernels/products.h"

#if defined GNU_C && defined __x86_64__
#include <cpuid.h>
#endif
#if defined __x86_64__ && defined __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if defined GNU_C && defined __x86_64__
extern const Isa isa_avx2, isa_avx512;

enum { FMA = 1 << 12, AVX2 = 1 << 5, XMM_YMM = 3 << 1, MASKS_ZMM = 7 << 5 };
static const unsigned avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31; /* F, DQ, BW, VL */
static const unsigned vnni = 1u << 11;

/* Returns true if the processor has these features of CPUID's leaves 1 (ECX) and 7 (EBX and ECX),
 * and the system saves these registers (Intel SDM 1, 13.3) when it switches programs. (Compilers'
 * __builtin_cpu_supports is false for all in a program that zig links.) */
static bool has(unsigned basic, unsigned extended, unsigned more, unsigned registers) {
    unsigned a, b, c, d, low, high;
    basic |= 1u << 27; /* OSXSAVE: xgetbv */
    if (!__get_cpuid(1, &a, &b, &c, &d) || (c & basic) != basic) return false;
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & extended) != extended) return false;
    if ((c & more) != more) return false;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (low & registers) == registers;
}

static bool has_avx_vnni(void) {
    unsigned a, b, c, d;
    return __get_cpuid_count(7, 1, &a, &b, &c, &d) && a & 1u << 4;
}

/* The same loops with another instruction in one of them. */
static Isa avx2vnni, avx512vnni;
__attribute__((constructor)) static void make_tables(void) {
    avx2vnni = isa_avx2;
    avx512vnni = isa_avx512;
    avx2vnni.name = "avx2vnni";
    avx512vnni.name = "avx512vnni";
    avx2vnni.vnni = avx512vnni.vnni = true;
}
#endif

int isa_available(const Isa *tables[ISA_MAX]) {
    int count = 0;
    tables[count++] = &isa_base;
#if defined GNU_C && defined __x86_64__
    if (has(FMA, AVX2, 0, XMM_YMM)) tables[count++] = &isa_avx2;
    if (has(FMA, AVX2, 0, XMM_YMM) && has_avx_vnni()) tables[count++] = &avx2vnni;
    if (has(FMA, AVX2 | avx512, 0, XMM_YMM | MASKS_ZMM)) tables[count++] = &isa_avx512;
    if (has(FMA, AVX2 | avx512, vnni, XMM_YMM | MASKS_ZMM)) tables[count++] = &avx512vnni;
#endif
    return count;
}

const Isa *isa_choose(Error *err) {
    const Isa *tables[ISA_MAX];
    int count = isa_available(tables);
    const char *wanted = getenv("KERNELS");
    if (!wanted || !*wanted) return tables[count - 1];
    for (int i = 0; i < count; i++)
        if (strcmp(tables[i]->name, wanted) == 0) return tables[i];
    char others[64] = "";
    for (int i = 1, end = 0; i < count; i++)
        end += snprintf(others + end, sizeof others - (size_t)end, ", %s", tables[i]->name);
    fail(err, "KERNELS=%s: not available; this processor runs base%s", wanted, others);
    return NULL;
}

#if defined GNU_C && defined __x86_64__ && defined __linux__
/* Asks the system for permission to use AMX's large registers. */
static bool amx_allowed(void) {
    enum { REQUEST_PERMISSION = 0x1023, TILE_DATA = 18 };
    return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILE_DATA) == 0;
}

int bf16_available(const Products *tables[BF16_MAX]) {
    unsigned a, b, c, d;
    int count = 0;
    const Isa *isas[ISA_MAX];
    const int sets = isa_available(isas);
    if (isas[sets - 1]->lanes < 16) return 0; /* without AVX-512 */
    if (!__get_cpuid_count(7, 1, &a, &b, &c, &d) || !(a & 1u << 5)) return 0;
    tables[count++] = &bf16_avx512;
    if (__get_cpuid_count(7, 0, &a, &b, &c, &d) && d & 1u << 22 && d & 1u << 24 && amx_allowed())
        tables[count++] = &bf16_amx;
    return count;
}
#else
int bf16_available(const Products *tables[BF16_MAX]) {
    (void)tables;
    return 0;
}
#endif

const Products *bf16_choose(Error *err) {
    const Products *tables[BF16_MAX];
    int count = bf16_available(tables);
    if (count > 0) return tables[count - 1];
    fail(err, "bf16 needs a processor with AVX512-BF16 or AMX; this one has neither");
    return NULL;
}

bool bf16_pays(void) {
    const Products *tables[BF16_MAX];
    bool amd = false;
#if defined GNU_C && defined __x86_64__
    unsigned a, b, c, d;
    amd = __get_cpuid(0, &a, &b, &c, &d) && b == signature_AMD_ebx;
#endif
    return bf16_available(tables) > (amd ? 0 : 1);
}
