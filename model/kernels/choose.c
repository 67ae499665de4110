/* choose.c - chooses the instruction set, and the bfloat16 products, for this processor. */
#include "model/kernels/products.h"
#include "base/threads.h"

#include <stdlib.h>
#include <string.h>

extern const Isa isa_base;
#if defined __x86_64__
extern const Isa isa_avx2, isa_avx512;
#endif

int isa_available(const Isa *tables[ISA_MAX]) {
    int count = 0;
    tables[count++] = &isa_base;
#if defined __x86_64__
    if (instructions_avx2()) tables[count++] = &isa_avx2;
    if (instructions_avx512()) tables[count++] = &isa_avx512;
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
    fail(err, "KERNELS=%s: this processor runs base%s%s", wanted, count > 1 ? ", avx2" : "",
         count > 2 ? ", avx512" : "");
    return NULL;
}

#if !(defined __x86_64__ && defined __linux__)
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
