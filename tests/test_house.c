/* test_house.c - the floors: programs -> model.h, data.h -> rungs -> layers.h -> kernels.h ->
 * base/. Nothing includes upward, and model/ and data/ never include each other. The plain ladder
 * is for readers and tests: nothing else includes it. */
#include "tests/support.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { FLOORS = 9 };

/* A folder, and the beginnings of what its files may include. */
static const struct {
    const char *folder;
    const char *allowed[FLOORS];
} floors[] = {
    {".",
     {"base/", "data/data.h", "model/model.h", "exchange/", "report/", "sampling/", "training/",
      "version.h"}},
    {"exchange", {"base/", "data/data.h", "model/model.h", "exchange/"}},
    {"sampling", {"base/", "data/data.h", "model/model.h", "sampling/"}},
    {"training",
     {"base/", "data/data.h", "exchange/", "model/model.h", "report/", "training/", "version.h"}},
    {"report", {"base/", "data/data.h", "model/model.h", "report/"}},
    {"model", {"base/", "model/"}},
    {"model/kernels", {"base/", "model/kernels/"}},
    {"model/plain", {"model/model.h", "model/plain/"}},
    {"data", {"base/", "data/"}},
    {"base", {"base/"}},
};

static bool is_source(const char *name) {
    size_t length = strlen(name);
    return length > 2 && name[length - 2] == '.' &&
           (name[length - 1] == 'c' || name[length - 1] == 'h');
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* Checks the quoted includes of one file; returns how many there are. */
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
        if (begins(included, "model/plain/") && strcmp(folder, "model/plain") != 0) fits = false;
        if (!fits) fail_msg("%s includes %s", path, included);
        count++;
    }
    fclose(file);
    return count;
}

static void test_floors(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
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

/* A rung sees run.h alone; layers see layers.h, kernels and each other's private headers. */
static void test_rungs(void **state) {
    (void)state;
    static const char *const run_only[FLOORS] = {"model/run.h"};
    static const char *const layers_only[FLOORS] = {"model/layers.h", "model/dropout.h",
                                                    "base/random.h"};
    static const char *const layers[] = {"embedding.c", "linear.c",     "mean.c",    "attention.c",
                                         "norm.c",      "activation.c", "dropout.c", "loss.c"};
    char name[64];
    for (int i = 0; model_name(i); i++) {
        snprintf(name, sizeof name, "%s.c", model_name(i));
        assert_int_equal(check_file("model", name, run_only), 1);
    }
    for (size_t i = 0; i < sizeof layers / sizeof *layers; i++)
        assert_true(check_file("model", layers[i], layers_only) >= 1);
}

/* The files of training/ from the request to the ladder: each may include those before it. */
static const char *const training[] = {
    "interruption", "preset", "request",     "recipe",     "files",   "sample", "log",
    "workers",      "sizes",  "plan",        "saving",     "display", "start",  "outputs",
    "budget",       "rung",   "report_data", "next_steps", "ladder",
};
enum { TRAINING = sizeof training / sizeof *training };

/* Training flows downward: what is asked for knows nothing of the plan, nor the plan of what runs.
 */
static void test_training(void **state) {
    (void)state;
    for (int i = 0; i < TRAINING; i++) {
        const char *endings[] = {"c", "h"};
        for (int e = 0; e < 2; e++) {
            char path[512], line[512], included[256];
            snprintf(path, sizeof path, "training/%s.%s", training[i], endings[e]);
            FILE *file = fopen(path, "r");
            assert_non_null(file);
            while (fgets(line, sizeof line, file)) {
                int place = 0;
                if (sscanf(line, " # include \"training/%255[^.].h\"", included) != 1) continue;
                while (place < TRAINING && strcmp(training[place], included) != 0) place++;
                if (place > i) fail_msg("%s includes %s", path, included);
            }
            fclose(file);
        }
    }
    DIR *folder = opendir("training");
    assert_non_null(folder);
    int files = 0;
    for (struct dirent *entry; (entry = readdir(folder));) files += is_source(entry->d_name);
    closedir(folder);
    assert_int_equal(files, 2 * TRAINING);
}

/* Every name that MPI gives out begins so; of the program's own files one has any. */
static void test_mpi(void **state) {
    (void)state;
    char path[512], line[512];
    int with = 0;
    for (size_t i = 0; i < sizeof floors / sizeof *floors; i++) {
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
            if (has && strcmp(path, "base/world_mpi.c") != 0) fail_msg("%s knows of MPI", path);
            with += has;
        }
        closedir(folder);
    }
    assert_int_equal(with, 1);
}

/* What returns errors neither prints nor exits. */
static void test_silence(void **state) {
    (void)state;
    static const char *const loud[] = {" printf(", "fprintf(stderr", "puts(",
                                       "perror(",  " exit(",         "abort("};
    static const char *const folders[] = {"model", "model/kernels", "model/plain", "data"};
    char path[512], line[512];
    for (size_t i = 0; i < sizeof folders / sizeof *folders; i++) {
        DIR *folder = opendir(folders[i]);
        assert_non_null(folder);
        for (struct dirent *entry; (entry = readdir(folder));) {
            if (!is_source(entry->d_name)) continue;
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

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_floors),   cmocka_unit_test(test_rungs),
        cmocka_unit_test(test_training), cmocka_unit_test(test_mpi),
        cmocka_unit_test(test_silence),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
