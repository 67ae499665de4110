/* test_house.c - the order of includes: programs/ -> tril.h, library/ -> the headers of model/ and
 * data.h -> engine -> rungs -> layers -> kernels -> base/. No file includes upward, and model/ and
 * data/ never include each other. Only readers and tests use the plain ladder. */
#include "tests/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FLOORS = 11 };

/* The headers of model/ for those who use models. */
#define MODEL                                                                               \
    "model/model.h", "model/run.h", "model/view.h", "model/generation.h", "model/counts.h", \
        "model/ngram.h"

/* A folder and the prefixes of what its files may include. */
static const struct {
    const char *folder;
    const char *allowed[FLOORS];
} floors[] = {
    {".", {"base/", "library/tril.h", "library/message.h", "programs/", "library/version.h"}},
    {"programs", {"base/", "library/version.h", "programs/program.h"}},
    {"programs/sample",
     {"base/", "library/tril.h", "library/message.h", "programs/report/", "programs/sample/"}},
    {"programs/train",
     {"base/", "library/tril.h", "library/message.h", "library/version.h", "programs/report/",
      "programs/train/"}},
    {"programs/report", {"base/", "library/tril.h", "programs/report/"}},
    {"library", {"base/", "data/data.h", "library/", MODEL, "model/rungs/rung.h"}},
    {"model", {"base/", "model/"}},
    {"model/engine",
     {"base/", "model/engine/", "model/rungs/rung.h", "model/layers/", "model/kernels/", MODEL}},
    {"model/rungs", {"model/rungs/rung.h", "model/layers/layers.h", "model/model.h"}},
    {"model/layers",
     {"base/", "model/layers/", "model/kernels/", "model/model.h", "model/ngram.h",
      "model/view.h"}},
    {"model/kernels", {"base/", "model/kernels/"}},
    {"model/plain", {"model/model.h", "model/plain/"}},
    {"data", {"base/", "data/"}},
    {"base", {"base/"}},
    {"extras/formats",
     {"base/", "data/data.h", "library/", "model/model.h", "model/run.h", "model/rungs/rung.h",
      "extras/formats/"}},
    {"extras/page",
     {"base/", "library/tril.h", "library/message.h", "programs/report/", "programs/train/",
      "extras/page/"}},
    {"extras/web", {"base/", "library/tril.h", "programs/report/", "extras/page/", "extras/web/"}},
    {"extras/mpi", {"base/", "library/tril.h", "library/version.h", "tests/"}},
    {"extras/windows", {"base/"}},
};

/* The core is tested without extras/, too. */
static bool is_missing(const char *folder) {
    return strncmp(folder, "extras/", 7) == 0 && access("extras", F_OK) != 0;
}

static bool is_source(const char *name) {
    size_t length = strlen(name);
    return length > 2 && name[length - 2] == '.' &&
           (name[length - 1] == 'c' || name[length - 1] == 'h');
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Does the file use models through tril.h alone, which also says what processes share? */
static bool through_library(const char *folder) {
    static const char *const folders[] = {"programs/train", "programs/sample", "extras/web",
                                          "programs/report", "extras/page"};
    bool through = strcmp(folder, ".") == 0;
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++)
        through = through || strcmp(folder, folders[i]) == 0;
    return through;
}

/* Checks the quoted includes of one file. Returns their number. */
static int check_file(const char *folder, const char *name, const char *const allowed[FLOORS]) {
    char path[512], line[512], included[256];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    int count = 0;
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, " # include \"%255[^\"]\"", included) != 1) continue;
        bool fits = false;
        for (int i = 0; i < FLOORS && allowed[i]; i++) fits = fits || begins(included, allowed[i]);
        if (through_library(folder) && begins(included, "base/world.h")) fits = false;
        if (begins(included, "model/plain/") && strcmp(folder, "model/plain") != 0) fits = false;
        if (!fits) fail_msg("%s includes %s", path, included);
        count++;
    }
    fclose(file);
    return count;
}

TEST(floors) {
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        if (is_missing(floors[i].folder)) continue;
        DIR *folder = opendir(floors[i].folder);
        assert_non_null(folder);
        int includes = 0;
        for (struct dirent *entry; (entry = readdir(folder));)
            if (is_source(entry->d_name))
                includes += check_file(floors[i].folder, entry->d_name, floors[i].allowed);
        closedir(folder);
        assert_true(includes > 0);
    }
}

/* Does `path` include `other`? */
static bool includes(const char *path, const char *other) {
    char line[512], included[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        found = found || (sscanf(line, " # include \"%255[^\"]\"", included) == 1 &&
                          strcmp(included, other) == 0);
    if (file) fclose(file);
    return found;
}

/* What the programs do with a model, they do through tril.h; and so do programs/ and
 * extras/web/ (the floors). */
TEST(library) {
    static const char *const sample[FLOORS] = {"base/", "library/tril.h", "library/message.h",
                                               "programs/sample/", "programs/program.h"};
    static const char *const train[FLOORS] = {"base/", "library/tril.h", "library/message.h",
                                              "programs/train/", "programs/program.h"};
    assert_true(check_file(".", "sample.c", sample) > 0);
    assert_true(check_file(".", "train.c", train) > 0);
}

/* No two headers include each other. */
TEST(circles) {
    char path[512], line[512], included[256];
    int checked = 0;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        if (is_missing(floors[i].folder)) continue;
        DIR *folder = opendir(floors[i].folder);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (!is_source(entry->d_name) || !strstr(entry->d_name, ".h")) continue;
            snprintf(path, sizeof path, "%s/%s", floors[i].folder, entry->d_name);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            while (fgets(line, sizeof line, file)) {
                if (sscanf(line, " # include \"%255[^\"]\"", included) != 1) continue;
                if (includes(included, path))
                    fail_msg("%s and %s include each other", path, included);
                checked++;
            }
            fclose(file);
        }
        closedir(folder);
    }
    assert_true(checked > 20);
}

/* A rung includes only rung.h, and has no words of the engine. */
TEST(rungs) {
    static const char *const rung_only[FLOORS] = {"model/rungs/rung.h"};
    static const char *const words[] = {"thread",  "barrier", "offset", "cache",  "pack",
                                        "scratch", "process", "memory", "team",   "kernel",
                                        "simd",    "avx",     "amx",    "malloc", "Thread"};
    char path[64], line[512];
    for (int i = 0; model_name(i); i++) {
        snprintf(path, sizeof path, "%s.c", model_name(i));
        assert_int_equal(check_file("model/rungs", path, rung_only), 1);
        snprintf(path, sizeof path, "model/rungs/%s.c", model_name(i));
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        while (fgets(line, sizeof line, file))
            for (size_t j = 0; j < sizeof words / sizeof *words; j++)
                if (strstr(line, words[j])) fail_msg("%s says '%s': %s", path, words[j], line);
        fclose(file);
    }
}

/* The files of programs/train/ from the command line to the ladder. Each may include only those
 * before it. */
static const char *const training[] = {
    "claims",  "interruption", "command_line", "course", "plan",   "saved", "verdict",
    "display", "planning",     "outputs",      "budget", "report", "rung",  "ladder",
};
enum { TRAINING = sizeof training / sizeof *training };

/* Training flows downward: the command line does not know the plan, and the plan does not know what
 * runs it. */
TEST(training) {
    for (int i = 0; i < TRAINING; i++) {
        const char *endings[] = {"c", "h"};
        for (int e = 0; e < 2; e++) {
            char path[512], line[512], included[256];
            snprintf(path, sizeof path, "programs/train/%s.%s", training[i], endings[e]);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            while (fgets(line, sizeof line, file)) {
                int place = 0;
                if (sscanf(line, " # include \"programs/train/%255[^.].h\"", included) != 1)
                    continue;
                while (place < TRAINING && strcmp(training[place], included) != 0) place++;
                if (place > i) fail_msg("%s includes %s", path, included);
            }
            fclose(file);
        }
    }
    DIR *folder = opendir("programs/train");
    assert_non_null(folder);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) files += is_source(entry->d_name);
    closedir(folder);
    assert_int_equal(files, 2 * TRAINING);
}

/* Every name of MPI has this prefix. Only one file of the program may use it. */
TEST(mpi) {
    char path[512], line[512];
    int with = 0;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
        if (is_missing(floors[i].folder)) continue;
        DIR *folder = opendir(floors[i].folder);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (!is_source(entry->d_name)) continue;
            snprintf(path, sizeof path, "%s/%s", floors[i].folder, entry->d_name);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            bool has = false;
            while (fgets(line, sizeof line, file))
                has = has || strstr(line, "<mpi.h>") || strstr(line, "MPI_Comm");
            fclose(file);
            if (has && strcmp(path, "extras/mpi/world_mpi.c") != 0)
                fail_msg("%s knows of MPI", path);
            with += has;
        }
        closedir(folder);
    }
    assert_int_equal(with, !is_missing("extras/mpi"));
}

/* Code that returns errors neither prints nor exits. */
TEST(silence) {
    static const char *const loud[] = {" printf(", "fprintf(stderr", "puts(",
                                       "perror(",  " exit(",         "abort("};
    static const char *const folders[] = {"model",        "model/engine",  "model/rungs",
                                          "model/layers", "model/kernels", "model/plain",
                                          "data",         "library"};
    char path[512], line[512];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *folder = opendir(folders[i]);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            /* the example for users of the library is a program */
            if (!is_source(entry->d_name) || strcmp(entry->d_name, "example.c") == 0) continue;
            snprintf(path, sizeof path, "%s/%s", folders[i], entry->d_name);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            while (fgets(line, sizeof line, file))
                for (size_t j = 0; j < sizeof loud / sizeof *loud; j++)
                    if (strstr(line, loud[j]) && !strstr(line, "fputs("))
                        fail_msg("%s: %s", path, line);
            fclose(file);
        }
        closedir(folder);
    }
}
