#include "programs/train/report.h"
#include "base/array.h"
#include "base/clock.h"
#include "base/file.h"
#include "base/memory.h"
#include "base/utf8.h"
#include "base/world.h"
#include "extras/page/figure.h"
#include "programs/common.h"
#include "programs/train/interruption.h"
#include "programs/train/verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const double pause = 2, /* least seconds from one page to the next */
    share = 0.02,              /* greatest share of the time for writing pages */
    silence = 30,        /* seconds after which the page is written even without an evaluation */
    first_reload = 5,    /* seconds until the browser reloads the page: at first and at least */
    latest_reload = 600; /* and at most */

enum {
    LINE_TOKENS = 20,     /* most characters of the line of the held-out text */
    WRITING_TOKENS = 200, /* characters that follow it */
    FEW_POINTS = 150,     /* most points of each curve except the losses */
    MAX_HEADS = 32,
    MAX_SAMPLES = 40,
    NAME_SIZE = 48
};

/* The charts: losses, with a faint curve of the training loss, and others below. */
static const struct {
    const char *id, *title, *unit, *faint;
    size_t member;
    int decimals, height;
} kinds[] = {
    {"losses", "Loss, in nats per character", "held-out", "training", offsetof(LogRow, validation),
     4, 460},
    {"rate", "Learning rate", "rate", NULL, offsetof(LogRow, rate), 6, 220},
    {"norm", "Norm of the gradient", "norm", NULL, offsetof(LogRow, norm), 4, 220},
    {"speed", "Characters a second", "characters/s", NULL, offsetof(LogRow, speed), 0, 220},
};
enum { KINDS = COUNT(kinds) };

/* A continuation of the line, by the text itself or by a model. */
typedef struct {
    char text[WRITING_TOKENS * UTF8_MAX];
    size_t length; /* 0 before it is written */
} Writing;

typedef struct Report {
    Ladder *ladder;
    const Plan *plan;        /* the ladder's */
    const RungPlan *next;    /* the rung in training or to be trained next, or NULL */
    int version;             /* pages written so far */
    double written, allowed; /* clock_seconds() of the last page; and the earliest for the next */
    size_t line;             /* the index of the first id of a line of the held-out text */
    int line_tokens;         /* length of the line */
    char prompt[LINE_TOKENS * UTF8_MAX]; /* the beginning of the line, which models continue */
    size_t prompt_length;
    Writing writings[1 + MAX_RUNGS]; /* of the text itself, and by the rung's place in the plan */
    /* the page that is being written */
    char status[160];       /* a sentence; empty after the training */
    double done, every;     /* the share of the training, and seconds until the next page */
    const char *failure;    /* the reason for an early end, or NULL */
    const TrilModel *model; /* of the rung in training, or NULL */
    const RungPlan *shown;  /* the model that it shows in detail */
    Point points[2 * MAX_RUNGS][COURSE_KEPT];
} Report;

/* Returns the result of a rung, or NULL if its training has not begun. */
static const Result *result_of(const Report *r, const RungPlan *rung) {
    for (const Result *m = r->ladder->results; m < r->ladder->results + r->ladder->count; m++)
        if (m->rung == rung) return m;
    return NULL;
}

/* ---- a line of the held-out text ---- */

/* Writes the text of ids [count], which has room for UTF8_MAX bytes each. Returns its length. */
static size_t decode(const Plan *plan, const int32_t *ids, int count, char *text) {
    size_t length = 0;
    tril_decode(plan->tokenizer, ids, (size_t)count, text, UTF8_MAX * (size_t)count, &length,
                &(TrilError){0});
    return length;
}

/* Returns the id of a character; -1 if the vocabulary lacks it. */
static int32_t id_of(const Plan *plan, char character) {
    int32_t id;
    size_t count;
    bool known =
        tril_encode(plan->tokenizer, &character, 1, &id, 1, &count, &(TrilError){0}) == TRIL_OK &&
        count == 1;
    return known ? id : -1;
}

/* Finds the start of the first line that is long enough, or else of the held-out text. Returns the
 * length of the part to continue, without the word that its end cuts in two. */
static int find_line(Report *r) {
    enum { MIN_LINE = 8 };
    const TrilText *input = r->plan->corpus;
    const int32_t *ids = r->plan->corpus->ids;
    const int32_t newline = id_of(r->plan, '\n'), space = id_of(r->plan, ' ');
    size_t held_out = input->characters - input->trained_on, start = input->trained_on;
    int tokens = held_out > LINE_TOKENS ? LINE_TOKENS : (int)held_out - 1, end = 0;
    for (size_t i = input->trained_on; i + (size_t)tokens < input->characters; i++) {
        if (ids[i] != newline) continue;
        if (i > start + MIN_LINE && start > input->trained_on) break;
        start = i + 1;
    }
    if (start + (size_t)tokens >= input->characters) start = input->trained_on;
    r->line = start;
    ids += start;
    while (end < tokens && ids[end] != newline) end++;
    r->line_tokens = tokens;
    int word = end;
    while (end == tokens && word > MIN_LINE && ids[word - 1] != space) word--;
    if (word > MIN_LINE) end = word;
    return end > 0 ? end : tokens;
}

/* Reads the beginning of the line, and the text after it. */
static void read_prompt(Report *r) {
    const int tokens = find_line(r);
    const int32_t *ids = r->plan->corpus->ids + r->line;
    size_t left = r->plan->corpus->characters - r->line - (size_t)tokens;
    r->prompt_length = decode(r->plan, ids, tokens, r->prompt);
    r->writings->length =
        decode(r->plan, ids + tokens, left < WRITING_TOKENS ? (int)left : WRITING_TOKENS,
               r->writings->text);
}

/* Loads the checkpoint of a rung. *model is NULL if it is not there yet, was removed, or belongs to
 * another text. */
static bool load(const Report *r, const RungPlan *rung, TrilModel **model, Error *err) {
    *model = NULL;
    if (!file_is_taken(rung->checkpoint)) return true;
    if (tril_model_load(model, rung->checkpoint, err) != TRIL_OK) return false;
    if (tril_tokenizer_same(tril_model_tokenizer(*model), r->plan->tokenizer)) return true;
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

/* Generates the texts of the rungs, with the seed of the training. A rung that fails is left out.
 */
static void collect_writings(Report *r) {
    TrilSampling sampling = tril_sampling();
    if (world_rank() > 0) return; /* writes no page */
    sampling.length = WRITING_TOKENS;
    sampling.seed = r->plan->options.seed;
    sampling.precision = "f32";
    sampling.threads = (int)r->plan->options.threads;
    for (int i = 0; i < r->plan->rung_count && !interrupted_twice(); i++) {
        const RungPlan *rung = &r->plan->rungs[i];
        Writing *to = &r->writings[1 + i];
        TrilModel *model;
        Error none;
        if (!result_of(r, rung) || to->length > 0 || !load(r, rung, &model, &none) || !model)
            continue;
        if (tril_generate(model, r->prompt, r->prompt_length, &sampling, take_text, to,
                          &(TrilError){0}) != TRIL_OK)
            to->length = 0;
        tril_model_free(model);
    }
}

/* ---- the top ---- */

/* Returns the rung with the lowest loss in a ladder; otherwise the last one, which is the model if
 * its training run has begun. */
static const RungPlan *best_of(const Report *r) {
    const Plan *plan = r->plan;
    const RungPlan *best = NULL;
    double lowest = INFINITY;
    for (int i = 0; i < plan->rung_count; i++) {
        const Result *m = result_of(r, &plan->rungs[i]);
        if (!m || (best && plan->ladder && !(m->validation < lowest))) continue;
        best = &plan->rungs[i];
        lowest = fmin(lowest, m->validation);
    }
    return best ? best : &plan->rungs[plan->rung_count - 1];
}

static void write_head(const Report *r, FILE *out) {
    const char *text = r->plan->texts.name, *model = r->shown->name;
    char title[TEXTS_NAME + 64];
    snprintf(title, sizeof title, "%s, trained on %s", model, text);
    page_begin(out, title);
    markup(out,
           "<header>\n<h1>%s, trained on <bdi>%s</bdi></h1>\n<p>%s is %s. The text has %s "
           "characters, %d of them distinct. The loss says how surprised a model is by each next "
           "character, in nats: lower is better.</p>\n</header>\n<main>\n",
           model, text, model, r->shown->idea, grouped((double)r->plan->corpus->characters),
           r->plan->corpus->distinct);
    if (*r->status) /* page.js reloads the page according to the attributes, and shows its age */
        markup(out,
               "<div id=\"live\" data-every=\"%.3g\" data-version=\"%d\">%s<progress max=\"1\" "
               "value=\"%.3f\" aria-label=\"the training so far\"></progress></div>\n",
               r->every, r->version + 1, r->status, r->done);
}

static void write_verdicts(const Report *r, FILE *out) {
    if (r->failure)
        markup(out, "<p id=\"failure\"><strong>The training ended early:</strong> %s</p>\n",
               r->failure);
    bool any = false;
    for (int i = 0; i < r->ladder->count; i++) {
        const Result *m = &r->ladder->results[i];
        if (m->verdict.kind == NO_VERDICT) continue;
        if (!any)
            fputs("<section id=\"section-verdicts\">\n<h2>What happened</h2>\n"
                  "<ul class=\"verdicts\">\n",
                  out);
        any = true;
        markup(out, "<li><strong>%s:</strong> %s</li>\n", m->name, m->verdict.text);
    }
    if (any) fputs("</ul>\n</section>\n", out);
}

/* ---- charts ---- */

/* Returns a curve: the member at this offset of every n-th row, and of the last, at most max + 1
 * points. `by_time`: with a time limit all rungs take the same time, but not the same number of
 * steps. */
static Curve curve_of(const Rows *rows, bool by_time, size_t member, Point *points, int max) {
    Curve curve = {.points = points};
    const int every = ceil_div_int(rows->count, max);
    for (int i = 0; i < rows->count; i++) {
        const LogRow *row = &rows->rows[i];
        double y;
        memcpy(&y, (const char *)row + member, sizeof y);
        if (!isnan(y) && (i % every == 0 || i == rows->count - 1))
            points[curve.count++] = (Point){by_time ? row->seconds : row->step, y};
    }
    return curve;
}

/* Draws a chart of all rungs: the losses, or one of the others. */
static void draw_chart(Report *r, FILE *out, int kind) {
    const bool by_time = plan_has_time(r->plan), losses = kind == 0;
    Curve curves[2 * MAX_RUNGS];
    Level levels[CLOSED_FORMS];
    char names[MAX_RUNGS][NAME_SIZE];
    Chart chart = {.id = kinds[kind].id,
                   .title = kinds[kind].title,
                   .x_name = by_time ? "seconds" : "steps",
                   .x_place = by_time ? "# seconds" : "step #",
                   .strong = kinds[kind].unit,
                   .faint = kinds[kind].faint,
                   .curves = curves,
                   .levels = levels,
                   .height = kinds[kind].height,
                   .decimals = kinds[kind].decimals,
                   .from_zero = !losses,
                   .names = losses};
    for (int i = 0; i < r->ladder->count; i++) {
        const Result *m = &r->ladder->results[i];
        if (!m->course && losses) levels[chart.level_count++] = (Level){m->name, m->validation};
        if (!m->course) continue;
        for (int faint = losses; faint >= 0; faint--) {
            const int place = (int)(m->rung - r->plan->rungs);
            Curve *curve = &curves[chart.curve_count];
            *curve = curve_of(losses && !faint ? &m->course->evaluated : &m->course->all, by_time,
                              faint ? offsetof(LogRow, loss) : kinds[kind].member,
                              r->points[chart.curve_count++], losses ? COURSE_KEPT : FEW_POINTS);
            curve->name = m->name;
            curve->color = place;
            curve->faint = faint;
            if (!faint) continue;
            snprintf(names[place], NAME_SIZE, "%s, training", m->name);
            curve->name = names[place];
        }
    }
    figure_chart(out, &chart);
}

static void write_losses(Report *r, FILE *out) {
    fputs("<section id=\"section-losses\">\n<h2>Losses</h2>\n", out);
    draw_chart(r, out, 0);
    fputs(
        "<p class=\"hint\" hidden>Point at the chart, or select it and use the arrow keys: the "
        "table then shows the values at that place. Escape shows the last values again.</p>\n<p>A "
        "thick curve is the loss on the held-out text, on which the model is never trained; a "
        "thin one is the loss on the training batches. The gap between the two is what the model "
        "learned by heart: where the thin curve still falls and the thick one no longer does, the "
        "model memorizes its text, which is called overfitting.</p>\n<p>Dashed lines are "
        "baselines without training: all characters equally likely (uniform), counted one by one "
        "(unigram), in pairs (bigram), and in longer runs (n-gram). All are measured as the models "
        "are, in windows of the context; only the running n-gram also sees what is before its "
        "window.</p>\n</section>\n",
        out);
}

static void write_curves(Report *r, FILE *out) {
    bool any = false;
    for (int i = 0; i < r->ladder->count; i++) {
        const Course *course = r->ladder->results[i].course;
        any = any || (course && course->all.count > 0);
    }
    if (!any) return;
    fputs("<section id=\"section-curves\">\n<h2>Training curves</h2>\n<div class=\"curves\">\n",
          out);
    for (int k = 1; k < KINDS; k++) draw_chart(r, out, k);
    fputs("</div>\n</section>\n", out);
}

/* ---- tables ---- */

/* Begins a table that scrolls if it is wider than the window. */
static void begin_table(FILE *out, const char *id) {
    fprintf(out, "<div class=\"wide\" id=\"table-%s\"><table>\n", id);
}

static void end_table(FILE *out) {
    fputs("</tbody>\n</table></div>\n", out);
}

/* Writes a table cell, empty in place of a dash. */
static void write_figure(FILE *out, const char *text) {
    fprintf(out, "<td>%s</td>", strcmp(text, "-") == 0 ? "" : text);
}

static void write_models(const Report *r, FILE *out) {
    fputs("<section id=\"section-models\">\n<h2>Models</h2>\n", out);
    begin_table(out, "models");
    fputs("<thead><tr><th scope=\"col\">model</th><th scope=\"col\">parameters</th>"
          "<th scope=\"col\">steps</th><th scope=\"col\">train</th><th scope=\"col\">held-out</th>"
          "<th scope=\"col\">bits/char</th><th scope=\"col\">TFLOP</th>"
          "<th scope=\"col\">seconds</th></tr></thead>\n<tbody>\n",
          out);
    bool falling = false;
    for (int i = 0; i < r->ladder->count; i++) {
        const Result *m = &r->ladder->results[i];
        bool trained = m->course != NULL, falls = m->verdict.falling;
        falling = falling || falls;
        markup(out, "<tr><th scope=\"row\">%s%s</th>", m->name, falls ? " \u2193" : "");
        write_figure(out, m->parameters > 0 ? grouped((double)m->parameters) : "-");
        write_figure(out,
                     figure(trained && m->course->steps > 0 ? (double)m->course->steps : NAN, 0));
        write_figure(out, figure(m->train, 4));
        write_figure(out, figure(m->validation, 4));
        write_figure(out, figure(m->validation / log(2.0), 3));
        write_figure(out, figure_tera(trained ? m->compute / TERA : NAN));
        write_figure(out, figure(trained ? m->seconds : NAN, 1));
        fputs("</tr>\n", out);
    }
    end_table(out);
    fprintf(
        out,
        "<p>train: the loss on a part of the training text; held-out: the loss on all of the "
        "held-out text; bits/char: the same in bits (a bit is ln 2 nats); TFLOP: the trillions of "
        "multiplications and additions that the training took.%s</p>\n</section>\n",
        falling ? " \u2193: the loss was still falling at the end; more steps would lower it."
                : "");
}

static void write_writings(const Report *r, FILE *out) {
    const int length = (int)r->prompt_length;
    bool any = false;
    for (int i = 0; i <= r->plan->rung_count; i++) {
        const Writing *w = &r->writings[i];
        const Result *of = i > 0 ? result_of(r, &r->plan->rungs[i - 1]) : NULL;
        char note[NAME_SIZE] = "how the line continues";
        if (w->length == 0 || length == 0) continue;
        if (of) snprintf(note, sizeof note, "loss on the held-out text %.4f", of->validation);
        if (!any)
            markup(
                out,
                "<section id=\"section-writings\">\n<h2>How each model continues a line</h2>\n<p>All models "
                "continue the same line of the held-out text, <span "
                "class=\"prompt\"><bdi>%.*s</bdi></span>, with the same random seed.</p>\n<div "
                "class=\"writings\">\n",
                length, r->prompt);
        any = true;
        markup(out,
               "<article class=\"writing\"><h3>%s</h3><p>%s</p><blockquote dir=\"auto\">"
               "<span class=\"prompt\">%.*s</span>%.*s</blockquote></article>\n",
               of ? of->name : "the text itself", note, length, r->prompt, (int)w->length, w->text);
    }
    if (any) fputs("</div>\n</section>\n", out);
}

/* Writes every n-th of the lines that the model wrote, and the last. */
static void write_samples(const Report *r, FILE *out) {
    const Result *shown = result_of(r, r->shown);
    const Rows *c = shown && shown->course ? &shown->course->evaluated : NULL;
    int samples = 0, seen = 0;
    for (int i = 0; c && i < c->count; i++) samples += *c->rows[i].sample != 0;
    if (samples == 0) return;
    int every = (samples + MAX_SAMPLES - 2) / (MAX_SAMPLES - 1);
    markup(out,
           "<section id=\"section-samples\">\n<h2>How %s learned to write</h2>\n<p>Samples after "
           "each evaluation, without a prompt and with the same random seed; ↵ is the end of a "
           "line.</p>\n",
           r->shown->name);
    begin_table(out, "samples");
    fputs("<thead><tr><th scope=\"col\">step</th><th scope=\"col\">held-out</th>"
          "<th scope=\"col\" class=\"text\">text</th></tr></thead>\n<tbody>\n",
          out);
    for (int i = 0; i < c->count; i++) {
        const LogRow *row = &c->rows[i];
        if (*row->sample && (seen++ % every == 0 || seen == samples))
            markup(out,
                   "<tr><th scope=\"row\">%d</th><td>%.4f</td><td class=\"text\"><bdi>%s</bdi>"
                   "</td></tr>\n",
                   row->step, row->validation, row->sample);
    }
    end_table(out);
    fputs("</section>\n", out);
}

/* Writes the command, the files of the text if there are several, and the options that a resumed
 * training keeps. The steps are in the table of the models: a training run may have ended early. */
static void write_command(const Report *r, FILE *out) {
    markup(out,
           "<section id=\"section-command\">\n<h2>The command</h2>\n<pre><code>%s</code></pre>\n",
           r->plan->command.bytes);
    begin_table(out, "settings");
    fputs("<tbody>\n", out);
    const Texts *texts = &r->plan->texts;
    for (int i = 0; i < texts->count && texts->count > 1; i++)
        markup(out, "<tr><th scope=\"row\">text</th><td><bdi>%s</bdi></td></tr>\n",
               texts->files[i].path);
    for (int i = 0; tril_option(i); i++) {
        const TrilOption *option = tril_option(i);
        char text[TRIL_OPTION_SIZE];
        const bool flag = option->kind == TRIL_FLAG, steps = strcmp(option->name, "steps") == 0;
        const bool idle = plan_has_time(r->plan) && strcmp(option->name, "eval-every") == 0;
        if (option->lasting == TRIL_FRESH || !tril_options_get(&r->plan->options, i, text) ||
            (flag && strcmp(text, "0") == 0) || steps || idle)
            continue;
        markup(out, "<tr><th scope=\"row\">%s</th><td>%s</td></tr>\n", option->name,
               flag ? "" : text);
    }
    end_table(out);
    fputs("</section>\n", out);
}

/* ---- attention ---- */

/* Writes the maps of the heads on the tokens that have been read. */
static bool write_heads(const Report *r, FILE *out, const TrilReading *reading, TrilError *error) {
    Glyph glyphs[LINE_TOKENS];
    float weights[LINE_TOKENS * LINE_TOKENS];
    const int tokens = reading->tokens, heads = reading->heads;
    bool ok = true;
    const int all = reading->layers * heads, shown = min_int(all, MAX_HEADS);
    if (all == 0) return true;
    for (int t = 0; t < tokens; t++) glyphs[t] = glyph_of(r->plan->tokenizer, reading->ids[t]);
    markup(
        out,
        "<section id=\"section-attention\">\n<h2>Attention of %s</h2>\n<p>Each map shows one "
        "head, on a line of the held-out text. A row belongs to a character and shows how much "
        "that character attends to itself and to each one before it. The weights of a row sum to "
        "1.</p>\n",
        r->shown->name);
    figure_scale(out);
    for (int i = 0; i < shown && ok; i++) {
        const int layer = i / heads;
        if (i % heads == 0)
            fprintf(out, "<h3>Layer %d</h3>\n<div class=\"maps\" id=\"layer-%d\">\n", layer, layer);
        ok = tril_reading_attention(reading, layer, i % heads, weights, COUNT(weights), error) ==
             TRIL_OK;
        if (ok) figure_map(out, &(HeadMap){layer, i % heads, weights}, tokens, glyphs);
        if (!ok || i + 1 == shown || (i + 1) % heads == 0) fputs("</div>\n", out);
    }
    if (all > shown)
        fprintf(out,
                "<p>%d more heads are left out here; <code>sample --explain</code> shows "
                "them.</p>\n",
                all - shown);
    fputs("</section>\n", out);
    return ok;
}

/* Reads the line, as far as it fits into the model's context, and writes the maps of its heads.
 * While the model is in training, errors only leave the maps out. */
static bool write_attention(const Report *r, FILE *out, Error *err) {
    char text[LINE_TOKENS * UTF8_MAX];
    TrilReading *reading;
    TrilModel *kept = NULL;
    const int32_t *ids = r->plan->corpus->ids + r->line;
    if (!r->model && !load(r, r->shown, &kept, err)) return false;
    const TrilModel *model = kept ? kept : r->model;
    if (!model) return true;
    int tokens = min_int((int)tril_model_sizes(model).context, r->line_tokens);
    size_t length = decode(r->plan, ids, tokens, text);
    bool ok = tril_reading_open(&reading, model, text, length, 0, 1, err) == TRIL_OK &&
              write_heads(r, out, reading, err);
    tril_reading_close(reading);
    tril_model_free(kept);
    return ok || !kept;
}

/* ---- the page ---- */

static bool print_page(FILE *out, void *report, Error *err) {
    Report *r = report;
    write_head(r, out);
    write_verdicts(r, out);
    write_losses(r, out);
    write_models(r, out);
    write_writings(r, out);
    write_samples(r, out);
    if (!write_attention(r, out, err)) return false;
    write_curves(r, out);
    write_command(r, out);
    page_end(out);
    return true;
}

/* Writes the page, with `model` of the rung in training, or NULL. */
static bool write_page(Report *r, const TrilModel *model, Error *err) {
    r->model = model;
    r->shown = model ? r->next : best_of(r);
    verdicts_judge(r->plan, r->ladder->results, r->ladder->count);
    return folder_hold(r->plan->folder, err) && file_print(r->plan->page, print_page, r, err);
}

bool report_open(Ladder *l, Error *err) {
    Report *r;
    if (!memory_alloc(&r, 1, sizeof *r, "the report", err)) return false;
    l->report = r;
    r->ladder = l;
    r->plan = l->plan;
    read_prompt(r);
    return true;
}

void report_close(Ladder *l) {
    memory_free(l->report);
}

/* Sets r->status to a sentence about the progress, and r->done to the completed share. `live`: the
 * last result's rung is in training. Counts the earlier time of a resumed training run, and no rung
 * that is left out. */
static void describe(Report *r, bool live, double at) {
    const Plan *plan = r->plan;
    const Ladder *l = r->ladder;
    const Result *now = &l->results[l->count - 1];
    const int trained = l->count - CLOSED_FORMS - live,
              all = trained + plan->rung_count - (int)(r->next - plan->rungs);
    double steps = live ? now->course->steps : 0, took = 0;
    for (int i = 0; i < l->count; i++) took += l->results[i].seconds;
    took = fmax(took, at - plan->arguments->begun);
    r->done = plan_has_time(plan) ? took / plan->options.time
                                  : (trained + fmin(1, steps / plan->options.steps)) / all;
    r->done = fmin(1, fmax(0, r->done));
    int length = snprintf(r->status, sizeof r->status,
                          "Training %s, model %d of %d: ", r->next->name, trained + 1, all);
    char *text = r->status + length;
    const size_t size = sizeof r->status - (size_t)length;
    if (!live)
        snprintf(text, size, "it begins.");
    else if (plan_has_time(plan))
        snprintf(text, size, "step %.0f, %.0f of %.0f seconds in all.", steps, took,
                 plan->options.time);
    else
        snprintf(text, size, "step %.0f of %.0f, %.0f seconds so far.", steps, plan->options.steps,
                 now->seconds);
}

static void write_live(Report *r, const TrilModel *model) {
    double begun = clock_seconds();
    Error err;
    r->every = first_reload;
    if (r->version > 0) r->every = fmin(latest_reload, fmax(first_reload, begun - r->written));
    describe(r, model != NULL, begun);
    if (write_page(r, model, &err)) r->version++;
    r->written = clock_seconds();
    r->allowed = r->written + fmax(pause, (r->written - begun) * (1 / share - 1));
}

void report_next(Ladder *l, const RungPlan *next) {
    l->report->next = next;
    collect_writings(l->report);
    write_live(l->report, NULL);
}

void report_renew(Ladder *l, const TrilModel *model, double at, bool evaluated) {
    Report *r = l->report;
    if (at >= r->allowed && (evaluated || at - r->written >= silence)) write_live(r, model);
}

bool report_end(Ladder *l, const Error *failure, Error *err) {
    Report *r = l->report;
    *r->status = 0;
    r->failure = failure ? failure->text : NULL;
    collect_writings(r);
    return write_page(r, NULL, err);
}
