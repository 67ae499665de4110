/* command.h - runs `train` and `sample` from a test and keeps their output and exit status. The
 * environment variable TRIL_PROGRAMS names their directory. A command is one text: spaces separate
 * its words, '~' is a space inside a word, and '@' at the start of a word is the scratch
 * directory. */
#ifndef TRIL_COMMAND_H
#define TRIL_COMMAND_H

#include "tests/scratch.h"

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

enum { MAX_WORDS = 64, LIMIT = 600 }; /* of words; of seconds until a command hangs */

/* The file that becomes a command's standard input. */
static const char *command_input = "/dev/null";

/* The last command and its results. */
static struct {
    char command[1024];
    int status; /* the exit code; minus the number of the signal that ended the program */
    char *out, *err;
    size_t length; /* of `out`, which may contain zero bytes */
} ran;

static char *kept; /* an earlier command's output */

/* Reads a whole file and adds a zero byte. The caller frees it. */
static inline char *slurp(const char *path, size_t *length) {
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    *length = (size_t)ftell(in);
    rewind(in);
    char *bytes = calloc(*length + 1, 1);
    assert_true(bytes && fread(bytes, 1, *length, in) == *length);
    fclose(in);
    return bytes;
}

static inline int open_output(const char *path) {
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) fail_msg("%s: %s", path, strerror(errno));
    return out;
}

/* Starts a command of `train` or `sample` with `out` as standard output. */
static inline pid_t start(const char *command, int out) {
    snprintf(ran.command, sizeof ran.command, "%s", command);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    char *argv[MAX_WORDS] = {0}, program[SCRATCH_PATH];
    int count = 0;
    for (char *word = strtok(ran.command, " "); word && count < MAX_WORDS - 1;
         word = strtok(NULL, " ")) {
        argv[count++] = word = strdup(*word == '@' ? scratch(word + 1) : word);
        while ((word = strchr(word, '~'))) *word = ' ';
    }
    const char *programs = getenv("TRIL_PROGRAMS");
    snprintf(program, sizeof program, "%s/%s", programs ? programs : "build/test", argv[0]);
    int in = open(command_input, O_RDONLY | O_NOCTTY);
    int err = open(scratch("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    signal(SIGPIPE, SIG_DFL); /* the parent may ignore these, */
    signal(SIGINT, SIG_DFL);  /* as a shell does for background commands */
    alarm(LIMIT);             /* survives exec, and ends the program */
    execv(program, argv);
    _exit(127);
}

/* Waits for the end of a command and reads its output from the scratch file "stdout", if any. */
static inline void finish(pid_t child) {
    int status;
    size_t length;
    while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
    free(ran.out);
    free(ran.err);
    ran.out = slurp(scratch("stdout"), &ran.length);
    ran.err = slurp(scratch("stderr"), &length);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (ran.status == -SIGALRM) fail_msg("%s: ran for %d seconds", ran.command, LIMIT);
    if (ran.status == 127) fail_msg("%s: no such program in TRIL_PROGRAMS", ran.command);
}

/* Starts a command. Its standard output can be read from *from. */
static inline pid_t start_piped(const char *command, int *from) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(fcntl(ends[i], F_SETFD, FD_CLOEXEC), 0);
    pid_t child = start(command, ends[1]);
    close(ends[1]);
    *from = ends[0];
    return child;
}

/* Runs a command. Calls `meanwhile` each time the command has printed something; i counts from 0.
 * Fails the test if it prints nothing. */
static inline void run_meanwhile(const char *command, void (*meanwhile)(pid_t child, int i)) {
    int from, out = open_output(scratch("stdout")), count = 0;
    pid_t child = start_piped(command, &from);
    char text[512];
    for (ssize_t more; (more = read(from, text, sizeof text)) > 0;) {
        meanwhile(child, count++);
        assert_int_equal(write(out, text, (size_t)more), more);
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
    int out = open_output(scratch("stdout"));
    pid_t child = start(command, out);
    close(out);
    finish(child);
}

static inline void expect_success(void) {
    if (ran.status != 0 || *ran.err)
        fail_msg("%s: status %d: %s", ran.command, ran.status, ran.err);
}

#define must_run(...)     \
    do {                  \
        run(__VA_ARGS__); \
        expect_success(); \
    } while (0)

/* Fails the test unless the last command was refused: nothing on stdout, and on stderr one line
 * that begins with the program's name and contains both texts. */
static inline void expect_refusal(int status, const char *says, const char *also) {
    size_t name = strcspn(ran.command, " "), length = strlen(ran.err);
    bool one_line = length > 0 && strchr(ran.err, '\n') == ran.err + length - 1;
    bool named = strncmp(ran.err, ran.command, name) == 0 && strncmp(ran.err + name, ": ", 2) == 0;
    if (ran.status != status || !one_line || !named || !strstr(ran.err, says) ||
        !strstr(ran.err, also))
        fail_msg("%s\nstatus %d, '%s'; expected %d, '%s', '%s'", ran.command, ran.status, ran.err,
                 status, says, also);
    assert_string_equal(ran.out, "");
}

/* The text after the first `what` in the last output. Fails the test if there is none. */
static inline const char *after(const char *what) {
    const char *found = strstr(ran.out, what);
    if (!found) fail_msg("%s: no '%s' in:\n%s", ran.command, what, ran.out);
    return found + strlen(what);
}

/* Keeps the output of the last command, for comparison with the next. */
static inline void keep(void) {
    free(kept);
    kept = strdup(ran.out);
}

/* Tears down a group of tests that runs commands. */
static inline int command_close(void **state) {
    free(ran.out);
    free(ran.err);
    free(kept);
    return scratch_close(state);
}

#endif
