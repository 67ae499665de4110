#include "training/report_data.h"
#include "base/memory.h"
#include "report/page.h"
#include "training/log.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    LINE_TOKENS = 20, /* at most, in the line whose attention is shown */
    MAX_HEADS = 48,
    MAX_SAMPLES = 40,
    MAX_LOSSES = 2 * MAX_RUNGS, /* curves of losses */
    MAX_CURVES = 3,             /* other curves */
    MAX_MODELS = MAX_RUNGS + 3,
    MAX_SETTINGS = 24,
    NAME_SIZE = 48
};

/* The page, and everything that it points to. */
typedef struct {
    const Plan *plan;
    const Corpus *corpus;
    const RungPlan *best; /* the model that the page shows in detail */
    Page page;
    PageModel models[MAX_MODELS];
    Level levels[MAX_MODELS];
    Curve losses[MAX_LOSSES], curves[MAX_CURVES];
    Chart charts[MAX_CURVES]; /* with one curve each */
    Point points[MAX_LOSSES + MAX_CURVES][LOG_ROWS];
    char names[MAX_LOSSES][NAME_SIZE];
    LogRows log;
    PageSample samples[MAX_SAMPLES];
    PageHead heads[MAX_HEADS];
    float weights[MAX_HEADS][LINE_TOKENS * LINE_TOKENS];
    char glyphs[LINE_TOKENS][GLYPH_SIZE];
    PageSetting settings[MAX_SETTINGS];
} ReportData;

/* ---- curves ---- */

/* By the clock all rungs take the same time, but not the same number of steps. */
static double x_of(const ReportData *d, const LogRow *row) {
    return d->plan->time > 0 ? row->seconds : row->step;
}

/* Copies the member at this offset of each log row to `points`. Returns how many. */
static int take_points(const ReportData *d, Point *points, size_t member) {
    int count = 0;
    for (int i = 0; i < d->log.count; i++) {
        const LogRow *row = &d->log.rows[i];
        double y;
        memcpy(&y, (const char *)row + member, sizeof y);
        if (!isnan(y)) points[count++] = (Point){x_of(d, row), y};
    }
    return count;
}

static void add_losses(ReportData *d, const char *name, const char *words, size_t member,
                       bool faint) {
    Chart *chart = &d->page.losses;
    int i = chart->curve_count++;
    snprintf(d->names[i], NAME_SIZE, "%s%s", name, words);
    d->losses[i] = (Curve){.name = d->names[i],
                           .points = d->points[i],
                           .count = take_points(d, d->points[i], member),
                           .colour = i / 2,
                           .faint = faint};
}

static const RungPlan *rung_of(const Plan *plan, const Result *result) {
    int i = 0;
    while (strcmp(plan->rungs[i].name, result->name) != 0) i++;
    return &plan->rungs[i];
}

static void gather_losses(ReportData *d, const Result *results, int count) {
    d->page.losses = (Chart){.id = "losses",
                             .title = "Loss, in nats per character",
                             .x_name = d->plan->time > 0 ? "seconds" : "steps",
                             .curves = d->losses,
                             .levels = d->levels,
                             .width = 880,
                             .height = 460};
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        if (r->seconds < 0) {
            d->levels[d->page.losses.level_count++] = (Level){r->name, r->validation};
            continue;
        }
        log_read(&d->log, rung_of(d->plan, r)->log);
        add_losses(d, r->name, ", training", offsetof(LogRow, loss), true);
        add_losses(d, r->name, "", offsetof(LogRow, validation), false);
    }
}

/* Every n-th of the samples, and the last. */
static void gather_samples(ReportData *d) {
    int written = 0, seen = 0;
    for (int i = 0; i < d->log.count; i++) written += d->log.rows[i].sample != NULL;
    int every = (written + MAX_SAMPLES - 2) / (MAX_SAMPLES - 1);
    for (int i = 0; i < d->log.count; i++) {
        const LogRow *row = &d->log.rows[i];
        if (!row->sample || (seen++ % every != 0 && seen != written)) continue;
        d->samples[d->page.sample_count++] = (PageSample){row->step, row->validation, row->sample};
    }
    d->page.samples = d->samples;
}

/* Takes the curves and samples from the log of the best model. */
static void gather_curves(ReportData *d) {
    static const struct {
        const char *id, *title;
        size_t member;
    } kinds[MAX_CURVES] = {
        {"rate", "Learning rate", offsetof(LogRow, rate)},
        {"norm", "Norm of the gradient", offsetof(LogRow, norm)},
        {"speed", "Characters a second", offsetof(LogRow, speed)},
    };
    log_read(&d->log, d->best->log);
    if (d->log.count == 0) return;
    for (int i = 0; i < MAX_CURVES; i++) {
        Point *points = d->points[MAX_LOSSES + i];
        d->curves[i] = (Curve){.name = kinds[i].title,
                               .points = points,
                               .count = take_points(d, points, kinds[i].member)};
        d->charts[i] = (Chart){.id = kinds[i].id,
                               .title = kinds[i].title,
                               .x_name = d->page.losses.x_name,
                               .curves = &d->curves[i],
                               .curve_count = 1,
                               .width = 400,
                               .height = 220,
                               .from_zero = true};
    }
    d->page.curves = d->charts;
    d->page.curve_count = MAX_CURVES;
    gather_samples(d);
}

/* ---- attention ---- */

/* The start of the first long enough line of the held-out text; else the start of the text. */
static size_t line_of(const Corpus *corpus, size_t tokens) {
    enum { MIN_LINE = 8 };
    size_t start = corpus->train;
    for (size_t i = corpus->train; i + tokens < corpus->length; i++) {
        if (corpus->vocab.codes[corpus->ids[i]] != '\n') continue;
        if (i > start + MIN_LINE && start > corpus->train) break;
        start = i + 1;
    }
    return start + tokens < corpus->length ? start : corpus->train;
}

static void take_heads(ReportData *d, const Run *run, int layers) {
    Page *page = &d->page;
    AttentionView view;
    for (int l = 0; l < layers; l++)
        for (int h = 0; run_attention(run, l, h, &view); h++) {
            if (page->head_count == MAX_HEADS) {
                page->left_out++;
                continue;
            }
            float *weights = d->weights[page->head_count];
            for (int t = 0; t < page->tokens; t++)
                attention_weights(&view, t, weights + t * page->tokens);
            d->heads[page->head_count++] = (PageHead){l, h, weights};
        }
    page->heads = d->heads;
}

static bool gather_heads(ReportData *d, Error *err) {
    const Corpus *corpus = d->corpus;
    const char *path = d->best->checkpoint;
    Checkpoint kept;
    if (access(path, F_OK) != 0) return true; /* the file was removed: the page has no maps */
    if (!checkpoint_load(&kept, path, err)) return false;
    const Config *config = &kept.model.config;
    size_t held_out = corpus->length - corpus->train;
    int tokens = config->T < LINE_TOKENS ? config->T : LINE_TOKENS;
    if ((size_t)tokens > held_out) tokens = (int)held_out;
    const int32_t *ids = corpus->ids + line_of(corpus, (size_t)tokens);
    RunOptions options = {.batch = 1, .length = tokens, .frozen = true, .threads = 1};
    Run *run = NULL;
    bool same = config->V == corpus->vocab.size; /* else it belongs to another text */
    bool ok = !same || run_open(&run, &kept.model, &options, err);
    if (run) {
        run_forward(run, ids, 1, tokens, 0);
        d->page.tokens = tokens;
        d->page.glyphs = (const char(*)[GLYPH_SIZE])d->glyphs;
        for (int t = 0; t < tokens; t++) glyph_of(&corpus->vocab, ids[t], d->glyphs[t]);
        take_heads(d, run, config->L);
    }
    run_close(run);
    checkpoint_free(&kept);
    return ok;
}

/* ---- the rest ---- */

static void gather_models(ReportData *d, const Result *results, int count) {
    for (int i = 0; i < count; i++) {
        const Result *r = &results[i];
        d->models[i] = (PageModel){r->name, r->parameters, r->train, r->validation, r->seconds};
    }
    d->page.models = d->models;
    d->page.model_count = count;
}

/* The plan's words: a line for each option, "--name=value". */
static void gather_settings(ReportData *d) {
    const char *line = d->plan->words;
    for (; *line && d->page.setting_count < MAX_SETTINGS; line += strcspn(line, "\n") + 1) {
        PageSetting *to = &d->settings[d->page.setting_count++];
        int length = (int)strcspn(line, "\n"), name = (int)strcspn(line, "=\n");
        int value = name < length ? length - name - 1 : 0;
        snprintf(to->name, sizeof to->name, "%.*s", name - 2, line + 2);
        snprintf(to->value, sizeof to->value, "%.*s", value, line + length - value);
        if (strchr(to->value, '.')) /* a few digits say more than all */
            snprintf(to->value, sizeof to->value, "%.6g", strtod(to->value, NULL));
        if (!strchr(line, '\n')) break;
    }
    d->page.settings = d->settings;
}

/* In a ladder the rung with the lowest loss is the best; otherwise the model that was asked for, if
 * its training began. */
static bool is_better(const Plan *plan, const Result *result, const Result *than) {
    if (result->seconds < 0) return false;
    if (than->seconds < 0) return true;
    return plan->ladder ? result->validation < than->validation
                        : strcmp(result->name, plan->model) == 0;
}

static const RungPlan *best_of(const Plan *plan, const Result *results, int count) {
    const Result *best = results; /* a closed form */
    for (int i = 1; i < count; i++)
        if (is_better(plan, &results[i], best)) best = &results[i];
    return rung_of(plan, best);
}

bool write_report(const Plan *plan, const Corpus *corpus, const Result *results, int count,
                  Error *err) {
    ReportData *d;
    if (!memory_alloc(&d, 1, sizeof *d, "the report", err)) return false;
    d->plan = plan;
    d->corpus = corpus;
    d->best = best_of(plan, results, count);
    d->page = (Page){.text = plan->files->text,
                     .digest = corpus->digest,
                     .model = d->best->name,
                     .idea = model_idea(d->best->name),
                     .characters = corpus->length,
                     .vocabulary = corpus->vocab.size,
                     .command = plan->command};
    gather_models(d, results, count);
    gather_settings(d);
    gather_losses(d, results, count);
    gather_curves(d);
    bool ok = gather_heads(d, err) && page_write(plan->files->page, &d->page, err);
    memory_free(d);
    return ok;
}
