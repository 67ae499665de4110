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

/* ---- arguments ---- */

static char *narrow(const WCHAR *wide) {
    int size = WideCharToMultiByte(CP_UTF8, 0, wide, -1, NULL, 0, NULL, NULL);
    char *text = malloc((size_t)size + 1);
    if (text) WideCharToMultiByte(CP_UTF8, 0, wide, -1, text, size, NULL, NULL);
    return text;
}

/* Sets the arguments in UTF-8: those of the C library are in an old code page. They live as long as
 * the program. */
static void take_arguments(int *argc, char ***argv) {
    int count;
    WCHAR **wide = CommandLineToArgvW(GetCommandLineW(), &count);
    char **arguments = wide ? calloc((size_t)count + 1, sizeof *arguments) : NULL;
    if (!arguments || count == 0) return;
    for (int i = 0; i < count; i++)
        if (!(arguments[i] = narrow(wide[i]))) return;
    LocalFree(wide);
    filesystem_slash(arguments[0]);
    *argc = count;
    *argv = arguments;
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

/* Buffers the streams: without a buffer the C library sends a console each byte alone, which cuts
 * characters. */
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
    take_arguments(argc, argv);
    prepare_console();
}

bool terminal_is(FILE *stream) {
    DWORD any;
    return GetConsoleMode(console_of(stream), &any);
}

int terminal_columns(FILE *stream, int otherwise) {
    CONSOLE_SCREEN_BUFFER_INFO info;
    bool known = GetConsoleScreenBufferInfo(console_of(stream), &info);
    return known ? info.srWindow.Right - info.srWindow.Left + 1 : otherwise;
}

_Noreturn static DWORD WINAPI flush_again_and_again(void *none) {
    enum { PAUSE = 50 }; /* milliseconds */
    (void)none;
    for (;;) {
        Sleep(PAUSE);
        fflush(stdout);
    }
}

/* The C library cannot buffer lines here. */
void terminal_send_lines(void) {
    HANDLE thread = CreateThread(NULL, 0, flush_again_and_again, NULL, 0, NULL);
    if (thread) CloseHandle(thread);
}

/* ---- typed lines ---- */

/* Makes space for `more` bytes and a zero byte. */
static bool reserve(char **line, size_t *capacity, size_t more) {
    if (*line && more < *capacity) return true;
    char *wider = realloc(*line, 2 * more + 256);
    if (!wider) return false;
    *line = wider;
    *capacity = 2 * more + 256;
    return true;
}

/* Reads a line of the console. Ctrl-Z or Ctrl-D at the start of a line is the end. */
static int64_t read_console(char **line, size_t *capacity) {
    enum { PIECE = 512, CTRL_D = 4, CTRL_Z = 26 };
    size_t length = 0;
    for (;;) {
        WCHAR wide[PIECE];
        DWORD count = 0;
        SetLastError(0);
        if (!ReadConsoleW(console_of(stdin), wide, PIECE, &count, NULL)) return -1;
        if (GetLastError() == ERROR_OPERATION_ABORTED) { /* Ctrl-C */
            length = 0;
            continue;
        }
        errno = 0; /* the end of the input is not an error */
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

/* ---- widths ---- */

/* The blocks of wide and full-width characters. */
static const struct {
    uint32_t first, last;
} wide[] = {{0x1100, 0x115F},   {0x2E80, 0x303E},   {0x3041, 0xA4CF},   {0xAC00, 0xD7A3},
            {0xF900, 0xFAFF},   {0xFE30, 0xFE6F},   {0xFF00, 0xFF60},   {0xFFE0, 0xFFE6},
            {0x1F300, 0x1F64F}, {0x1F680, 0x1F6FF}, {0x1F900, 0x1FAFF}, {0x20000, 0x3FFFD}};

static bool is_wide(uint32_t code) {
    for (size_t i = 0; i < sizeof wide / sizeof *wide; i++)
        if (code >= wide[i].first && code <= wide[i].last) return true;
    return false;
}

/* The system knows control characters and combining ones, up to U+FFFF. */
int width_of(uint32_t code) {
    const WCHAR unit = (WCHAR)code;
    WORD kind = 0, form = 0;
    if (code > 0xFFFF) return is_wide(code) ? 2 : 1;
    GetStringTypeW(CT_CTYPE1, &unit, 1, &kind);
    GetStringTypeW(CT_CTYPE3, &unit, 1, &form);
    if ((kind & C1_CNTRL) || (code >= 0xD800 && code <= 0xDFFF)) return -1;
    if (form & C3_NONSPACING) return 0;
    return is_wide(code) ? 2 : 1;
}

/* ---- signals ---- */

static void (*handle)(Signal signal);
static SRWLOCK one_at_a_time = SRWLOCK_INIT;

static Signal signal_of(DWORD event) {
    return event == CTRL_C_EVENT       ? SIGNAL_INTERRUPT
           : event == CTRL_BREAK_EVENT ? SIGNAL_TERMINATE
                                       : SIGNAL_HANGUP;
}

/* The system gives a program a few seconds after its console was closed, as long as this does not
 * return. */
static BOOL WINAPI on_event(DWORD event) {
    AcquireSRWLockExclusive(&one_at_a_time);
    handle(signal_of(event));
    ReleaseSRWLockExclusive(&one_at_a_time);
    if (signal_of(event) == SIGNAL_HANGUP) Sleep(INFINITE);
    return TRUE;
}

static BOOL WINAPI on_ignored(DWORD event) {
    (void)event;
    return TRUE;
}

void signals_catch(void (*wanted)(Signal signal)) {
    handle = wanted;
    SetConsoleCtrlHandler(wanted == SIGNALS_IGNORED ? on_ignored : on_event, TRUE);
}

void signals_die(Signal signal) {
    (void)signal;
    TerminateProcess(GetCurrentProcess(), (UINT)STATUS_CONTROL_C_EXIT);
}

/* Events come in a thread of their own, which waits here. */
void signals_hold(void) {
    AcquireSRWLockExclusive(&one_at_a_time);
}

void signals_release(void) {
    ReleaseSRWLockExclusive(&one_at_a_time);
}
