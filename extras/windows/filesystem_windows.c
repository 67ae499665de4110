#include "base/filesystem.h"

#include <errno.h>
#include <fcntl.h>
#include <io.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

enum { PATH = 4096 }; /* of a path in UTF-16 units, with its end */

/* ---- errors and paths ---- */

/* Sets errno to the equivalent of the system's last error. Returns false. */
static bool failed(void) {
    static const struct {
        DWORD windows;
        int posix;
    } errors[] = {{ERROR_FILE_NOT_FOUND, ENOENT},
                  {ERROR_PATH_NOT_FOUND, ENOENT},
                  {ERROR_BAD_NETPATH, ENOENT},
                  {ERROR_INVALID_DRIVE, ENOENT},
                  {ERROR_ACCESS_DENIED, EACCES},
                  {ERROR_SHARING_VIOLATION, EACCES},
                  {ERROR_LOCK_VIOLATION, EACCES},
                  {ERROR_WRITE_PROTECT, EROFS},
                  {ERROR_FILE_EXISTS, EEXIST},
                  {ERROR_ALREADY_EXISTS, EEXIST},
                  {ERROR_DIR_NOT_EMPTY, ENOTEMPTY},
                  {ERROR_DIRECTORY, ENOTDIR},
                  {ERROR_DISK_FULL, ENOSPC},
                  {ERROR_HANDLE_DISK_FULL, ENOSPC},
                  {ERROR_NOT_SAME_DEVICE, EXDEV},
                  {ERROR_INVALID_NAME, EINVAL},
                  {ERROR_FILENAME_EXCED_RANGE, ENAMETOOLONG},
                  {ERROR_NOT_ENOUGH_MEMORY, ENOMEM},
                  {ERROR_TOO_MANY_OPEN_FILES, EMFILE}};
    DWORD last = GetLastError();
    errno = EIO;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].windows == last) errno = errors[i].posix;
    return false;
}

void filesystem_slash(char *path) {
    for (; (path = strchr(path, '\\')); path++) *path = '/';
}

/* Converts a path. Long ones are made absolute, in the form that may have more than 260 units. */
static bool widen(const char *path, WCHAR wide[PATH]) {
    enum { SHORT = 240 };
    static const WCHAR any_length[] = L"\\\\?\\";
    const size_t prefix = sizeof any_length / sizeof *any_length - 1;
    WCHAR given[PATH];
    int length = MultiByteToWideChar(CP_UTF8, MB_ERR_INVALID_CHARS, path, -1, given, PATH);
    if (length == 0) {
        errno = GetLastError() == ERROR_INSUFFICIENT_BUFFER ? ENAMETOOLONG : EINVAL;
        return false;
    }
    memcpy(wide, given, (size_t)length * sizeof *wide);
    if (length < SHORT) return true;
    DWORD whole = GetFullPathNameW(given, PATH - (DWORD)prefix, wide + prefix, NULL);
    if (whole == 0 || whole >= PATH - prefix) {
        errno = ENAMETOOLONG;
        return false;
    }
    if (wide[prefix] == L'\\') /* a path on another machine stays as it is */
        memmove(wide, wide + prefix, (whole + 1) * sizeof *wide);
    else
        memcpy(wide, any_length, prefix * sizeof *wide);
    return true;
}

static HANDLE handle_of(int file) {
    return (HANDLE)_get_osfhandle(file);
}

/* ---- opening ---- */

enum { SHARE_ALL = FILE_SHARE_READ | FILE_SHARE_WRITE | FILE_SHARE_DELETE };

static bool is_link(HANDLE handle) {
    FILE_ATTRIBUTE_TAG_INFO tag;
    return GetFileInformationByHandleEx(handle, FileAttributeTagInfo, &tag, sizeof tag) &&
           (tag.FileAttributes & FILE_ATTRIBUTE_REPARSE_POINT) &&
           IsReparseTagNameSurrogate(tag.ReparseTag);
}

/* Waits a moment and returns true; returns false after a second of waiting. Virus scanners and the
 * like hold new files open for a moment. */
static bool wait_again(int *tries) {
    enum { TRIES = 50, PAUSE = 20 /* milliseconds */ };
    const DWORD why = GetLastError();
    if (++*tries >= TRIES) return false;
    Sleep(PAUSE);
    SetLastError(why);
    return true;
}

static int open_handle(const char *path, DWORD access, DWORD share, DWORD creation, DWORD flags) {
    WCHAR wide[PATH];
    HANDLE handle;
    int tries = 0;
    if (!widen(path, wide)) return -1;
    const char *slash = strrchr(path, '/');
    if (creation != OPEN_EXISTING && strchr(slash ? slash : path, ':')) {
        errno = EINVAL; /* a drive, or a stream of the file whose name ends there */
        return -1;
    }
    do handle = CreateFileW(wide, access, share, NULL, creation, flags, NULL);
    while (handle == INVALID_HANDLE_VALUE && GetLastError() == ERROR_SHARING_VIOLATION &&
           wait_again(&tries));
    if (handle == INVALID_HANDLE_VALUE) {
        failed();
        return -1;
    }
    /* NUL and COM1.txt are devices in every folder */
    bool device = creation != OPEN_EXISTING && GetFileType(handle) != FILE_TYPE_DISK;
    bool link = (flags & FILE_FLAG_OPEN_REPARSE_POINT) && is_link(handle);
    int file = device || link ? -1 : _open_osfhandle((intptr_t)handle, _O_BINARY | _O_NOINHERIT);
    if (file >= 0) return file;
    if (device || link) errno = device ? EINVAL : ELOOP;
    CloseHandle(handle);
    return -1;
}

int filesystem_open(const char *path, OpenMode mode) {
    static const struct {
        DWORD access, creation, flags;
    } ways[] = {
        [OPEN_READ] = {GENERIC_READ, OPEN_EXISTING, 0},
        [OPEN_AT_ONCE] = {GENERIC_READ, OPEN_EXISTING, 0},
        [OPEN_UPDATE] = {GENERIC_READ | GENERIC_WRITE, OPEN_EXISTING, FILE_FLAG_OPEN_REPARSE_POINT},
        [OPEN_CREATE] = {GENERIC_WRITE, CREATE_NEW, 0},
        [OPEN_LOCKS] = {GENERIC_READ | GENERIC_WRITE, OPEN_ALWAYS, FILE_FLAG_OPEN_REPARSE_POINT},
    };
    return open_handle(path, ways[mode].access, SHARE_ALL, ways[mode].creation, ways[mode].flags);
}

/* ---- looking ---- */

static uint64_t join(DWORD high, DWORD low) {
    return (uint64_t)high << 32 | low;
}

static FileStatus status_of(HANDLE handle) {
    BY_HANDLE_FILE_INFORMATION found;
    DWORD type = GetFileType(handle);
    if (type != FILE_TYPE_DISK)
        return (FileStatus){.kind = type == FILE_TYPE_PIPE ? FILE_PIPE : FILE_DEVICE};
    if (!GetFileInformationByHandle(handle, &found)) {
        failed();
        return (FileStatus){.kind = FILE_NONE};
    }
    bool folder = found.dwFileAttributes & FILE_ATTRIBUTE_DIRECTORY;
    return (FileStatus){
        .kind = is_link(handle) ? FILE_LINK
                : folder        ? FILE_FOLDER
                                : FILE_REGULAR,
        .id = {found.dwVolumeSerialNumber, join(found.nFileIndexHigh, found.nFileIndexLow)},
        .size = join(found.nFileSizeHigh, found.nFileSizeLow),
        .names = found.nNumberOfLinks,
        .written = (double)join(found.ftLastWriteTime.dwHighDateTime,
                                found.ftLastWriteTime.dwLowDateTime) /
                       1e7 -
                   11644473600}; /* Windows counts from 1601 */
}

FileStatus filesystem_status(int file) {
    return status_of(handle_of(file));
}

FileStatus filesystem_look(const char *path, bool follow) {
    WCHAR wide[PATH];
    FileStatus status = {.kind = FILE_NONE};
    DWORD flags = FILE_FLAG_BACKUP_SEMANTICS | (follow ? 0 : FILE_FLAG_OPEN_REPARSE_POINT);
    if (!widen(path, wide)) return status;
    HANDLE handle =
        CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE_ALL, NULL, OPEN_EXISTING, flags, NULL);
    if (handle == INVALID_HANDLE_VALUE && follow) return filesystem_look(path, false);
    if (handle == INVALID_HANDLE_VALUE) {
        failed();
        return status;
    }
    status = status_of(handle);
    CloseHandle(handle);
    return status;
}

/* ---- folders and names ---- */

char *filesystem_real(const char *path) {
    WCHAR wide[PATH], real[PATH];
    char *text = NULL;
    if (!widen(path, wide)) return NULL;
    HANDLE handle = CreateFileW(wide, FILE_READ_ATTRIBUTES, SHARE_ALL, NULL, OPEN_EXISTING,
                                FILE_FLAG_BACKUP_SEMANTICS, NULL);
    if (handle == INVALID_HANDLE_VALUE) return NULL;
    const DWORD length = GetFinalPathNameByHandleW(handle, real, PATH, 0);
    const int size = length > 0 && length < PATH
                         ? WideCharToMultiByte(CP_UTF8, 0, real, -1, NULL, 0, NULL, NULL)
                         : 0;
    CloseHandle(handle);
    if (size > 0 && (text = malloc((size_t)size))) {
        WideCharToMultiByte(CP_UTF8, 0, real, -1, text, size, NULL, NULL);
        filesystem_slash(text);
    }
    return text;
}

bool filesystem_make_folder(const char *path) {
    WCHAR wide[PATH];
    return widen(path, wide) && (CreateDirectoryW(wide, NULL) || failed());
}

bool filesystem_remove_folder(const char *path) {
    WCHAR wide[PATH];
    return widen(path, wide) && (RemoveDirectoryW(wide) || failed());
}

bool filesystem_remove(const char *path) {
    WCHAR wide[PATH];
    return widen(path, wide) && (DeleteFileW(wide) || failed());
}

bool filesystem_each(const char *folder, void (*take)(void *context, const char *name),
                     void *context) {
    char pattern[PATH], name[4 * MAX_PATH];
    WCHAR wide[PATH];
    WIN32_FIND_DATAW entry;
    if (snprintf(pattern, sizeof pattern, "%s/*", folder) >= PATH || !widen(pattern, wide))
        return false;
    HANDLE list = FindFirstFileW(wide, &entry);
    if (list == INVALID_HANDLE_VALUE) return failed();
    do {
        bool own = wcscmp(entry.cFileName, L".") == 0 || wcscmp(entry.cFileName, L"..") == 0;
        if (!own &&
            WideCharToMultiByte(CP_UTF8, 0, entry.cFileName, -1, name, sizeof name, NULL, NULL) > 0)
            take(context, name);
    } while (FindNextFileW(list, &entry));
    bool whole = GetLastError() == ERROR_NO_MORE_FILES || failed();
    FindClose(list);
    return whole;
}

bool filesystem_move(const char *from, const char *to) {
    WCHAR wide_from[PATH], wide_to[PATH];
    return widen(from, wide_from) && widen(to, wide_to) &&
           (MoveFileExW(wide_from, wide_to, 0) || failed());
}

/* ---- temporary files ---- */

/* Not shared: no other program can remove or rename it while it is open. */
int filesystem_create_temporary(const char *path) {
    return open_handle(path, GENERIC_WRITE | DELETE, FILE_SHARE_READ, CREATE_NEW, 0);
}

/* Renames an open file over another, which may be open in another program. Windows before 10 knows
 * only the second way, which fails as long as the other file is open. */
static bool rename_open(HANDLE handle, const WCHAR *path) {
    enum { REPLACE = 1, AT_ONCE = 2 }; /* FILE_RENAME_REPLACE_IF_EXISTS, ..._POSIX_SEMANTICS */
    const FILE_INFO_BY_HANDLE_CLASS rename_extended = (FILE_INFO_BY_HANDLE_CLASS)22;
    union {
        FILE_RENAME_INFO info;
        char space[sizeof(FILE_RENAME_INFO) + PATH * sizeof(WCHAR)];
    } rename = {.info = {.RootDirectory = NULL}};
    DWORD length = GetFullPathNameW(path, PATH, rename.info.FileName, NULL);
    if (length == 0 || length >= PATH) return false;
    rename.info.FileNameLength = length * (DWORD)sizeof(WCHAR);
    const DWORD flags = REPLACE | AT_ONCE;
    memcpy(&rename, &flags, sizeof flags); /* ReplaceIfExists, one byte, before Windows 10 */
    if (SetFileInformationByHandle(handle, rename_extended, &rename, sizeof rename)) return true;
    rename.info.ReplaceIfExists = TRUE;
    return SetFileInformationByHandle(handle, FileRenameInfo, &rename, sizeof rename);
}

bool filesystem_flush(int file) {
    return FlushFileBuffers(handle_of(file)) || failed();
}

bool filesystem_replace(int file, const char *temporary, const char *path) {
    WCHAR wide[PATH];
    int tries = 0;
    (void)temporary;
    if (!widen(path, wide)) return false;
    while (!rename_open(handle_of(file), wide)) {
        const DWORD why = GetLastError();
        const bool held = why == ERROR_ACCESS_DENIED || why == ERROR_SHARING_VIOLATION;
        if (!held || !wait_again(&tries)) return failed();
    }
    return true;
}

/* The file is removed when it is closed, even by the end of the process. */
void filesystem_abandon(int file, const char *temporary) {
    FILE_DISPOSITION_INFO remove = {.DeleteFile = TRUE};
    (void)temporary;
    SetFileInformationByHandle(handle_of(file), FileDispositionInfo, &remove, sizeof remove);
}

void filesystem_remove_unused(const char *path) {
    const FileStatus status = filesystem_look(path, false);
    if (status.kind == FILE_REGULAR && status.names == 1)
        filesystem_remove(path); /* fails while it is open */
}

/* ---- locks ---- */

LockResult filesystem_lock(int file, long *holder) {
    OVERLAPPED start = {.Offset = 0};
    *holder = 0;
    if (LockFileEx(handle_of(file), LOCKFILE_EXCLUSIVE_LOCK | LOCKFILE_FAIL_IMMEDIATELY, 0,
                   MAXDWORD, MAXDWORD, &start))
        return LOCK_TAKEN;
    DWORD why = GetLastError();
    return why == ERROR_LOCK_VIOLATION || why == ERROR_IO_PENDING ? LOCK_REFUSED : LOCK_UNSUPPORTED;
}
