/* test_programs.c - the two programs from outside: their output, files and exit status. The models
 * are tiny and write gibberish, but gibberish of the right length. */
#include "tests/table.h"
#include "tests/state.h"
#include "base/memory.h"

/* Its beginning, for evaluating large models. */
#define VERSE "@verse.txt"

/* Sizes that train at once. The last of repeated options counts. */
#define TINY_SIZES "-m gpt -l 1 -w 16 -H 2 -c 16 -b 4 -j 1 "
#define TINY       TINY_SIZES "-s 40 --eval-every 20 "

#define train(...)  must_run("train " TINY __VA_ARGS__)
#define sample(...) must_run("sample " __VA_ARGS__)

/* The first lines of the Thousand Character Classic: halves of 12 bytes, separated by a comma. */
static const char *const verses[] = {"天地玄黃，宇宙洪荒。\n", "日月盈昃，辰宿列張。\n",
                                     "寒來暑往，秋收冬藏。\n", "閏餘成歲，律呂調陽。\n",
                                     "雲騰致雨，露結為霜。\n", "金生麗水，玉出崑岡。\n"};

/* ---- output of the programs ---- */

/* Reads the numbers of training and held-out characters from the first line. */
static void split_of(size_t *training, size_t *held_out) {
    double numbers[4]; /* all, distinct, training, held out */
    assert_int_equal(numbers_of(after(": "), numbers, 4), 4);
    *training = (size_t)numbers[2];
    *held_out = (size_t)numbers[3];
}

/* Checks each line of a log of TINY, with 64 characters a step. Returns the lowest val_loss. */
static double check_log(const char *path) {
    char *text = slurp(path, NULL), *save = NULL;
    const char *head =
        "step,tokens,seconds,lr,train_loss,val_loss,grad_norm,tokens_per_second,sample,tflop\n";
    double lowest = INFINITY, before = 0, each = 0;
    assert_true(begins(text, head));
    int step = 0;
    for (char *line = strtok_r(text + strlen(head), "\n", &save); line;
         line = strtok_r(NULL, "\n", &save)) {
        double number[8];
        char *field = line, *end;
        step++;
        for (int i = 0; i < 8; i++, field = end + 1) {
            number[i] = strtod(field, &end);
            bool empty = i == 5 && step % 20 != 0;
            if ((end == field) != empty || *end != ',')
                fail_msg("%s: field %d of '%s'", path, i + 1, line);
        }
        const char *comma = strrchr(line, ','); /* before it: with an evaluation, text in quotes */
        size_t written = (size_t)(comma - field);
        if (step % 20 == 0)
            assert_true(written > 60 && field[0] == '"' && field[written - 1] == '"');
        else
            assert_int_equal(written, 0);
        assert_true(number[0] == step && number[1] == 64 * step && number[2] >= before);
        assert_true(number[4] > 0 && number[4] < 6);
        assert_true(number[3] > 0 && number[6] > 0 && number[7] > 0);
        double tera = strtod(comma + 1, NULL); /* each step computes the same */
        if (step == 1) each = tera;
        assert_true(tera > 0);
        assert_near(tera, step * each, 1e-4 * tera);
        before = number[2];
        if (step % 20 == 0) lowest = fmin(lowest, number[5]);
    }
    assert_int_equal(step, 40);
    return lowest;
}

/* The log's last text is the one that the model generates without a prompt. */
static void check_sample(const char *path, const char *model) {
    char expected[512] = ",\"", *to = expected + 2, *log = slurp(path, NULL);
    must_run("sample -n 64 %s", model);
    if (strchr("=+-@", *ran.out)) *to++ = '\'';          /* an escaped formula */
    for (const char *c = ran.out; c < ran.out + 64; c++) /* one byte each */
        to += sprintf(to, "%s", *c == '\n' ? "↵" : *c == '"' ? "\"\"" : (char[]){*c, 0});
    strcat(to, "\",");
    log[strlen(log) - 1] = 0;
    if (!strstr(strrchr(log, '\n'), expected)) fail_msg("%s: no %s", path, expected);
}

/* Counts the characters of a text, which must be UTF-8. */
static size_t characters(const char *text, size_t length) {
    size_t count = 0;
    for (size_t i = 0; i < length; i++) count += ((unsigned char)text[i] & 0xC0) != 0x80;
    if (!utf8_valid(text)) fail_msg("%s: not valid UTF-8", ran.command);
    return count;
}

/* ---- training ---- */

TEST(training) {
    enum { V = 63 }; /* distinct characters of the play */
    size_t length, training, held_out;
    slurp(PLAY, &length);
    train("--precision f32 -o @new/deep " PLAY); /* as in the table */
    split_of(&training, &held_out);
    assert_true(training + held_out == length && training == length * 9 / 10);
    assert_near(row_of("uniform").train, log(V), 1e-4);
    assert_near(row_of("uniform").validation, log(V), 1e-4);
    assert_true(row_of("counted unigram").validation < row_of("uniform").validation);
    assert_true(row_of("counted bigram").validation < row_of("counted unigram").validation);
    assert_int_equal(scratch_count("new/deep"), 7);
    assert_near(check_log(scratch("new/deep/model.csv")), learned("gpt").validation, 1e-4);
    assert_near(check_log(scratch("new/deep/bigram.csv")), learned("bigram").validation, 1e-4);
    expect_line(": ", PLAY);
    expect_line("  sample -n 500 ", scratch("new/deep"));
    expect_line("  ", scratch("new/deep/report.html"));
    const char *last =
        expect_line("  train --resume --steps 160 --out ", scratch("new/deep"), PLAY);
    assert_string_equal(strchr(last, '\n'), "\n");
    assert_int_equal(row_of("bigram").parameters, V * V);
    check_sample(scratch("new/deep/model.csv"), "@new/deep/model.safetensors");
    check_sample(scratch("new/deep/bigram.csv"), "@new/deep/bigram.safetensors");
}

/* The predicted memory is the measured one, that of the largest child so far. */
TEST(memory) {
    static const char *const sizes[][2] = {{"gpt", "-w 64 -b 12 -l 1 -c 64"},
                                           {"modern", "-w 128 -c 64 -b 16 -l 3"},
                                           {"gpt", "-w 64 -c 256 -b 40 -l 3"},
                                           {"modern", "-w 256 -c 64 -b 40"},
                                           {"gpt", "-w 512 -c 32 -b 1"}};
    skip_without(CHILD_MEMORY);
    if (strstr(programs_folder(), "san")) skip(); /* use more */
    for (int i = 0; i < repeats(2, COUNT(sizes)); i++) {
        run("train -s 2 --eval-every 2 -o @memory -m %s %s " VERSE, sizes[i][0], sizes[i][1]);
        assert_int_equal(ran.status, 0);
        double stated;
        const char *of_model = after(formatted("\n%s: ", sizes[i][0]));
        numbers_of(find_line(of_model, TEXTS(" MiB ")), &stated, 1);
        stated *= 1048576;
        assert_near(stated, largest_memory(), 0.05 * stated);
    }
}

/* A training run that memorises the text ends early. Resuming needs a larger --patience. */
TEST(patience) {
    scratch_random("noise", 400, 5, 3);
    must_run("train " TINY_SIZES "-w 64 -d 0 --lr 0.001 -s 400 --eval-every 20 -o @heart %s",
             scratch("noise"));
    double step = state_number("heart/state.safetensors", "lowest_step");
    double best = row_of("gpt").validation;
    assert_near(state_number("heart/state.safetensors", "stale"), 7, 0);
    const char *last = formatted("%.0f/400", step + 7 * 20);
    assert_true(step >= 20 && step <= 200 && has_line(last));
    expect_line_of(has_line(last), ran.command, TEXTS(measured(step)));
    assert_null(has_line("400/400"));
    must_run("train -r -o @heart %s", scratch("noise"));
    assert_int_equal(count_progress(), 0);
    assert_near(row_of("gpt").validation, best, 1e-6);
    must_run("train -r --patience 1 -o @heart %s", scratch("noise"));
    assert_non_null(has_line("400/400"));
    assert_near(row_of("gpt").validation, best, 1e-6);
}

/* The evaluation after the last of all steps ends no training early, so more steps continue it. */
TEST(more_steps) {
    scratch_random("noise", 900, 5, 3);
    must_run("train -q -m modern -l 2 -w 32 -H 2 -c 16 -b 8 -d 0 -j 1 --precision f32 --lr 0.02 "
             "-s 100 --eval-every 25 -o @steps @noise");
    must_run("train -r -q -s 140 --eval-every 1000 -o @steps @noise");
    must_run("train -r -q -s 200 -o @steps @noise");
    assert_near(state_number("steps/state.safetensors", "step"), 200, 0);
}

TEST(ladder) {
    static const char *const counted[] = {"uniform", "counted unigram", "counted bigram",
                                          "counted 7-gram", "running 7-gram"};
    int rungs = 0;
    while (model_name(rungs)) rungs++;
    train("--ladder -o @ladder " PLAY);
    expect_line(scratch("ladder/ladder.csv"));
    char *text = slurp(scratch("ladder/ladder.csv"), NULL), *line = text;
    const char *head = "model,parameters,train_loss,val_loss,bits_per_char,seconds,tflop\n";
    assert_true(begins(line, head));
    line += strlen(head);
    for (int i = 0, taken = 0; i < COUNT(counted) + rungs; i++, line += taken, taken = 0) {
        char name[32];
        size_t parameters;
        double losses[2], bits, seconds;
        sscanf(line, "%31[^,],%zu,%lf,%lf,%lf,%lf,%n", name, &parameters, &losses[0], &losses[1],
               &bits, &seconds, &taken);
        taken += (int)strcspn(line + taken, "\n") + 1; /* test_verdict checks the compute */
        assert_true(taken > 1);
        assert_string_equal(name, i < COUNT(counted) ? counted[i] : model_name(i - COUNT(counted)));
        Row row = i < COUNT(counted) ? row_of(name) : learned(name);
        assert_true(parameters == row.parameters && seconds >= 0 && seconds < LIMIT);
        assert_near(losses[0], row.train, 1e-4);
        assert_near(losses[1], row.validation, 1e-4);
        assert_near(bits, losses[1] / log(2.0), 1e-5);
    }
    assert_string_equal(line, "");
    assert_int_equal(scratch_count("ladder"), 2 * rungs + 4); /* 2 each; table, page, state, mark */
    sample("-n 5 @ladder/multihead.safetensors");
}

/* A rung of a ladder is trained as it would be alone and with --profile, with the options that the
 * last rung gets alone. Only that of --model gets its rates. */
TEST(ladder_alone) {
    int last = 0;
    while (model_name(last + 1)) last++;
    scratch_random("short", 300, 5, 3);
    must_run("train -q " TINY "--ladder -m head --lr 0.02 --decay 0.3 -o @rungs @short");
    for (int i = 0; i <= last; i++) {
        const char *name = model_name(i), *alone = formatted("alone/%s", name);
        const bool head = strcmp(name, "head") == 0;
        const char *rung = formatted("rungs/%s.safetensors", head ? "model" : name);
        const char *dropout = formatted("--dropout=%.2f", state_number(rung, "dropout"));
        must_run("train -q --profile -c 16 -b 4 -j 1 -s 40 --eval-every 20 -m %s %s %s %s -o @%s "
                 "@short",
                 name, used_by(name, "--layers=1 --heads=2 --width=16"),
                 head ? "--lr 0.02 --decay 0.3" : "", i < last ? used_by(name, dropout) : "",
                 alone);
        expect_same_model(rung, formatted("%s/model.safetensors", alone));
    }
}

/* There is no evaluation shortly before the last one. The losses of the last one are not measured
 * again; a resumed training run, which must measure them, finds the same loss, and all digests. */
TEST(evaluated_once) {
    must_run("train " TINY_SIZES "--ladder --precision f32 -s 61 --eval-every 20 "
             "-o @once " ACT);
    char *digests = copy_text(after(" bigram: "));
    char *log = slurp(scratch("once/model.csv"), NULL);
    int evaluated[61], count = 0;
    for (char *line = strchr(log, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        int step, before = 0;
        assert_int_equal(sscanf(line, "%d,%*f,%*f,%*f,%*f,%n", &step, &before), 1);
        if (line[before] != ',') evaluated[count++] = step;
    }
    assert_true(count == 3 && evaluated[0] == 20 && evaluated[1] == 40 && evaluated[2] == 61);
    char *table = slurp(scratch("once/ladder.csv"), NULL);
    must_run("train -r -o @once " ACT);
    assert_int_equal(count_progress(), 0); /* no rung is trained again */
    char *again = slurp(scratch("once/ladder.csv"), NULL);
    const char *last = strstr(table, "\nmodern,"), *same = strstr(again, "\nmodern,");
    const char *end = last;
    for (int comma = 0; comma < 5; comma++) end = strchr(end, ',') + 1; /* before the seconds */
    assert_memory_equal(same, last, (size_t)(end - last));
    assert_memory_equal(after(" bigram: "), digests, (size_t)(strstr(digests, "\n\n") - digests));
}

/* ---- other texts ---- */

/* A text of a single character: nothing to learn, and no failure. */
TEST(one_character) {
    char text[300];
    memset(text, 'a', sizeof text);
    scratch_put("a.txt", text, sizeof text);
    train("--ladder -o @single @a.txt");
    for (int i = 0; model_name(i); i++) {
        Row row = {0, 1, 1, 1, 0};
        assert_true(find_row(model_name(i), &row));
        assert_true(row.train == 0 && row.validation == 0);
    }
    Row counted;
    assert_true(find_row("counted bigram", &counted) && counted.validation == 0);
    sample("-n 12 -p a @single");
    assert_string_equal(ran.out, "aaaaaaaaaaaaa\n");
}

/* ---- writing ---- */

/* Lengths count characters, beyond the context. A newline follows unless the text ends with one. */
TEST(length) {
    sample("-n 200 -p 天地 @chinese");
    keep();
    assert_int_equal(characters(kept, ran.length), 202 + (kept[ran.length - 2] != '\n'));
    const char *line = strchr(kept, '\n'); /* the text has short lines */
    assert_true(line[1]);
    sample("-n %zu -p 天地 @chinese", characters(kept, (size_t)(line + 1 - kept)) - 2);
    assert_true(begins(kept, ran.out) && ran.out + ran.length == strchr(ran.out, '\n') + 1);
}

/* The text ends with the stop text. A stop text in the prompt does not count. */
TEST(stop) {
    char stop[4] = " ";
    const char *prompt = "it is 1 ";
    sample("-n 300 -p it~is~1~ @play");
    keep();
    for (int place = 0; place < 200; place += 20) {
        if (place) memcpy(stop, kept + place, 3);
        if (place && strpbrk(stop, " \n~@")) continue; /* not one argument of a command */
        const char *end = strstr(kept + strlen(prompt), stop);
        assert_non_null(end);
        sample("-n 300 -p it~is~1~ --stop=%s @play", place ? stop : "~");
        int length = (int)(end - kept) + (int)strlen(stop);
        assert_string_equal(ran.out, formatted("%.*s\n", length, kept));
    }
    sample("-n 300 -p it~is~1~ --stop not~in~the~play @play");
    assert_string_equal(ran.out, kept);
}

/* ---- score and info ---- */

/* The lines of `sample --score`. */
typedef struct {
    double characters, unknown, nats, bits, perplexity;
} Score;

static Score score_of(const char *command) {
    Score s = {0};
    double *const numbers[] = {&s.characters, &s.unknown, &s.nats, &s.bits, &s.perplexity};
    run("%s", command);
    assert_int_equal(ran.status, 0);
    const char *line = ran.out;
    for (int i = 0; i < COUNT(numbers); i++, line = strchr(line, '\n') + 1) {
        expect_line_of(line, ran.command, TEXTS(""));
        assert_int_equal(numbers_of(line, numbers[i], 1), 1);
    }
    assert_string_equal(line, "");
    assert_true((s.unknown > 0) == (*ran.err != 0));
    return s;
}

/* The score of the held-out part is the validation loss of the training. */
static void check_score(const char *options, const char *path, bool bytes) {
    size_t length, training, held_out, tail = 0;
    uint32_t code;
    train("--precision f32 %s -o @scored %s", options, path);
    split_of(&training, &held_out);
    double loss = row_of("gpt").validation;
    char *text = slurp(*path == '@' ? scratch(path + 1) : path, &length);
    for (size_t i = 0; i < training; i++)
        tail += bytes ? 1 : (size_t)utf8_decode(text + tail, length - tail, &code);
    scratch_put("tail", text + tail, length - tail);
    const Score s = score_of("sample --score @tail @scored");
    assert_true(s.characters == (double)held_out && s.unknown == 0);
    assert_near(s.nats, loss, 1e-4);
    assert_near(s.bits, s.nats / log(2.0), 1e-5);
    assert_near(s.perplexity, exp(s.nats), 1e-3);
    assert_near(state_number("scored/model.safetensors", "validation_loss"), s.nats, 1e-5);
}

TEST(score) {
    check_score("--seed 3", ACT, false);
    check_score("--val 0.2", "@chinese.txt", false);
    check_score("--bytes", "@chinese.txt", true);
}

/* Unknown characters are left out, and a sentence says how many; the model never sees them. */
TEST(unknown) {
    scratch_put("known", "the forest", 10);
    scratch_put("mixed", "好the 好forest", 16);
    const Score known = score_of("sample --score @known @play");
    assert_true(known.characters == 10 && known.unknown == 0);
    const Score skipped = score_of("sample --score @mixed @play");
    assert_true(skipped.characters == 12 && skipped.unknown == 2);
    assert_near(skipped.nats, known.nats, 1e-6);
    expect_line_of(ran.err, ran.command, TEXTS("unknown"));
    must_fail(2, "sample -i --score @mixed @play", "--interactive", "--score");
}

/* Without the usual model, ./sample says so; it reads one that is there. */
TEST(no_model) {
    char root[SCRATCH_PATH / 2];
    const char *folder = programs_folder();
    assert_non_null(getcwd(root, sizeof root));
    if (*folder != '/') folder = formatted("%s/%s", root, folder);
    const char *before = set_variable("TRIL_PROGRAMS", folder);
    assert_int_equal(chdir(scratch_directory), 0);
    must_fail(1, "sample", "out: ");
    make_folder(scratch("out"));
    scratch_put("out/model.safetensors", "", 0);
    must_fail(1, "sample", "out/model.safetensors: ");
    assert_int_equal(chdir(root), 0);
    set_variable("TRIL_PROGRAMS", before);
}

/* ---- errors ---- */

TEST(bad_input) {
    static const struct {
        int status;
        const char *name, *other, *words;
    } training[] =
        {
            /* clang-format off */
        {2, "FILE",                    "my.txt",  ""},
        {1, "/none.txt: ",             "",                "@none.txt"},
        {1, "/void.txt: ",             "",                "@void.txt"},
        {1, "/latin1.txt: ",           "--bytes",         "@latin1.txt"},
        {1, "/short.txt: ",            "--context",       "@short.txt"},
        {1, "/verse.txt: ",            "--val",           "--val 0.999 @verse.txt"},
        {1, "/plain: ",                "",                "-o @plain " ACT},
        {2, "--steps",                 "'12x'",           "-s 12x " ACT},
        {2, "3 ",                      " 16",             "--heads 3 " ACT},
        {1, "data: ",                  "",                "-o data " ACT},
        {1, "/dev/null: ",             "",                "-o /dev/null " ACT},
        {1, "gpt: ",                   " GiB",            "--width 100000 " ACT},
        {1, "gpt: ",                   " GiB",            "-m gpt -w 1048576 -b 65536 " ACT},
        {1, "65536 x 512",             "",                "-b 65536 -c 512 " ACT},
        {2, "--model",                 "'gtp'",           "-m gtp " ACT},
        {2, " 3 ",                     " 6 ",             "-m modern -w 6 -H 2 " ACT},
    }, sampling[] = {
        {1, "/none: ",                 "",                "@none"},
        {1, ACT ": ",                 "",                ACT},
        {1, "/cut: ",                  "",                "@cut"},
        {1, "--prompt: ",              "U+00E9",          "-p cafés @play"},
        {1, "--prompt: ",              "0xE9",            "-p caf\xE9s @play"},
        {1, "/strange.txt: ",          " 3 ",             "--score @strange.txt @play"},
        {1, "/latin1.txt: ",           "0xE9",            "--score @latin1.txt @play"},
        {1, "/none.txt: ",             "",                "--score @none.txt @play"},
        {1, "/one.txt: ",              "",                "--score @one.txt @play"},
        {2, "CHECKPOINT",              " 2",              "@play @play"},
        {2, "--precision",             "'int4'",          "--precision int4 @play"},
        {1, "counts: 0.5",             "gpt",             "--counts 0.5 @play"},
        {2, "--seed",                  "--info",          "--seed 1337 --info @play"},
        {2, "--samples",               "--interactive",   "--samples 3 -i @play"},
        {2, "--precision",             "--explain",       "--precision f32 --explain a @play"},
        {2, "--threads",               "--explain",       "-j 1 --explain a @play"},
        {2, "--head",                  "--explain",       "--head 0 @play"},
        {2, "--info",                  "--stop",          "--stop a --info @play"},
        {2, "CHECKPOINT",              "2",               "--explain T @play @bigram"},
        {1, "--explain",               "\u597D",          "--explain ~~~好 @play"},
          /* clang-format on */
      };
    for (size_t i = 0; i < sizeof training / sizeof *training; i++) {
        if (strstr(training[i].words, "/dev/") && system_lacks(DEVICE_FILES)) continue;
        run("train " TINY "-q -o @refused %s", training[i].words);
        expect_failure(training[i].status, training[i].name, training[i].other);
        assert_false(scratch_has("refused"));
    }
    for (size_t i = 0; i < sizeof sampling / sizeof *sampling; i++) {
        if (strstr(sampling[i].words, "\xE9") && system_lacks(BYTE_WORDS)) continue;
        run("sample %s", sampling[i].words);
        expect_failure(sampling[i].status, sampling[i].name, sampling[i].other);
        assert_null(strstr(ran.err, "--bytes")); /* ./sample has no such option */
    }
}

TEST(bad_surroundings) {
    const char *before = set_variable("KERNELS", "nonsense");
    must_fail(1, "train " TINY "-q -o @refused " ACT, "KERNELS=nonsense", "base");
    assert_false(scratch_has("refused"));
    must_fail(1, "sample @play", "KERNELS=nonsense", "base");
    set_variable("KERNELS", before);
    run("train -m bigram -c 16 -b 4 -j 1 -s 40 --eval-every 20 -q -o @plain " ACT);
    expect_failure(1, scratch("plain"));
    must_run("train -m bigram -c 16 -b 4 -j 1 -s 40 --eval-every 20 -q -o @logs " ACT);
    check_log(scratch("logs/model.csv"));
}

/* ---- help ---- */

/* The options of a run are those of the library, with its defaults, whatever else is given. */
TEST(help) {
    const TrilOptions usual = tril_options();
    must_run("train --version");
    assert_string_equal(ran.out, "tril " TRIL_VERSION "\n");
    must_run("train --seed 5 --help");
    for (const char *line = ran.out; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\n"), 0, 80);
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *row = tril_option(i);
        char value[TRIL_OPTION_SIZE];
        const char *first = formatted(row->letter ? "\n  -%c, --%s " : "\n     %c--%s ",
                                      row->letter ? row->letter : ' ', row->name);
        const char *entry = after(first), *end = strchr(entry, '\n');
        while (begins(end, "\n         ")) end = strchr(end + 1, '\n');
        if (row->kind == TRIL_FLAG || !tril_options_get(&usual, i, value)) continue;
        const char *shown = formatted("(%s)", value), *there = strstr(entry, shown);
        if (!there || there > end) fail_msg("--help: --%s lacks %s", row->name, shown);
    }
}

/* ---- the whole ---- */

/* Writes good and bad texts, and trains models of them. */
static int set_up(void **state) {
    if (scratch_open(state) != 0) return -1;
    char chinese[280 * 32] = "";
    for (uint64_t i = 0; i < 280; i++) strcat(chinese, verses[random_bits(11, i) % 6]);
    scratch_put("chinese.txt", chinese, strlen(chinese));
    size_t length;
    char *whole = slurp(ACT, &length);
    scratch_put("verse.txt", whole, 4000);
    train("-o @play " ACT);
    train("-s 150 --lr 0.03 -o @chinese @chinese.txt");
    train("-s 200 --bytes -o @chinese_bytes @chinese.txt");

    whole = slurp(scratch("play/model.safetensors"), &length);
    scratch_put("cut", whole, length - 4);
    scratch_put("void.txt", "", 0);
    scratch_put("one.txt", "T", 1);
    scratch_put("strange.txt", "\u4E94\u4E94\u4E94", 9);
    scratch_put("plain", "", 0);
    scratch_put("latin1.txt", "a caf\xE9 in Paris, and so on, and so on", 36);
    scratch_put("short.txt", "eighteen letters..", 18);
    return 0;
}

FIXTURE(set_up, scratch_close)
