/* train.c - trains models on a text and shows side by side what each idea buys: the command line,
 * and what a training that is resumed takes over of the one before. */
#include "base/clock.h"
#include "base/escape.h"
#include "base/file.h"
#include "base/launcher.h"
#include "base/options.h"
#include "base/world.h"
#include "data/data.h"
#include "exchange/trained.h"
#include "model/model.h"
#include "report/screen.h"
#include "training/crew.h"
#include "training/display.h"
#include "training/interruption.h"
#include "training/ladder.h"
#include "training/outputs.h"
#include "training/plan.h"
#include "training/preset.h"
#include "training/start.h"
#include "version.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, MAX_WORDS = 32 };

/* ---- the command line ---- */

static bool read_precision(Settings *s, Error *err) {
    /* to be the same when it is resumed */
    if (strcmp(s->precision, "auto") == 0)
        s->precision = run_default_precision() == BFLOAT16 ? "bf16" : "f32";
    s->multiply_in = strcmp(s->precision, "bf16") == 0 ? BFLOAT16 : FLOAT32;
    return s->multiply_in == BFLOAT16 || strcmp(s->precision, "f32") == 0 ||
           fail(err, "--precision is auto, f32 or bf16, not '%s'", s->precision);
}

/* The sizes are still open where a model is to bring them. */
static bool check_settings(Settings *s, int operands, bool sizes_open, Error *err) {
    if (operands != 1) return fail(err, "one text FILE is expected, not %d; see --help", operands);
    const char *names[MAX_RUNGS];
    Config config = plan_least(s).sizes;
    if (!read_precision(s, err)) return false;
    if (s->threads == 0) s->threads = run_default_threads();
    if (s->ladder && s->init) return fail(err, "--init is for one model, not for a --ladder");
    if (s->preset && s->init)
        return fail(err, "--init brings its sizes, as a --preset does; take one");
    if (sizes_open) return true;
    config.V = 1; /* not known yet, and fine whatever it is */
    snprintf(config.model, sizeof config.model, "%s", s->model);
    if (!model_check(&config, err)) return false;
    for (int i = ladder_plan(s, names); i-- > 0;) {
        snprintf(config.model, sizeof config.model, "%s", names[i]);
        if (!model_check(&config, err)) return false;
    }
    return true;
}

typedef struct {
    const Option *options;
    int count;
    Settings *values; /* what they set */
    char *words;      /* room for the preset's, into which texts then point */
} Options;

/* Settings then point into `room`. */
static bool read_preset(Options o, const char *name, char room[WORDS_ROOM], Error *err) {
    char *list[MAX_WORDS] = {""};
    int count = 1, first;
    const char *words = preset_words(name, err);
    if (!words) return false;
    snprintf(room, WORDS_ROOM, "%s", words);
    for (char *word = strtok(room, " "); word && count < MAX_WORDS - 1; word = strtok(NULL, " "))
        list[count++] = word;
    return options_parse(o.options, o.count, count, list, &first, err);
}

/* What is said beside a preset goes before it, wherever it stands. Steps and time are two ways to
 * say how long: the one that is said takes the place of the other. */
static bool read_command_line(Options o, int argc, char **argv, int *first, Error *err) {
    Settings *s = o.values;
    int steps = s->steps;
    double time = s->time;
    s->steps = 0;
    s->time = 0;
    if (!options_parse(o.options, o.count, argc, argv, first, err)) return false;
    if (s->steps > 0 && s->time > 0)
        return fail(err, "--steps and --time are two ways to say how long; take one");
    if (s->steps == 0 && s->time <= 0 && !s->preset) s->time = time;
    s->steps_open = s->steps == 0 && !s->preset;
    if (s->steps == 0) s->steps = steps;
    return !s->preset || (read_preset(o, s->preset, o.words, err) &&
                          options_parse(o.options, o.count, argc, argv, first, err));
}

/* What a training takes over when it is resumed. The first FIXED cannot be changed any more. */
static const char *const lasting[] = {"model", "layers",     "heads",     "width", "context",
                                      "val",   "bytes",      "ladder",    "steps", "batch",
                                      "lr",    "eval-every", "precision", "seed",  "dropout",
                                      "time",  "decay",      "patience",  "epochs"};
enum { LASTING = sizeof lasting / sizeof *lasting, FIXED = 7, WORD_ROOM = 64 };

/* The settings that last, as words of the command line, a line for each. */
static void write_words(Options o, char words[WORDS_ROOM]) {
    char word[WORD_ROOM];
    *words = 0;
    for (int i = 0; i < LASTING; i++)
        if (option_word(o.options, o.count, lasting[i], word, sizeof word))
            snprintf(words + strlen(words), WORDS_ROOM - strlen(words), "%s\n", word);
}

/* Sets them from such words, into which texts then point. */
static bool read_words(Options o, char words[WORDS_ROOM], Error *err) {
    char *argv[LASTING + 2] = {""}, before[WORDS_ROOM], again[WORDS_ROOM];
    int argc = 1, first;
    snprintf(before, sizeof before, "%s", words);
    for (char *word = strtok(words, "\n"); word && argc <= LASTING; word = strtok(NULL, "\n"))
        argv[argc++] = word;
    if (!options_parse(o.options, o.count, argc, argv, &first, err)) return false;
    write_words(o, again);
    return strcmp(before, again) == 0 || fail(err, "its metadata has no valid 'settings'");
}

/* What is said of --init where a training goes on does not matter, but is not to be wrong. */
static bool check_start(const Settings *s, Error *err) {
    return !s->init || access(s->init, R_OK) == 0 ||
           fail(err, "%s: cannot be opened: %s", s->init, strerror(errno));
}

/* With --continue: is the state there of another text, so that a training begins? */
static bool is_other_text(const Settings *s, const State *state, bool *other, Error *err) {
    uint64_t digest;
    *other = false;
    if (!s->go_on) return true;
    if (!corpus_digest(s->input, &digest, err)) return false;
    *other = digest != state->text;
    return true;
}

/* With --continue a training goes on for as long as it was to, or longer. */
static void keep_budget(Settings *s, int steps, double time) {
    if (!s->go_on) return;
    if (time <= 0) { /* steps count */
        s->time = 0;
        if (s->steps < steps || s->steps_open) s->steps = steps;
    } else {
        s->time = fmax(s->time, time);
    }
}

/* Reads the state that a training goes on from, if there is one. Its settings take the place of the
 * defaults; of those on the command line, which are read once more, some may differ. `words` is
 * theirs to point into. */
static bool take_up(Settings *s, const Settings *defaults, Options o, int argc, char **argv,
                    State *state, char words[WORDS_ROOM], Error *err) {
    char path[PATH_ROOM], was[FIXED][WORD_ROOM], now[WORD_ROOM];
    const char *input = s->input;
    int first;
    Error why;
    if (!state_path(s->out, path, err)) return false;
    bool other;
    if (access(path, F_OK) != 0) {
        if (!s->quiet && !s->go_on) {
            escape_string(stdout, path);
            puts(": not there yet: training begins");
        }
        return true;
    }
    if (!file_begins(path, ""))
        return fail(err, "%s: is no regular file, and not the state of a training", path);
    if (s->go_on && !file_begins(s->input, ""))
        return fail(err, "%s: --continue reads the text twice, which must be a regular file",
                    s->input);
    if (!check_start(s, err) || !state_load(state, path, err) ||
        !is_other_text(s, state, &other, err))
        return false;
    if (other) {
        state_free(state);
        return true;
    }
    memcpy(words, state->words, WORDS_ROOM);
    *s = *defaults;
    if (!read_words(o, words, &why)) return fail(err, "%s: %.400s", path, why.text);
    for (int i = 0; i < FIXED; i++)
        option_word(o.options, o.count, lasting[i], was[i], sizeof was[i]);
    int steps = s->steps;
    double time = s->time;
    if (!read_command_line(o, argc, argv, &first, err)) return false;
    keep_budget(s, steps, time);
    s->input = input;
    for (int i = 0; i < FIXED; i++) {
        option_word(o.options, o.count, lasting[i], now, sizeof now);
        if (strcmp(was[i], now) != 0)
            return fail(err, "%s: was trained with%s %s, not %s", path, *was[i] ? "" : "out",
                        *was[i] ? was[i] : now, *was[i] ? now : "with it");
    }
    return true;
}

/* Reads the model that a training begins from, and the command line once more: what it does not say
 * is now the model's. */
static bool take_start(Settings *s, Options o, int argc, char **argv, Trained *start, Error *err) {
    int first;
    if (!trained_load(start, s->init, err)) return false;
    s->sizes = (Config){.dropout = -1};
    s->model = NULL;
    return read_command_line(o, argc, argv, &first, err) && start_settle(s, start, err);
}

/* ---- the program ---- */

/* Settles what the settings leave open; those of a training that is resumed leave nothing. Of a
 * ladder the last rung is the largest. */
static bool settle(Settings *s, const Corpus *corpus, Error *err) {
    const char *names[MAX_RUNGS];
    int rungs = ladder_plan(s, names);
    Settings asked = *s;
    Plan plan;
    if (!plan_make(s, corpus, s->ladder ? names[rungs - 1] : s->model,
                   s->ladder ? s->time / rungs : s->time, &plan, err))
        return false;
    if (plan.speed > 0 && interrupted()) return fail(err, "interrupted before training began");
    if (!s->quiet) show_plan(&asked, s, &plan);
    return true;
}

/* Threads beyond the processors would only wait, and change nothing. */
static void take_threads(Settings *s) {
    int most = run_most_threads();
    if (s->threads <= most) return;
    if (!s->quiet)
        printf("-j %d: this program may use %d processors, and takes %d threads\n", s->threads,
               most, most);
    s->threads = most;
}

/* Reads the text, with the vocabulary of the model that is there already, if there is one. */
static bool read_text(const Settings *settings, const State *state, const Trained *start,
                      Corpus *corpus, Error *err) {
    Vocab before = {0};
    char last[PATH_ROOM];
    bool goes_on = state->checkpoint.model.weights, begun = start->checkpoint.model.weights;
    if (goes_on && (!state_path(settings->out, last, err) ||
                    !trained_vocab(&state->checkpoint, last, &before, err)))
        return false;
    const Vocab *known = goes_on ? &before : begun ? &start->vocab : NULL;
    int context = settings->sizes.T > 0 ? settings->sizes.T : 1;
    bool ok = corpus_load(corpus, settings->input, settings->bytes, settings->held_out, context,
                          known, err);
    vocab_free(&before);
    return ok;
}

/* Whatever may stand in a training's way is found before the text is read. */
static bool run_program(Settings *settings, Options o, State *state, Trained *start, Error *err) {
    Corpus corpus = {0};
    Outputs *outputs;
    const char *names[MAX_RUNGS];
    int rungs = ladder_plan(settings, names);
    bool goes_on = state->checkpoint.model.weights, begun = start->checkpoint.model.weights;
    bool ok = outputs_open(&outputs, settings, names, rungs, err) &&
              read_text(settings, state, start, &corpus, err);
    if (ok) interruption_catch(!settings->quiet);
    ok = ok && crew_hand_out(&corpus, err);
    if (ok) take_threads(settings);
    if (ok && !settings->quiet) show_corpus(settings->input, &corpus);
    ok = ok && (!goes_on || state->text == corpus.digest ||
                fail(err, "%s: is not the text of the training that --resume is to go on with",
                     settings->input));
    ok = ok && (goes_on || settle(settings, &corpus, err));
    if (ok) write_words(o, settings->words);
    ok = ok &&
         ladder_train(settings, &corpus, outputs, state, begun ? &start->checkpoint : NULL, err) &&
         file_flush_output(err);
    corpus_free(&corpus);
    outputs_close(outputs);
    return ok;
}

/* What --help says of --model. */
static void write_rungs(char *text, size_t room) {
    snprintf(text, room, "the rung of the ladder: ");
    for (int i = 0; model_name(i); i++) {
        size_t length = strlen(text);
        snprintf(text + length, room - length, "%s%s", i > 0 ? ", " : "", model_name(i));
    }
}

static int usage_error(const Error *err) {
    fprintf(stderr, "train: %s\n", err->text);
    return EXIT_USAGE;
}

/* What the first process does. */
static int lead(int argc, char **argv) {
    screen_prepare();
    Settings s = {.command = argv,
                  .out = "out/model.safetensors",
                  .precision = "auto",
                  .learning_rate = -1,
                  .decay = -1,
                  .epochs = -1,
                  .sizes.dropout = -1,
                  .held_out = 0.1,
                  .save_every = 60,
                  .patience = 0.3,
                  .begun = clock_seconds(),
                  .seed = 1337};
    Config *z = &s.sizes;
    char rungs[128];
    write_rungs(rungs, sizeof rungs);
    const Option options[] = {
        {.kind = OPTION_SECTION, .help = "What to train"},
        {'m', "model", OPTION_TEXT, &s.model, 0, 0, "NAME", rungs},
        {0, "preset", OPTION_TEXT, &s.preset, 0, 0, "NAME",
         "a recipe: small (the default), quick, base, nanogpt-cpu, nanogpt-gpu"},
        {0, "ladder", OPTION_FLAG, &s.ladder, 0, 0, NULL, "every rung, on the same budget"},
        {0, "init", OPTION_TEXT, &s.init, 0, 0, "PATH",
         "begin from a model: a checkpoint, or a folder of Hugging Face's"},
        {'o', "out", OPTION_TEXT, &s.out, 0, 0, "FILE", "the checkpoint"},
        {'r', "resume", OPTION_FLAG, &s.resume, 0, 0, NULL, "go on with the training of --out"},
        {0, "continue", OPTION_FLAG, &s.go_on, 0, 0, NULL,
         "the same if that training is of this FILE, else begin one"},
        {0, "log", OPTION_TEXT, &s.log, 0, 0, "FILE",
         "each step of --model as CSV; default: beside --out"},
        {.kind = OPTION_SECTION, .help = "How long and how fast"},
        {'s', "steps", OPTION_INT, &s.steps, 1, 1e9, "N", "training steps"},
        {'t', "time", OPTION_TIME, &s.time, 1, 1e7, "TIME",
         "90s, 5m or 2h for all, rather than a number of steps"},
        {'b', "batch", OPTION_INT, &s.batch, 1, 65536, "N", "stretches of text in a step"},
        {0, "lr", OPTION_REAL, &s.learning_rate, 1e-9, 10, "X",
         "peak learning rate of --model; default: the rung's own"},
        {0, "decay", OPTION_REAL, &s.decay, 0, 10, "X",
         "weight decay of --model; default: the rung's own"},
        {0, "eval-every", OPTION_INT, &s.eval_every, 1, 1e9, "N", "steps between evaluations"},
        {'e', "epochs", OPTION_REAL, &s.epochs, 0, 1e9, "X",
         "sees the text so many times at most where nobody says how many steps; 0: any number; default: "
         "16 to 40, by its length"},
        {0, "patience", OPTION_REAL, &s.patience, 0, 1, "X",
         "ends after this share of the training without a lower loss; 1: never"},
        {0, "save-every", OPTION_REAL, &s.save_every, 0, 60, "X",
         "seconds, at most, between two saves of the last state"},
        {'j', "threads", OPTION_INT, &s.threads, 1, MAX_THREADS, "N",
         "threads, which do not change the result; default: one for each processor"},
        {0, "precision", OPTION_TEXT, &s.precision, 0, 0, "NAME",
         "of products: f32, bf16, or auto: bf16 where the processor has it"},
        {0, "seed", OPTION_SEED, &s.seed, 0, 0, "N", "of all that is random"},
        {.kind = OPTION_SECTION, .help = "How large"},
        {'l', "layers", OPTION_INT, &z->L, 1, MAX_LAYERS, "N", "blocks, in gpt and modern"},
        {'H', "heads", OPTION_INT, &z->NH, 1, MAX_WIDTH, "N",
         "attention heads; they divide the width"},
        {'w', "width", OPTION_INT, &z->C, 1, MAX_WIDTH, "N", "channels of a character's vector"},
        {'c', "context", OPTION_INT, &z->T, 1, MAX_CONTEXT, "N",
         "characters that a prediction looks back on"},
        {'d', "dropout", OPTION_REAL, &z->dropout, 0, 0.99, "X",
         "share of activations dropped in training; default: by the text"},
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
    char usual[WORDS_ROOM], preset[WORDS_ROOM];
    Options all = {options, count, &s, preset};
    Error err = {0};
    if (!read_preset(all, "small", usual, &err)) return usage_error(&err);
    /* Defaults are read before parsing: --help shows them whatever else is given. */
    Settings defaults = s;
    if (!read_command_line(all, argc, argv, &first, &err)) return usage_error(&err);
    if (s.time > 0 && !s.preset) { /* what is not said is for the plan */
        s.sizes = (Config){.dropout = -1};
        s.batch = 0;
        if (!read_command_line(all, argc, argv, &first, &err)) return usage_error(&err);
    }
    if (s.help) {
        s = defaults;
        fputs("Usage: ", stdout);
        escape_string(stdout, *argv);
        puts(" [options] FILE\n\nTrains a bigram and a modern GPT on a text, or every rung between "
             "them,\nand compares them.");
        options_print(stdout, options, count);
        return EXIT_SUCCESS;
    }
    if (s.version) {
        printf("tril %s\n", TRIL_VERSION);
        return EXIT_SUCCESS;
    }
    setvbuf(stdout, NULL, _IOLBF, BUFSIZ); /* who reads along through a pipe sees each line */
    if (!check_settings(&s, argc - first, s.init, &err)) return usage_error(&err);
    State state = {0};
    char words[WORDS_ROOM];
    s.input = argv[first];
    bool ok =
        !(s.resume || s.go_on) || take_up(&s, &defaults, all, argc, argv, &state, words, &err);
    Trained start = {0};
    if (ok && s.init && !state.checkpoint.model.weights)
        ok = take_start(&s, all, argc, argv, &start, &err);
    if (ok && !check_settings(&s, argc - first, false, &err)) return usage_error(&err);
    ok = ok && run_program(&s, all, &state, &start, &err);
    trained_free(&start);
    state_free(&state);
    if (ok) return EXIT_SUCCESS;
    fflush(stdout);
    fprintf(stderr, "train: %s\n", err.text);
    return EXIT_FAILURE;
}

int main(int argc, char **argv) {
    Error err = {0};
    file_hold_standard_streams();
    if (!world_join(&err)) {
        if (launcher_speaks()) fprintf(stderr, "train: %s\n", err.text);
        return EXIT_FAILURE;
    }
    int status = EXIT_SUCCESS;
    bool met = crew_meet(&err);
    if (!met) {
        status = EXIT_FAILURE;
        if (world_rank() == 0) fprintf(stderr, "train: %s\n", err.text);
    } else if (world_rank() == 0) {
        status = lead(argc, argv);
        crew_dismiss();
    } else {
        crew_follow();
    }
    world_leave();
    return status;
}
