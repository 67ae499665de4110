#define _DEFAULT_SOURCE /* the window's size */
#include "base/terminal.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

void terminal_prepare(int *argc, char ***argv) {
    (void)argc, (void)argv;
    int file;
    do file = open("/dev/null", O_RDWR);
    while (file >= 0 && file <= STDERR_FILENO);
    if (file >= 0) close(file);
}

bool terminal_is(FILE *stream) {
    return isatty(fileno(stream));
}

int terminal_columns(FILE *stream) {
    struct winsize window;
    return ioctl(fileno(stream), TIOCGWINSZ, &window) == 0 ? window.ws_col : 0;
}

bool terminal_has_colours(FILE *stream) {
    const char *kind = getenv("TERM");
    return terminal_is(stream) && kind && strcmp(kind, "dumb") != 0;
}

void terminal_send_lines(FILE *stream) {
    setvbuf(stream, NULL, _IOLBF, BUFSIZ);
}

int64_t terminal_read_line(char **line, size_t *capacity) {
    return getline(line, capacity, stdin);
}
