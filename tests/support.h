/* support.h - shared by tests: cmocka, the tests of a program, comparisons, messages, models. */
#ifndef TRIL_SUPPORT_H
#define TRIL_SUPPORT_H

#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#undef fail /* cmocka's macro, whose name base/error.h uses */
#include "data/data.h"
#include "model/run.h"
#include "tests/system.h"

#define PLAY "data/sample.txt" /* the text in the repository */
#define ACT  "build/act.txt"   /* its beginning: a run counts it four times as fast */

/* Fails the test with a message formatted as by printf. */
#undef fail_msg
#define fail_msg(...)              \
    do {                           \
        print_error(__VA_ARGS__);  \
        print_error("\n");         \
        _fail(__FILE__, __LINE__); \
    } while (0)

extern Error err; /* the error of the last call that failed; tests pass it to functions */

/* Fails the test unless `condition` holds, and prints the error's message. */
#define assert_ok(condition, err)                     \
    do {                                              \
        if (!(condition)) fail_msg("%s", (err).text); \
    } while (0)

/* Defines a test of the program. They run in the order of their lines. */
#define TEST(name)                                                            \
    static void body_##name(void);                                            \
    static void test_##name(void **state) {                                   \
        (void)state;                                                          \
        begin_test(#name);                                                    \
        body_##name();                                                        \
        end_test();                                                           \
    }                                                                         \
    __attribute__((constructor)) static void add_##name(void) {               \
        add_test((struct CMUnitTest)cmocka_unit_test(test_##name), __LINE__); \
    }                                                                         \
    static void body_##name(void)
void begin_test(const char *name);
void end_test(void);
void add_test(struct CMUnitTest test, int line);

/* Runs all tests of the program, after its SET_UP { ... } if it has one. Returns the result of
 * main. tests/main.c calls it for programs that have no main of their own. */
int run_all_tests(void);

#define SET_UP                                                   \
    static void set_up_(void);                                   \
    __attribute__((constructor)) static void add_set_up_(void) { \
        set_up = set_up_;                                        \
    }                                                            \
    static void set_up_(void)
extern void (*set_up)(void);

/* Texts, and NULL at the end. */
#define TEXTS(...)          \
    (const char *const[]) { \
        __VA_ARGS__, NULL   \
    }

/* Fails the test unless the message is one line that contains each of the texts: what differs from
 * input to input, as files, places, values and options. tests/messages compares the wording. */
#define expect_error(err, ...) expect_case("", err, __VA_ARGS__)

/* expect_error of one of many cases, e.g. the input. */
#define expect_case(subject, err, ...) \
    expect_message((err).text, sizeof(err).text, subject, TEXTS(__VA_ARGS__))

/* expect_error of a message with room for `size` bytes, that `subject` caused; NULL: one of many
 * whose wording is not compared. */
void expect_message(const char *message, size_t size, const char *subject,
                    const char *const texts[]);

static inline bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Returns the first line of an output that contains each of the texts; NULL if there is none. A
 * text that begins or ends with a digit is not part of a longer number or word, and not of 20/40.
 */
const char *find_line(const char *output, const char *const texts[]);

/* find_line, but fails the test if there is no such line. tests/messages compares its wording, but
 * not its numbers. `subject` is the program or command that printed it. */
const char *expect_line_of(const char *output, const char *subject, const char *const texts[]);

/* Reads the numbers of a line, up to `most`; 1,234 is one number. Returns how many. */
int numbers_of(const char *line, double *numbers, int most);

/* Returns memory for `count` elements of `size` bytes, zeroed. It is freed at the end of the test
 * or, if it was allocated before the first test, after the last one. So are the results of these
 * functions. */
void *scrap(size_t count, size_t size);
char *copy_text(const char *text);

/* The text that printf would print. */
__attribute__((format(printf, 1, 2))) char *formatted(const char *format, ...);

/* The text with " in place of each ', for readable JSON. */
char *quoted(const char *text);

/* Returns the next part of a text with bars between its parts, and NULL after the last. */
const char *next_part(const char **text);

/* Calls release(object) at that time, the last object first. */
void at_end(void (*release)(void *object), void *object);

/* Defines release_NAME, for at_end. */
#define RELEASE(name, release)                        \
    static inline void release_##name(void *object) { \
        release(object);                              \
    }

/* Copies the bytes to the end of a page before an unreadable page, so that any compiler finds a
 * read beyond the end. Valid until the next call. NULL for more than GUARDED bytes. */
enum { GUARDED = 1 << 20 /* whole pages on any machine */ };
char *guarded(const void *bytes, size_t length);

/* Closes a stream. Returns all that is in its file, with a zero byte. */
char *stream_text(FILE *file, size_t *length);

/* Fails the test unless |a - b| <= tolerance. */
#define assert_near(a, b, tolerance) assert_near_at(a, b, tolerance, __FILE__, __LINE__)
void assert_near_at(double a, double b, double tolerance, const char *file, int line);

/* `count` reproducible normal numbers with deviation 1. */
float *random_floats(uint64_t seed, size_t count);

/* `count` reproducible ids from 0 to V - 1. */
int32_t *random_ids(uint64_t seed, size_t count, int V);

/* One causal head of attention by the plain ladder: out[T,dv] for q[T,dk], k[T,dk] and v[T,dv],
 * which are in[0] to in[2], and their gradients, given that of out, in[3]. */
typedef struct {
    double *out, *gradients[3];
} PlainHead;
PlainHead plain_head_of(int T, int dk, int dv, float *const in[4]);

/* The kinds of models that a test of every rung goes through: the ladder, and then a `modern` whose
 * heads share keys and values and whose MLP has a width of its own. NULL beyond the last. */
const char *kind_name(int i);

/* Returns the name of the last rung. */
const char *last_model_name(void);

/* Defines a test that runs its body with each name: those of kind_name, model_name or tril_rung. If
 * it fails, the name is printed. */
#define TEST_OF_EACH(names, test)                                               \
    static void check_##test(const char *name);                                 \
    TEST(test) {                                                                \
        for (int i = 0; (name_of_test = names(i)); i++) check_##test(names(i)); \
    }                                                                           \
    static void check_##test(const char *name)
extern const char *name_of_test;

/* Sets the model of a configuration with NH heads; for the last kind also NKV and H. */
void kind_set(Config *config, const char *kind);

/* A model, which must be possible, until the end of the test. */
Model *new_model(const Config *config, uint64_t seed);

/* A run of the model, which must be possible, until the end of the test. */
Run *open_run(Model *model, const RunOptions *options);

/* Counts a text of some letters, if the model counts. */
void count_letters(Model *model);

/* A model and a training run on it, which has counted some letters if it counts, until the end of
 * the test. Fails the test if they cannot be made. The options' seed is the model's, too. */
typedef struct {
    Model *model;
    Run *run;
} Bench;
Bench *bench_of(const Config *config, const RunOptions *options);
Bench *bench_open(const Config *config, int batch, int threads,
                  uint64_t seed); /* of whole contexts */

/* Adds noise to every weight. Weights that start at 0 or 1 could hide a mistake. */
void bench_shake(Bench *bench);

/* Trains `steps` steps on one batch at a constant learning rate. Returns the last loss. */
double bench_train(Bench *bench, const int32_t *inputs, const int32_t *targets, int B, int T,
                   int steps, double learning_rate);

/* How often a slow test repeats: `quick`, or `all` in `make test-all`, which sets TRIL_ALL. Under
 * sanitizers, eight times slower, always `quick`. */
int repeats(int quick, int all);

/* corpus_make of a file, with the ids of `known`; NULL: with those of its own characters. */
bool corpus_load(Corpus *corpus, const char *path, bool bytes, double held_out, const Vocab *known);

#endif
