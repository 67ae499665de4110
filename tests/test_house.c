/* test_house.c - the order of includes: programs/ -> tril.h, library/ -> the headers of model/ and
 * data.h -> engine -> rungs -> layers -> kernels -> base/. No file includes upward, and model/ and
 * data/ never include each other. tril.h is below all: model/ fills its records. Only readers and
 * tests use the plain ladder. */
#include "tests/support.h"

#include <dirent.h>
#include <unistd.h>

enum { FLOORS = 11 };

/* The headers of model/ for those who use models. */
#define MODEL \
    "model/model.h", "model/run.h", "model/generation.h", "model/counts.h", "model/ngram.h"
#define PROGRAMS "programs/common.h", "programs/run_files.h", "programs/texts.h"

/* A folder and the prefixes of the files that its files may include. */
static const struct {
    const char *folder;
    const char *allowed[FLOORS];
} floors[] = {
    {".", {"base/", "library/tril.h", "library/message.h", "programs/"}},
    {"programs", {"base/", "library/tril.h", "library/message.h", PROGRAMS}},
    {"programs/sample",
     {"base/", "library/tril.h", "library/message.h", "programs/report/", PROGRAMS,
      "programs/sample/"}},
    {"programs/train",
     {"base/", "library/tril.h", "library/message.h", "programs/report/", "programs/train/",
      PROGRAMS}},
    {"programs/report", {"base/", "library/tril.h", "programs/report/"}},
    {"library", {"base/", "data/data.h", "library/", MODEL, "model/rungs/rung.h"}},
    {"model", {"base/", "library/tril.h", "model/"}},
    {"model/engine",
     {"base/", "model/engine/", "model/rungs/rung.h", "model/layers/", "model/kernels/", MODEL}},
    {"model/rungs", {"model/rungs/rung.h", "model/layers/layers.h", "model/model.h"}},
    {"model/layers",
     {"base/", "model/layers/", "model/kernels/", "model/model.h", "model/ngram.h"}},
    {"model/kernels", {"base/", "model/kernels/"}},
    {"model/plain", {"model/model.h", "model/plain/"}},
    {"data", {"base/", "data/"}},
    {"base", {"base/"}},
    {"extras/formats",
     {"base/", "data/data.h", "library/", "model/model.h", "model/run.h", "model/rungs/rung.h",
      "extras/formats/"}},
    {"extras/page",
     {"base/", "library/tril.h", "library/message.h", "programs/common.h", "programs/report/",
      "programs/train/", "extras/page/"}},
    {"extras/web", {"base/", "library/tril.h", "programs/report/", "extras/page/", "extras/web/"}},
    {"extras/mpi", {"base/", "library/tril.h", "tests/"}},
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

/* Calls `check` with each line of a file. */
typedef void Check(const char *path, const char *line);
static void for_each_line_of(const char *path, Check *check) {
    char line[512];
    FILE *file = fopen(path, "r");
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) check(path, line);
    fclose(file);
}

/* The same with each source in a folder. Returns the number of files. */
static int for_each_line(const char *folder, Check *check) {
    int files = 0;
    if (is_missing(folder)) return 0;
    DIR *entries = opendir(folder);
    assert_non_null(entries);
    for (struct dirent *entry; (entry = readdir(entries));) {
        if (!is_source(entry->d_name)) continue;
        for_each_line_of(formatted("%s/%s", folder, entry->d_name), check);
        files++;
    }
    closedir(entries);
    return files;
}

/* Reads the name of an included file of the project. */
static bool reads_include(const char *line, char included[256]) {
    return sscanf(line, " # include \"%255[^\"]\"", included) == 1;
}

/* Returns true if a folder uses models and other processes through tril.h alone. */
static bool through_library(const char *folder) {
    static const char *const folders[] = {"programs/train", "programs/sample", "extras/web",
                                          "programs/report", "extras/page"};
    bool through = strcmp(folder, ".") == 0;
    for (int i = 0; i < COUNT(folders); i++) through = through || strcmp(folder, folders[i]) == 0;
    return through;
}

static const char *floor_folder, *const *floor_allowed; /* of the next lines */
static int includes;

static void check_include(const char *path, const char *line) {
    char included[256];
    bool fits = false;
    if (!reads_include(line, included)) return;
    for (int i = 0; i < FLOORS && floor_allowed[i]; i++)
        fits = fits || begins(included, floor_allowed[i]);
    if (through_library(floor_folder) && begins(included, "base/world.h")) fits = false;
    const char *other = strcmp(path, "./train.c") == 0 ? "programs/sample/" : "programs/train/";
    if (strcmp(floor_folder, ".") == 0 && begins(included, other)) fits = false;
    if (begins(included, "model/plain/") && strcmp(floor_folder, "model/plain") != 0) fits = false;
    if (!fits) fail_msg("%s includes %s", path, included);
    includes++;
}

TEST(floors) {
    for (int i = 0; i < COUNT(floors); i++) {
        floor_folder = floors[i].folder;
        floor_allowed = floors[i].allowed;
        includes = 0;
        for_each_line(floor_folder, check_include);
        assert_true(includes > 0 || is_missing(floor_folder));
    }
    floor_allowed = (const char *[FLOORS]){0};
    for_each_line_of("library/tril.h", check_include);
}

/* Compares the name of a file, once, with those of all files before. */
static void check_name(const char *path, const char *line) {
    static char names[512][64], last[256];
    static int count;
    const char *name = strrchr(path, '/') + 1;
    (void)line;
    if (strcmp(path, last) == 0) return;
    for (int i = 0; i < count; i++)
        if (strcmp(names[i], name) == 0) fail_msg("%s: another file has this name", path);
    snprintf(names[count++], sizeof *names, "%s", name);
    snprintf(last, sizeof last, "%s", path);
}

/* No two files have one name. */
TEST(names) {
    for (int i = 0; i < COUNT(floors); i++) for_each_line(floors[i].folder, check_name);
}

/* Returns true if `path` includes `other`. */
static bool does_include(const char *path, const char *other) {
    char line[512], included[256];
    bool found = false;
    FILE *file = fopen(path, "r");
    while (file && fgets(line, sizeof line, file))
        found = found || (reads_include(line, included) && strcmp(included, other) == 0);
    if (file) fclose(file);
    return found;
}

static void check_circle(const char *path, const char *line) {
    char included[256];
    if (!strstr(path, ".h") || !reads_include(line, included)) return;
    if (does_include(included, path)) fail_msg("%s and %s include each other", path, included);
    includes++;
}

/* No two headers include each other. */
TEST(circles) {
    includes = 0;
    for (int i = 0; i < COUNT(floors); i++) for_each_line(floors[i].folder, check_circle);
    assert_true(includes > 20);
}

static void check_words(const char *path, const char *line) {
    static const char *const words[] = {"thread",  "barrier", "offset", "cache",  "pack",
                                        "scratch", "process", "memory", "team",   "kernel",
                                        "simd",    "avx",     "amx",    "malloc", "Thread"};
    for (int i = 0; i < COUNT(words); i++)
        if (strstr(line, words[i])) fail_msg("%s says '%s': %s", path, words[i], line);
}

/* A rung includes only rung.h, and has no words of the engine. */
TEST(rungs) {
    static const char *const rung_only[FLOORS] = {"model/rungs/rung.h"};
    floor_folder = "model/rungs";
    floor_allowed = rung_only;
    for (int i = 0; model_name(i); i++) {
        const char *path = formatted("model/rungs/%s.c", model_name(i));
        includes = 0;
        for_each_line_of(path, check_include);
        assert_int_equal(includes, 1);
        for_each_line_of(path, check_words);
    }
}

/* The files of programs/train/ from command line to ladder. Each includes only those before it. */
static const char *const training[] = {
    "claims",  "interruption", "command_line", "course", "plan",   "saved",   "verdict",
    "display", "planning",     "outputs",      "budget", "report", "trainer", "ladder",
};

static int place_in_training(const char *name, size_t length) {
    int place = 0;
    while (place < COUNT(training) &&
           (strlen(training[place]) != length || strncmp(training[place], name, length) != 0))
        place++;
    return place;
}

static void check_training(const char *path, const char *line) {
    static const char folder[] = "programs/train/";
    char included[256];
    if (!reads_include(line, included) || !begins(included, folder)) return;
    const char *own = path + strlen(folder), *other = included + strlen(folder);
    if (begins(own, "no_")) own += strlen("no_"); /* a stand-in of an extra */
    int place = place_in_training(own, strcspn(own, "."));
    assert_true(place < COUNT(training));
    if (place_in_training(other, strcspn(other, ".")) > place)
        fail_msg("%s includes %s", path, included);
}

/* Training flows downward, from the command line to the ladder. */
TEST(training) {
    assert_int_equal(for_each_line("programs/train", check_training), 2 * COUNT(training));
}

static bool found_mpi;

/* Every name of MPI has this prefix. Only one file of the program may use it. */
static void check_mpi(const char *path, const char *line) {
    if (!strstr(line, "<mpi.h>") && !strstr(line, "MPI_Comm")) return;
    if (strcmp(path, "extras/mpi/world_mpi.c") != 0) fail_msg("%s knows of MPI", path);
    found_mpi = true;
}

TEST(mpi) {
    for (int i = 0; i < COUNT(floors); i++) for_each_line(floors[i].folder, check_mpi);
    assert_int_equal(found_mpi, !is_missing("extras/mpi"));
}

static void check_silence(const char *path, const char *line) {
    static const char *const loud[] = {" printf(", "fprintf(stderr", "puts(",
                                       "perror(",  " exit(",         "abort("};
    for (int i = 0; i < COUNT(loud); i++)
        if (strstr(line, loud[i]) && !strstr(line, "fputs(")) fail_msg("%s: %s", path, line);
    if (strstr(line, "tril_") && !begins(path, "library/")) fail_msg("%s: %s", path, line);
}

/* Code that returns errors neither prints nor exits. Below the library, none calls it. */
TEST(silence) {
    static const char *const folders[] = {"model",        "model/engine",  "model/rungs",
                                          "model/layers", "model/kernels", "model/plain",
                                          "data",         "library"};
    for (int i = 0; i < COUNT(folders); i++)
        assert_true(for_each_line(folders[i], check_silence) > 0);
}
