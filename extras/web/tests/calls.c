/* calls.c - calls the page's functions beside tril.h (web.h, memfile.h) natively, under the
 * sanitizers. */
#include "tests/objects.h"
#include "extras/web/memfile.h"
#include "extras/web/web.h"

#include <stdlib.h>
#include <string.h>

static const char text[] = "the cat sat on the mat, and the hat.\n";

static TrilModel *small(const char *rung) {
    TrilOptions options = sized(rung, 2, 2, 16, 16);
    return model_of(tokenizer_of(text), &options);
}

/* Fails the test unless `html` exists and has these words. */
static void expect_html(char *html, const char *words) {
    assert_non_null(html);
    assert_non_null(strstr(html, words));
    free(html);
}

TEST(members) {
    int count = 0;
    for (const WebMember *m = web_members(); m->of; m++, count++) {
        assert_true(*m->name ? strchr("idzuba", m->kind) != NULL : m->offset > 0);
        if (strcmp(m->of, "TrilSampling") == 0 && strcmp(m->name, "top_k") == 0)
            assert_true(m->kind == 'i' && m->offset == offsetof(TrilSampling, top_k));
    }
    assert_true(count > 40);
}

TEST(figures) {
    for (int i = 0; tril_rung(i); i++) {
        const TrilModel *model = small(tril_rung(i));
        const TrilReading *reading = read_with(model, "the cat sat", 11, true, 1);
        const int layers = reading->layers;
        if (layers > 0) expect_html(web_map(model, reading, 0, 0, &error), "data-weights=");
        assert_null(web_map(model, reading, layers, 0, &error));
        assert_non_null(strstr(error.text, (char[]){(char)('0' + layers), 0}));
    }
    const Point points[] = {{0, 2}, {1, 1}};
    const Curve curve = {.name = "gpt", .points = points, .count = 2};
    const Chart chart = {.id = "losses",
                         .title = "Loss",
                         .x_name = "steps",
                         .x_place = "#",
                         .curves = &curve,
                         .curve_count = 1,
                         .height = 300};
    expect_html(web_chart(&chart, &error), "points=\"0,2 1,1\"");
}

TEST(characters) {
    char glyph[12];
    const int32_t newline = 0;
    web_glyph(tokenizer_of(text), newline, glyph);
    assert_string_equal(glyph, "↵");
}

/* Reads the first `length` bytes of a checkpoint from a file in memory. */
static TrilStatus load(const char *saved, size_t length) {
    TrilModel *model;
    char *room;
    assert_ok(memfile_make("the checkpoint", length, &room, &err), err);
    memcpy(room, saved, length);
    TrilStatus status = tril_model_load(&model, "the checkpoint", &error);
    tril_model_free(model);
    return status;
}

TEST(files) {
    size_t length, none;
    must(tril_model_save(small("modern"), "the state", &error));
    const char *saved = memfile_bytes("the state", &length);
    assert_true(saved && length > 1000);
    for (size_t cut = 0; cut < length; cut += 997) assert_int_equal(load(saved, cut), TRIL_FILE);
    assert_int_equal(load(saved, length), TRIL_OK);
    memfile_remove("the checkpoint");
    memfile_remove("the checkpoint");
    assert_null(memfile_bytes("the checkpoint", &none));
    memfile_remove("the state");
}

int main(void) {
    return run_all_tests();
}
