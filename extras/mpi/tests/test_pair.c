/* test_pair.c - two processes that share training runs, without MPI: here the functions of
 * base/world.h send through a pair of sockets. Operations that do not block are done as late as
 * possible, in world_wait, and leave NaN where nothing is promised. */
#include "base/world.h"
#include "tests/support.h"
#include "tests/objects.h"
#include "tests/command.h"
#include "model/kernels/isa.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static int size = 1, rank, link_to_other;

static void take(void *bytes, size_t count) {
    size_t said;
    if (recv(link_to_other, &said, sizeof said, MSG_WAITALL) != (ssize_t)sizeof said ||
        said != count || recv(link_to_other, bytes, count, MSG_WAITALL) != (ssize_t)count) {
        if (rank > 0) _exit(2);
        fail_msg("the other process sent another message, or ended");
    }
}

static void give(const void *bytes, size_t count) {
    if (send(link_to_other, &count, sizeof count, MSG_NOSIGNAL) < 0) return; /* take says so */
    for (ssize_t part = 1; count > 0 && part > 0; count -= (size_t)part) {
        part = send(link_to_other, bytes, count, MSG_NOSIGNAL);
        bytes = (const char *)bytes + part;
    }
}

static void swap(const void *own, void *others, size_t count) {
    if (rank == 0) give(own, count);
    take(others, count);
    if (rank == 1) give(own, count);
}

int world_size(void) {
    return size;
}

int world_rank(void) {
    return rank;
}

int world_beside(void) {
    return size;
}

void world_broadcast(void *bytes, size_t count) {
    if (size == 1 || count == 0) return;
    if (rank == 0)
        give(bytes, count);
    else
        take(bytes, count);
}

void world_allreduce(double *x, size_t count) {
    double *others = malloc(count * sizeof *x);
    if (size > 1) swap(x, others, count * sizeof *x);
    for (size_t i = 0; size > 1 && i < count; i++) x[i] += others[i];
    free(others);
}

bool world_agree(bool ok, Error *failure) {
    struct {
        bool ok;
        Error failure;
    } own = {.ok = ok}, other = {.ok = true};
    if (!ok) own.failure = *failure;
    if (size > 1) swap(&own, &other, sizeof own);
    if (ok && other.ok) return true;
    const bool first_failed = !(rank == 0 ? ok : other.ok);
    if (first_failed != (rank == 0)) *failure = other.failure;
    if (!first_failed) message_of(failure, "process 1");
    return false;
}

/* Operations that have begun and are not yet done. */
static struct {
    float *x, *buffer;
    size_t count;
    int process; /* that receives the sum, or sends */
    bool sum;
} begun[1000];
static int begun_count;

void world_sum_begin(float *x, size_t count, int to, float *buffer) {
    if (size == 1) return;
    begun[begun_count].sum = true;
    begun[begun_count].buffer = buffer;
    world_broadcast_begin(x, count, to);
}

size_t world_buffer_size(size_t count, int to) {
    return size > 1 && (to == ALL_PROCESSES || to == rank) ? count : 0;
}

void world_broadcast_begin(float *x, size_t count, int from) {
    if (size == 1) return;
    begun[begun_count].x = x;
    begun[begun_count].count = count;
    begun[begun_count++].process = from;
}

void world_progress(void) {}

void world_wait(void) {
    for (int i = 0; i < begun_count; i++) {
        float *x = begun[i].x, *buffer = begun[i].buffer;
        const size_t count = begun[i].count;
        const bool mine = begun[i].process == rank;
        if (!begun[i].sum && mine) give(x, count * sizeof *x);
        if (!begun[i].sum && !mine) take(x, count * sizeof *x);
        if (!begun[i].sum) continue;
        if (begun[i].process == ALL_PROCESSES)
            swap(x, buffer, count * sizeof *x);
        else if (mine)
            take(buffer, count * sizeof *x);
        else
            give(x, count * sizeof *x);
        const bool added = mine || begun[i].process == ALL_PROCESSES;
        for (size_t j = 0; j < count; j++) x[j] = added ? x[j] + buffer[j] : NAN;
    }
    memset(begun, 0, sizeof begun);
    begun_count = 0;
}

Traffic world_traffic(void) {
    return (Traffic){0};
}

/* ---- the same as one process ---- */

/* Starts the other process. Both then run the same lines until pair_end. Returns its id; in the
 * other process, 0. */
static pid_t pair_begin(void) {
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, ends), 0);
    fflush(NULL);
    const pid_t other = fork();
    assert_true(other >= 0);
    size = 2;
    rank = other == 0;
    link_to_other = ends[rank];
    close(ends[1 - rank]);
    return other;
}

static void pair_end(pid_t other) {
    int status = 0;
    size = 1;
    close(link_to_other);
    if (other == 0) _exit(0);
    assert_int_equal(waitpid(other, &status, 0), other);
    assert_int_equal(status, 0);
}

/* Cases: every rung, then windows that are cut into pieces. */
enum { STEPS = 12, FOUND = 2 * STEPS + 4, PIECES = 8, CASES };

/* Trains half of the steps, resumes the rest from a state, and evaluates on both parts. Collects
 * losses and norms. The text of every second case is the play read backward. */
static void collect(int number, double found[FOUND]) {
    const char *rung = number < PIECES ? tril_rung(number) : "modern";
    size_t length;
    char *play = slurp(ACT, &length);
    for (size_t i = 0; number % 2 == 1 && i < length / 2; i++) {
        const char last = play[length - 1 - i];
        play[length - 1 - i] = play[i];
        play[i] = last;
    }
    TrilOptions options = sized(rung, 2, 2, 16, number == PIECES ? 128 : 16);
    TrilTokenizer *tokenizer = tokenizer_of(play);
    TrilTraining *training;
    TrilState state;
    TrilModel *model;
    options.kv_heads = NAN;
    options.steps = STEPS;
    options.batch = 5;
    options.dropout = 0.1;
    options.threads = 1;
    options.precision = "f32";
    const TrilText *text = text_of(tokenizer, play, length, 0.1);
    must(tril_training_open(&training, model_of(tokenizer, &options), text, &options, &error));
    for (int i = 0; i < STEPS; i++) {
        if (i == STEPS / 2) {
            must(tril_training_evaluate(training, 0, NULL, NULL, found++, &error));
            must(tril_training_save(training, scratch("half"), NULL, &error));
            assert_true(world_agree(true, &error)); /* the first process has written it */
            tril_training_close(training);
            must(tril_state_load(&model, &state, scratch("half"), &error));
            at_end(release_model, model);
            must(tril_training_open(&training, model, text, &options, &error));
        }
        must(tril_training_step(training, &error));
        *found++ = tril_training_progress(training).loss;
        *found++ = tril_training_progress(training).norm;
    }
    must(tril_training_evaluate(training, 5000, NULL, NULL, found++, &error));
    tril_training_close(training);
    for (int i = 0; i < 2; i++)
        must(tril_text_evaluate(text, model, i, 0, 5, 1, NULL, NULL, found++, &error));
}

/* Two processes train all cases, one after another. */
TEST(pair) {
    double found[2][CASES][FOUND];
    for (int shared = 0; shared < 2; shared++) {
        const pid_t other = shared ? pair_begin() : 0;
        for (int i = 0; i < CASES; i++) collect(i, found[shared][i]);
        if (shared) pair_end(other);
    }
    for (int i = 0; i < CASES; i++)
        for (int j = 0; j < FOUND; j++)
            if (!(fabs(found[0][i][j] - found[1][i][j]) <= 1e-4 * found[0][i][j]))
                fail_msg("%d, %d: %g alone, %g shared", i, j, found[0][i][j], found[1][i][j]);
}

static TrilStatus open_two(TrilTraining **training, TrilModel **model, int batch) {
    size_t length;
    const char *play = slurp(ACT, &length);
    TrilOptions options = sized("gpt", 1, 2, 16, 16);
    const TrilTokenizer *tokenizer = tokenizer_of(play);
    options.batch = batch;
    options.precision = "f32";
    *model = model_of(tokenizer, &options);
    return tril_training_open(training, *model, text_of(tokenizer, play, length, 0.1), &options,
                              &error);
}

/* Each process needs a sequence, and the weights and kernels of the first one. */
TEST(disagreement) {
    const pid_t other = pair_begin();
    const Isa *tables[ISA_MAX];
    TrilTraining *training;
    TrilModel *model;
    TrilTensor tensor;
    double loss;
    assert_int_equal(open_two(&training, &model, 1), TRIL_ARGUMENT);
    expect_error(error, " 1 ", " 2 ");
    must(open_two(&training, &model, 2));
    must(tril_training_evaluate(training, 0, NULL, NULL, &loss, &error));
    tril_model_tensor(model, 0, &tensor);
    tensor.data[0] += (float)rank;
    assert_int_equal(tril_training_evaluate(training, 0, NULL, NULL, &loss, &error), TRIL_ARGUMENT);
    expect_error(error, "1", "weights");
    tril_training_close(training);
    if (isa_available(tables) > 1) {
        const char *before = set_variable("KERNELS", tables[rank]->name);
        assert_int_equal(open_two(&training, &model, 2), TRIL_ARGUMENT);
        expect_error(error, "1", "KERNELS=base");
        set_variable("KERNELS", before);
    }
    pair_end(other);
}
