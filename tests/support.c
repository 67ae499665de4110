#include "tests/support.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/random.h"
#include "model/plain/plain_layers.h"

#include <ctype.h>
#include <pthread.h>

enum { TESTS_MAX = 64 };

Error err;

static struct CMUnitTest tests[TESTS_MAX];
static int lines[TESTS_MAX], test_count;
static const char *current_test = "set_up";

typedef struct {
    void (*release)(void *object);
    void *object;
} Scrap;

static Scrap *scraps;
static size_t scrap_count, scrap_room, scraps_before; /* the test */

static void free_scraps(size_t from) {
    while (scrap_count > from) {
        const Scrap last = scraps[--scrap_count];
        last.release(last.object);
    }
}

const char *name_of_test;

/* Says with which name a test failed, if it has names. */
static void say_name(void) {
    if (name_of_test) print_error("It failed with %s.\n", name_of_test);
    name_of_test = NULL;
}

void begin_test(const char *name) {
    static bool begun;
    say_name();
    if (!begun) scraps_before = scrap_count;
    begun = true;
    current_test = name;
}

void end_test(void) {
    free_scraps(scraps_before);
}

void add_test(struct CMUnitTest test, int line) {
    const char *only = getenv("TRIL_TEST");
    if (only && strcmp(only, test.name) != 0) return;
    assert_true(test_count < TESTS_MAX);
    int i = test_count++;
    for (; i > 0 && lines[i - 1] > line; i--) {
        tests[i] = tests[i - 1];
        lines[i] = lines[i - 1];
    }
    tests[i] = test;
    lines[i] = line;
}

void (*set_up)(void);

static int before_all(void **state) {
    (void)state;
    if (set_up) set_up();
    return 0;
}

int run_all_tests(void) {
    int result = test_count == 0 ||
                 _cmocka_run_group_tests("tests", tests, (size_t)test_count, before_all, NULL);
    say_name();
    free_scraps(0);
    free(scraps);
    return result;
}

/* ---- memory ---- */

void at_end(void (*release)(void *object), void *object) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (scrap_count == scrap_room) {
        scrap_room = 2 * scrap_room + 64;
        void *grown = realloc(scraps, scrap_room * sizeof *scraps);
        assert_non_null(grown);
        scraps = grown;
    }
    scraps[scrap_count++] = (Scrap){release, object};
    pthread_mutex_unlock(&lock);
}

void *scrap(size_t count, size_t size) {
    void *block = calloc(count > 0 ? count : 1, size > 0 ? size : 1);
    assert_non_null(block);
    at_end(free, block);
    return block;
}

char *copy_text(const char *text) {
    return strcpy(scrap(strlen(text) + 1, 1), text);
}

char *formatted(const char *format, ...) {
    char text[8192];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof text - 1);
    return copy_text(text);
}

char *quoted(const char *text) {
    char *copy = copy_text(text);
    for (char *c = copy; *c; c++)
        if (*c == '\'') *c = '"';
    return copy;
}

const char *next_part(const char **text) {
    if (!*text) return NULL;
    const char *part = *text, *bar = strchr(part, '|');
    *text = bar ? bar + 1 : NULL;
    return formatted("%.*s", (int)strcspn(part, "|"), part);
}

char *guarded(const void *bytes, size_t length) {
    static char *end;
    if (!end) end = guard_memory(GUARDED);
    if (length > GUARDED) return NULL;
    return length > 0 ? memcpy(end - length, bytes, length) : end;
}

/* ---- messages and lines of output ---- */

/* Appends to the file that TRIL_MESSAGES names: test, subject without controls, and message. */
static void keep_message(const char *subject, const char *message) {
    const char *path = getenv("TRIL_MESSAGES");
    FILE *file = path ? fopen(path, "a") : NULL;
    if (!file) return;
    fprintf(file, "%s\t", current_test);
    for (const char *c = subject; *c; c++) putc((unsigned char)*c < ' ' ? '?' : *c, file);
    fprintf(file, "%s%s\n", *subject ? "\t" : "", message);
    fclose(file);
}

void expect_message(const char *message, size_t size, const char *subject,
                    const char *const texts[]) {
    size_t length = strlen(message);
    if (length == 0 || length >= size || strchr(message, '\n'))
        fail_msg("not one line of a message: '%s'", message);
    for (; *texts; texts++)
        if (!strstr(message, *texts)) fail_msg("no '%s' in: %s", *texts, message);
    if (subject) keep_message(subject, message);
}

/* Returns the length of the number here, 0 if there is none. */
static size_t number_length(const char *at) {
    size_t length = strspn(at, "0123456789.,");
    if (!isdigit((unsigned char)*at)) return 0;
    while (!isdigit((unsigned char)at[length - 1])) length--; /* the comma after it */
    return length;
}

/* Returns the first place of the text in the line, or NULL. */
static const char *find_whole(const char *line, const char *text) {
    const char *end = line + strcspn(line, "\n");
    size_t length = strlen(text);
    for (const char *at = line; (at = strstr(at, text)) && at + length <= end; at++) {
        const char *next = at + length;
        bool left = isdigit((unsigned char)*text) && at > line &&
                    (isalnum((unsigned char)at[-1]) ||
                     (strchr(".,/", at[-1]) && at - 1 > line && isdigit((unsigned char)at[-2])));
        bool right = length > 0 && isdigit((unsigned char)next[-1]) &&
                     (isalnum((unsigned char)*next) || *next == '/' ||
                      (*next && strchr(".,", *next) && isdigit((unsigned char)next[1])));
        if (!left && !right) return at;
    }
    return NULL;
}

const char *find_line(const char *output, const char *const texts[]) {
    for (const char *line = output;; line++) {
        int i = 0;
        while (texts[i] && find_whole(line, texts[i])) i++;
        if (!texts[i]) return line;
        line = strchr(line, '\n');
        if (!line) return NULL;
    }
}

const char *expect_line_of(const char *output, const char *subject, const char *const texts[]) {
    static const char scratch[] = "tril-test-XXXXXX"; /* folders have such names */
    char kept[4096];
    size_t length = 0;
    const char *line = find_line(output, texts), *at = line;
    if (!line) fail_msg("%s: no line with '%s' in:\n%s", subject, *texts, output);
    while (*at && *at != '\n' && length + sizeof scratch < sizeof kept) {
        const bool named = at > line && isalpha((unsigned char)at[-1]); /* as in UTF-8 */
        const size_t digits = named ? 0 : number_length(at);
        const size_t whole = strncmp(at, scratch, 10) == 0 ? strlen(scratch) : 1;
        if (digits > 0)
            kept[length++] = 'N';
        else if (strncmp(at, "   ", 3) != 0) /* the width of a column */
            memcpy(kept + length, at, whole), length += whole;
        at += digits > 0 ? digits : whole;
    }
    kept[length] = 0;
    keep_message(subject, kept);
    return line;
}

int numbers_of(const char *line, double *numbers, int most) {
    int count = 0;
    while (*line && *line != '\n' && count < most) {
        char plain[32];
        size_t length = number_length(line), used = 0;
        for (size_t i = 0; i < length && used + 1 < sizeof plain; i++)
            if (line[i] != ',') plain[used++] = line[i];
        plain[used] = 0;
        if (length > 0) numbers[count++] = strtod(plain, NULL);
        line += length > 0 ? length : 1;
    }
    return count;
}

char *stream_text(FILE *file, size_t *length) {
    assert_non_null(file);
    assert_int_equal(fseek(file, 0, SEEK_END), 0);
    *length = (size_t)ftell(file);
    char *text = scrap(*length + 1, 1);
    rewind(file);
    assert_int_equal(fread(text, 1, *length, file), *length);
    fclose(file);
    return text;
}

void assert_near_at(double a, double b, double tolerance, const char *file, int line) {
    if (fabs(a - b) <= tolerance) return; /* false for NaN */
    print_error("%.9g is not within %g of %.9g\n", a, tolerance, b);
    _fail(file, line);
}

float *random_floats(uint64_t seed, size_t count) {
    float *numbers = scrap(count, sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (float)random_normal(seed, i);
    return numbers;
}

int32_t *random_ids(uint64_t seed, size_t count, int V) {
    int32_t *ids = scrap(count, sizeof *ids);
    for (size_t i = 0; i < count; i++) ids[i] = (int32_t)(random_uniform(seed, i) * V);
    return ids;
}

PlainHead plain_head_of(int T, int dk, int dv, float *const in[4]) {
    const int columns[] = {dk, dk, dv};
    Plain p = {.model = NULL};
    Array inputs[3];
    PlainHead found;
    for (int i = 0; i < 3; i++) {
        inputs[i] = plain_array(&p, T, columns[i], (Call){.backward = NULL});
        for (int j = 0; j < T * columns[i]; j++) inputs[i].x[j] = (double)in[i][j];
    }
    Array out = plain_weighted_mean(&p, plain_attention(&p, inputs[0], inputs[1], 1), inputs[2]);
    for (int j = 0; j < T * dv; j++) out.dx[j] = (double)in[3][j];
    found.out = out.x;
    for (int i = 0; i < 3; i++) found.gradients[i] = inputs[i].dx;
    for (Call *call = p.last, *before; call; call = before) {
        if (call->backward) call->backward(call);
        before = call->before;
        at_end(free, call->y.x);
        free(call);
    }
    return found;
}

static const char shared_heads[] = "shared heads";

const char *last_model_name(void) {
    int last = 0;
    while (model_name(last + 1)) last++;
    return model_name(last);
}

const char *kind_name(int i) {
    return i > 0 && model_name(i - 1) && !model_name(i) ? shared_heads : model_name(i);
}

void kind_set(Config *config, const char *kind) {
    bool shared = strcmp(kind, shared_heads) == 0;
    snprintf(config->model, sizeof config->model, "%s", shared ? "modern" : kind);
    if (!shared) return;
    config->NKV = config->NH % 2 == 0 ? config->NH / 2 : 1;
    config->H = config->C + 7;
}

RELEASE(model, model_free)

Model *new_model(const Config *config, uint64_t seed) {
    Model *model = scrap(1, sizeof *model);
    assert_ok(model_build(model, config, seed, &err), err);
    at_end(release_model, model);
    return model;
}

RELEASE(run, run_close)

Run *open_run(Model *model, const RunOptions *options) {
    Run *run;
    assert_ok(run_open(&run, model, options, &err), err);
    at_end(release_run, run);
    return run;
}

void count_letters(Model *model) {
    enum { COUNT = 40 };
    int32_t *ids = random_ids(77, COUNT, model->config.V);
    for (int i = 0; i < COUNT; i++)
        if (i % 3 > 0) ids[i] = (ids[i - 1] * 5 + i % 2) % model->config.V; /* often the same */
    assert_ok(model_count(model, ids, COUNT, false, &err), err);
}

Bench *bench_of(const Config *config, const RunOptions *options) {
    Bench *bench = scrap(1, sizeof *bench);
    bench->model = new_model(config, options->seed);
    count_letters(bench->model);
    bench->run = open_run(bench->model, options);
    return bench;
}

Bench *bench_open(const Config *config, int batch, int threads, uint64_t seed) {
    RunOptions options = {
        .batch = batch, .length = config->T, .training = true, .threads = threads, .seed = seed};
    return bench_of(config, &options);
}

void bench_shake(Bench *bench) {
    const Model *model = bench->model;
    const float *noise = random_floats(99, model->weights_size);
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        for (size_t j = 0; j < tensor->size; j++)
            model->weights[tensor->offset + j] += 0.3f * noise[tensor->offset + j];
    }
}

double bench_train(Bench *bench, const int32_t *inputs, const int32_t *targets, int B, int T,
                   int steps, double learning_rate) {
    Optimizer adamw = {.learning_rate = learning_rate,
                       .beta1 = 0.9,
                       .beta2 = 0.99,
                       .epsilon = 1e-8,
                       .matrix_rate = learning_rate,
                       .momentum = 0.9,
                       .clip = 1};
    double loss = 0;
    for (int step = 0; step < steps; step++) {
        run_forward_training(bench->run, inputs, B, T, NULL);
        loss = run_backward(bench->run, targets);
        run_update(bench->run, &adamw);
    }
    return loss;
}

int repeats(int quick, int all) {
    return getenv("TRIL_ALL") && !SANITIZED ? all : quick;
}

bool corpus_load(Corpus *corpus, const char *path, bool bytes, double held_out,
                 const Vocab *known) {
    char *text;
    size_t length;
    Vocab own = {0};
    *corpus = (Corpus){0};
    if (!file_read(path, &text, &length, &err)) return false;
    bool ok = (known || vocab_build(&own, text, length, bytes, &err)) &&
              corpus_make(corpus, known ? known : &own, text, length, held_out, &err);
    vocab_free(&own);
    memory_free(text);
    return ok;
}
