#include "training/account.h"
#include "base/memory.h"
#include "report/page.h"
#include "training/log.h"
#include "training/outputs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    TOKENS = 20,     /* of the line that attention is shown on, at most */
    MOST_HEADS = 48, /* that are shown */
    MOST_EXCERPTS = 40,
    CURVES = 2 * MAX_RUNGS,
    COURSES = 3,
    MODELS = MAX_RUNGS + 3,
    SETTINGS = 24,
    NAME_ROOM = 48
};

/* Everything that the page then points to. */
typedef struct {
    const Settings *settings;
    const Corpus *corpus;
    const Result *best; /* of those that were trained: is_better */
    Page page;
    PageModel models[MODELS];
    Level levels[MODELS];
    Curve curves[CURVES], course[COURSES];
    Chart courses[COURSES];
    Point points[CURVES + COURSES][LOG_ROWS];
    char names[CURVES][NAME_ROOM];
    LogRows log;
    PageExcerpt excerpts[MOST_EXCERPTS];
    PageHead heads[MOST_HEADS];
    float weights[MOST_HEADS][TOKENS * TOKENS];
    char glyphs[TOKENS][GLYPH_ROOM];
    PageSetting list[SETTINGS];
} Account;

/* ---- curves ---- */

/* By the clock rungs differ in steps and not in time. */
static double place_of(const Account *a, const LogRow *row) {
    return a->settings->time > 0 ? row->seconds : row->step;
}

/* The numbers of the log's rows that `member` tells the place of, as points. */
static int take_points(const Account *a, Point *points, size_t member) {
    int count = 0;
    for (int i = 0; i < a->log.count; i++) {
        const LogRow *row = &a->log.rows[i];
        double y;
        memcpy(&y, (const char *)row + member, sizeof y);
        if (!isnan(y)) points[count++] = (Point){place_of(a, row), y};
    }
    return count;
}

static void add_curve(Account *a, const char *name, const char *words, size_t member, bool faint) {
    Chart *chart = &a->page.losses;
    int i = chart->curve_count++;
    snprintf(a->names[i], NAME_ROOM, "%s%s", name, words);
    a->curves[i] = (Curve){.name = a->names[i],
                           .points = a->points[i],
                           .count = take_points(a, a->points[i], member),
                           .colour = i / 2,
                           .faint = faint};
}

static bool gather_curves(Account *a, const Result *results, int count, Error *err) {
    char path[PATH_ROOM];
    a->page.losses = (Chart){.id = "losses",
                             .title = "Loss, in nats per character",
                             .x_name = a->settings->time > 0 ? "seconds" : "steps",
                             .curves = a->curves,
                             .levels = a->levels,
                             .width = 880,
                             .height = 460};
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        if (r->seconds < 0) {
            a->levels[a->page.losses.level_count++] = (Level){r->name, r->validation};
            continue;
        }
        if (!log_path(a->settings, r->name, path, err)) return false;
        log_read(&a->log, path);
        add_curve(a, r->name, ", training", offsetof(LogRow, loss), true);
        add_curve(a, r->name, "", offsetof(LogRow, validation), false);
    }
    return true;
}

/* Every so many of the lines that were written, and the last. */
static void gather_excerpts(Account *a) {
    int written = 0, seen = 0;
    for (int i = 0; i < a->log.count; i++) written += a->log.rows[i].excerpt != NULL;
    int every = (written + MOST_EXCERPTS - 2) / (MOST_EXCERPTS - 1);
    for (int i = 0; i < a->log.count; i++) {
        const LogRow *row = &a->log.rows[i];
        if (!row->excerpt || (seen++ % every != 0 && seen != written)) continue;
        a->excerpts[a->page.excerpt_count++] =
            (PageExcerpt){row->step, row->validation, row->excerpt};
    }
    a->page.excerpts = a->excerpts;
}

/* The best model's log: how its training went, and what it wrote on the way. */
static bool gather_course(Account *a, Error *err) {
    static const struct {
        const char *id, *title;
        size_t member;
    } courses[COURSES] = {
        {"rate", "Learning rate", offsetof(LogRow, rate)},
        {"norm", "Norm of the gradient", offsetof(LogRow, norm)},
        {"speed", "Characters a second", offsetof(LogRow, speed)},
    };
    char path[PATH_ROOM];
    if (!log_path(a->settings, a->best->name, path, err)) return false;
    log_read(&a->log, path);
    if (a->log.count == 0) return true;
    for (int i = 0; i < COURSES; i++) {
        Point *points = a->points[CURVES + i];
        a->course[i] = (Curve){.name = courses[i].title,
                               .points = points,
                               .count = take_points(a, points, courses[i].member)};
        a->courses[i] = (Chart){.id = courses[i].id,
                                .title = courses[i].title,
                                .x_name = a->page.losses.x_name,
                                .curves = &a->course[i],
                                .curve_count = 1,
                                .width = 400,
                                .height = 220,
                                .from_zero = true};
    }
    a->page.courses = a->courses;
    a->page.course_count = COURSES;
    gather_excerpts(a);
    return true;
}

/* ---- attention ---- */

/* The first line of the held-out text that is long enough, from its beginning: where. */
static size_t line_of(const Corpus *corpus, size_t tokens) {
    enum { LEAST = 8 };
    size_t start = corpus->train;
    for (size_t i = corpus->train; i + tokens < corpus->length; i++) {
        if (corpus->vocab.codes[corpus->ids[i]] != '\n') continue;
        if (i > start + LEAST && start > corpus->train) break;
        start = i + 1;
    }
    return start + tokens < corpus->length ? start : corpus->train;
}

static void take_heads(Account *a, const Run *run, int layers) {
    Page *page = &a->page;
    HeadView view;
    for (int l = 0; l < layers; l++)
        for (int h = 0; run_head(run, l, h, &view); h++) {
            if (page->head_count == MOST_HEADS) {
                page->left_out++;
                continue;
            }
            float *weights = a->weights[page->head_count];
            for (int t = 0; t < page->tokens; t++)
                head_weights(&view, t, weights + t * page->tokens);
            a->heads[page->head_count++] = (PageHead){l, h, weights};
        }
    page->heads = a->heads;
}

static bool gather_heads(Account *a, Error *err) {
    const Corpus *corpus = a->corpus;
    char path[PATH_ROOM];
    Checkpoint kept;
    if (!checkpoint_path(a->settings, a->best->name, path, err)) return false;
    if (access(path, F_OK) != 0) return true; /* somebody has removed it: there is no map of it */
    if (!checkpoint_load(&kept, path, err)) return false;
    const Config *config = &kept.model.config;
    size_t held_out = corpus->length - corpus->train;
    int tokens = config->T < TOKENS ? config->T : TOKENS;
    if ((size_t)tokens > held_out) tokens = (int)held_out;
    const int32_t *ids = corpus->ids + line_of(corpus, (size_t)tokens);
    RunOptions options = {.batch = 1, .length = tokens, .frozen = true, .threads = 1};
    Run *run = NULL;
    bool same = config->V == corpus->vocab.size; /* and not of another text */
    bool ok = !same || run_open(&run, &kept.model, &options, err);
    if (run) {
        run_forward(run, ids, 1, tokens, 0);
        a->page.tokens = tokens;
        a->page.glyphs = (const char(*)[GLYPH_ROOM])a->glyphs;
        for (int t = 0; t < tokens; t++) glyph_of(&corpus->vocab, ids[t], a->glyphs[t]);
        take_heads(a, run, config->L);
    }
    run_close(run);
    checkpoint_free(&kept);
    return ok;
}

/* ---- the rest ---- */

static void gather_models(Account *a, const Result *results, int count) {
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        a->models[i] = (PageModel){r->name, r->parameters, r->train, r->validation, r->seconds};
    }
    a->page.models = a->models;
    a->page.model_count = count;
}

/* As the state has them: a line for each, "--name=value". */
static void gather_settings(Account *a) {
    const char *line = a->settings->words;
    for (; *line && a->page.setting_count < SETTINGS; line += strcspn(line, "\n") + 1) {
        PageSetting *to = &a->list[a->page.setting_count++];
        int length = (int)strcspn(line, "\n"), name = (int)strcspn(line, "=\n");
        int value = name < length ? length - name - 1 : 0;
        snprintf(to->name, sizeof to->name, "%.*s", name - 2, line + 2);
        snprintf(to->value, sizeof to->value, "%.*s", value, line + length - value);
        if (strchr(to->value, '.')) /* a number to its last bit says less than its first digits */
            snprintf(to->value, sizeof to->value, "%.6g", strtod(to->value, NULL));
        if (!strchr(line, '\n')) break;
    }
    a->page.settings = a->list;
}

/* Of a ladder the lowest loss is the best; else it is the model that was asked for, if its training
 * began. */
static bool is_better(const Settings *settings, const Result *result, const Result *than) {
    if (result->seconds < 0) return false;
    if (!than) return true;
    return settings->ladder ? result->validation < than->validation
                            : strcmp(result->name, settings->model) == 0;
}

bool account_write(const Settings *settings, const Corpus *corpus, const Result *results, int count,
                   const char *path, Error *err) {
    Account *a;
    if (!memory_alloc(&a, 1, sizeof *a, "the report", err)) return false;
    a->settings = settings;
    a->corpus = corpus;
    for (int i = 0; i < count; i++)
        if (is_better(settings, &results[i], a->best)) a->best = &results[i];
    a->page = (Page){.text = settings->input,
                     .digest = corpus->digest,
                     .model = a->best->name,
                     .idea = model_idea(a->best->name),
                     .characters = corpus->length,
                     .vocabulary = corpus->vocab.size,
                     .command = settings->command};
    gather_models(a, results, count);
    gather_settings(a);
    bool ok = gather_curves(a, results, count, err) && gather_course(a, err) &&
              gather_heads(a, err) && page_write(path, &a->page, err);
    memory_free(a);
    return ok;
}
