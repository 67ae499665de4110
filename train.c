/* train.c - trains models on a text and shows side by side what each idea buys. */
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/options.h"
#include "data/data.h"
#include "model/model.h"
#include "version.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { MAX_RUNGS = 16, CLOSED_FORMS = 3, PATH_ROOM = 4096, EXIT_USAGE = 2 };

typedef struct {
    const char *input, *out, *log, *model, *precision;
    int steps, batch, eval_every, threads;
    Config sizes; /* V and the model's name are filled in later */
    Precision multiply_in;
    double learning_rate, held_out;
    uint64_t seed;
    bool ladder, bytes, quiet, help, version;
} Settings;

/* A line of the table at the end. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation; /* nats per character */
    double seconds;           /* negative: needed no training */
} Result;

/* One rung being trained. */
typedef struct {
    const Settings *settings;
    const Corpus *corpus;
    Model model;
    Run *run;
    const char *path; /* of its checkpoint */
    char log_path[PATH_ROOM];
    FILE *log;
    int32_t *inputs, *targets; /* a batch */
    double peak, rate;         /* learning rates: the highest, and that of the last step */
    double started, learning;  /* when; seconds in training steps alone */
    double best;               /* validation loss of the checkpoint, infinite before the first */
    Error unsaved;             /* why the last checkpoint could not be written; empty if it was */
    double recent;             /* mean training loss since the last evaluation */
    int recent_count;
} Training;

/* ---- interruption ---- */

static volatile sig_atomic_t interrupted;

/* Ctrl-C, a polite kill, the end of the session. */
static const int interruptions[] = {SIGINT, SIGTERM, SIGHUP};

static void on_interruption(int number) {
    (void)number;
    interrupted = 1;
    for (size_t i = 0; i < sizeof interruptions / sizeof *interruptions; i++)
        signal(interruptions[i], SIG_DFL);
}

/* The first interruption ends the training in good order, a second one the program. What was
 * ignored from the start, as under nohup, stays so. A file that may grow no further is an error of
 * writing like others. */
static void catch_signals(void) {
    struct sigaction action = {.sa_handler = on_interruption, .sa_flags = SA_RESTART}, old;
    for (size_t i = 0; i < sizeof interruptions / sizeof *interruptions; i++)
        if (sigaction(interruptions[i], NULL, &old) == 0 && old.sa_handler != SIG_IGN)
            sigaction(interruptions[i], &action, NULL);
    signal(SIGXFSZ, SIG_IGN);
}

/* ---- printing ---- */

/* 1234567 as 1,234,567. */
static const char *grouped(size_t number, char text[32]) {
    char plain[32];
    int digits = snprintf(plain, sizeof plain, "%zu", number), to = 0;
    for (int i = 0; i < digits; i++) {
        if (i > 0 && (digits - i) % 3 == 0) text[to++] = ',';
        text[to++] = plain[i];
    }
    text[to] = 0;
    return text;
}

/* What training takes, with the text and the program; reading a long text may have taken more. */
static void print_memory(const Training *t) {
    enum { PROGRAM = 3 << 20 }; /* itself and its libraries */
    const double MiB = 1048576;
    Memory m = run_memory(t->run);
    size_t text = t->corpus->length * sizeof *t->corpus->ids;
    double all = (double)(m.weights + m.optimizer + m.activations + m.threads + text + PROGRAM);
    double before = (double)memory_peak();
    if (before > all) all = before;
    printf("  %.1f MiB of memory: weights %.1f, optimizer %.1f, activations %.1f, threads %.1f, "
           "text %.1f\n",
           all / MiB, (double)m.weights / MiB, (double)m.optimizer / MiB,
           (double)m.activations / MiB, (double)m.threads / MiB, (double)text / MiB);
}

static void print_progress(const Training *t, int step) {
    char rate[32];
    double tokens = (double)step * t->settings->batch * t->model.config.T;
    double elapsed = clock_seconds() - t->started;
    double left = elapsed / step * (t->settings->steps - step);
    printf("\r  step %d/%d  loss %.4f  %s tokens/s  %.0f s, %.0f s left \033[K", step,
           t->settings->steps, t->recent, grouped((size_t)(tokens / t->learning), rate), elapsed,
           left);
    fflush(stdout);
}

static void print_evaluation(const Training *t, int step, double validation, const char *mark) {
    char rate[32];
    double tokens = (double)step * t->settings->batch * t->model.config.T;
    printf("%s  step %5d/%d  loss %.4f  validation %.4f%s  %s tokens/s  %.1f s\n",
           isatty(STDOUT_FILENO) ? "\r\033[K" : "", step, t->settings->steps, t->recent, validation,
           mark, grouped((size_t)(tokens / t->learning), rate), clock_seconds() - t->started);
    fflush(stdout);
}

static void print_result(FILE *out, const Result *result) {
    char parameters[32] = "-", seconds[32] = "-";
    if (result->seconds >= 0) {
        grouped(result->parameters, parameters);
        snprintf(seconds, sizeof seconds, "%.1f", result->seconds);
    }
    fprintf(out, "%-16s  %10s  %8.4f  %10.4f  %9.3f  %7s\n", result->name, parameters,
            result->train, result->validation, result->validation / log(2.0), seconds);
}

static void print_table(const Result *results, int count) {
    printf("\n%-16s  %10s  %8s  %10s  %9s  %7s\n", "model", "parameters", "train", "validation",
           "bits/char", "seconds");
    for (int i = 0; i < count; i++) print_result(stdout, &results[i]);
}

/* ---- files ---- */

/* Writes to `text` the path of `name` in the directory of `path`. */
static bool beside(const char *path, const char *name, char text[PATH_ROOM], Error *err) {
    const char *slash = strrchr(path, '/');
    int length =
        snprintf(text, PATH_ROOM, "%.*s%s", slash ? (int)(slash - path + 1) : 0, path, name);
    return length < PATH_ROOM || fail(err, "%s: too long a path", path);
}

/* Where the log goes: where it was told to or, by default, the checkpoint's path with .csv for
 * .safetensors. */
static bool log_path(const char *path, const char *named, char text[PATH_ROOM], Error *err) {
    static const char ending[] = ".safetensors";
    size_t length = strlen(path), cut = strlen(ending);
    if (!named && length > cut && strcmp(path + length - cut, ending) == 0) length -= cut;
    int written = named ? snprintf(text, PATH_ROOM, "%s", named)
                        : snprintf(text, PATH_ROOM, "%.*s.csv", (int)length, path);
    return written < PATH_ROOM || fail(err, "%s: too long a path", path);
}

static bool save(const Training *t, int step, double validation, Error *err) {
    const Vocab *vocab = &t->corpus->vocab;
    char *characters = NULL;
    size_t length = 0;
    if (!vocab->bytes && !vocab_join(vocab, &characters, &length, err)) return false;
    char at_step[32], seed[32], loss[32];
    int step_length = snprintf(at_step, sizeof at_step, "%d", step);
    int seed_length = snprintf(seed, sizeof seed, "%" PRIu64, t->settings->seed);
    int loss_length = snprintf(loss, sizeof loss, "%.6f", validation);
    Note notes[] = {
        {"characters", vocab->bytes ? "bytes" : "utf-8", 5},
        {"vocabulary", characters ? characters : "", length},
        {"step", at_step, (size_t)step_length},
        {"seed", seed, (size_t)seed_length},
        {"validation_loss", loss, (size_t)loss_length},
    };
    bool ok = checkpoint_save(t->path, &t->model, notes, sizeof notes / sizeof *notes, err);
    memory_free(characters);
    return ok;
}

/* ---- training ---- */

static bool open_training(Training *t, const Settings *settings, const Corpus *corpus,
                          const char *name, const char *path, Error *err) {
    *t = (Training){.settings = settings, .corpus = corpus, .path = path, .best = INFINITY};
    Config config = settings->sizes;
    config.V = corpus->vocab.size;
    snprintf(config.model, sizeof config.model, "%s", name);
    bool chosen = settings->learning_rate > 0 && strcmp(name, settings->model) == 0;
    t->peak = chosen ? settings->learning_rate : model_learning_rate(name);
    RunOptions options = {.batch = settings->batch,
                          .length = config.T,
                          .training = true,
                          .threads = settings->threads,
                          .precision = settings->multiply_in,
                          .seed = settings->seed};
    size_t tokens = (size_t)settings->batch * (size_t)config.T;
    bool named = settings->log && strcmp(path, settings->out) == 0;
    if (!model_build(&t->model, &config, settings->seed, err) ||
        !run_open(&t->run, &t->model, &options, err) ||
        !memory_alloc(&t->inputs, tokens, sizeof(int32_t), "a batch", err) ||
        !memory_alloc(&t->targets, tokens, sizeof(int32_t), "a batch", err) ||
        !log_path(path, named ? settings->log : NULL, t->log_path, err) ||
        !file_make_parent(path, err))
        return false;
    t->log = fopen(t->log_path, "w");
    if (!t->log) return fail(err, "%s: cannot be created: %s", t->log_path, strerror(errno));
    fputs("step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second\n", t->log);
    t->started = clock_seconds();
    return true;
}

static void close_training(Training *t) {
    run_close(t->run);
    model_free(&t->model);
    memory_free(t->inputs);
    memory_free(t->targets);
    if (t->log) fclose(t->log);
}

/* One step: a batch forward, its loss backward, the weights a little better. */
static bool train_step(Training *t, int step, double *loss, double *norm, Error *err) {
    const Settings *s = t->settings;
    const Corpus *corpus = t->corpus;
    int T = t->model.config.T;
    int warmup = s->steps / 10 < 100 ? s->steps / 10 : 100;
    Optimizer adamw = {
        .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-8, .weight_decay = 0.1, .clip = 1};
    adamw.learning_rate = schedule_cosine(step, s->steps, warmup, t->peak, t->peak / 10);
    t->rate = adamw.learning_rate;

    double start = clock_seconds();
    batch_random(corpus->ids, corpus->train, s->batch, T, s->seed, (uint64_t)step, t->inputs,
                 t->targets);
    run_forward_training(t->run, t->inputs, s->batch, T);
    *loss = run_loss(t->run, t->targets);
    if (!isfinite(*loss))
        return fail(err, "%s: the loss is no longer a number at step %d; a smaller --lr may help",
                    t->model.config.model, step + 1);
    run_backward(t->run, t->targets);
    *norm = run_update(t->run, &adamw);
    if (!isfinite(*norm))
        return fail(err, "%s: the gradient is no longer finite at step %d; a smaller --lr may help",
                    t->model.config.model, step + 1);
    t->learning += clock_seconds() - start;
    t->recent = (t->recent * t->recent_count + *loss) / (t->recent_count + 1);
    t->recent_count++;
    return true;
}

/* The loss on the whole held-out text; keeps the weights if it is the lowest so far. Where they
 * cannot be written now, they may be next time: training goes on. */
static bool evaluate(Training *t, int step, double *validation, Error *err) {
    const Corpus *corpus = t->corpus;
    *validation =
        run_evaluate(t->run, corpus->ids + corpus->train, corpus->length - corpus->train, 1);
    if (!isfinite(*validation))
        return fail(err, "%s: the loss is no longer a number at step %d; a smaller --lr may help",
                    t->model.config.model, step);
    const char *mark = "  ";
    if (*validation < t->best) {
        Error why = {0};
        bool saved = save(t, step, *validation, &why);
        t->unsaved = why;
        if (saved) t->best = *validation;
        mark = saved ? " *" : " not saved";
    }
    if (!t->settings->quiet) print_evaluation(t, step, *validation, mark);
    t->recent_count = 0;
    return true;
}

/* One row of the log; a validation loss of NaN means that there was no evaluation. */
static void log_step(const Training *t, int step, double loss, double validation, double norm) {
    double tokens = (double)step * t->settings->batch * t->model.config.T;
    fprintf(t->log, "%d,%.0f,%.3f,%.6g,%.6f,", step, tokens, clock_seconds() - t->started, t->rate,
            loss);
    if (!isnan(validation)) fprintf(t->log, "%.6f", validation);
    fprintf(t->log, ",%.6g,%.0f\n", norm, tokens / t->learning);
}

static bool same_config(const Config *a, const Config *b) {
    return strcmp(a->model, b->model) == 0 && a->V == b->V && a->T == b->T && a->L == b->L &&
           a->NH == b->NH && a->C == b->C;
}

/* The figures of the checkpoint that was kept, read back from its file: the training loss over as
 * many characters as are held out, in batches spread over the training text. */
static bool measure(const Training *t, Result *result, Error *err) {
    const Corpus *corpus = t->corpus;
    Checkpoint kept;
    if (!checkpoint_load(&kept, t->path, err)) return false;
    RunOptions options = {.batch = t->settings->batch,
                          .length = kept.model.config.T,
                          .threads = t->settings->threads};
    Run *run = NULL;
    bool ok = same_config(&kept.model.config, &t->model.config) ||
              fail(err, "%s: was replaced by another program", t->path);
    ok = ok && run_open(&run, &kept.model, &options, err);
    if (ok) {
        size_t every = corpus->train / (corpus->length - corpus->train);
        result->train = run_evaluate(run, corpus->ids, corpus->train, every ? every : 1);
        result->validation = t->best;
        result->parameters = kept.model.parameters;
        run_close(run);
    }
    checkpoint_free(&kept);
    return ok;
}

/* Trains one rung to a checkpoint at `path`. */
static bool train_rung(const Settings *settings, const Corpus *corpus, const char *name,
                       const char *path, Result *result, Error *err) {
    Training t;
    bool ok = open_training(&t, settings, corpus, name, path, err);
    char count[32];
    if (ok && !settings->quiet) {
        printf("\n%s: %s\n  %s parameters, %d steps of %d x %d characters, %s kernels\n", name,
               model_idea(name), grouped(t.model.parameters, count), settings->steps,
               settings->batch, t.model.config.T, run_kernels(t.run));
        print_memory(&t);
    }
    double shown = 0;
    bool live = !settings->quiet && isatty(STDOUT_FILENO);
    for (int step = 1; step <= settings->steps && ok; step++) {
        double loss, norm = NAN, validation = NAN;
        ok = train_step(&t, step - 1, &loss, &norm, err);
        if (!ok) break;
        bool last = step == settings->steps || interrupted;
        bool due = last || step % settings->eval_every == 0;
        if (due) ok = evaluate(&t, step, &validation, err);
        log_step(&t, step, loss, validation, norm);
        if (live && !due && clock_seconds() - shown > 0.1) {
            print_progress(&t, step);
            shown = clock_seconds();
        }
        if (last) break;
    }
    if (live && !ok) printf("\n"); /* the message is not to stand behind the progress */
    if (ok && (fflush(t.log) != 0 || ferror(t.log)))
        ok = fail(err, "%s: cannot be written", t.log_path);
    if (ok && *t.unsaved.text) ok = fail(err, "%s", t.unsaved.text);
    *result = (Result){.name = name};
    run_close(t.run); /* its memory is needed no longer */
    t.run = NULL;
    ok = ok && measure(&t, result, err);
    result->seconds = clock_seconds() - t.started;
    close_training(&t);
    return ok;
}

/* ---- the whole ---- */

static bool add_closed_forms(const Corpus *corpus, Result *results, int *count, Error *err) {
    Counts c;
    if (!count_losses(corpus->ids, corpus->train, corpus->ids + corpus->train,
                      corpus->length - corpus->train, corpus->vocab.size, &c, err))
        return false;
    results[(*count)++] = (Result){"uniform", 0, c.uniform, c.uniform, -1};
    results[(*count)++] = (Result){"counted unigram", 0, c.unigram, c.unigram_held_out, -1};
    results[(*count)++] = (Result){"counted bigram", 0, c.bigram, c.bigram_held_out, -1};
    return true;
}

/* The comparison as ladder.csv beside the checkpoints. */
static bool save_comparison(const Settings *settings, const Result *results, int count,
                            char path[PATH_ROOM], Error *err) {
    if (!beside(settings->out, "ladder.csv", path, err)) return false;
    FILE *out = fopen(path, "w");
    if (!out) return fail(err, "%s: cannot be created: %s", path, strerror(errno));
    fputs("model,parameters,train_loss,val_loss,bits_per_char,seconds\n", out);
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        fprintf(out, "%s,%zu,%.6f,%.6f,%.6f,%.3f\n", r->name, r->parameters, r->train,
                r->validation, r->validation / log(2.0), r->seconds < 0 ? 0 : r->seconds);
    }
    bool written = !ferror(out);
    written = fclose(out) == 0 && written;
    return written || fail(err, "%s: cannot be written", path);
}

/* The rungs to train, lowest first: all of them, or the bigram and the chosen one. */
static int plan(const Settings *settings, const char *names[MAX_RUNGS]) {
    int count = 0;
    for (int i = 0; model_name(i) && count < MAX_RUNGS; i++)
        if (settings->ladder || i == 0 || strcmp(model_name(i), settings->model) == 0)
            names[count++] = model_name(i);
    return count;
}

/* Where a rung's checkpoint goes: the model that was asked for to --out, the others beside it. */
static bool target_of(const Settings *settings, const char *name, char path[PATH_ROOM],
                      Error *err) {
    char file[64];
    snprintf(file, sizeof file, "%s.safetensors", name);
    if (strcmp(name, settings->model) != 0) return beside(settings->out, file, path, err);
    int length = snprintf(path, PATH_ROOM, "%s", settings->out);
    return length < PATH_ROOM || fail(err, "%s: too long a path", settings->out);
}

/* A baseline that nobody asked for is not worth gigabytes: the counted bigram says the same. */
static bool leave_out(const Settings *settings, const Corpus *corpus, const char *name) {
    enum { WIDEST = 8192 };
    return strcmp(name, settings->model) != 0 && strcmp(name, model_name(0)) == 0 &&
           !settings->ladder && corpus->vocab.size > WIDEST;
}

static bool train_all(const Settings *settings, const Corpus *corpus, Error *err) {
    const char *names[MAX_RUNGS];
    Result results[MAX_RUNGS + CLOSED_FORMS];
    int rungs = plan(settings, names), count = 0;
    char path[PATH_ROOM];
    for (int i = 0; i < rungs; i++) { /* before hours are spent */
        if (!target_of(settings, names[i], path, err) || !file_check_target(path, err))
            return false;
        if (strcmp(names[i], settings->model) != 0 && strcmp(path, settings->out) == 0)
            return fail(err, "%s: is where the %s goes; --out needs another name", path, names[i]);
    }
    if (!add_closed_forms(corpus, results, &count, err)) return false;
    for (int i = 0; i < rungs && (count == CLOSED_FORMS || !interrupted); i++) {
        if (leave_out(settings, corpus, names[i])) {
            if (!settings->quiet)
                printf("\n%s: left out: of %d characters its table would be larger than is worth "
                       "it\n",
                       names[i], corpus->vocab.size);
            continue;
        }
        if (!target_of(settings, names[i], path, err) ||
            !train_rung(settings, corpus, names[i], path, &results[count], err))
            return false;
        count++;
    }
    print_table(results, count);
    if (settings->ladder) {
        if (!save_comparison(settings, results, count, path, err)) return false;
        printf("\nThe table is also in %s.\n", path);
    }
    bool done = strcmp(results[count - 1].name, settings->model) == 0;
    if (done && strcmp(settings->out, "out/model.safetensors") == 0)
        printf("\nTo read what it writes:  ./sample -n 500\n");
    else if (done)
        printf("\nTo read what it writes:  ./sample -n 500 %s\n", settings->out);
    return true;
}

static bool run_program(const Settings *settings, Error *err) {
    Corpus corpus;
    if (!corpus_load(&corpus, settings->input, settings->bytes, settings->held_out,
                     settings->sizes.T, err))
        return false;
    catch_signals();
    if (!settings->quiet) {
        char all[32], train[32], rest[32];
        printf("%s: %s characters, %d distinct; %s train, %s validate\n", settings->input,
               grouped(corpus.length, all), corpus.vocab.size, grouped(corpus.train, train),
               grouped(corpus.length - corpus.train, rest));
    }
    bool ok = train_all(settings, &corpus, err) && file_flush_output(err);
    corpus_free(&corpus);
    return ok;
}

/* ---- the command line ---- */

static bool check_settings(Settings *s, int operands, Error *err) {
    if (operands != 1) return fail(err, "one text FILE is expected, not %d; see --help", operands);
    const char *names[MAX_RUNGS];
    Config config = s->sizes;
    s->multiply_in = strcmp(s->precision, "bf16") == 0 ? BFLOAT16 : FLOAT32;
    if (s->multiply_in == FLOAT32 && strcmp(s->precision, "f32") != 0)
        return fail(err, "--precision is f32 or bf16, not '%s'", s->precision);
    config.V = 1; /* not known yet, and fine whatever it is */
    snprintf(config.model, sizeof config.model, "%s", s->model);
    if (!model_check(&config, err)) return false;
    for (int i = plan(s, names); i-- > 0;) {
        snprintf(config.model, sizeof config.model, "%s", names[i]);
        if (!model_check(&config, err)) return false;
    }
    return true;
}

static int usage_error(const Error *err) {
    fprintf(stderr, "train: %s\n", err->text);
    return EXIT_USAGE;
}

int main(int argc, char **argv) {
    Settings s = {.out = "out/model.safetensors",
                  .model = "gpt",
                  .precision = "f32",
                  .steps = 2000,
                  .batch = 12,
                  .eval_every = 250,
                  .threads = run_default_threads(),
                  .sizes = {.T = 64, .L = 4, .NH = 4, .C = 128},
                  .learning_rate = -1,
                  .held_out = 0.1,
                  .seed = 1337};
    Config *z = &s.sizes;
    const Option options[] = {
        {.kind = OPTION_SECTION, .help = "What to train"},
        {'m', "model", OPTION_TEXT, &s.model, 0, 0, "NAME", "the rung of the ladder"},
        {0, "ladder", OPTION_FLAG, &s.ladder, 0, 0, NULL, "every rung, on the same budget"},
        {'o', "out", OPTION_TEXT, &s.out, 0, 0, "FILE", "the checkpoint"},
        {0, "log", OPTION_TEXT, &s.log, 0, 0, "FILE",
         "each step of --model as CSV; default: beside --out"},
        {.kind = OPTION_SECTION, .help = "How long and how fast"},
        {'s', "steps", OPTION_INT, &s.steps, 1, 1e9, "N", "training steps"},
        {'b', "batch", OPTION_INT, &s.batch, 1, 65536, "N", "stretches of text in a step"},
        {0, "lr", OPTION_REAL, &s.learning_rate, 1e-9, 10, "X",
         "peak learning rate of --model; default: the rung's own"},
        {0, "eval-every", OPTION_INT, &s.eval_every, 1, 1e9, "N", "steps between evaluations"},
        {'j', "threads", OPTION_INT, &s.threads, 1, 1024, "N",
         "threads; the result does not depend on them"},
        {0, "precision", OPTION_TEXT, &s.precision, 0, 0, "NAME",
         "of products: f32, or bf16 where the processor has it"},
        {0, "seed", OPTION_SEED, &s.seed, 0, 0, "N", "of all that is random"},
        {.kind = OPTION_SECTION, .help = "How large"},
        {'l', "layers", OPTION_INT, &z->L, 1, MAX_LAYERS, "N", "blocks, in gpt"},
        {'H', "heads", OPTION_INT, &z->NH, 1, MAX_WIDTH, "N",
         "attention heads; they divide the width"},
        {'w', "width", OPTION_INT, &z->C, 1, MAX_WIDTH, "N", "channels of a character's vector"},
        {'c', "context", OPTION_INT, &z->T, 1, MAX_CONTEXT, "N",
         "characters that a prediction looks back on"},
        {'d', "dropout", OPTION_REAL, &z->dropout, 0, 0.99, "X",
         "share of activations dropped in training"},
        {.kind = OPTION_SECTION, .help = "The text"},
        {0, "val", OPTION_REAL, &s.held_out, 1e-6, 0.999999, "X",
         "share of the text, at its end, held out to validate"},
        {0, "bytes", OPTION_FLAG, &s.bytes, 0, 0, NULL,
         "any file, byte by byte, rather than UTF-8 characters"},
        {.kind = OPTION_SECTION, .help = "Else"},
        {'q', "quiet", OPTION_FLAG, &s.quiet, 0, 0, NULL, "print only the table"},
        {'h', "help", OPTION_FLAG, &s.help, 0, 0, NULL, "print this"},
        {0, "version", OPTION_FLAG, &s.version, 0, 0, NULL, "print the version"},
    };
    int count = sizeof options / sizeof *options, first;
    Error err = {0};
    /* Defaults are read before parsing: --help shows them whatever else is given. */
    Settings defaults = s;
    if (!options_parse(options, count, argc, argv, &first, &err)) return usage_error(&err);
    if (s.help) {
        s = defaults;
        printf("usage: ./train [options] FILE\n\nTrains a bigram and a GPT on a text, and compares "
               "them.\n");
        options_print(stdout, options, count);
        return EXIT_SUCCESS;
    }
    if (s.version) {
        printf("tril %s\n", TRIL_VERSION);
        return EXIT_SUCCESS;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* who reads along through a pipe sees each line */
    if (!check_settings(&s, argc - first, &err)) return usage_error(&err);
    s.input = argv[first];
    if (run_program(&s, &err)) return EXIT_SUCCESS;
    fflush(stdout);
    fprintf(stderr, "train: %s\n", err.text);
    return EXIT_FAILURE;
}
