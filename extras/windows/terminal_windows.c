#include "base/terminal.h"
#include "base/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>
/* after windows.h */
#include <shellapi.h>

/* ---- words ---- */

static char *narrow(const WCHAR *wide) {
    int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = malloc((size_t)size + 1);
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    return text;
}

/* The C library has them in the characters of an old code page. They live as long as the program.
 */
static void take_words(int *argc, char ***argv) {
    int count;
    WCHAR **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **words = wide ? calloc((size_t)count + 1, sizeof *words) : NULL;
    if (!words || count == 0) return;
    for (int i = 0; i < count; i++)
        if (!(words[i] = narrow(wide[i]))) return;
    LocalFree(wide);
    filesystem_slash(words[0]);
    *argc = count;
    *argv = words;
}

/* ---- streams ---- */

static UINT code_page; /* of the console before */
static DWORD mode;

static HANDLE console_of(FILE *stream) {
    return (HANDLE)_get_osfhandle(_fileno(stream));
}

static void restore_console(void) {
    SetConsoleOutputCP(code_page);
    SetConsoleMode(console_of(stdout), mode);
}

/* A character must not be cut in two: the C library would send a console each byte alone. */
static void prepare_console(void) {
    if (terminal_is(stderr)) setvbuf(stderr, NULL, _IOFBF, BUFSIZ);
    if (!GetConsoleMode(console_of(stdout), &mode)) return;
    code_page = GetConsoleOutputCP();
    SetConsoleOutputCP(CP_UTF8);
    SetConsoleMode(console_of(stdout),
                   mode | ENABLE_PROCESSED_OUTPUT | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
    setvbuf(stdout, NULL, _IOFBF, BUFSIZ);
    atexit(restore_console);
}

void terminal_prepare(int *argc, char ***argv) {
    int file;
    do file = _open("NUL", _O_RDWR | _O_BINARY);
    while (file >= 0 && file <= 2);
    if (file >= 0) _close(file);
    for (int i = 0; i <= 2; i++) _setmode(i, _O_BINARY);
    take_words(argc, argv);
    prepare_console();
}

bool terminal_is(FILE *stream) {
    DWORD any;
    return GetConsoleMode(console_of(stream), &any);
}

int terminal_columns(FILE *stream) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    bool known = GetConsoleScreenBufferInfo(console_of(stream), &info);
    return known ? info.srWindow.Right - info.srWindow.Left + 1 : 0;
}

bool terminal_has_colours(FILE *stream) {
    const char *kind = getenv("TERM");
    return terminal_is(stream) && !(kind && strcmp(kind, "dumb") == 0);
}

_Noreturn static DWORD WINAPI flush_again_and_again(void *stream) {
    enum { PAUSE = 50 }; /* milliseconds */
    for (;;) {
        Sleep(PAUSE);
        fflush(stream);
    }
}

/* The C library has no lines in its buffers, only bytes. */
void terminal_send_lines(FILE *stream) {
    HANDLE thread = CreateThread(NULL, 0, flush_again_and_again, stream, 0, NULL);
    if (thread) CloseHandle(thread);
}

/* ---- typed lines ---- */

/* Has room for `more` bytes and a zero byte. */
static bool reserve(char **line, size_t *capacity, size_t more) {
    if (*line && more < *capacity) return true;
    char *wider = realloc(*line, 2 * more + 256);
    if (!wider) return false;
    *line = wider;
    *capacity = 2 * more + 256;
    return true;
}

/* Reads a line of the console. Ctrl-Z or Ctrl-D, first on a line, is the end. */
static int64_t read_console(char **line, size_t *capacity) {
    enum { PIECE = 512, CTRL_D = 4, CTRL_Z = 26 };
    size_t length = 0;
    for (;;) {
        WCHAR wide[PIECE];
        DWORD count = 0;
        SetLastError(0);
        if (!ReadConsoleW(console_of(stdin), wide, PIECE, &count, NULL)) return -1;
        if (GetLastError() == ERROR_OPERATION_ABORTED) return 0; /* Ctrl-C */
        errno = 0;                                               /* an end is no failure */
        if (count == 0 || (length == 0 && (*wide == CTRL_D || *wide == CTRL_Z))) return -1;
        if (!reserve(line, capacity, length + 4 * count)) return -1;
        length += (size_t)WideCharToMultiByte(CP_UTF8, 0, wide, (int)count, *line + length,
                                              (int)(4 * count), NULL, NULL);
        (*line)[length] = 0;
        if ((*line)[length - 1] == '\n') return (int64_t)length;
    }
}

static int64_t read_bytes(char **line, size_t *capacity) {
    size_t length = 0;
    int byte = 0;
    while (byte != '\n' && (byte = getchar()) != EOF) {
        if (!reserve(line, capacity, length + 1)) return -1;
        (*line)[length++] = (char)byte;
        (*line)[length] = 0;
    }
    return length > 0 ? (int64_t)length : -1;
}

/* The end of a line is CR LF, from the console as from many programs. */
int64_t terminal_read_line(char **line, size_t *capacity) {
    int64_t length = terminal_is(stdin) ? read_console(line, capacity) : read_bytes(line, capacity);
    if (length < 2 || memcmp(*line + length - 2, "\r\n", 2) != 0) return length;
    memcpy(*line + length - 2, "\n", 2);
    return length - 1;
}
