/* tiles.h - tells MemorySanitizer, which knows no AMX, which bytes bf16.c stores from tiles. */
#define _DEFAULT_SOURCE /* as in bf16.c */
#include <immintrin.h>
#include <sanitizer/msan_interface.h>

#undef _DEFAULT_SOURCE
#undef _tile_stored
#define _tile_stored(tile, to, stride)                                                         \
    do {                                                                                       \
        __builtin_ia32_tilestored64(tile, to, stride);                                         \
        for (int i = 0; i < 16; i++) __msan_unpoison((char *)(to) + (size_t)i * (stride), 64); \
    } while (0)
