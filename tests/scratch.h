/* scratch.h - helpers for tests of files: a directory that is removed when the program ends. */
#ifndef TRIL_SCRATCH_H
#define TRIL_SCRATCH_H

#include "tests/support.h"
#include "tests/system.h"
#include "base/filesystem.h"
#include "base/random.h"

#include <dirent.h>
#include <fcntl.h>
#include <unistd.h>

enum { SCRATCH_PATH = 1024 };

static inline void scratch_remove(const char *path) {
    char inner[SCRATCH_PATH];
    DIR *directory = remove(path) == 0 ? NULL : opendir(path);
    if (!directory) return;
    for (struct dirent *entry; (entry = readdir(directory));) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0) continue;
        if (snprintf(inner, sizeof inner, "%s/%s", path, entry->d_name) < SCRATCH_PATH)
            scratch_remove(inner);
    }
    closedir(directory);
    rmdir(path);
}

static char scratch_path[SCRATCH_PATH / 2];

static inline void scratch_end(void) {
    scratch_remove(scratch_path);
}

/* The directory, which the first call makes. */
static inline const char *scratch_directory(void) {
    if (*scratch_path) return scratch_path;
    assert_true(system_make_scratch(scratch_path, sizeof scratch_path));
    atexit(scratch_end);
    return scratch_path;
}

/* The path of `name` in the directory. Valid until the fifth call from now. */
static inline const char *scratch(const char *name) {
    static char paths[5][SCRATCH_PATH];
    static int next;
    char *path = paths[next++ % 5];
    int length = snprintf(path, SCRATCH_PATH, "%s/%s", scratch_directory(), name);
    assert_true(length < SCRATCH_PATH);
    return path;
}

/* Writes a file with stdio, so that a test of reading does not depend on file_write. */
static inline const char *scratch_put(const char *name, const void *bytes, size_t length) {
    const char *path = scratch(name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, length, file), length);
    assert_int_equal(fclose(file), 0);
    return path;
}

/* Fails the test unless the file contains exactly these bytes. */
static inline void scratch_expect(const char *name, const void *bytes, size_t length) {
    FILE *file = fopen(scratch(name), "rb");
    char *found = scrap(length + 1, 1);
    assert_non_null(file);
    assert_int_equal(fread(found, 1, length + 1, file), length);
    assert_memory_equal(found, bytes, length);
    fclose(file);
}

static inline bool scratch_has(const char *name) {
    return file_kind(scratch(name)) != FILE_NONE;
}

/* The number of files in a folder; -1 if there is no such folder. */
static inline int scratch_count(const char *folder) {
    int count = -2; /* . and .. */
    DIR *directory = opendir(scratch(folder));
    if (!directory) return -1;
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

/* Writes a text of random letters, of which there are 2^bits, at most eight. */
static inline void scratch_random(const char *name, size_t length, uint64_t seed, int bits) {
    char *text = scrap(length, 1);
    for (size_t i = 0; i < length; i++) text[i] = "abcdefgh"[random_bits(seed, i) >> (64 - bits)];
    scratch_put(name, text, length);
}

/* Returns true if file_write left a temporary file in this folder. */
static inline bool scratch_has_temporary(const char *folder) {
    bool found = false;
    DIR *directory = opendir(scratch(folder));
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory));)
        if (strncmp(entry->d_name, ".tril-", 6) == 0 && strstr(entry->d_name, ".tmp")) found = true;
    closedir(directory);
    return found;
}

/* Starts a process that writes a file into a named pipe. */
static inline Process write_pipe(const char *pipe, const char *file) {
    char shell[] = "sh", option[] = "-c";
    char *words[] = {shell, option, formatted("cat '%s' >'%s'", file, pipe), NULL};
    return start_process("/bin/sh", words, NULL, STDOUT_FILENO, "/dev/null");
}

#endif
