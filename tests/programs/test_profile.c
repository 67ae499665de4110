/* test_profile.c - ./train --profile: where the time of a training run goes. On the clock of
 * tests/clocked.c each reading takes one tick, and no time passes between readings. So all figures
 * are exact. */
#include "tests/table.h"

/* The last of repeated options counts. */
#define SIZES "-l 1 -w 8 -H 2 -c 16 -b 4 -s 20 --patience 1 -j 1 "

static const double tick = 0.01; /* printed seconds have two decimals */

enum { STEPS = 20, MAX_LINES = 64 };

/* The lines of one table. */
typedef struct {
    double all;
    struct {
        char name[40];
        double seconds, share, rate; /* rate: negative if there is none */
    } lines[MAX_LINES];
    int count;
} Profile;

/* Returns the heading of a model's table: the line before its shares. */
static const char *heading_of(const char *name) {
    for (const char *line = ran.out; line;
         line = strchr(line, '\n') ? strchr(line, '\n') + 1 : NULL) {
        const char *next = strchr(line, '\n');
        if (*line == ' ' || !next || strncmp(next, "\n  ", 3) != 0 ||
            !find_line(line, TEXTS(" s ")) || !memchr(next + 1, '%', strcspn(next + 1, "\n")))
            continue;
        char word[32];
        snprintf(word, sizeof word, " %s ", name);
        const char *found = strstr(line, word);
        if (found && found < next) return line;
    }
    return NULL;
}

/* Reads the table of `name`. The lines must add up to the whole, and their shares to 100%. */
static Profile profile_of(const char *name) {
    Profile p = {0};
    double seconds = 0, shares = 0;
    const char *at = heading_of(name);
    assert_true(at && numbers_of(at, &p.all, 1) == 1);
    expect_line_of(at, ran.command, TEXTS(" s "));
    at--;
    while ((at = strchr(at + 1, '\n')) && strncmp(at, "\n  ", 3) == 0) {
        assert_true(p.count < MAX_LINES);
        p.lines[p.count].rate = -1;
        int read =
            sscanf(at, "\n  %38[^\n]%lf %lf%% %lf", p.lines[p.count].name,
                   &p.lines[p.count].seconds, &p.lines[p.count].share, &p.lines[p.count].rate);
        assert_true(read >= 3);
        char *end = p.lines[p.count].name + strlen(p.lines[p.count].name);
        while (end[-1] == ' ') *--end = 0;
        assert_true(p.lines[p.count].seconds > 0 && (read == 3 || p.lines[p.count].rate >= 0));
        assert_near(p.lines[p.count].share, 100 * p.lines[p.count].seconds / p.all, 0.051);
        seconds += p.lines[p.count].seconds;
        shares += p.lines[p.count++].share;
    }
    assert_true(p.count > 1);
    assert_near(seconds, p.all, 1e-6);
    assert_near(shares, 100, 0.05 * p.count);
    return p;
}

/* The seconds of a line, 0 if there is none. */
static double seconds_of(const Profile *p, const char *line) {
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->lines[i].name, line) == 0) return p->lines[i].seconds;
    return 0;
}

/* Evaluations and samples are not counted as instructions: twice as many change only their own
 * lines. Each takes one tick, because the clock is read only before and after. */
TEST(evaluations) {
    static const char *const parts[] = {"linear",    "linear_backward",    "linear_gradients",
                                        "attention", "attention_backward", "embedding",
                                        "rmsnorm",   "cross_entropy",      "packing of weights",
                                        "Muon"};
    Profile of[2];
    for (int i = 0; i < 2; i++) {
        int every = 2 - i;
        must_run_clocked(
            tick, "", "train -q --profile -m modern " SIZES "--eval-every %d -o @often/m%d " PLAY,
            every, i);
        of[i] = profile_of("modern");
        assert_near(row_of("modern").seconds, of[i].all, 0.05 + 3 * tick); /* 0.05: rounded */
        assert_near(seconds_of(&of[i], "evaluations"), STEPS / every * tick, 1e-6);
    }
    for (size_t i = 0; i < sizeof parts / sizeof *parts; i++) {
        double rare = seconds_of(&of[0], parts[i]), often = seconds_of(&of[1], parts[i]);
        assert_true(rare > 0);
        assert_near(often, rare, 1e-6);
    }
    scratch_remove(scratch("often"));
}

/* Measuring does not change the weights, and only --profile measures. */
TEST(bits) {
    char with[17], without[17];
    static const char digest[] = " modern: "; /* before the digest of its weights */
    must_run("train -q -m modern " SIZES "-j 2 -o @bits/without " PLAY);
    assert_null(heading_of("modern"));
    snprintf(without, sizeof without, "%s", after(digest));
    must_run("train -q --profile -m modern " SIZES "-j 2 -o @bits/with " PLAY);
    assert_non_null(heading_of("modern"));
    snprintf(with, sizeof with, "%s", after(digest));
    assert_string_equal(with, without);
    scratch_remove(scratch("bits"));
}

FIXTURE(scratch_open, scratch_close)
