#include "tests/fuzz/fuzz.h"
#include "base/file.h"
#include "base/memory.h"
#include "tests/support.h"
#include "tests/system.h"

#include <dirent.h>

const char *fuzz_files(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

void fuzz_fail(const char *promise) {
    fprintf(stderr, "broken: %s\n", promise);
    abort();
}

void fuzz_replay(const char *folder, void (*harness)(const uint8_t *bytes, size_t length)) {
    DIR *entries = opendir(folder);
    int files = 0;
    assert_non_null(entries);
    harness((const uint8_t *)"", 0);
    keep_memory(); /* blocks that a harness keeps are no leak */
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (entry->d_name[0] == '.') continue;
        char path[512], *bytes;
        size_t length;
        snprintf(path, sizeof path, "%s/%s", folder, entry->d_name);
        assert_ok(file_read(path, &bytes, &length, &err), err);
        for (size_t cut = 0; cut <= length; cut++) harness((const uint8_t *)bytes, cut);
        memory_free(bytes);
        files++;
    }
    closedir(entries);
    assert_true(files > 0);
}
