#include "extras/web/web.h"

#include <stdlib.h>
#include <string.h>
#if defined __wasm_relaxed_simd__
#include <wasm_simd128.h>
#endif

/* ---- structs ---- */

#define KIND(member) \
    _Generic(member, int     \
             : 'i', unsigned \
             : 'i', double   \
             : 'd', uint64_t \
             : 'u', bool     \
             : 'b', TrilArray \
             : 'a', TrilArray * \
             : 'a', TrilTensor * \
             : 'a', default  \
             : 'z')
#define STRUCT(of) \
    { #of, "", sizeof(of), 'z' }
#define MEMBER(of, m) \
    { #of, #m, offsetof(of, m), KIND(((of *)0)->m) }

const WebMember *web_members(void) {
    static const WebMember members[] = {
#include "extras/web/members.inc" /* of tril.h and figure.h */
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

/* ---- characters ---- */

void web_glyph(const TrilTokenizer *tokenizer, int32_t id, char text[12]) {
    Glyph glyph = glyph_of(tokenizer, id);
    memcpy(text, glyph.text, sizeof glyph.text);
}

/* ---- HTML ---- */

/* A stream of HTML in memory. */
typedef struct {
    FILE *out;
    char *text;
    size_t length;
} Html;

static bool html_open(Html *html, TrilError *error) {
    html->out = open_memstream(&html->text, &html->length);
    if (!html->out) snprintf(error->text, sizeof error->text, "not enough memory for a figure");
    return html->out;
}

/* Returns the text, or NULL after a failure. */
static char *html_close(Html *html, bool ok) {
    fclose(html->out);
    if (ok) return html->text;
    free(html->text);
    return NULL;
}

char *web_chart(const Chart *chart, TrilError *error) {
    Html html;
    if (!html_open(&html, error)) return NULL;
    figure_chart(html.out, chart);
    return html_close(&html, true);
}

char *web_map(const TrilModel *model, const TrilReading *reading, int layer, int head,
              TrilError *error) {
    const int T = reading->tokens;
    const size_t size = (size_t)T * (size_t)T;
    float *weights = malloc(size * sizeof *weights);
    Glyph *glyphs = malloc((size_t)T * sizeof *glyphs);
    Html html = {0};
    bool ok = false;
    if (!weights || !glyphs)
        snprintf(error->text, sizeof error->text, "not enough memory for a map");
    else
        ok = tril_reading_attention(reading, layer, head, weights, size, error) == TRIL_OK &&
             html_open(&html, error);
    for (int t = 0; t < T && ok; t++)
        glyphs[t] = glyph_of(tril_model_tokenizer(model), reading->ids[t]);
    if (ok) figure_map(html.out, &(HeadMap){layer, head, weights}, T, glyphs);
    free(weights);
    free(glyphs);
    return ok ? html_close(&html, true) : NULL;
}
