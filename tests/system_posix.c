#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "tests/system.h"
#include "tests/support.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Fails the test unless a call returned 0. */
static void expect_done(int result, const char *path) {
    if (result != 0) fail_msg("%s: %s", path, strerror(errno));
}

const char *system_lacks(Feature feature) {
    bool root = feature == FILE_RIGHTS && geteuid() == 0;
    return root ? "the superuser may read and write every file" : NULL;
}

/* ---- files ---- */

bool system_make_scratch(char *path, size_t size) {
    const char *parent = getenv("TMPDIR");
    int length = snprintf(path, size, "%s/tril-test-XXXXXX", parent && *parent ? parent : "/tmp");
    return length < (int)size && mkdtemp(path);
}

void make_folder(const char *path) {
    expect_done(mkdir(path, 0700), path);
}

void set_rights(const char *path, unsigned mode) {
    expect_done(chmod(path, (mode_t)mode), path);
}

int create_file(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    expect_done(file < 0, path);
    return file;
}

bool resize_file(const char *path, uint64_t size) {
    return truncate(path, (off_t)size) == 0;
}

void make_hard_link(const char *existing, const char *path) {
    expect_done(link(existing, path), path);
}

bool make_symbolic_link(const char *to, const char *path) {
    expect_done(symlink(to, path), path);
    return true;
}

bool make_named_pipe(const char *path) {
    expect_done(mkfifo(path, 0600), path);
    return true;
}

static struct rlimit before;

void limit_file_sizes(uint64_t bytes) {
    expect_done(getrlimit(RLIMIT_FSIZE, &before), "the limit of file sizes");
    struct rlimit limit = before;
    limit.rlim_cur = (rlim_t)bytes;
    signal(SIGXFSZ, SIG_IGN); /* writing fails */
    expect_done(setrlimit(RLIMIT_FSIZE, &limit), "the limit of file sizes");
}

void end_file_size_limit(void) {
    expect_done(setrlimit(RLIMIT_FSIZE, &before), "the limit of file sizes");
    signal(SIGXFSZ, SIG_DFL);
}

/* ---- memory ---- */

/* Maps a file without a name: anonymous memory is not in POSIX. */
char *guard_memory(size_t size) {
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    FILE *file = tmpfile();
    assert_true(file && ftruncate(fileno(file), (off_t)(size + page)) == 0);
    char *pages = mmap(NULL, size + page, PROT_READ | PROT_WRITE, MAP_PRIVATE, fileno(file), 0);
    assert_true(pages != MAP_FAILED && mprotect(pages + size, page, PROT_NONE) == 0);
    fclose(file);
    return pages + size;
}

/* ---- processes ---- */

Process start_process(const char *program, char *const words[], const char *input, int out,
                      const char *errors) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    int in = open(input ? input : "/dev/null", O_RDONLY | O_NOCTTY);
    int error = open(errors, O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(error, 2) < 0) _exit(127);
    signal(SIGPIPE, SIG_DFL); /* the parent may ignore these, */
    signal(SIGINT, SIG_DFL);  /* as a shell does for background commands, */
    signal(SIGXFSZ, SIG_DFL); /* and as limit_file_sizes does */
    alarm(LIMIT);             /* survives exec, and ends the program */
    execv(program, words);
    _exit(127);
}

int end_of_process(Process process) {
    int status;
    while (waitpid((pid_t)process, &status, 0) < 0) assert_int_equal(errno, EINTR);
    int result = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (result == -SIGALRM) fail_msg("it ran for %d seconds", LIMIT);
    if (result == 127) fail_msg("there is no such program in TRIL_PROGRAMS");
    return result;
}

bool is_running(Process process) {
    siginfo_t info = {.si_pid = 0};
    int result = waitid(P_PID, (id_t)process, &info, WEXITED | WNOHANG | WNOWAIT);
    return result == 0 && info.si_pid == 0;
}

void kill_process(Process process) {
    send_signal(process, SIGKILL);
}

void send_signal(Process process, int signal) {
    assert_int_equal(kill((pid_t)process, signal), 0);
}

bool takes_interruptions(void) {
    sigset_t blocked;
    assert_int_equal(pthread_sigmask(SIG_SETMASK, NULL, &blocked), 0);
    return !sigismember(&blocked, SIGINT);
}

Process fork_process(int (*task)(void *context), void *context) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) _exit(task(context));
    return child;
}

int run_shell(const char *command) {
    int status = system(command);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

void make_pipe(int ends[2]) {
    assert_int_equal(pipe(ends), 0);
    for (int i = 0; i < 2; i++) assert_int_equal(fcntl(ends[i], F_SETFD, FD_CLOEXEC), 0);
}

int open_terminal(const char **name) {
    int terminal = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(terminal >= 0 && grantpt(terminal) == 0 && unlockpt(terminal) == 0);
    assert_int_equal(fcntl(terminal, F_SETFD, FD_CLOEXEC), 0);
    *name = ptsname(terminal);
    return terminal;
}

Process start_on_terminal(const char *terminal, char *const words[]) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    setsid();
    signal(SIGHUP, SIG_DFL);
    int in = open(terminal, O_RDWR);
    ioctl(in, TIOCSCTTY, 0);
    if (dup2(in, 0) < 0 || dup2(in, 1) < 0 || dup2(in, 2) < 0) _exit(127);
    if (in > 2) close(in);
    alarm(LIMIT);
    execvp(*words, words);
    _exit(127);
}

double largest_memory(void) {
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_CHILDREN, &usage), 0);
    return (double)usage.ru_maxrss * 1024;
}
