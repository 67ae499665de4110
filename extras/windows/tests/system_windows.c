#include "tests/system.h"
#include "tests/support.h"

#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <wchar.h>
#include <windows.h>

enum { PATH = 1024, LINE = 32768 }; /* bytes or UTF-16 units of a path, and of a command */

/* Files of the tests have the bytes that were written. */
__attribute__((constructor)) static void write_bytes(void) {
    _fmode = _O_BINARY;
}

static void expect_done(bool done, const char *what) {
    if (!done) fail_msg("%s: error %lu of Windows", what, GetLastError());
}

/* Returns a text in UTF-16, which the second call after this one overwrites. */
static WCHAR *wide(const char *text) {
    static WCHAR texts[2][LINE];
    static int calls;
    WCHAR *own = texts[calls++ % 2];
    expect_done(MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, text, -1, own, LINE) > 0, text);
    return own;
}

/* Wine 8 does not rename over an open file, as Windows 10 does. */
static bool is_wine(void) {
    return GetProcAddress(GetModuleHandleW(L"ntdll.dll"), "wine_get_version") != NULL;
}

const char *system_lacks(Feature feature) {
    static const char *const reasons[] = {
        [FILE_RIGHTS] = "rights are lists, which chmod does not change",
        [SYMBOLIC_LINKS] = "only administrators may make symbolic links",
        [NAMED_PIPES] = "no pipe has a name in a folder",
        [DEVICE_FILES] = "devices have other names",
        [SIZE_LIMITS] = "no process has a limit of file sizes",
        [FORKING] = "no process can be copied",
        [SIGNALS] = "events of the console come in a thread of their own",
        [BYTE_WORDS] = "words are UTF-16",
        [SHELL_TOOLS] = "there is no POSIX shell",
        [CHILD_MEMORY] = "the memory of a program is not measured",
        [WRITER_NUMBERS] = "the system does not say who holds a lock",
        [OPEN_REPLACED] = "wine replaces no open file",
        [OPEN_REMOVAL] = "what a process has open cannot be removed",
        [FAULTY_MEMORY] = "memory is not requested by aligned_alloc",
        [EXACT_COSINES] = "the C library's cosines are not exact",
    };
    return feature == OPEN_REPLACED && !is_wine() ? NULL : reasons[feature];
}

/* Fails a test that did not ask before. */
_Noreturn static void lacks(Feature feature) {
    fail_msg("%s", system_lacks(feature));
}

/* ---- files ---- */

/* Killed tests leave folders behind, and numbers of processes come again. */
bool system_make_scratch(char *path, size_t size) {
    enum { TRIES = 1000 };
    WCHAR folder[MAX_PATH + 1], name[PATH];
    if (GetTempPathW(MAX_PATH + 1, folder) == 0) return false;
    bool made = false;
    for (int i = 0; i < TRIES && !made; i++) {
        swprintf(name, PATH, L"%lstril-test-%lu-%d", folder, GetCurrentProcessId(), i);
        made = CreateDirectoryW(name, NULL);
    }
    for (WCHAR *slash = name; (slash = wcschr(slash, L'\\'));) *slash = L'/';
    return made && WideCharToMultiByte(CP_UTF8, 0, name, -1, path, (int)size, NULL, NULL) > 0;
}

void make_folder(const char *path) {
    expect_done(CreateDirectoryW(wide(path), NULL), path);
}

void set_rights(const char *path, unsigned mode) {
    (void)path, (void)mode;
    lacks(FILE_RIGHTS);
}

int create_file(const char *path) {
    const int flags = _O_WRONLY | _O_CREAT | _O_TRUNC | _O_BINARY | _O_NOINHERIT;
    int file = _wopen(wide(path), flags, 0600);
    expect_done(file >= 0, path);
    return file;
}

bool resize_file(const char *path, uint64_t size) {
    HANDLE file = CreateFileW(wide(path), GENERIC_WRITE, FILE_SHARE_READ | FILE_SHARE_WRITE, NULL,
                              OPEN_EXISTING, 0, NULL);
    FILE_END_OF_FILE_INFO end = {.EndOfFile = {.QuadPart = (LONGLONG)size}};
    bool done = SetFileInformationByHandle(file, FileEndOfFileInfo, &end, sizeof end);
    CloseHandle(file);
    return done;
}

void make_hard_link(const char *existing, const char *path) {
    expect_done(CreateHardLinkW(wide(path), wide(existing), NULL), path);
}

bool make_symbolic_link(const char *to, const char *path) {
    return (void)to, (void)path, false;
}

bool make_named_pipe(const char *path) {
    return (void)path, false;
}

void limit_file_sizes(uint64_t bytes) {
    (void)bytes;
    lacks(SIZE_LIMITS);
}

void end_file_size_limit(void) {}

/* ---- memory ---- */

void *request_memory(size_t alignment, size_t size) {
    return _aligned_malloc(size, alignment);
}

void keep_memory(void) {}

char *guard_memory(size_t size) {
    enum { GUARD = 1 << 16 };
    char *pages = VirtualAlloc(NULL, size + GUARD, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE);
    DWORD before;
    expect_done(pages && VirtualProtect(pages + size, GUARD, PAGE_NOACCESS, &before), "memory");
    return pages + size;
}

/* ---- processes ---- */

/* Adds a word so that CommandLineToArgvW reads it back: backslashes are doubled before quotes. */
static size_t add_word(char *line, size_t at, const char *word) {
    size_t slashes = 0;
    line[at++] = '"';
    for (;; word++) {
        bool special = *word == '"' || *word == 0;
        assert_true(at + 2 * slashes + 4 < LINE);
        for (size_t i = 0; special && i < slashes; i++) line[at++] = '\\';
        slashes = *word == '\\' ? slashes + 1 : 0;
        if (*word == '"') line[at++] = '\\';
        if (*word == 0) break;
        line[at++] = *word;
    }
    line[at++] = '"';
    line[at++] = ' ';
    return at;
}

/* The same file for a program to inherit. */
static HANDLE inheritable(HANDLE handle) {
    HANDLE own = GetCurrentProcess(), copy;
    expect_done(DuplicateHandle(own, handle, own, &copy, 0, TRUE, DUPLICATE_SAME_ACCESS),
                "a handle");
    return copy;
}

static HANDLE open_inheritable(const char *path, DWORD access, DWORD creation) {
    SECURITY_ATTRIBUTES inherited = {.nLength = sizeof inherited, .bInheritHandle = TRUE};
    HANDLE handle = CreateFileW(wide(path), access, FILE_SHARE_READ | FILE_SHARE_WRITE, &inherited,
                                creation, 0, NULL);
    expect_done(handle != INVALID_HANDLE_VALUE, path);
    return handle;
}

/* Programs that a failed test leaves behind end with this process. */
static void end_with_this(HANDLE process) {
    static HANDLE job;
    JOBOBJECT_EXTENDED_LIMIT_INFORMATION limits = {.BasicLimitInformation.LimitFlags =
                                                       JOB_OBJECT_LIMIT_KILL_ON_JOB_CLOSE};
    if (!job) {
        job = CreateJobObjectW(NULL, NULL);
        SetInformationJobObject(job, JobObjectExtendedLimitInformation, &limits, sizeof limits);
    }
    AssignProcessToJobObject(job, process);
}

/* Under wine a process may end before its program begins: an internal error. It is not the
 * program's fault, so it is started again. */
static bool create_process(const WCHAR *path, WCHAR *line, STARTUPINFOW *how,
                           PROCESS_INFORMATION *started) {
    enum { TRIES = 3 };
    for (int i = 0; i < TRIES; i++) {
        if (CreateProcessW(path, line, NULL, NULL, TRUE, CREATE_NO_WINDOW, NULL, NULL, how,
                           started))
            return true;
        if (GetLastError() != ERROR_INTERNAL_ERROR || !is_wine()) return false;
    }
    return false;
}

Process start_process(const char *program, char *const words[], const char *input, int out,
                      const char *errors) {
    char line[LINE], path[PATH];
    size_t length = 0;
    for (int i = 0; words[i]; i++) length = add_word(line, length, words[i]);
    line[length] = 0;
    snprintf(path, sizeof path, "%s.exe", program);
    HANDLE handles[] = {open_inheritable(input ? input : "NUL", GENERIC_READ, OPEN_EXISTING),
                        inheritable((HANDLE)_get_osfhandle(out)),
                        open_inheritable(errors, GENERIC_WRITE, CREATE_ALWAYS)};
    STARTUPINFOW how = {.cb = sizeof how,
                        .dwFlags = STARTF_USESTDHANDLES,
                        .hStdInput = handles[0],
                        .hStdOutput = handles[1],
                        .hStdError = handles[2]};
    PROCESS_INFORMATION started;
    expect_done(create_process(wide(path), wide(line), &how, &started), path);
    for (int i = 0; i < 3; i++) CloseHandle(handles[i]);
    CloseHandle(started.hThread);
    end_with_this(started.hProcess);
    return (Process)started.hProcess;
}

int end_of_process(Process process) {
    DWORD status;
    bool ended = WaitForSingleObject((HANDLE)process, 1000 * LIMIT) == WAIT_OBJECT_0;
    if (!ended) kill_process(process);
    expect_done(GetExitCodeProcess((HANDLE)process, &status), "its exit status");
    CloseHandle((HANDLE)process);
    if (!ended) fail_msg("it ran for %d seconds", LIMIT);
    return status == KILL_STATUS ? KILLED : (int)status;
}

bool is_running(Process process) {
    return WaitForSingleObject((HANDLE)process, 0) == WAIT_TIMEOUT;
}

/* It may have ended. */
void kill_process(Process process) {
    TerminateProcess((HANDLE)process, KILL_STATUS);
}

static HANDLE came;

static BOOL WINAPI on_event(DWORD event) {
    (void)event;
    SetEvent(came);
    return TRUE;
}

/* Visits the console of the process. An event there comes to both. */
void send_signal(Process process, int signal) {
    (void)signal;
    came = CreateEventW(NULL, TRUE, FALSE, NULL);
    FreeConsole();
    expect_done(AttachConsole(GetProcessId((HANDLE)process)), "its console");
    SetConsoleCtrlHandler(on_event, TRUE);
    bool sent = GenerateConsoleCtrlEvent(CTRL_C_EVENT, 0) &&
                WaitForSingleObject(came, 1000 * LIMIT) == WAIT_OBJECT_0;
    SetConsoleCtrlHandler(on_event, FALSE);
    FreeConsole();
    CloseHandle(came);
    expect_done(sent, "an event of the console");
}

bool takes_interruptions(void) {
    return false;
}

Process fork_process(int (*task)(void *context), void *context) {
    (void)task, (void)context;
    lacks(FORKING);
}

int run_shell(const char *command) {
    (void)command;
    lacks(SHELL_TOOLS);
}

void make_pipe(int ends[2]) {
    enum { SIZE = 4096 };
    assert_int_equal(_pipe(ends, SIZE, _O_BINARY | _O_NOINHERIT), 0);
}

double largest_memory(void) {
    lacks(CHILD_MEMORY);
}
