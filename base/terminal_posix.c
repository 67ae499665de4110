#define _DEFAULT_SOURCE     /* the window's size */
#define _XOPEN_SOURCE   700 /* wcwidth */
#include "base/terminal.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <locale.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include <wchar.h>

void terminal_prepare(int *argc, char ***argv) {
    (void)argc, (void)argv;
    int file;
    do file = open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0) close(file);
    setlocale(LC_CTYPE, "");
    if (wcwidth(0x4E00) != 2) setlocale(LC_CTYPE, "C.UTF-8");
    signal(SIGXFSZ, SIG_IGN);
}

bool terminal_is(FILE *stream) {
    return isatty(fileno(stream));
}

int terminal_columns(FILE *stream, int otherwise) {
    struct winsize window;
    const char *told = getenv("COLUMNS");
    if (!terminal_is(stream)) return otherwise;
    if (ioctl(fileno(stream), TIOCGWINSZ, &window) == 0 && window.ws_col > 0) return window.ws_col;
    const long columns = told ? strtol(told, NULL, 10) : 0;
    return columns > 0 && columns < USHRT_MAX ? (int)columns : otherwise;
}

int width_of(uint32_t code) {
    return wcwidth((wchar_t)code);
}

void terminal_send_lines(void) {
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ);
}

/* ---- signals ---- */

static const int numbers[] = {[SIGNAL_INTERRUPT] = SIGINT,
                              [SIGNAL_TERMINATE] = SIGTERM,
                              [SIGNAL_HANGUP] = SIGHUP,
                              [SIGNAL_PIPE] = SIGPIPE};
enum { COUNT = sizeof numbers / sizeof *numbers };

static void (*handle)(Signal signal);

static void on_signal(int number) {
    int before = errno;
    for (int i = 0; i < COUNT; i++)
        if (numbers[i] == number) handle((Signal)i);
    errno = before;
}

void signals_catch(void (*wanted)(Signal signal)) {
    struct sigaction action = {.sa_handler = wanted == SIGNALS_IGNORED ? SIG_IGN : on_signal,
                               .sa_flags = SA_RESTART};
    struct sigaction old;
    handle = wanted;
    /* handlers run one at a time */
    for (int i = 0; i < COUNT; i++) sigaddset(&action.sa_mask, numbers[i]);
    for (int i = 0; i < COUNT; i++)
        if (sigaction(numbers[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(numbers[i], &action, NULL);
}

void signals_die(Signal which) {
    signal(numbers[which], SIG_DFL);
    raise(numbers[which]); /* it is delivered when the handler returns */
}

/* The mask before signals_hold: each thread has its own. */
static _Thread_local sigset_t held;

void signals_hold(void) {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &held);
}

void signals_release(void) {
    pthread_sigmask(SIG_SETMASK, &held, NULL);
}

int64_t terminal_read_line(char **line, size_t *capacity) {
    return getline(line, capacity, stdin);
}
