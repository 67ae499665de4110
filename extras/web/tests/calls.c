/* calls.c - calls the page's functions beside tril.h natively, under the sanitizers. */
#include "tests/objects.h"
#include "extras/web/web.h"

#include <string.h>

static const char text[] = "the cat sat on the mat, and the hat.\n";

static TrilModel *small(const char *rung) {
    TrilOptions options = sized(rung, 2, 2, 16, 16);
    return model_of(tokenizer_of(text), &options);
}

TEST(members) {
    int count = 0;
    for (const WebMember *m = web_members(); m->of; m++, count++) {
        assert_true(*m->name ? strchr("idszuba", m->kind) != NULL : m->offset > 0);
        if (strcmp(m->of, "TrilSampling") == 0 && strcmp(m->name, "top_k") == 0)
            assert_true(m->kind == 'i' && m->offset == offsetof(TrilSampling, top_k));
    }
    assert_true(count > 40);
}

/* Reads the first `length` bytes of a checkpoint from a file in memory. */
static TrilStatus load(const char *saved, size_t length) {
    TrilModel *model;
    memcpy(memfile_make(length, &err), saved, length);
    TrilStatus status = tril_model_load(&model, "the checkpoint", &error);
    tril_model_free(model);
    return status;
}

TEST(files) {
    size_t length;
    char saved[1 << 16];
    must(tril_model_save(small("modern"), "the state", NULL, &error));
    const char *bytes = memfile_bytes(&length);
    assert_true(bytes && length > 1000 && length < sizeof saved);
    memcpy(saved, bytes, length);
    for (size_t cut = 0; cut < length; cut += 997) assert_int_equal(load(saved, cut), TRIL_FILE);
    assert_int_equal(load(saved, length), TRIL_OK);
    memfile_remove();
    memfile_remove();
    assert_null(memfile_bytes(&length));
    assert_int_equal(load(saved, 0), TRIL_FILE);
}

int main(void) {
    return run_all_tests();
}
