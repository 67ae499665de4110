/* command.h - runs `train` and `sample` from a test and keeps their output and exit status. The
 * environment variable TRIL_PROGRAMS names their directory. A command is one text: spaces separate
 * its arguments, '~' is a space inside an argument, and '@' at the start of an argument is the
 * scratch directory. `train` has one thread unless the command says how many, because tests run
 * beside each other. */
#ifndef TRIL_COMMAND_H
#define TRIL_COMMAND_H

#include "tests/objects.h"
#include "tests/scratch.h"

#include <errno.h>
#include <signal.h>

enum { MAX_WORDS = 64 };

/* The file that becomes a command's standard input; NULL if it has none. */
static const char *command_input;

/* The last command and its results. */
static struct {
    char command[8192];
    int status; /* the exit code; minus the number of the signal that ended the program */
    char *out, *err;
    size_t length; /* of `out`, which may contain zero bytes */
} ran;

static char *kept; /* an earlier command's output */

/* Reads a whole file and adds a zero byte. `length` may be NULL. */
static inline char *slurp(const char *path, size_t *length) {
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s: %s", path, strerror(errno));
    size_t read;
    char *bytes = stream_text(in, &read);
    if (length) *length = read;
    return bytes;
}

/* Fails the test unless two files in the scratch directory are the same. */
static inline void scratch_expect_same(const char *name, const char *other) {
    size_t length;
    char *bytes = slurp(scratch(name), &length);
    scratch_expect(other, bytes, length);
}

/* Fails the test unless two models, of two commands, have the same weights and loss. */
static inline void expect_same_model(const char *name, const char *other) {
    const char *const names[] = {name, other};
    uint64_t digests[2];
    double losses[2];
    for (int i = 0; i < 2; i++) {
        const TrilModel *model = load_model(scratch(names[i]));
        digests[i] = tril_model_digest(model);
        losses[i] = tril_model_loss(model);
    }
    assert_int_equal(digests[0], digests[1]);
    assert_memory_equal(&losses[0], &losses[1], sizeof *losses);
}

/* Those of some options, each "--NAME=VALUE", that have an effect on the rung. */
static inline const char *used_by(const char *rung, const char *options) {
    char *used = copy_text(""), *list = copy_text(options);
    for (char *word = strtok(list, " "); word; word = strtok(NULL, " ")) {
        const int length = (int)strcspn(word, "=") - 2;
        int i = 0;
        while (strncmp(tril_option(i)->name, word + 2, (size_t)length) != 0 ||
               tril_option(i)->name[length])
            i++;
        if (tril_rung_uses(rung, i)) used = formatted("%s %s", used, word);
    }
    return used;
}

/* The folder of the programs. */
static inline const char *programs_folder(void) {
    const char *programs = getenv("TRIL_PROGRAMS");
    return programs ? programs : "build/test";
}

/* Sets a variable in the environment of the programs; NULL removes it. Returns the old value. */
static inline const char *set_variable(const char *name, const char *value) {
    const char *before = getenv(name) ? copy_text(getenv(name)) : NULL;
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
    return before;
}

/* Starts a command of `train` or `sample` with `out` as standard output. */
static inline Process start(const char *command, int out) {
    char *words[MAX_WORDS] = {0}, one_thread[] = "-j1";
    int count = 0;
    snprintf(ran.command, sizeof ran.command, "%s", command);
    char *line = copy_text(ran.command);
    for (char *word = strtok(line, " "); word && count < MAX_WORDS - 1; word = strtok(NULL, " ")) {
        words[count++] = word =
            *word == '@' ? formatted("%s/%s", scratch_directory(), word + 1) : copy_text(word);
        while ((word = strchr(word, '~'))) *word = ' ';
        if (count == 1 && strstr(words[0], "train") && !strstr(command, " -j") &&
            !strstr(command, " --threads"))
            words[count++] = one_thread;
    }
    const char *path = formatted("%s/%s", programs_folder(), words[0]);
    return start_process(path, words, command_input, out,
                         formatted("%s/stderr", scratch_directory()));
}

/* Waits for the end of a command and reads its output from the scratch file "stdout", if any. */
static inline void finish(Process child) {
    size_t length;
    ran.status = end_of_process(child);
    ran.out = slurp(scratch("stdout"), &ran.length);
    ran.err = slurp(scratch("stderr"), &length);
}

/* Starts a command. Its standard output can be read from *from. */
static inline Process start_piped(const char *command, int *from) {
    int ends[2];
    make_pipe(ends);
    Process child = start(command, ends[1]);
    close(ends[1]);
    *from = ends[0];
    return child;
}

/* Runs a command. Calls `meanwhile` each time the command has printed something; i counts from 0.
 * Fails the test if it prints nothing. */
static inline void run_meanwhile(const char *command, void (*meanwhile)(Process child, int i)) {
    int from, out = create_file(scratch("stdout")), count = 0;
    Process child = start_piped(command, &from);
    char text[512];
    for (ssize_t more; (more = read(from, text, sizeof text)) > 0;) {
        meanwhile(child, count++);
        assert_int_equal(write(out, text, (unsigned)more), more);
    }
    close(from);
    close(out);
    finish(child);
    assert_true(count > 0);
}

__attribute__((format(printf, 1, 2))) static inline void run(const char *format, ...) {
    char command[sizeof ran.command];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(command, sizeof command, format, arguments);
    va_end(arguments);
    assert_true(length < (int)sizeof command);
    int out = create_file(scratch("stdout"));
    Process child = start(command, out);
    close(out);
    finish(child);
}

/* Gives the programs a clock that advances by `tick` seconds at each reading. */
static inline void set_clock(double tick, const char *signals) {
    setenv("TRIL_CLOCK", formatted("%.9g%s", tick, signals), 1);
    setenv("TRIL_LOOKS", scratch("looks"), 1);
    remove(scratch("looks"));
}

/* Removes it. Returns the seconds that passed; NAN if the program was killed. */
static inline double end_clock(void) {
    unsetenv("TRIL_CLOCK");
    unsetenv("TRIL_LOOKS");
    return scratch_has("looks") ? strtod(slurp(scratch("looks"), NULL), NULL) : (double)NAN;
}

/* Runs ./train on such a clock. Returns the seconds passed. `signals` are as in tests/clocked.c. */
#define run_clocked(tick, signals, ...) \
    (set_clock(tick, signals), run("clocked/" __VA_ARGS__), end_clock())

static inline void expect_success(void) {
    if (ran.status != 0 || *ran.err)
        fail_msg("%s: status %d: %s", ran.command, ran.status, ran.err);
}

#define must_run(...)     \
    do {                  \
        run(__VA_ARGS__); \
        expect_success(); \
    } while (0)

/* run_clocked of a command that succeeds. Returns the seconds that passed. */
#define must_run_clocked(...) succeeded_after(run_clocked(__VA_ARGS__))
static inline double succeeded_after(double seconds) {
    expect_success();
    return seconds;
}

/* Fails the test unless the last command ended with this status and one line on stderr that begins
 * with the program's name and contains all the texts (see expect_error). */
#define expect_exit(status, ...) expect_exit_with(status, ran.command, TEXTS(__VA_ARGS__))
static inline void expect_exit_with(int status, const char *subject, const char *const texts[]) {
    size_t length = strlen(ran.err), name = strcspn(ran.command, " ");
    const char *program = ran.command;
    while (name > 0 && memchr(program, '/', name)) program++, name--; /* faulty/train is train */
    if (ran.status != status || strncmp(ran.err, program, name) != 0 ||
        strncmp(ran.err + name, ": ", 2) != 0 || ran.err[length - 1] != '\n')
        fail_msg("%s\nstatus %d, '%s'; expected %d", ran.command, ran.status, ran.err, status);
    ran.err[length - 1] = 0;
    expect_message(ran.err, length + 1, subject, texts);
}

/* The same, with nothing on stdout. */
#define expect_failure(status, ...)       \
    do {                                  \
        expect_exit(status, __VA_ARGS__); \
        assert_string_equal(ran.out, ""); \
    } while (0)

/* Runs a command that fails as in expect_failure. */
#define must_fail(status, command, ...)      \
    do {                                     \
        run("%s", command);                  \
        expect_failure(status, __VA_ARGS__); \
    } while (0)

/* The text after the first `what` in the last output. Fails the test if there is none. */
static inline const char *after(const char *what) {
    const char *found = strstr(ran.out, what);
    if (!found) fail_msg("%s: no '%s' in:\n%s", ran.command, what, ran.out);
    return found + strlen(what);
}

/* The first line of the last output that contains each of the texts. Without such a line,
 * expect_line fails the test, and has_line is NULL. */
#define expect_line(...) expect_line_of(ran.out, ran.command, TEXTS(__VA_ARGS__))
#define has_line(...)    find_line(ran.out, TEXTS(__VA_ARGS__))

/* The number of progress lines in the last output, which have "STEP/STEPS". */
static inline int count_progress(void) {
    int count = 0, step, steps;
    for (const char *at = ran.out; (at = strchr(at, '\n')); at++)
        count += sscanf(at, "\n%*s %d/%*[~]%d", &step, &steps) == 2 ||
                 sscanf(at, "\n%*s %d/%d", &step, &steps) == 2;
    return count;
}

/* Keeps the output of the last command, for comparison with the next. */
static inline void keep(void) {
    kept = copy_text(ran.out);
}

#endif
