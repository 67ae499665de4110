/* test_base.c - base/: whole files, directories, memory, numbers, and messages cut to fit. */
#include "tests/decimal.h"
#include "base/digest.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"

#include <float.h>

/* The address sanitizer must return NULL for absurd sizes, like any allocator. */
const char *__asan_default_options(void);
const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* A pattern that shows misplaced blocks: its period is not a power of two. */
static char *pattern(size_t length) {
    char *bytes = scrap(length + 1, 1);
    for (size_t i = 0; i < length; i++) bytes[i] = (char)(i % 251);
    return bytes;
}

/* ---- errors ---- */

TEST(fail) {
    Error errors[2];
    memset(errors, 'x', sizeof errors);
    assert_false(fail(errors, "%s: %d of %.1f", "name", 3, 4.5));
    assert_string_equal(errors[0].text, "name: 3 of 4.5");
    char path[3001] = "";
    while (strlen(path) < 3000) strcat(path, "\u20AC"); /* three bytes: both cuts are inside one */
    assert_false(fail(errors, "in %s: %d", path, 5));
    assert_int_equal(strlen(errors[0].text), sizeof errors[0].text - 1 - 2 * 2);
    assert_true(begins(errors[0].text, "in \u20AC") && utf8_valid(errors[0].text));
    assert_string_equal(strstr(errors[0].text, "...") + 249, "\u20AC: 5");
    assert_int_equal(errors[1].text[0], 'x');
}

/* ---- reading files ---- */

static void expect_read(const char *path, const char *expected, size_t expected_length) {
    char *bytes;
    size_t length;
    assert_ok(file_read(path, &bytes, &length, &err), err);
    assert_int_equal(length, expected_length);
    assert_memory_equal(bytes, expected, length);
    assert_int_equal(bytes[length], 0);
    memory_free(bytes);
}

/* Sizes around the capacity of the first buffer. */
static const size_t sizes[] = {0, 1, 1000, 65535, 65536, 65537, 131072, 131073, 300000};
enum { SIZES = sizeof sizes / sizeof *sizes };

/* Reads a file and a pipe in pieces. Their length is known at the start. */
static void expect_pieces(const char *path, const char *expected, size_t length) {
    File file;
    char *piece = scrap(length + 1, 1);
    assert_ok(file_open(&file, path, &err), err);
    assert_int_equal(file.length, length);
    for (size_t at = 0, count = 0; at < length; at += count, count = 2 * count + 1) {
        if (count > length - at) count = length - at;
        assert_ok(file_take(&file, piece, count, &err), err);
        assert_memory_equal(piece, expected + at, count);
    }
    assert_false(file_take(&file, piece, 1, &err));
    expect_error(err, path);
    file_close(&file);
}

/* A pipe does not know its size and delivers its bytes in pieces. */
TEST(read) {
    static void (*const ways[])(const char *, const char *, size_t) = {expect_read, expect_pieces};
    char *bytes = pattern(300000);
    const char *pipe = copy_text(scratch("pipe"));
    const bool pipes = make_named_pipe(pipe);
    for (int i = 0; i < 2 * SIZES; i++) {
        const size_t size = sizes[i / 2];
        const char *file = scratch_put("regular", bytes, size);
        ways[i % 2](file, bytes, size);
        if (!pipes) continue;
        Process child = write_pipe(pipe, file);
        ways[i % 2](pipe, bytes, size);
        assert_int_equal(end_of_process(child), 0);
    }
}

/* ---- writing files ---- */

static void expect_written(const char *name, const FilePart *parts, size_t count) {
    assert_ok(file_write(scratch(name), parts, count, &err), err);
}

/* Saves a file while another is being saved, which keeps its temporary file. */
static bool write_another(FILE *out, void *x, Error *e) {
    return file_write(scratch("inner"), x, 1, e) && fputc('y', out) == 'y';
}

TEST(write) {
    char date[FILE_DATE];
    char *bytes = pattern(300000);
    const FilePart parts[] = {{"head", 4}, {bytes, 0}, {NULL, 0}, {bytes, 300000}, {"\0end", 4}};
    char *expected = scrap(300008, 1);
    memcpy(expected, "head", 4);
    memcpy(expected + 4, bytes, 300000);
    memcpy(expected + 300004, "\0end", 4);
    expect_written("written", parts, 5);
    scratch_expect("written", expected, 300008);
    expect_written("written", parts, 1); /* shorter than the old file */
    scratch_expect("written", "head", 4);
    expect_written("written", NULL, 0);
    scratch_expect("written", "", 0);
    assert_ok(file_print(scratch("outer"), write_another, &(FilePart){"x", 1}, &err), err);
    assert_false(scratch_has_temporary("."));
    file_date(scratch("no file"), date); /* which has none */
    assert_string_equal(date, "");
}

/* A process that has the old file open keeps all of it: file_write does not write in place. */
TEST(write_replaces) {
    skip_without(OPEN_REPLACED);
    char found[16] = {0};
    int old = filesystem_open(scratch_put("replaced", "old text", 8), OPEN_READ);
    expect_written("replaced", &(FilePart){"new", 3}, 1);
    assert_int_equal(read(old, found, sizeof found), 8);
    assert_string_equal(found, "old text");
    close(old);
    scratch_expect("replaced", "new", 3);
}

/* Whatever is no regular file stays, and no temporary file is left beside it. */
TEST(write_refuses) {
    make_folder(scratch("kinds"));
    make_folder(scratch("kinds/folder"));
    scratch_put("kinds/target", "old", 3);
    const bool there[] = {true, make_symbolic_link("target", scratch("kinds/link")),
                          make_symbolic_link("nothing", scratch("kinds/broken")),
                          make_named_pipe(scratch("kinds/pipe"))};
    static const char *const names[] = {"folder", "link", "broken", "pipe"};
    static const char *const kinds[] = {"a folder", "a symbolic link", "a symbolic link", "a pipe"};
    for (int i = 0; i < 4; i++) {
        const char *path = scratch(formatted("kinds/%s", names[i]));
        if (!there[i]) continue;
        assert_false(file_write(path, &(FilePart){"new", 3}, 1, &err));
        expect_error(err, path, kinds[i]);
        assert_true(file_kind(path) != FILE_NONE);
    }
    scratch_expect("kinds/target", "old", 3);
    assert_int_equal(scratch_count("kinds"), 2 + there[1] + there[2] + there[3]);
}

/* ---- directories ---- */

TEST(make_parent) {
    for (int again = 0; again < 2; again++)
        assert_ok(file_make_parent(scratch("one/two/three/file"), &err), err);
    assert_true(scratch_has("one/two/three"));
    assert_false(scratch_has("one/two/three/file"));
    expect_written("one/two/three/file", &(FilePart){"x", 1}, 1);
    assert_ok(file_make_parent(scratch("one/two/three/file"), &err), err);
    scratch_expect("one/two/three/file", "x", 1);
    assert_ok(file_make_parent(scratch("one//four/./file"), &err), err);
    assert_true(scratch_has("one/four"));
    assert_ok(file_make_parent("nothing-to-do", &err), err);
    assert_ok(file_make_parent("/file-at-the-root", &err), err);
}

/* ---- memory ---- */

/* Memory is zeroed even if the allocator reuses a block. */
TEST(memory) {
    static const size_t counts[] = {0, 1, 7, 8, 9, 63, 64, 65, 1000, 4096, 300000};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (int again = 0; again < 3; again++) {
            double *numbers;
            assert_ok(memory_alloc(&numbers, counts[i], sizeof *numbers, "numbers", &err), err);
            assert_non_null(numbers);
            assert_int_equal((uintptr_t)numbers % MEMORY_ALIGNMENT, 0);
            const unsigned char *bytes = (const unsigned char *)numbers;
            for (size_t j = 0; j < counts[i] * sizeof *numbers; j++)
                if (bytes[j] != 0) fail_msg("%zu numbers: byte %zu is not 0", counts[i], j);
            memset(numbers, 0xAB, counts[i] * sizeof *numbers);
            memory_free(numbers);
        }
    memory_free(NULL);
}

/* Sizes that overflow, and sizes that do not but exceed any machine. */
TEST(memory_refused) {
    static const size_t products[][2] = {
        {SIZE_MAX, 2},        {SIZE_MAX / 2 + 1, 2},   {SIZE_MAX / 4 + 2, 4}, {2, SIZE_MAX},
        {SIZE_MAX, SIZE_MAX}, {SIZE_MAX, 1},           {SIZE_MAX - 1, 1},     {SIZE_MAX - 63, 1},
        {SIZE_MAX - 64, 1},   {SIZE_MAX / 8 - 100, 8}, {SIZE_MAX / 8, 7},
    };
    for (size_t i = 0; i < sizeof products / sizeof *products; i++) {
        char something, *block = &something;
        if (memory_alloc(&block, products[i][0], products[i][1], "the weights", &err))
            fail_msg("%zu times %zu bytes are granted", products[i][0], products[i][1]);
        assert_null(block);
        expect_error(err, "the weights");
    }
}

/* ---- digests ---- */

/* The two values were computed from the definition in another language. */
TEST(digest) {
    enum { LENGTH = 100 };
    unsigned char bytes[LENGTH];
    for (int i = 0; i < LENGTH; i++) bytes[i] = (unsigned char)i;
    uint64_t whole = digest_bytes(bytes, LENGTH);
    assert_true(digest_bytes(bytes, 0) == 0x67F9CA085832974E);
    assert_true(whole == 0x485FA71FA29E012A);
    for (size_t first = 0; first <= LENGTH; first++) /* in three pieces */
        for (size_t second = first; second <= LENGTH; second += 7) {
            Digest digest = digest_start();
            digest_add(&digest, bytes, first);
            digest_add(&digest, bytes + first, second - first);
            digest_add(&digest, bytes + second, LENGTH - second);
            assert_true(digest_value(&digest) == whole);
        }
    for (int bit = 0; bit < 8 * LENGTH; bit++) {
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
        assert_true(digest_bytes(bytes, LENGTH) != whole);
        bytes[bit / 8] ^= (unsigned char)(1 << bit % 8);
    }
    memset(bytes, 0, LENGTH); /* zeros differ only in their number */
    for (size_t length = 1; length < LENGTH; length++)
        assert_true(digest_bytes(bytes, length) != digest_bytes(bytes, length + 1));
}

/* ---- numbers ---- */

static void check_number(const char *text, double x, size_t taken) {
    char *end;
    double read = number_read(text, &end);
    assert_true(isnan(x) ? isnan(read) : read == x);
    assert_int_equal(end - text, taken);
}

static void check_numbers(void) {
    static const double values[] = {0,        -0.5,    0.1,         1 / 3.0,
                                    -DBL_MAX, DBL_MIN, 1e15 + 0.25, INFINITY};
    char text[NUMBER_SIZE];
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        int length = number_write(text, sizeof text, 'g', 17, values[i]);
        assert_int_equal(length, strlen(text));
        check_number(text, values[i], strlen(text));
    }
    number_write(text, sizeof text, 'f', 4, -2e-17);
    assert_string_equal(text, "0.0000");
    number_write(text, sizeof text, 'f', 3, -1234.5);
    assert_string_equal(text, "-1234.500");
    number_write(text, sizeof text, 'g', 6, 1.5e-7);
    assert_string_equal(text, "1.5e-07");
    number_write(text, sizeof text, 'f', 6, FLT_MAX);
    assert_string_equal(text, "340282346638528859811704183484516925440.000000");
    check_number("1.5", 1.5, 3);
    check_number("-1.5e3,2.5", -1500, 6);
    check_number(".25 ", 0.25, 3);
    check_number("7.", 7, 2);
    check_number("2,5", 2, 1); /* in no locale is a comma a point */
    check_number("1.5.5", 1.5, 3);
    check_number("0x10", 0, 1);
    check_number("1e", 1, 1);
    check_number("nan", NAN, 3);
    check_number("", 0, 0);
    check_number(" 1", 0, 0);
    check_number("x", 0, 0);
}

/* Numbers in files are the same whatever locale a program has set. */
TEST(numbers) {
    static const char *const points[][2] = {{",", ""}, {"<U066B>", "-f UTF-8"}};
    check_numbers();
    for (int i = 0; i < 2; i++) {
        if (decimal_point(points[i][0], points[i][1])) check_numbers();
        setlocale(LC_ALL, "C");
    }
}
