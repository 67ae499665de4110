#include "extras/web/web.h"

#if defined __wasm_relaxed_simd__
#include <wasm_simd128.h>
#endif

const WebMember *web_members(void) {
    static const WebMember members[] = {
#include "extras/web/members.inc" /* of tril.h */
        {0},
    };
    return members;
}

int web_fuses(void) {
    bool fused = false;
#if defined __wasm_relaxed_simd__
    const volatile float x = 1 + 0x1p-12f, square = 1 + 0x1p-11f; /* rounded; x x is 2^-24 more */
    const v128_t v = wasm_f32x4_splat(x);
    fused =
        wasm_f32x4_extract_lane(wasm_f32x4_relaxed_madd(v, v, wasm_f32x4_splat(-square)), 0) > 0;
#endif
    return fused;
}
