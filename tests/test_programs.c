/* test_programs.c - the two programs from outside, as a person uses them: what they print, which
 * files they leave, how they end. Only tiny models are trained; what they write is gibberish, but
 * gibberish of the right length. TRIL_PROGRAMS names the directory of the programs. In the words
 * of a command, '@' stands for a temporary directory that is gone at the end. */
#include "tests/support.h"
#include "base/random.h"
#include "base/utf8.h"
#include "version.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { MAX_WORDS = 64, LIMIT = 20 }; /* a program's words; the seconds that it may run */

/* The play that comes with the project. */
#define PLAY "data/sample.txt"

/* Sizes that train in the blink of an eye. Of an option given twice the last counts. */
#define TINY                                                                                   \
    "--layers", "1", "--width", "16", "--heads", "2", "--context", "16", "--batch", "4", "-j", \
        "2", "--steps", "40", "--eval-every", "20"

static char place[512]; /* the temporary directory */

/* What the last command did. */
static struct {
    int status; /* the exit code; of a program ended by a signal, minus its number */
    char *out, *err;
    size_t length; /* of `out`, which may hold zero bytes */
} ran;

static char *kept; /* an earlier command's output */

/* ---- files ---- */

/* A path in the temporary directory; lasts for many more calls. */
static const char *at(const char *name) {
    static char paths[MAX_WORDS][1024];
    static int next;
    char *path = paths[next++ % MAX_WORDS];
    snprintf(path, sizeof paths[0], "%s/%s", place, name);
    return path;
}

static bool exists(const char *path) {
    struct stat status;
    return stat(path, &status) == 0;
}

/* The whole of a file, a zero byte after it. The caller frees it. */
static char *slurp(const char *path, size_t *length) {
    FILE *in = fopen(path, "rb");
    if (!in) fail_msg("%s: %s", path, strerror(errno));
    assert_int_equal(fseek(in, 0, SEEK_END), 0);
    *length = (size_t)ftell(in);
    rewind(in);
    char *bytes = calloc(*length + 1, 1);
    assert_non_null(bytes);
    assert_true(fread(bytes, 1, *length, in) == *length);
    fclose(in);
    return bytes;
}

static void spill(const char *path, const char *bytes, size_t length) {
    FILE *out = fopen(path, "wb");
    if (!out) fail_msg("%s: %s", path, strerror(errno));
    assert_true(fwrite(bytes, 1, length, out) == length);
    assert_int_equal(fclose(out), 0);
}

static int files_in(const char *path) {
    DIR *directory = opendir(path);
    int count = 0;
    if (!directory) fail_msg("%s: %s", path, strerror(errno));
    for (const struct dirent *entry; (entry = readdir(directory));) count += *entry->d_name != '.';
    closedir(directory);
    return count;
}

/* ---- commands ---- */

/* Starts `train`, `sample` or a program at a path; its standard output goes to `out`. */
static pid_t start(const char *const *words, int out) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) return child;
    char *argv[MAX_WORDS] = {0}, program[1024];
    const char *programs = getenv("TRIL_PROGRAMS");
    snprintf(program, sizeof program, "%s/%s", programs ? programs : "build/test", words[0]);
    argv[0] = program;
    for (int i = 1; words[i] && i < MAX_WORDS - 1; i++)
        argv[i] = strdup(*words[i] == '@' ? at(words[i] + 1) : words[i]);
    int err = open(at("stderr"), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int in = open("/dev/null", O_RDONLY);
    if (dup2(in, 0) < 0 || dup2(out, 1) < 0 || dup2(err, 2) < 0) _exit(127);
    signal(SIGPIPE, SIG_DFL); /* whoever runs the tests may have ignored it */
    alarm(LIMIT);             /* outlives exec, and ends the program */
    execv(program, argv);
    _exit(127);
}

/* Waits for the end of a command whose output, if any, is in the file "stdout". */
static void finish(pid_t child) {
    int status;
    while (waitpid(child, &status, 0) < 0) assert_int_equal(errno, EINTR);
    free(ran.out);
    free(ran.err);
    size_t length;
    ran.out = slurp(at("stdout"), &ran.length);
    ran.err = slurp(at("stderr"), &length);
    ran.status = WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
    if (ran.status == -SIGALRM) fail_msg("still running after %d seconds", LIMIT);
    if (ran.status == 127) fail_msg("TRIL_PROGRAMS holds no such program");
}

static int open_output(const char *path) {
    int out = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    if (out < 0) fail_msg("%s: %s", path, strerror(errno));
    return out;
}

static void run_words(const char *const *words) {
    int out = open_output(at("stdout"));
    pid_t child = start(words, out);
    close(out);
    finish(child);
}

/* The same, but it must go well and without a complaint. */
static void do_words(const char *const *words, const char *file, int line) {
    run_words(words);
    if (ran.status == 0 && *ran.err == 0) return;
    print_error("%s: status %d: %s\n", words[0], ran.status, ran.err);
    _fail(file, line);
}

#define WORDS(...)  ((const char *const[]){__VA_ARGS__, NULL})
#define train(...)  do_words(WORDS("train", TINY, __VA_ARGS__), __FILE__, __LINE__)
#define sample(...) do_words(WORDS("sample", __VA_ARGS__), __FILE__, __LINE__)

/* Puts the output of the last command aside, to be compared with that of the next. */
static void keep(void) {
    free(kept);
    kept = strdup(ran.out);
}

static bool begins(const char *text, const char *with) {
    return strncmp(text, with, strlen(with)) == 0;
}

/* The text after the first `what` in the last output; the test fails if there is none. */
static const char *after(const char *what) {
    const char *found = strstr(ran.out, what);
    if (!found) fail_msg("no '%s' in:\n%s", what, ran.out);
    return found + strlen(what);
}

/* ---- what the programs print ---- */

/* 1,234,567 as a number; *end is what follows. */
static size_t ungrouped(const char *text, const char **end) {
    size_t number = 0;
    for (; (*text >= '0' && *text <= '9') || *text == ','; text++)
        if (*text != ',') number = 10 * number + (size_t)(*text - '0');
    *end = text;
    return number;
}

static const char heading[] =
    "\nmodel             parameters     train  validation  bits/char  seconds\n";

typedef struct {
    size_t parameters;
    double train, validation, bits;
} Row;

static bool find_row(const char *name, Row *row) {
    char start_of_line[32], parameters[32], seconds[32];
    const char *end;
    snprintf(start_of_line, sizeof start_of_line, "\n%-16s  ", name);
    const char *line = strstr(after(heading) - 1, start_of_line);
    if (!line) return false;
    if (sscanf(line + strlen(start_of_line), "%31s %lf %lf %lf %31s", parameters, &row->train,
               &row->validation, &row->bits, seconds) != 5)
        fail_msg("not a row of the table: %s", line);
    row->parameters = ungrouped(parameters, &end);
    bool counted = strcmp(parameters, "-") == 0;
    if (counted != (strcmp(seconds, "-") == 0) || (!counted && (*end || !row->parameters)))
        fail_msg("%s: parameters '%s', seconds '%s'", name, parameters, seconds);
    return true;
}

/* A row of the table, its figures checked. */
static Row row_of(const char *name) {
    Row row;
    if (!find_row(name, &row)) fail_msg("no row '%s' in:\n%s", name, ran.out);
    assert_true(row.train > 0 && row.validation > 0);
    assert_near(row.bits, row.validation / log(2.0), 6e-4);
    return row;
}

/* The row of a model that has learned something since ln V. */
static Row learned(const char *name) {
    Row row = row_of(name), uniform = row_of("uniform");
    assert_true(row.train < uniform.train - 0.02 && row.validation < uniform.validation - 0.02);
    return row;
}

/* The characters that train and validate, from the first line. */
static void split_of(size_t *count_train, size_t *count_validate) {
    const char *line = strstr(ran.out, " distinct; ");
    assert_non_null(line);
    *count_train = ungrouped(line + strlen(" distinct; "), &line);
    assert_true(begins(line, " train, "));
    *count_validate = ungrouped(line + strlen(" train, "), &line);
    assert_true(begins(line, " validate\n"));
}

/* Every line of a log; returns the lowest val_loss. TINY has 64 characters in a step. */
static double check_log(const char *path, int steps, int every) {
    size_t length;
    char *text = slurp(path, &length);
    const char *head = "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n";
    double lowest = INFINITY, loss, before = 0;
    assert_true(begins(text, head));
    int step = 0;
    for (char *line = strtok(text + strlen(head), "\n"); line; line = strtok(NULL, "\n")) {
        double number[8];
        char *field = line;
        step++;
        for (int i = 0; i < 8; i++) {
            char *end;
            number[i] = strtod(field, &end);
            bool empty = i == 5 && step % every != 0 && step != steps;
            if ((end == field) != empty || *end != (i < 7 ? ',' : 0))
                fail_msg("%s: field %d of '%s'", path, i + 1, line);
            field = end + 1;
            if (i == 5 && !empty) lowest = fmin(lowest, number[5]);
        }
        assert_true(number[0] == step && number[1] == 64 * step && number[2] >= before);
        assert_true(number[3] > 0 && number[6] > 0 && number[7] > 0);
        before = number[2];
        loss = number[4];
        assert_true(loss > 0 && loss < 6);
    }
    assert_int_equal(step, steps);
    free(text);
    return lowest;
}

/* The characters of a text, which must be UTF-8. */
static size_t characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; count++) {
        uint32_t code;
        int taken = utf8_decode(text + i, length - i, &code);
        if (taken <= 0) fail_msg("byte %zu is not valid UTF-8", i);
        i += (size_t)taken;
    }
    return count;
}

/* ---- training ---- */

static void test_training(void **state) {
    (void)state;
    size_t length, count_train, count_validate, parameters;
    char *play = slurp(PLAY, &length), hint[1024];
    train("-o", "@new/deep/model.safetensors", PLAY);
    split_of(&count_train, &count_validate);
    assert_true(count_train + count_validate == length && count_train == length * 9 / 10);

    /* The closed forms, counted once more. */
    size_t seen[256] = {0}, V = 0;
    double entropy = 0;
    for (size_t i = 0; i < length; i++) V += seen[(unsigned char)play[i]]++ == 0;
    memset(seen, 0, sizeof seen);
    for (size_t i = 0; i < count_train; i++) seen[(unsigned char)play[i]]++;
    for (int i = 0; i < 256; i++)
        if (seen[i]) entropy -= (double)seen[i] * log((double)seen[i] / (double)count_train);
    assert_near(row_of("uniform").train, log((double)V), 1e-4);
    assert_near(row_of("uniform").validation, log((double)V), 1e-4);
    assert_near(row_of("counted unigram").train, entropy / (double)count_train, 1e-4);
    assert_true(row_of("counted bigram").validation < row_of("counted unigram").validation);
    free(play);

    assert_int_equal(files_in(at("new/deep")), 4);
    assert_near(check_log(at("new/deep/model.csv"), 40, 20), learned("gpt").validation, 1e-4);
    assert_near(check_log(at("new/deep/bigram.csv"), 40, 20), learned("bigram").validation, 1e-4);
    snprintf(hint, sizeof hint, "\n\nTo read what it writes:  ./sample -n 500 %s\n",
             at("new/deep/model.safetensors"));
    assert_string_equal(after(hint), "");
    parameters = row_of("gpt").parameters;
    assert_int_equal(row_of("bigram").parameters, V * V);
    sample("--info", "@new/deep/bigram.safetensors");
    after("model            bigram\n");
    sample("--info", "@new/deep/model.safetensors");
    assert_int_equal(strtoul(after("\nparameters "), NULL, 10), parameters);
}

static void test_choice_of_model(void **state) {
    (void)state;
    Row row;
    train("-m", "bigram", "-o", "@choice/b.safetensors", PLAY);
    learned("bigram");
    assert_false(find_row("gpt", &row));
    after("./sample -n 500 ");
    assert_int_equal(files_in(at("choice")), 2);
    train("-m", "head", "-o", "@choice/h.safetensors", "--log", "@choice/steps", PLAY);
    learned("bigram");
    learned("head");
    assert_false(find_row("multihead", &row) || find_row("gpt", &row));
    assert_int_equal(files_in(at("choice")), 6);
    check_log(at("choice/steps"), 40, 20);
    assert_false(exists(at("choice/h.csv")));
}

static void test_ladder(void **state) {
    (void)state;
    static const char *const names[] = {
        "uniform", "counted unigram", "counted bigram", "bigram", "average", "head", "multihead",
        "gpt"};
    size_t length;
    train("--ladder", "-o", "@ladder/model.safetensors", PLAY);
    after(at("ladder/ladder.csv"));
    char *text = slurp(at("ladder/ladder.csv"), &length), *line = text;
    const char *head = "model,parameters,train_loss,val_loss,bits_per_char,seconds\n";
    assert_true(begins(line, head));
    line += strlen(head);
    for (int i = 0; i < 8; i++) {
        char name[32];
        unsigned long parameters;
        double numbers[3], seconds;
        int taken = 0;
        sscanf(line, "%31[^,],%lu,%lf,%lf,%lf,%lf\n%n", name, &parameters, &numbers[0], &numbers[1],
               &numbers[2], &seconds, &taken);
        assert_true(taken > 0);
        Row row = i < 3 ? row_of(names[i]) : learned(names[i]);
        assert_string_equal(name, names[i]);
        assert_true(parameters == row.parameters && seconds >= 0 && seconds < LIMIT);
        assert_near(numbers[0], row.train, 1e-4);
        assert_near(numbers[1], row.validation, 1e-4);
        assert_near(numbers[2], row.validation / log(2.0), 2e-4);
        line += taken;
    }
    assert_string_equal(line, "");
    free(text);
    assert_int_equal(files_in(at("ladder")), 11);
    sample("-n", "5", "@ladder/multihead.safetensors");
}

/* Of a quiet run nothing is to be seen but the table and how to go on. */
static void test_quiet(void **state) {
    (void)state;
    train("-q", "-o", "@quiet.safetensors", PLAY);
    learned("gpt");
    assert_true(begins(ran.out, heading));
    int lines = 0;
    for (const char *c = ran.out; *c; c++) lines += *c == '\n' && c[1] != '\n';
    assert_int_equal(lines, 1 + 5 + 1 + 1); /* also the empty first line, and the hint */
}

static void test_bytes(void **state) {
    (void)state;
    char noise[2000];
    for (size_t i = 0; i < sizeof noise; i++) noise[i] = (char)(random_bits(3, i) >> 40);
    spill(at("noise"), noise, sizeof noise);
    train("--bytes", "-o", "@noise.safetensors", "@noise");
    after(": 2,000 characters, 256 distinct; 1,800 train, 200 validate\n");
    assert_near(row_of("uniform").validation, log(256.0), 1e-4);
    assert_true(row_of("gpt").validation < log(256.0) + 0.2);
    sample("--score", "@noise", "@noise.safetensors");
    after("characters 2000\n");
}

/* The tensors of a checkpoint, without the header, which also tells the seed. */
static char *weights_of(const char *path, size_t *length) {
    char *bytes = slurp(path, length);
    uint64_t header;
    assert_true(*length > sizeof header);
    memcpy(&header, bytes, sizeof header);
    assert_true(header < *length - sizeof header);
    *length -= sizeof header + (size_t)header;
    memmove(bytes, bytes + sizeof header + header, *length);
    return bytes;
}

static void test_threads_and_seeds(void **state) {
    (void)state;
    static const struct {
        const char *threads, *seed;
    } runs[] = {{"1", "7"}, {"2", "7"}, {"3", "7"}, {"2", "7"}, {"1", "8"}};
    size_t first_length, length;
    char *first = NULL;
    for (size_t i = 0; i < 5; i++) {
        train("-d", "0.1", "-j", runs[i].threads, "--seed", runs[i].seed, "-o", "@t.safetensors",
              PLAY);
        if (i == 0) first = slurp(at("t.safetensors"), &first_length);
        char *again = slurp(at("t.safetensors"), &length);
        bool same = length == first_length && memcmp(first, again, length) == 0;
        if (same != (i < 4)) fail_msg("-j %s --seed %s", runs[i].threads, runs[i].seed);
        free(again);
    }
    free(first);
    first = weights_of(at("t.safetensors"), &first_length);
    train("-d", "0.1", "--seed", "9", "-o", "@t.safetensors", PLAY);
    char *other = weights_of(at("t.safetensors"), &length);
    assert_true(length == first_length && memcmp(first, other, length) != 0);
    free(first);
    free(other);
}

/* Presses Ctrl-C once a training that would take hours has printed something. */
static void interrupt_training(const char *model, const char *path) {
    int out = open_output(at("stdout"));
    pid_t child = start(WORDS("train", TINY, "--steps", "1000000000", "--eval-every", "1000000000",
                              "-m", model, "-o", path, PLAY),
                        out);
    struct stat status = {0};
    siginfo_t ended = {0};
    while (status.st_size == 0 && ended.si_pid != child) {
        nanosleep(&(struct timespec){.tv_nsec = 2000000}, NULL);
        assert_int_equal(fstat(out, &status), 0);
        assert_int_equal(waitid(P_PID, (id_t)child, &ended, WEXITED | WNOWAIT | WNOHANG), 0);
    }
    close(out);
    kill(child, SIGINT);
    finish(child);
    assert_int_equal(ran.status, 0);
    assert_string_equal(ran.err, "");
}

static void test_interruption(void **state) {
    (void)state;
    Row row;
    interrupt_training("bigram", "@stopped/bigram.safetensors");
    row_of("bigram");
    after("\n\nTo read what it writes:");
    sample("-n", "20", "@stopped/bigram.safetensors");
    /* The bigram comes first: the model that was asked for is not begun any more. */
    interrupt_training("gpt", "@stopped/model.safetensors");
    row_of("bigram");
    assert_false(find_row("gpt", &row));
    assert_null(strstr(ran.out, "To read"));
    assert_int_equal(files_in(at("stopped")), 2);
}

/* ---- writing ---- */

/* What was written after the prompt, which must stand first. */
static const char *written(const char *prompt) {
    if (!begins(ran.out, prompt)) fail_msg("no '%s' at the start of:\n%s", prompt, ran.out);
    return ran.out + strlen(prompt);
}

static void test_length(void **state) {
    (void)state;
    static const struct {
        const char *model, *prompt;
    } runs[] = {{"@play.safetensors", ""},
                {"@play.safetensors", "THE "},
                {"@play.safetensors", "longer than what the model can see"},
                {"@chinese.safetensors", "天地"}};
    static const char *const lengths[] = {"1", "11", "16", "17", "50", "200"};
    for (size_t i = 0; i < sizeof runs / sizeof *runs; i++) {
        for (size_t j = 0; j < sizeof lengths / sizeof *lengths; j++) {
            size_t wanted = (size_t)atoi(lengths[j]);
            sample("-n", lengths[j], "-p", runs[i].prompt, runs[i].model);
            assert_int_equal(strlen(ran.out), ran.length);
            size_t count = characters(ran.out, ran.length);
            assert_int_equal(ran.out[ran.length - 1], '\n');
            /* A line's end is added, unless the text has one. */
            count -= characters(runs[i].prompt, strlen(runs[i].prompt));
            if (count != wanted) assert_int_equal(count, wanted + 1);
            /* A longer text goes on where a shorter one ended. */
            written(runs[i].prompt);
            if (j > 0) assert_true(strncmp(kept, ran.out, strlen(kept) - 1) == 0);
            keep();
        }
    }
}

static void test_same_and_other_texts(void **state) {
    (void)state;
    const char *model = "@play.safetensors";
    sample("-n", "100", "-j", "1", model);
    keep();
    sample("-n", "100", "-j", "2", model);
    assert_string_equal(ran.out, kept);
    sample("-n", "100", "--seed", "1337", model);
    assert_string_equal(ran.out, kept);
    sample("-n", "100", "--seed", "1338", model);
    assert_string_not_equal(ran.out, kept);
    sample("-n", "100", "-t", "2", model);
    assert_string_not_equal(ran.out, kept);
    sample("-n", "100", "-k", "2", model);
    assert_string_not_equal(ran.out, kept);
    sample("-n", "100", "-P", "0.5", model);
    assert_string_not_equal(ran.out, kept);
}

static void test_the_likeliest(void **state) {
    (void)state;
    const char *model = "@play.safetensors";
    sample("-n", "60", "-t", "0", "-p", "THE", model);
    keep();
    sample("-n", "60", "-t", "0", "-p", "THE", "--seed", "5", model);
    assert_string_equal(ran.out, kept);
    sample("-n", "60", "-k", "1", "-p", "THE", "--seed", "6", model);
    assert_string_equal(ran.out, kept);
    sample("-n", "60", "-P", "1e-9", "-p", "THE", "--seed", "7", model);
    assert_string_equal(ran.out, kept);
    sample("-n", "60", "-p", "THE", model);
    assert_string_not_equal(ran.out, kept);
}

static void test_samples(void **state) {
    (void)state;
    const char *model = "@play.safetensors", *second, *third;
    sample("-n", "40", "-p", "A ", model);
    keep();
    sample("-n", "40", "-p", "A ", "--samples", "3", model);
    assert_true(begins(ran.out, kept) && begins(ran.out + strlen(kept), "----\n"));
    second = after("\n----\n");
    third = strstr(second, "\n----\n");
    assert_non_null(third);
    third += strlen("\n----\n");
    assert_null(strstr(third, "\n----\n"));
    assert_true(begins(second, "A ") && begins(third, "A ") && strlen(third) > 40);
    assert_false(begins(second, kept) || begins(third, kept) || begins(second, third));
}

static void check_stop(const char *stop) {
    char expected[1024];
    const char *prompt = "it is 1 ", *model = "@play.safetensors";
    const char *end = strstr(kept + strlen(prompt), stop);
    assert_non_null(end);
    snprintf(expected, sizeof expected, "%.*s%s", (int)(end - kept + (int)strlen(stop)), kept,
             stop[strlen(stop) - 1] == '\n' ? "" : "\n");
    sample("-n", "300", "-p", prompt, "--stop", stop, model);
    assert_string_equal(ran.out, expected);
}

/* The stop text ends the text, and is its end; in the prompt it does not count. */
static void test_stop(void **state) {
    (void)state;
    char stop[4];
    sample("-n", "300", "-p", "it is 1 ", "@play.safetensors");
    keep();
    check_stop(" ");
    memcpy(stop, kept + 100, 3);
    stop[3] = 0;
    check_stop(stop);
    sample("-n", "300", "-p", "it is 1 ", "--stop", "not in the play", "@play.safetensors");
    assert_string_equal(ran.out, kept);
}

/* A byte model may stray from UTF-8, and break off within a character; what it prints does not. */
static void test_text_of_bytes(void **state) {
    (void)state;
    static const char *const lengths[] = {"1", "2", "3", "4", "5", "300"};
    const char *prompt = "宇宙洪荒", *model = "@bytes.safetensors";
    for (size_t i = 0; i < 6; i++) {
        sample("-n", lengths[i], "-p", prompt, "-t", "0.5", model);
        size_t count = characters(ran.out, ran.length);
        assert_true(count <= 4 + (size_t)atoi(lengths[i]) + 1);
        written(prompt);
    }
    sample("-n", "300", "-t", "10", model);
    assert_true(characters(ran.out, ran.length) > 150);
    sample("-n", "300", "-t", "10", "--samples", "20", model);
    characters(ran.out, ran.length);
    bool replaced = false;
    for (size_t i = 0; i + 3 <= ran.length; i++)
        replaced = replaced || memcmp(ran.out + i, "\xEF\xBF\xBD", 3) == 0;
    assert_true(replaced); /* or the test would show nothing */
}

/* ---- score and info ---- */

/* The score of the held-out part is the validation loss that the training found, with
 * one more option. */
static void check_score(const char *path, const char *option) {
    size_t length, count_train, count_validate, at_byte = 0;
    bool bytes = strcmp(option, "--bytes") == 0;
    char *text = slurp(path, &length);
    train(option, "-o", "@scored.safetensors", path);
    split_of(&count_train, &count_validate);
    double loss = row_of("gpt").validation, nats, bits, perplexity;
    for (size_t i = 0; i < count_train; i++) {
        uint32_t code;
        at_byte += bytes ? 1 : (size_t)utf8_decode(text + at_byte, length - at_byte, &code);
    }
    spill(at("tail"), text + at_byte, length - at_byte);
    free(text);
    sample("--score", "@tail", "@scored.safetensors");
    size_t count;
    int end = 0;
    sscanf(ran.out, "characters %zu\nnats_per_char %lf\nbits_per_char %lf\nperplexity %lf\n%n",
           &count, &nats, &bits, &perplexity, &end);
    assert_int_equal(end, ran.length);
    assert_int_equal(count, count_validate);
    assert_near(nats, loss, 1e-4);
    assert_near(bits, nats / log(2.0), 1e-5);
    assert_near(perplexity, exp(nats), 2e-4);
    sample("--info", "@scored.safetensors");
    assert_near(strtod(after("\nvalidation_loss "), NULL), nats, 1e-5);
}

static void test_score(void **state) {
    (void)state;
    check_score(PLAY, "--seed=3");
    check_score(at("chinese.txt"), "--val=0.2");
    check_score(at("chinese.txt"), "--bytes");
}

/* The checkpoint knows what the command line asked for, and its tensors are all its numbers. */
static void test_info(void **state) {
    (void)state;
    train("-l", "3", "-H", "4", "-w", "8", "-c", "12", "-d", "0.25", "--seed", "7", "-s", "3", "-o",
          "@info.safetensors", PLAY);
    sample("--info", "@info.safetensors");
    after("model            gpt\n");
    after("\nlayers           3\n");
    after("\nheads            4\n");
    after("\nwidth            8\n");
    after("\ncontext          12\n");
    after("\ndropout          0.25\n");
    after("\nstep             3\n");
    after("\nseed             7\n");
    after("\nvocabulary       63 characters\n\\x0a !',-.123:;?ABC");
    after("\n  transformer.wte.weight                       63 x 8\n");
    size_t parameters = strtoul(after("\nparameters "), NULL, 10), sum = 0;
    for (const char *line = after("\ntensors\n"); *line; line = strchr(line, '\n') + 1) {
        unsigned long rows = 0, columns = 1;
        assert_true(sscanf(line, "  transformer.%*s %lu x %lu", &rows, &columns) >= 1);
        sum += rows * columns;
    }
    assert_int_equal(sum, parameters);
}

/* ---- what goes wrong ---- */

/* One line on stderr that begins with the program's name and holds both texts. */
static void check_refused(const char *program, int status, const char *says, const char *also) {
    size_t name = strlen(program), length = strlen(ran.err);
    bool one_line = length > 0 && strchr(ran.err, '\n') == ran.err + length - 1;
    if (ran.status != status || !one_line || !begins(ran.err, program) ||
        !begins(ran.err + name, ": ") || !strstr(ran.err, says) || !strstr(ran.err, also))
        fail_msg("%s: status %d, '%s' (expected %d, '%s', '%s')", program, ran.status, ran.err,
                 status, says, also);
    assert_string_equal(ran.out, "");
}

static void test_bad_input(void **state) {
    (void)state;
    static const struct {
        int status;
        const char *says, *also, *program, *words[5];
    } cases[] = {
        /* clang-format off */
        {2, "one text FILE",      "not 0",          "train", {0}},
        {2, "one text FILE",      "not 2",          "train", {PLAY, PLAY}},
        {1, "/none.txt: ",        "No such file",   "train", {"@none.txt"}},
        {1, "data: ",             "directory",      "train", {"data"}},
        {1, "/empty.txt: ",       "empty",          "train", {"@empty.txt"}},
        {1, "/latin1.txt: ",      "offset 5 ",      "train", {"@latin1.txt"}},
        {1, "0xE9",               "--bytes",        "train", {"@latin1.txt"}},
        {1, "/short.txt: ",       "context of 16 ", "train", {"@short.txt"}},
        {1, "/plain: ",           "created",        "train", {"-o", "@plain/x/m.safetensors", PLAY}},
        {1, "/plain: ",           "created",        "train", {"-o", "@plain/m.safetensors", PLAY}},
        {2, "'--stesp'",          "--steps",        "train", {"--stesp", "9", PLAY}},
        {2, "'-x'",               "--help",         "train", {"-qx", PLAY}},
        {2, "--quiet",            "no value",       "train", {"--quiet=3", PLAY}},
        {2, "--steps",            "'12x'",          "train", {"-s", "12x", PLAY}},
        {2, "--steps",            "'0'",            "train", {"--steps", "0", PLAY}},
        {2, "--steps",            "'99999999999'",  "train", {"--steps", "99999999999", PLAY}},
        {2, "--width",            "'12x'",          "train", {"--width", "12x", PLAY}},
        {2, "--dropout",          "'1'",            "train", {"--dropout", "1", PLAY}},
        {2, "--lr",               "'1e400'",        "train", {"--lr", "1e400", PLAY}},
        {2, "--lr",               "'nan'",          "train", {"--lr", "nan", PLAY}},
        {2, "--seed",             "'-1'",           "train", {"--seed", "-1", PLAY}},
        {2, "--heads 3",          "--width 16",     "train", {"--heads", "3", PLAY}},
        {2, "'gtp'",              "multihead, gpt", "train", {"-m", "gtp", PLAY}},
        {2, "'-o'",               "value",          "train", {PLAY, "-o"}},
        {1, "/none.safetensors: ", "No such file",  "sample", {"@none.safetensors"}},
        {1, PLAY ": ",            "not a valid checkpoint", "sample", {PLAY}},
        {1, "/cut.safetensors: ", "not a valid checkpoint", "sample", {"@cut.safetensors"}},
        {1, "/stub.safetensors: ", "not a valid checkpoint", "sample", {"@stub.safetensors"}},
        {1, "data: ",             "directory",      "sample", {"data"}},
        {1, "--prompt: ",         "'é' (U+00E9)",   "sample", {"-p", "cafés", "@play.safetensors"}},
        {1, "--prompt: ",         "character 4",    "sample", {"-p", "cafés", "@play.safetensors"}},
        {1, "--prompt: ",         "0xE9 at offset 3", "sample", {"-p", "caf\xE9s", "@play.safetensors"}},
        {1, "/chinese.txt: ",     "character 1, '", "sample", {"--score", "@chinese.txt", "@play.safetensors"}},
        {1, "/latin1.txt: ",      "offset 5 ",      "sample", {"--score", "@latin1.txt", "@play.safetensors"}},
        {1, "/none.txt: ",        "No such file",   "sample", {"--score", "@none.txt", "@play.safetensors"}},
        {1, "/empty.txt: ",       "too short",      "sample", {"--score", "@empty.txt", "@play.safetensors"}},
        {1, "/one.txt: ",         "too short",      "sample", {"--score", "@one.txt", "@play.safetensors"}},
        {2, "one CHECKPOINT",     "not 2",          "sample", {"@play.safetensors", "@play.safetensors"}},
        {2, "--length",           "'12x'",          "sample", {"-n", "12x", "@play.safetensors"}},
        {2, "--length",           "'0'",            "sample", {"-n", "0", "@play.safetensors"}},
        {2, "--temperature",      "'nan'",          "sample", {"--temperature", "nan", "@play.safetensors"}},
        {2, "--top-p",            "'0'",            "sample", {"--top-p", "0", "@play.safetensors"}},
        {2, "'--temprature'",     "--temperature",  "sample", {"--temprature=1", "@play.safetensors"}},
        /* clang-format on */
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const char *const *w = cases[i].words;
        if (*cases[i].program == 't')
            run_words(WORDS("train", TINY, "-q", "-o", "@refused/m.safetensors", w[0], w[1], w[2],
                            w[3], w[4]));
        else
            run_words(WORDS("sample", w[0], w[1], w[2], w[3], w[4]));
        check_refused(cases[i].program, cases[i].status, cases[i].says, cases[i].also);
        /* ./sample has no --bytes that one could be sent to. */
        if (*cases[i].program == 's') assert_null(strstr(ran.err, "--bytes"));
    }
    assert_false(exists(at("refused")));
}

static void test_bad_surroundings(void **state) {
    (void)state;
    char *before = getenv("KERNELS");
    if (before) before = strdup(before);
    setenv("KERNELS", "nonsense", 1);
    run_words(WORDS("train", TINY, "-q", "-o", "@refused/m.safetensors", PLAY));
    check_refused("train", 1, "KERNELS=nonsense", "base");
    run_words(WORDS("sample", "@play.safetensors"));
    check_refused("sample", 1, "KERNELS=nonsense", "base");
    if (before)
        setenv("KERNELS", before, 1);
    else
        unsetenv("KERNELS");
    free(before);
    assert_false(exists(at("refused")));

    run_words(WORDS("train", TINY, "-q", "-o", "@logs/m.safetensors", "-m", "bigram", "--log",
                    "@none/log", PLAY));
    check_refused("train", 1, at("none/log"), "cannot be created");
    run_words(WORDS("train", TINY, "-q", "-o", "@logs/m.safetensors", "-m", "bigram", "--log",
                    "/dev/full", PLAY));
    check_refused("train", 1, "/dev/full", "cannot be written");
}

/* A reader that has seen enough ends the program, quietly and long before the text ends. */
static void test_reader_gone(void **state) {
    (void)state;
    int ends[2];
    char text[10];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    fcntl(ends[1], F_SETFD, FD_CLOEXEC);
    pid_t child = start(
        WORDS("sample", "-n", "1000000000", "-p", "THE CLOCK ", "@play.safetensors"), ends[1]);
    close(ends[1]);
    for (size_t got = 0; got < sizeof text;) {
        ssize_t more = read(ends[0], text + got, sizeof text - got);
        assert_true(more > 0);
        got += (size_t)more;
    }
    close(ends[0]);
    finish(child);
    assert_memory_equal(text, "THE CLOCK ", sizeof text);
    assert_string_equal(ran.err, "");
    assert_true(ran.status == -SIGPIPE || ran.status == 0 || ran.status == 1);
}

static void test_disk_full(void **state) {
    (void)state;
    if (!exists("/dev/full")) skip();
    const char *const *const commands[] = {
        WORDS("sample", "-n", "20", "@play.safetensors"),
        WORDS("sample", "-n", "1000000000", "@play.safetensors"),
        WORDS("sample", "--score", PLAY, "@play.safetensors"),
        WORDS("sample", "--info", "@play.safetensors"),
        WORDS("train", TINY, "-q", "-o", "@full.safetensors", PLAY),
    };
    spill(at("stdout"), "", 0);
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        int out = open("/dev/full", O_WRONLY | O_CLOEXEC);
        assert_true(out >= 0);
        pid_t child = start(commands[i], out);
        close(out);
        finish(child);
        check_refused(commands[i][0], 1, "standard output", "cannot be written");
    }
}

/* ---- help ---- */

static void test_help(void **state) {
    (void)state;
    static const struct {
        const char *program, *option, *shown; /* the start and the end of a line */
    } lines[] = {
        /* clang-format off */
        {"train", "  -m, --model NAME", "(gpt)"},     {"train", "      --ladder ", ""},
        {"train", "  -o, --out FILE ", "(out/model.safetensors)"},
        {"train", "      --log FILE ", "default: beside the checkpoint"},
        {"train", "  -s, --steps N ", "(2000)"},      {"train", "  -b, --batch N ", "(12)"},
        {"train", "      --lr X ", "default: the rung's own"},
        {"train", "      --eval-every N ", "(250)"},  {"train", "  -j, --threads N ", ")"},
        {"train", "      --seed N ", "(1337)"},       {"train", "  -l, --layers N ", "(4)"},
        {"train", "  -H, --heads N ", "(4)"},         {"train", "  -w, --width N ", "(128)"},
        {"train", "  -c, --context N ", "(64)"},      {"train", "  -d, --dropout X ", "(0)"},
        {"train", "      --val X ", "(0.1)"},         {"train", "      --bytes ", ""},
        {"train", "  -q, --quiet ", ""},              {"train", "  -h, --help ", ""},
        {"train", "      --version ", ""},
        {"sample", "  -n, --length N ", "(500)"},     {"sample", "  -p, --prompt TEXT ", ""},
        {"sample", "      --samples N ", "(1)"},      {"sample", "      --stop TEXT ", ""},
        {"sample", "  -t, --temperature X ", "(0.8)"}, {"sample", "  -k, --top-k N ", "0: all"},
        {"sample", "  -P, --top-p X ", "(1)"},        {"sample", "      --seed N ", "(1337)"},
        {"sample", "      --score FILE ", ""},        {"sample", "      --info ", ""},
        {"sample", "  -j, --threads N ", ")"},        {"sample", "  -h, --help ", ""},
        {"sample", "      --version ", ""},
        /* clang-format on */
    };
    const char *last = "";
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        /* Defaults are shown whatever else is given. */
        if (strcmp(last, lines[i].program) != 0)
            do_words(WORDS(lines[i].program, "-j", "77", "--seed", "5", "-h"), __FILE__, __LINE__);
        last = lines[i].program;
        char line[64];
        snprintf(line, sizeof line, "\n%s", lines[i].option);
        const char *rest = after(line);
        size_t length = strcspn(rest, "\n"), shown = strlen(lines[i].shown);
        assert_true(length > 20 && rest[0] == ' '); /* it says what it does */
        if (strncmp(rest + length - shown, lines[i].shown, shown) != 0)
            fail_msg("no '%s' at the end of%s%.*s", lines[i].shown, line, (int)length, rest);
        assert_null(strstr(ran.out, "(77)"));
    }
    sample("--help");
    assert_true(begins(ran.out, "usage: ./sample "));
    do_words(WORDS("train", "--help"), __FILE__, __LINE__);
    assert_true(begins(ran.out, "usage: ./train "));
    sample("--version");
    assert_string_equal(ran.out, "tril " TRIL_VERSION "\n");
    do_words(WORDS("train", "--version"), __FILE__, __LINE__);
    assert_string_equal(ran.out, "tril " TRIL_VERSION "\n");
}

/* ---- the whole ---- */

/* Makes the directory, texts good and bad, and models of them. */
static int set_up(void **state) {
    (void)state;
    /* From the Thousand Character Classic. */
    static const char *const verses[] = {"天地玄黃，宇宙洪荒。\n", "日月盈昃，辰宿列張。\n",
                                         "寒來暑往，秋收冬藏。\n", "閏餘成歲，律呂調陽。\n",
                                         "雲騰致雨，露結為霜。\n", "金生麗水，玉出崑岡。\n"};
    const char *parent = getenv("TMPDIR");
    snprintf(place, sizeof place, "%s/tril-XXXXXX", parent && *parent ? parent : "/tmp");
    if (!mkdtemp(place)) fail_msg("%s: %s", place, strerror(errno));
    FILE *chinese = fopen(at("chinese.txt"), "w");
    assert_non_null(chinese);
    for (uint64_t i = 0; i < 280; i++) fputs(verses[random_bits(11, i) % 6], chinese);
    assert_int_equal(fclose(chinese), 0);
    train("-o", "@play.safetensors", PLAY);
    train("-o", "@chinese.safetensors", "@chinese.txt");
    train("-s", "200", "--bytes", "-o", "@bytes.safetensors", "@chinese.txt");

    size_t length;
    char *whole = slurp(at("play.safetensors"), &length);
    spill(at("cut.safetensors"), whole, length - 4);
    spill(at("stub.safetensors"), whole, 100);
    free(whole);
    spill(at("empty.txt"), "", 0);
    spill(at("one.txt"), "T", 1);
    spill(at("plain"), "", 0);
    spill(at("latin1.txt"), "a caf\xE9 in Paris, and so on and so on", 34);
    spill(at("short.txt"), "eighteen characters", 18);
    return 0;
}

static int tear_down(void **state) {
    (void)state;
    free(ran.out);
    free(ran.err);
    free(kept);
    pid_t child = fork();
    if (child == 0) {
        execlp("rm", "rm", "-rf", place, (char *)NULL);
        _exit(127);
    }
    int status;
    return child > 0 && waitpid(child, &status, 0) == child && status == 0 ? 0 : -1;
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_training),
        cmocka_unit_test(test_choice_of_model),
        cmocka_unit_test(test_ladder),
        cmocka_unit_test(test_quiet),
        cmocka_unit_test(test_bytes),
        cmocka_unit_test(test_threads_and_seeds),
        cmocka_unit_test(test_interruption),
        cmocka_unit_test(test_length),
        cmocka_unit_test(test_same_and_other_texts),
        cmocka_unit_test(test_the_likeliest),
        cmocka_unit_test(test_samples),
        cmocka_unit_test(test_stop),
        cmocka_unit_test(test_text_of_bytes),
        cmocka_unit_test(test_score),
        cmocka_unit_test(test_info),
        cmocka_unit_test(test_bad_input),
        cmocka_unit_test(test_bad_surroundings),
        cmocka_unit_test(test_reader_gone),
        cmocka_unit_test(test_disk_full),
        cmocka_unit_test(test_help),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
