#include "programs/train/report.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/number.h"
#include "base/utf8.h"
#include "library/message.h"
#include "programs/page/page.h"
#include "programs/train/interruption.h"
#include "programs/train/verdict.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const double pause = 2, /* seconds from one page to the next, at least */
    share = 0.02,              /* of the time for writing pages, at most */
    silence = 30,        /* seconds without an evaluation until the page is written all the same */
    first_reload = 5,    /* seconds until the browser looks again: at first and at least, */
    latest_reload = 600; /* and at most */

enum {
    LINE_TOKENS = 20,     /* of the line of the held-out text, at most */
    WRITING_TOKENS = 200, /* that follow it */
    FEW_POINTS = 150,     /* of each curve but the losses, at most */
    MAX_HEADS = 32,
    MAX_SAMPLES = 40,
    MAX_MODELS = MAX_RUNGS + 3,
    MAX_SETTINGS = 24,
    NAME_SIZE = 48
};

/* The charts: losses, with a faint curve of the training loss, and others below. */
static const struct {
    const char *id, *title, *unit, *faint;
    size_t member;
    int decimals, height;
} kinds[] = {
    {"losses", "Loss, in nats per character", "held out", "training", offsetof(LogRow, validation),
     4, 460},
    {"rate", "Learning rate", "rate", NULL, offsetof(LogRow, rate), 6, 220},
    {"norm", "Norm of the gradient", "norm", NULL, offsetof(LogRow, norm), 4, 220},
    {"speed", "Characters a second", "characters/s", NULL, offsetof(LogRow, speed), 0, 220},
};
enum { KINDS = COUNT(kinds) };

/* How the line goes on: in the text, or as a model continues it. */
typedef struct {
    char text[WRITING_TOKENS * UTF8_MAX], note[NAME_SIZE];
    size_t length; /* 0: nothing yet */
} Writing;

struct Report {
    const Plan *plan;
    const Input *input;
    Outputs *outputs;
    const Result *results; /* [count]: the closed forms, then the rungs so far */
    int count;
    int version;             /* pages written so far */
    double written, allowed; /* clock_seconds() when the last page was written; before which no
                                other may be */
    size_t line;             /* where a line of the held-out text begins; */
    int line_tokens;         /* its length, */
    int prompt_tokens;       /* and that of its beginning, which models continue */
    char prompt[LINE_TOKENS * UTF8_MAX];
    size_t prompt_length;
    Writing writings[1 + MAX_RUNGS]; /* of the text itself, and by the rung's place in the plan */
    /* the page, written anew each time, and everything that it points to */
    Page page;
    const RungFiles *shown; /* the model that it shows in detail */
    Result all[MAX_MODELS];
    PageModel models[MAX_MODELS];
    Verdict verdicts[MAX_RUNGS];
    PageVerdict said[MAX_RUNGS];
    Chart charts[KINDS];
    Curve curves[KINDS][2 * MAX_RUNGS];
    Point losses[MAX_RUNGS][2][LOG_ROWS], others[MAX_RUNGS][KINDS][FEW_POINTS + 1];
    Level levels[MAX_MODELS];
    Mark marks[MAX_RUNGS];
    char names[MAX_RUNGS][NAME_SIZE], mark_texts[MAX_RUNGS][NAME_SIZE];
    LogRows log;
    PageWriting written_texts[1 + MAX_RUNGS];
    PageSample samples[MAX_SAMPLES];
    HeadMap heads[MAX_HEADS];
    float weights[MAX_HEADS][LINE_TOKENS * LINE_TOKENS];
    Glyph glyphs[LINE_TOKENS];
    PageSetting settings[MAX_SETTINGS];
};

/* NULL: the result needed no training. */
static const RungFiles *rung_with(const Plan *plan, const Result *result) {
    for (int i = 0; i < plan->rung_count; i++)
        if (strcmp(plan->rungs[i].name, result->name) == 0) return &plan->rungs[i];
    return NULL;
}

/* ---- a line of the held-out text ---- */

/* Returns the id of a character; -1 if the vocabulary lacks it. */
static int32_t id_of(const Input *input, char character) {
    int32_t id;
    size_t count;
    bool known =
        tril_encode(input->tokenizer, &character, 1, &id, 1, &count, NULL) == TRIL_OK && count == 1;
    return known ? id : -1;
}

/* Finds the start of the first line that is long enough, or else of the held-out text; and the part
 * to continue, without the word that its end cuts in two. */
static void find_line(Report *r) {
    enum { MIN_LINE = 8 };
    const Input *input = r->input;
    const int32_t *ids = tril_text_ids(input->text);
    const int32_t newline = id_of(input, '\n'), space = id_of(input, ' ');
    size_t held_out = input->length - input->train, start = input->train;
    int tokens = held_out > LINE_TOKENS ? LINE_TOKENS : (int)held_out - 1, end = 0;
    for (size_t i = input->train; i + (size_t)tokens < input->length; i++) {
        if (ids[i] != newline) continue;
        if (i > start + MIN_LINE && start > input->train) break;
        start = i + 1;
    }
    if (start + (size_t)tokens >= input->length) start = input->train;
    r->line = start;
    r->line_tokens = tokens;
    ids += start;
    while (end < tokens && ids[end] != newline) end++;
    int word = end;
    while (end == tokens && word > MIN_LINE && ids[word - 1] != space) word--;
    if (word > MIN_LINE) end = word;
    r->prompt_tokens = end > 0 ? end : tokens;
}

/* The line's beginning, and how the text goes on after it. */
static void read_prompt(Report *r) {
    Writing *to = r->writings;
    find_line(r);
    const int32_t *ids = tril_text_ids(r->input->text) + r->line;
    size_t left = r->input->length - r->line - (size_t)r->prompt_tokens;
    r->prompt_length = input_decode(r->input, ids, r->prompt_tokens, r->prompt);
    to->length = input_decode(r->input, ids + r->prompt_tokens,
                              left < WRITING_TOKENS ? (int)left : WRITING_TOKENS, to->text);
    snprintf(to->note, NAME_SIZE, "how the line goes on");
}

/* Loads the checkpoint of a rung. *model is NULL if it is not there yet, was removed, or belongs to
 * another text. */
static bool load(const Report *r, const RungFiles *rung, TrilModel **model, Error *err) {
    TrilError error;
    *model = NULL;
    if (!file_exists(rung->checkpoint)) return true;
    if (tril_model_load(model, rung->checkpoint, &error) != TRIL_OK)
        return message_take(err, &error, NULL);
    if (tril_tokenizer_same(tril_model_tokenizer(*model), r->input->tokenizer)) return true;
    tril_model_free(*model);
    *model = NULL;
    return true;
}

static int take_text(const char *text, size_t length, void *writing) {
    Writing *to = writing;
    memcpy(to->text + to->length, text, length);
    to->length += length;
    return 0;
}

/* Generates what the rungs that are done write, with the seed of the training. One that cannot is
 * left out. */
static void collect_writings(Report *r) {
    TrilSampling sampling = tril_sampling();
    sampling.length = WRITING_TOKENS;
    sampling.seed = r->plan->options.seed;
    sampling.precision = "f32";
    sampling.threads = (int)r->plan->options.threads;
    for (int i = 0; i < r->count && !interrupted_twice(); i++) {
        const RungFiles *rung = rung_with(r->plan, &r->results[i]);
        Writing *to = rung ? &r->writings[1 + rung - r->plan->rungs] : NULL;
        TrilModel *model;
        TrilError error;
        Error none;
        if (!to || to->length > 0 || !load(r, rung, &model, &none) || !model) continue;
        if (tril_generate(model, r->prompt, r->prompt_length, &sampling, take_text, to, &error) !=
            TRIL_OK)
            to->length = 0;
        tril_model_free(model);
        snprintf(to->note, NAME_SIZE, "loss on the held-out text %.4f", r->results[i].validation);
    }
}

/* ---- results ---- */

/* In a ladder, returns the rung with the lowest loss; otherwise the last one, which is the model if
 * its training began. */
static const RungFiles *best_of(const Report *r) {
    const RungFiles *best = NULL, *rung;
    double lowest = NAN;
    for (int i = 0; i < r->count; i++) {
        if (!(rung = rung_with(r->plan, &r->results[i]))) continue;
        if (best && r->plan->ladder && r->results[i].validation >= lowest) continue;
        best = rung;
        lowest = r->results[i].validation;
    }
    return best ? best : &r->plan->rungs[r->plan->rung_count - 1];
}

/* `now`: the result so far of the rung in training, or NULL. */
static void add_results(Report *r, const Result *now) {
    Page *page = &r->page;
    page->model_count = r->count;
    memcpy(r->all, r->results, (size_t)r->count * sizeof *r->all);
    if (now) r->all[page->model_count++] = *now;
    r->shown = now ? rung_with(r->plan, now) : best_of(r);
    page->verdict_count = verdicts_of(r->plan, r->input, r->all, page->model_count, r->verdicts);
    for (int i = 0; i < page->verdict_count; i++)
        r->said[i] = (PageVerdict){r->verdicts[i].rung, r->verdicts[i].text};
    for (int i = 0; i < page->model_count; i++) {
        const Result *a = &r->all[i];
        r->models[i] = (PageModel){
            .name = a->name,
            .parameters = a->parameters,
            .train = a->train,
            .validation = a->validation,
            .compute = a->compute,
            .seconds = a->seconds,
            .falling = verdict_asks_for_more(r->verdicts, page->verdict_count, a->name)};
    }
}

/* ---- curves ---- */

/* Adds a curve to chart k: the member at this offset of every n-th log row, and of the last, at
 * most max + 1 points. By the clock all rungs take the same time, but not the same number of steps.
 */
static Curve *add_curve(Report *r, int k, const char *name, int colour, size_t member,
                        Point *points, int max) {
    Curve *curve = &r->curves[k][r->charts[k].curve_count++];
    int rows = r->log.count, every = (rows + max - 1) / max;
    *curve = (Curve){.name = name, .points = points, .colour = colour};
    for (int i = 0; i < rows; i++) {
        const LogRow *row = &r->log.rows[i];
        double y;
        memcpy(&y, (const char *)row + member, sizeof y);
        if (!isnan(y) && (i % every == 0 || i == rows - 1))
            points[curve->count++] = (Point){plan_has_time(r->plan) ? row->seconds : row->step, y};
    }
    return curve;
}

/* Marks the lowest point of the curve, after which the rung memorises its text. */
static void add_mark(Report *r, const Curve *curve) {
    Chart *losses = r->charts;
    for (int i = 0; i < r->page.verdict_count; i++) {
        const Verdict *v = &r->verdicts[i];
        if (v->kind != OVERFITTING || strcmp(v->rung, curve->name) != 0 || curve->count == 0)
            continue;
        const Point *lowest = curve->points;
        for (int p = 1; p < curve->count; p++)
            if (curve->points[p].y < lowest->y) lowest = &curve->points[p];
        char *text = r->mark_texts[losses->mark_count];
        snprintf(text, NAME_SIZE, "overfitting after step %d", v->step);
        r->marks[losses->mark_count++] = (Mark){*lowest, text, curve->colour};
    }
}

/* Adds the curves of all rungs. */
static void add_curves(Report *r) {
    bool by_time = plan_has_time(r->plan);
    for (int k = 0; k < KINDS; k++)
        r->charts[k] = (Chart){.id = kinds[k].id,
                               .title = kinds[k].title,
                               .x_name = by_time ? "seconds" : "steps",
                               .x_place = by_time ? "# seconds" : "step #",
                               .strong = kinds[k].unit,
                               .faint = kinds[k].faint,
                               .curves = r->curves[k],
                               .height = kinds[k].height,
                               .decimals = kinds[k].decimals,
                               .from_zero = k > 0,
                               .names = k == 0};
    Chart *losses = r->charts;
    losses->levels = r->levels;
    losses->marks = r->marks;
    for (int i = 0; i < r->page.model_count; i++) {
        const RungFiles *rung = rung_with(r->plan, &r->all[i]);
        if (!rung) {
            r->levels[losses->level_count++] = (Level){r->all[i].name, r->all[i].validation};
            continue;
        }
        log_read(&r->log, rung->log);
        if (r->log.count > 0) r->page.curve_count = KINDS - 1;
        int place = (int)(rung - r->plan->rungs);
        snprintf(r->names[place], NAME_SIZE, "%s, training", rung->name);
        add_curve(r, 0, r->names[place], place, offsetof(LogRow, loss), r->losses[place][1],
                  LOG_ROWS)
            ->faint = true;
        add_mark(r,
                 add_curve(r, 0, rung->name, place, kinds->member, r->losses[place][0], LOG_ROWS));
        for (int k = 1; k < KINDS; k++)
            add_curve(r, k, rung->name, place, kinds[k].member, r->others[place][k], FEW_POINTS);
    }
    r->page.losses = *losses;
}

/* ---- the texts ---- */

/* Adds every n-th of the lines that the log of the model has, and the last. */
static void add_samples(Report *r) {
    int samples = 0, seen = 0;
    log_read(&r->log, r->shown->log);
    for (int i = 0; i < r->log.count; i++) samples += r->log.rows[i].sample != NULL;
    int every = (samples + MAX_SAMPLES - 2) / (MAX_SAMPLES - 1);
    for (int i = 0; i < r->log.count; i++) {
        const LogRow *row = &r->log.rows[i];
        if (row->sample && (seen++ % every == 0 || seen == samples))
            r->samples[r->page.sample_count++] =
                (PageSample){row->step, row->validation, row->sample};
    }
}

static void add_writings(Report *r) {
    for (int i = 0; i <= r->plan->rung_count; i++) {
        const Writing *w = &r->writings[i];
        const char *name = i > 0 ? r->plan->rungs[i - 1].name : "the text itself";
        if (w->length > 0)
            r->written_texts[r->page.writing_count++] =
                (PageWriting){name, w->note, w->text, w->length};
    }
}

/* The options that a resumed training keeps. With a time limit the steps do not count. */
static void add_settings(Report *r) {
    for (int i = 0; tril_option(i) && r->page.setting_count < MAX_SETTINGS; i++) {
        const TrilOption *option = tril_option(i);
        PageSetting *to = &r->settings[r->page.setting_count];
        char text[TRIL_OPTION_SIZE];
        bool idle = strcmp(option->name, "steps") == 0 || strcmp(option->name, "eval-every") == 0;
        bool flag = option->kind == TRIL_FLAG;
        if (option->lasting == TRIL_FRESH || !tril_options_get(&r->plan->options, i, text) ||
            (flag && strcmp(text, "0") == 0) || (idle && plan_has_time(r->plan)))
            continue;
        snprintf(to->name, sizeof to->name, "%s", option->name);
        snprintf(to->value, sizeof to->value, "%s", flag ? "" : text);
        r->page.setting_count++;
    }
}

/* ---- attention ---- */

static bool add_heads(Report *r, const TrilReading *reading, TrilError *error) {
    int layers, heads;
    tril_reading_heads(reading, &layers, &heads);
    for (int i = 0; i < layers * heads; i++) {
        if (r->page.head_count == MAX_HEADS) {
            r->page.left_out = layers * heads - MAX_HEADS;
            break;
        }
        float *weights = r->weights[r->page.head_count];
        if (tril_reading_attention(reading, i / heads, i % heads, weights,
                                   LINE_TOKENS * LINE_TOKENS, error) != TRIL_OK)
            return false;
        r->heads[r->page.head_count++] = (HeadMap){i / heads, i % heads, weights};
    }
    return true;
}

/* Adds the line, as far as it fits into the model's context, and the maps of its heads. */
static bool read_line(Report *r, const TrilModel *model, TrilError *error) {
    char text[LINE_TOKENS * UTF8_MAX];
    TrilReading *reading;
    const int32_t *ids = tril_text_ids(r->input->text) + r->line;
    r->page.tokens = min_int((int)tril_model_sizes(model).context, r->line_tokens);
    for (int t = 0; t < r->page.tokens; t++) r->glyphs[t] = glyph_of(r->input->tokenizer, ids[t]);
    size_t length = input_decode(r->input, ids, r->page.tokens, text);
    bool ok = tril_reading_open(&reading, model, text, length, 1, error) == TRIL_OK &&
              add_heads(r, reading, error);
    tril_reading_close(reading);
    return ok;
}

/* ---- the page ---- */

/* `now` and `model`: of the rung in training, or NULL. `live`: NULL at the end. */
static bool write_page(Report *r, const PageLive *live, const TrilModel *model, const Result *now,
                       const char *failure, Error *err) {
    TrilModel *kept = NULL;
    TrilError error;
    const Plan *plan = r->plan;
    const uint64_t *tables = outputs_tables(r->outputs);
    r->page = (Page){.text = plan->files->text,
                     .training = plan->training,
                     .tables = {tables[0], tables[1]},
                     .characters = r->input->length,
                     .vocabulary = r->input->distinct,
                     .live = live,
                     .failure = failure,
                     .command = plan->arguments->command,
                     .models = r->models,
                     .verdicts = r->said,
                     .curves = r->charts + 1,
                     .prompt = r->prompt,
                     .prompt_length = r->prompt_length,
                     .writings = r->written_texts,
                     .samples = r->samples,
                     .heads = r->heads,
                     .glyphs = r->glyphs,
                     .settings = r->settings};
    add_results(r, now);
    r->page.model = r->shown->name;
    r->page.idea = r->shown->idea;
    add_curves(r);
    add_samples(r);
    add_writings(r);
    add_settings(r);
    if (model)
        read_line(r, model, &error); /* a page without maps is better than none */
    else if (!load(r, r->shown, &kept, err))
        return false;
    bool ok = !kept || read_line(r, kept, &error) || message_take(err, &error, NULL);
    tril_model_free(kept);
    return ok && outputs_hold(r->outputs, err) && page_write(plan->files->page, &r->page, err);
}

bool report_open(Report **report, const Plan *plan, const Input *input, Outputs *outputs,
                 const Result *results, Error *err) {
    if (!memory_alloc(report, 1, sizeof **report, "the report", err)) return false;
    **report = (Report){.plan = plan, .input = input, .outputs = outputs, .results = results};
    read_prompt(*report);
    return true;
}

void report_close(Report *report) {
    memory_free(report);
}

/* Says what is trained, and sets *done to the share of it that is done. `now`: NULL before the
 * first step. A training that is resumed took time before this program began; a rung that is left
 * out counts as none. */
static void describe(const Report *r, const RungFiles *rung, const Result *now, double at,
                     char *text, size_t size, double *done) {
    const Plan *plan = r->plan;
    int trained = 0, left = plan->rung_count - (int)(rung - plan->rungs); /* this one included */
    double steps = now ? now->course->steps : 0, took = now ? now->seconds : 0;
    for (int i = 0; i < r->count; i++) {
        if (r->results[i].seconds < 0) continue; /* a closed form */
        trained++;
        took += r->results[i].seconds;
    }
    took = fmax(took, at - plan->arguments->begun);
    *done = plan_has_time(plan)
                ? took / plan->options.time
                : (trained + fmin(1, steps / plan->options.steps)) / (trained + left);
    *done = fmin(1, fmax(0, *done));
    int length = snprintf(text, size, "Training %s, model %d of %d: ", rung->name, trained + 1,
                          trained + left);
    text += length;
    size -= (size_t)length;
    if (!now)
        snprintf(text, size, "it begins.");
    else if (plan_has_time(plan))
        snprintf(text, size, "step %.0f, %.0f of %.0f seconds in all.", steps, took,
                 plan->options.time);
    else
        snprintf(text, size, "step %.0f of %.0f, %.0f seconds so far.", steps, plan->options.steps,
                 now->seconds);
}

static void write_live(Report *r, const RungFiles *rung, const TrilModel *model,
                       const Result *now) {
    char status[160];
    double begun = clock_seconds();
    PageLive live = {.status = status, .version = r->version + 1, .every = first_reload};
    Error err;
    if (r->version > 0) live.every = fmin(latest_reload, fmax(first_reload, begun - r->written));
    describe(r, rung, now, begun, status, sizeof status, &live.share);
    if (write_page(r, &live, model, now, NULL, &err)) r->version++;
    r->written = clock_seconds();
    r->allowed = r->written + fmax(pause, (r->written - begun) * (1 / share - 1));
}

void report_next(Report *r, const RungFiles *next, int count) {
    r->count = count;
    collect_writings(r);
    write_live(r, next, NULL, NULL);
}

bool report_due(const Report *r, double now, bool evaluated) {
    return now >= r->allowed && (evaluated || now - r->written >= silence);
}

void report_renew(Report *r, const TrilModel *model, const Result *now) {
    write_live(r, rung_with(r->plan, now), model, now);
}

bool report_end(Report *r, int count, const Error *failure, Error *err) {
    r->count = count;
    collect_writings(r);
    return write_page(r, NULL, NULL, NULL, failure ? failure->text : NULL, err);
}
