/* system.h - the system for tests, alike on POSIX (system_posix.c) and Windows
 * (extras/windows/tests/system_windows.c): scratch files, other programs, and whether the system
 * has the subject of a test. A failure here fails the test. */
#ifndef TRIL_SYSTEM_H
#define TRIL_SYSTEM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* True under the sanitizers, which find leaks themselves. */
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define SANITIZED true
#elif defined __has_feature
#define SANITIZED                                                           \
    (__has_feature(address_sanitizer) || __has_feature(memory_sanitizer) || \
     __has_feature(thread_sanitizer))
#else
#define SANITIZED false
#endif

/* True where tests/faulty.c can make system calls fail. Those of MemorySanitizer must not. */
#if defined __LP64__ && !MSAN && (__GLIBC__ > 2 || (__GLIBC__ == 2 && __GLIBC_MINOR__ >= 34))
#define FAULTY_SYSTEM true
#else
#define FAULTY_SYSTEM false
#endif

/* ---- features that a system may lack ---- */

typedef enum {
    FILE_RIGHTS,    /* files that this user may not read or write */
    SYMBOLIC_LINKS, /* that any user may make */
    NAMED_PIPES,    /* in a folder */
    DEVICE_FILES,   /* /dev/null and others */
    SIZE_LIMITS,    /* of the files that a process writes */
    FORKING,        /* a copy of this process */
    SIGNALS,        /* that come in the main thread, and SIGPIPE */
    BYTE_WORDS,     /* arguments of a command that are not valid UTF-8 */
    SHELL_TOOLS,    /* sh and its tools */
    CHILD_MEMORY,   /* the peak memory of a program that has ended */
    WRITER_NUMBERS, /* the number of the process that holds a lock */
    OPEN_REPLACED,  /* a file that gets another content while it is open */
    OPEN_REMOVAL,   /* files and folders that are removed while another process has them open */
    FAULTY_MEMORY,  /* requests for memory that a test makes fail: aligned_alloc */
    EXACT_COSINES,  /* a C library whose cosines and sines are right to the last places */
} Feature;

/* Why the system lacks it; NULL if it does not. */
const char *system_lacks(Feature feature);

/* Skips the test on a system that lacks the feature, and says why. */
#define skip_without(feature)                                              \
    do {                                                                   \
        const char *why = system_lacks(feature);                           \
        if (why) print_message("%s is skipped here: %s\n", __func__, why); \
        if (why) skip();                                                   \
    } while (0)

/* ---- files ---- */

/* Makes a new folder for this process, and writes its path. Returns false if it cannot. */
bool system_make_scratch(char *path, size_t size);

void make_folder(const char *path);               /* only for its owner */
void set_rights(const char *path, unsigned mode); /* FILE_RIGHTS; those of chmod */

/* A file to write, empty. Returns a descriptor that no started program inherits. */
int create_file(const char *path);

/* Cuts a file, or adds zeros. Returns false if the disk has no room. */
bool resize_file(const char *path, uint64_t size);

void make_hard_link(const char *existing, const char *path);

/* Return false if the system lacks SYMBOLIC_LINKS, or NAMED_PIPES. */
bool make_symbolic_link(const char *to, const char *path);
bool make_named_pipe(const char *path);

/* SIZE_LIMITS: from now on this process and those it starts write no more bytes of any file. */
void limit_file_sizes(uint64_t bytes);
void end_file_size_limit(void);

/* ---- memory ---- */

/* Does the work of aligned_alloc, for a test that replaces it. */
void *request_memory(size_t alignment, size_t size);

/* Excepts the blocks of memory so far from those that a program must release (tests/blocks.c). */
void keep_memory(void);

/* Allocates `size` bytes, whole pages, and returns their end: behind it is an unreadable page. They
 * are never released. */
char *guard_memory(size_t size);

/* ---- processes ---- */

typedef intptr_t Process;

enum {
    LIMIT = 600,      /* seconds that a program may run */
    KILLED = -9,      /* result of end_of_process after kill_process */
    KILL_STATUS = 137 /* exit status that stands for a kill where programs have no signals */
};

/* Starts the program with these arguments, which end with NULL. words[0] is its name. Its input is
 * a file, or nothing if `input` is NULL; its output the descriptor `out`; its errors go to a new
 * file. */
Process start_process(const char *program, char *const words[], const char *input, int out,
                      const char *errors);

/* Waits for its end. Returns the exit status, or minus the number of the signal that ended it.
 * Fails the test if it has run for LIMIT seconds. */
int end_of_process(Process process);

bool is_running(Process process);
void kill_process(Process process);

/* SIGINT or SIGTERM; on Windows Ctrl-C on its console for both, as wine 8 sends no Ctrl-Break. */
void send_signal(Process process, int signal);

/* Returns true if SIGINT would arrive in this thread; false without SIGNALS. */
bool takes_interruptions(void);

/* Runs a task in a copy of this process: FORKING. The task's result is the exit status. */
Process fork_process(int (*task)(void *context), void *context);

/* Runs a command of the shell: SHELL_TOOLS. Returns its exit status. */
int run_shell(const char *command);

/* Makes a pipe: ends[0] to read, ends[1] to write. No started program inherits them. */
void make_pipe(int ends[2]);

/* Opens a terminal, on POSIX. Returns the test's end, which no started program inherits. */
int open_terminal(const char **name);

/* Starts a program in a session that this terminal controls, on POSIX. */
Process start_on_terminal(const char *terminal, char *const words[]);

/* The peak memory in bytes of the largest program that has ended so far: CHILD_MEMORY. */
double largest_memory(void);

#endif
