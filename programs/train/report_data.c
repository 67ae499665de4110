#include "programs/train/report_data.h"
#include "base/memory.h"
#include "base/file.h"
#include "library/message.h"
#include "programs/train/verdict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MAX_HEADS = 32,
    MAX_SAMPLES = 40,
    KINDS = 3,        /* of other curves than losses */
    FEW_POINTS = 150, /* of each of these, at most */
    MAX_MODELS = MAX_RUNGS + 3,
    MAX_WRITINGS = MAX_RUNGS + 2,
    MAX_SETTINGS = 24,
    NAME_SIZE = 48
};

/* The curves of one rung. */
typedef struct {
    char faint_name[NAME_SIZE];
    Point training[LOG_ROWS], held_out[LOG_ROWS], others[KINDS][FEW_POINTS + 1];
} RungCurves;

/* The page, and everything that it points to. */
typedef struct {
    const ReportSource *source;
    const Plan *plan;
    const Input *input;
    const RungPlan *shown; /* the model that the page shows in detail */
    Result results[MAX_MODELS];
    int count; /* of results: those of the source, and the rung under way */
    Page page;
    PageModel models[MAX_MODELS];
    Level levels[MAX_MODELS];
    Curve losses[2 * MAX_RUNGS], others[KINDS][MAX_RUNGS];
    Chart charts[KINDS];
    RungCurves curves[MAX_RUNGS];
    LogRows log;
    Writing text; /* what the line itself is, and how it goes on */
    char prompt[LINE_TOKENS * UTF8_MAX];
    PageWriting writings[MAX_WRITINGS];
    char notes[MAX_WRITINGS][NAME_SIZE];
    PageSample samples[MAX_SAMPLES];
    char texts[MAX_SAMPLES][SAMPLE_SIZE];
    PageHead heads[MAX_HEADS];
    float weights[MAX_HEADS][LINE_TOKENS * LINE_TOKENS];
    char glyphs[LINE_TOKENS][GLYPH_SIZE];
    Verdict verdicts[MAX_RUNGS];
    PageVerdict said[MAX_RUNGS];
    Mark marks[MAX_RUNGS];
    char mark_texts[MAX_RUNGS][NAME_SIZE];
    PageSetting settings[MAX_SETTINGS];
} ReportData;

/* ---- results ---- */

/* NULL: it needed no training. */
static const RungPlan *rung_of(const Plan *plan, const Result *result) {
    for (int i = 0; i < plan->rung_count; i++)
        if (strcmp(plan->rungs[i].name, result->name) == 0) return &plan->rungs[i];
    return NULL;
}

static const RungPlan *asked_for(const Plan *plan) {
    int i = 0;
    while (!plan->rungs[i].chosen) i++;
    return &plan->rungs[i];
}

/* In a ladder the rung with the lowest loss is the best; otherwise the model that was asked for, if
 * its training began. */
static bool is_better(const Plan *plan, const Result *result, const Result *than) {
    if (!than) return true;
    return plan->ladder ? result->validation < than->validation
                        : strcmp(result->name, plan->model) == 0;
}

static const RungPlan *best_of(const Plan *plan, const Result *results, int count) {
    const Result *best = NULL;
    for (int i = 0; i < count; i++)
        if (rung_of(plan, &results[i]) && is_better(plan, &results[i], best)) best = &results[i];
    return best ? rung_of(plan, best) : asked_for(plan);
}

/* Copies the results. The rung under way has one, too, as far as it is known. */
static void gather_results(ReportData *d) {
    const ReportRung *now = d->source->under_way;
    d->count = d->source->count;
    memcpy(d->results, d->source->results, (size_t)d->count * sizeof *d->results);
    d->shown = now ? now->rung : best_of(d->plan, d->results, d->count);
    if (!now) return;
    d->results[d->count++] = (Result){.name = now->rung->name,
                                      .parameters = tril_model_parameters(now->model),
                                      .train = NAN,
                                      .validation = now->progress->now.lowest,
                                      .seconds = now->progress->seconds,
                                      .compute = now->course->compute,
                                      .course = now->course};
}

static void gather_models(ReportData *d) {
    for (int i = 0; i < d->count; i++) {
        const Result *r = &d->results[i];
        d->models[i] = (PageModel){.name = r->name,
                                   .parameters = r->parameters,
                                   .train = r->train,
                                   .validation = r->validation,
                                   .compute = r->compute,
                                   .seconds = r->seconds};
    }
    d->page.models = d->models;
    d->page.model_count = d->count;
}

/* ---- curves ---- */

/* The curves other than losses. */
static const struct {
    const char *id, *title, *unit;
    size_t member;
    int decimals;
} kinds[KINDS] = {
    {"rate", "Learning rate", "rate", offsetof(LogRow, rate), 6},
    {"norm", "Norm of the gradient", "norm", offsetof(LogRow, norm), 4},
    {"speed", "Characters a second", "characters/s", offsetof(LogRow, speed), 0},
};

/* By the clock all rungs take the same time, but not the same number of steps. */
static double x_of(const ReportData *d, const LogRow *row) {
    return d->plan->time > 0 ? row->seconds : row->step;
}

/* Copies the member at this offset of every n-th log row, and of the last, to `points`, at most
 * max + 1. Returns how many. */
static int take_points(const ReportData *d, Point *points, int max, size_t member) {
    int count = 0, rows = d->log.count, every = (rows + max - 1) / max;
    for (int i = 0; i < rows; i++) {
        const LogRow *row = &d->log.rows[i];
        double y;
        memcpy(&y, (const char *)row + member, sizeof y);
        if (!isnan(y) && (i % every == 0 || i == rows - 1))
            points[count++] = (Point){x_of(d, row), y};
    }
    return count;
}

/* Adds the curves of a rung, from the log that was read. */
static void add_curves(ReportData *d, const RungPlan *rung) {
    Chart *losses = &d->page.losses;
    int colour = (int)(rung - d->plan->rungs);
    RungCurves *to = &d->curves[colour];
    snprintf(to->faint_name, NAME_SIZE, "%s, training", rung->name);
    d->losses[losses->curve_count++] =
        (Curve){.name = to->faint_name,
                .points = to->training,
                .count = take_points(d, to->training, LOG_ROWS, offsetof(LogRow, loss)),
                .colour = colour,
                .faint = true};
    d->losses[losses->curve_count++] =
        (Curve){.name = rung->name,
                .points = to->held_out,
                .count = take_points(d, to->held_out, LOG_ROWS, offsetof(LogRow, validation)),
                .colour = colour};
    for (int k = 0; k < KINDS; k++)
        d->others[k][d->charts[k].curve_count++] =
            (Curve){.name = rung->name,
                    .points = to->others[k],
                    .count = take_points(d, to->others[k], FEW_POINTS, kinds[k].member),
                    .colour = colour};
}

/* Every n-th of the lines that the log has, and the last. */
static void gather_samples(ReportData *d) {
    int written = 0, seen = 0;
    for (int i = 0; i < d->log.count; i++) written += d->log.rows[i].sample != NULL;
    int every = (written + MAX_SAMPLES - 2) / (MAX_SAMPLES - 1);
    for (int i = 0; i < d->log.count; i++) {
        const LogRow *row = &d->log.rows[i];
        if (!row->sample || (seen++ % every != 0 && seen != written)) continue;
        char *text = d->texts[d->page.sample_count];
        snprintf(text, SAMPLE_SIZE, "%s", row->sample);
        d->samples[d->page.sample_count++] = (PageSample){row->step, row->validation, text};
    }
    d->page.samples = d->samples;
}

static void lay_out_charts(ReportData *d) {
    bool by_time = d->plan->time > 0;
    const Chart any = {.x_name = by_time ? "seconds" : "steps",
                       .x_place = by_time ? "# seconds" : "step #"};
    d->page.losses = any;
    d->page.losses.id = "losses";
    d->page.losses.title = "Loss, in nats per character";
    d->page.losses.strong = "held out";
    d->page.losses.faint = "training";
    d->page.losses.curves = d->losses;
    d->page.losses.levels = d->levels;
    d->page.losses.height = 460;
    d->page.losses.decimals = 4;
    d->page.losses.names = true;
    for (int k = 0; k < KINDS; k++) {
        d->charts[k] = any;
        d->charts[k].id = kinds[k].id;
        d->charts[k].title = kinds[k].title;
        d->charts[k].strong = kinds[k].unit;
        d->charts[k].curves = d->others[k];
        d->charts[k].height = 220;
        d->charts[k].decimals = kinds[k].decimals;
        d->charts[k].from_zero = true;
    }
    d->page.curves = d->charts;
}

/* The curves of all rungs, and the samples of the one that is shown. */
static void gather_logs(ReportData *d) {
    lay_out_charts(d);
    for (int i = 0; i < d->count; i++) {
        const Result *r = &d->results[i];
        const RungPlan *rung = rung_of(d->plan, r);
        if (!rung) {
            d->levels[d->page.losses.level_count++] = (Level){r->name, r->validation};
            continue;
        }
        log_read(&d->log, rung->log);
        if (d->log.count > 0) d->page.curve_count = KINDS;
        add_curves(d, rung);
        if (rung == d->shown) gather_samples(d);
    }
}

/* ---- verdicts ---- */

static const Curve *held_out_of(const ReportData *d, const char *rung) {
    for (int i = 0; i < d->page.losses.curve_count; i++)
        if (strcmp(d->losses[i].name, rung) == 0) return &d->losses[i];
    return NULL;
}

/* Marks where memorising begins: at the lowest point of the rung's curve. */
static void mark_overfitting(ReportData *d, const Verdict *verdict) {
    const Curve *curve = held_out_of(d, verdict->rung);
    if (!curve || curve->count == 0) return;
    const Point *lowest = curve->points;
    for (int i = 1; i < curve->count; i++)
        if (curve->points[i].y < lowest->y) lowest = &curve->points[i];
    int m = d->page.losses.mark_count++;
    snprintf(d->mark_texts[m], NAME_SIZE, "overfitting after step %d", verdict->step);
    d->marks[m] = (Mark){*lowest, d->mark_texts[m], curve->colour};
    d->page.losses.marks = d->marks;
}

static void gather_verdicts(ReportData *d) {
    int count = verdicts_of(d->plan, d->input, d->results, d->count, d->verdicts);
    for (int i = 0; i < count; i++) {
        const Verdict *v = &d->verdicts[i];
        d->said[i] = (PageVerdict){v->rung, v->text};
        if (v->kind == OVERFITTING) mark_overfitting(d, v);
    }
    for (int i = 0; i < d->count; i++)
        d->models[i].falling = verdict_asks_for_more(d->verdicts, count, d->models[i].name);
    d->page.verdicts = d->said;
    d->page.verdict_count = count;
}

/* ---- what they wrote ---- */

static void add_writing(ReportData *d, const char *name, const Writing *writing, const char *note) {
    d->writings[d->page.writing_count++] =
        (PageWriting){name, note, writing->text, writing->length};
}

/* The text itself, then the rungs that have ended. */
static void gather_writings(ReportData *d) {
    const Input *input = d->input;
    Line prompt = writing_prompt(input);
    size_t start = prompt.start + (size_t)prompt.tokens, left = input->length - start;
    const int32_t *ids = tril_text_ids(input->text);
    writing_of(&d->text, input, ids + prompt.start, prompt.tokens);
    memcpy(d->prompt, d->text.text, d->text.length);
    d->page.prompt = d->prompt;
    d->page.prompt_length = d->text.length;
    writing_of(&d->text, input, ids + start, left < WRITING_TOKENS ? (int)left : WRITING_TOKENS);
    add_writing(d, "the text itself", &d->text, "how the line goes on");
    for (int i = 0; i < d->count; i++) {
        const RungPlan *rung = rung_of(d->plan, &d->results[i]);
        const Writing *writing = rung ? &d->source->writings[rung - d->plan->rungs] : NULL;
        if (!writing || writing->length == 0) continue;
        char *note = d->notes[d->page.writing_count];
        snprintf(note, NAME_SIZE, "loss on the held-out text %.4f", d->results[i].validation);
        add_writing(d, rung->name, writing, note);
    }
    d->page.writings = d->writings;
}

/* ---- attention ---- */

static bool take_heads(ReportData *d, const TrilReading *reading, TrilError *error) {
    Page *page = &d->page;
    int layers, heads;
    tril_reading_heads(reading, &layers, &heads);
    for (int l = 0; l < layers; l++)
        for (int h = 0; h < heads; h++) {
            if (page->head_count == MAX_HEADS) {
                page->left_out++;
                continue;
            }
            float *weights = d->weights[page->head_count];
            if (tril_reading_attention(reading, l, h, weights, LINE_TOKENS * LINE_TOKENS, error) !=
                TRIL_OK)
                return false;
            d->heads[page->head_count++] = (PageHead){l, h, weights};
        }
    page->heads = d->heads;
    return true;
}

/* Takes the line as far as it fits into the model's context, and what its heads make of it. */
static bool read_line(ReportData *d, const TrilModel *model, TrilError *error) {
    const Input *input = d->input;
    char text[LINE_TOKENS * UTF8_MAX];
    TrilReading *reading;
    Line line = writing_line(input);
    const int32_t *ids = tril_text_ids(input->text) + line.start;
    const int context = tril_model_sizes(model).context, threads = 1;
    d->page.tokens = context < line.tokens ? context : line.tokens;
    d->page.glyphs = (const char(*)[GLYPH_SIZE])d->glyphs;
    for (int t = 0; t < d->page.tokens; t++) glyph_of(input->tokenizer, ids[t], d->glyphs[t]);
    size_t length = input_decode(input, ids, d->page.tokens, text);
    bool ok = tril_reading_open(&reading, model, text, length, threads, error) == TRIL_OK &&
              take_heads(d, reading, error);
    tril_reading_close(reading);
    return ok;
}

/* The heads as they are now, or those of the best model. */
static bool gather_heads(ReportData *d, Error *err) {
    const char *path = d->shown->checkpoint;
    const ReportRung *now = d->source->under_way;
    TrilError error;
    TrilModel *kept = NULL;
    if (now) { /* a page without maps is better than none */
        read_line(d, now->model, &error);
        return true;
    }
    if (!file_exists(path)) return true; /* not there yet, or removed: the page has no maps */
    bool ok = tril_model_load(&kept, path, &error) == TRIL_OK;
    /* else it belongs to another text */
    if (ok && tril_tokenizer_same(tril_model_tokenizer(kept), d->input->tokenizer))
        ok = read_line(d, kept, &error);
    tril_model_free(kept);
    return ok || message_take(err, &error, NULL);
}

/* ---- the rest ---- */

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

bool report_write(const ReportSource *source, Error *err) {
    ReportData *d;
    const Plan *plan = source->plan;
    const Input *input = source->input;
    if (!memory_alloc(&d, 1, sizeof *d, "the report", err)) return false;
    d->source = source;
    d->plan = plan;
    d->input = input;
    gather_results(d);
    d->page = (Page){.text = plan->files->text,
                     .training = plan->training,
                     .table = source->table,
                     .model = d->shown->name,
                     .idea = d->shown->idea,
                     .characters = input->length,
                     .vocabulary = input->distinct,
                     .live = source->live,
                     .failure = source->failure,
                     .command = plan->command};
    gather_models(d);
    gather_settings(d);
    gather_logs(d);
    gather_verdicts(d);
    gather_writings(d);
    bool ok = gather_heads(d, err) && page_write(plan->files->page, &d->page, err);
    memory_free(d);
    return ok;
}
