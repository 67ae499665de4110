/* cmocka.h - the part of cmocka that the tests need: Debian has no cmocka for mingw-w64, and for
 * `make msan` clang must compile it. A failed test returns to the group by longjmp, as cmocka's
 * does. */
#ifndef TRIL_TESTS_WINDOWS_CMOCKA_H
#define TRIL_TESTS_WINDOWS_CMOCKA_H

#pragma GCC system_header /* like the real one's, its `fail` may follow that of base/error.h */

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct CMUnitTest {
    const char *name;
    void (*run)(void **state);
};

#define cmocka_unit_test(function) \
    { #function, function }
#define _cmocka_run_group_tests(name, tests, count, setup, teardown) \
    run_group(tests, count, setup, teardown)

enum { GOES_ON, FAILED, SKIPPED };

int run_group(const struct CMUnitTest *tests, size_t count, int (*setup)(void **state),
              int (*teardown)(void **state));
__attribute__((noreturn)) void leave_test(int how, const char *file, int line, const char *why);

#ifdef _WIN32 /* functions of POSIX that tests use */
#define setenv(name, value, overwrite) _putenv_s(name, value)
#define unsetenv(name)                 _putenv_s(name, "")
#endif

#define print_message(...) printf(__VA_ARGS__)
#define print_error(...)   fprintf(stderr, __VA_ARGS__)
#define _fail(file, line)  leave_test(FAILED, file, line, "failed")
#define fail()             _fail(__FILE__, __LINE__)
#define fail_msg(...)      (print_error(__VA_ARGS__), fail())
#define skip()             leave_test(SKIPPED, __FILE__, __LINE__, "skipped")
#define expect_that(condition) \
    ((condition) ? (void)0 : leave_test(FAILED, __FILE__, __LINE__, #condition))

#define assert_true(condition)     expect_that(condition)
#define assert_false(condition)    expect_that(!(condition))
#define assert_non_null(pointer)   expect_that((pointer) != NULL)
#define assert_null(pointer)       expect_that((pointer) == NULL)
#define assert_ptr_equal(a, b)     expect_that((const void *)(a) == (const void *)(b))
#define assert_int_equal(a, b)     expect_that((uintmax_t)(a) == (uintmax_t)(b))
#define assert_int_not_equal(a, b) expect_that((uintmax_t)(a) != (uintmax_t)(b))
#define assert_in_range(a, low, high) \
    expect_that((uintmax_t)(a) >= (uintmax_t)(low) && (uintmax_t)(a) <= (uintmax_t)(high))
#define assert_string_equal(a, b)        expect_that(strcmp(a, b) == 0)
#define assert_string_not_equal(a, b)    expect_that(strcmp(a, b) != 0)
#define assert_memory_equal(a, b, n)     expect_that(memcmp(a, b, n) == 0)
#define assert_memory_not_equal(a, b, n) expect_that(memcmp(a, b, n) != 0)

#endif
