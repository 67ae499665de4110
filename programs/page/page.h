/* page.h - HTML files that need no other file and no network: the page of a training, and that of
 * an explanation. While the training runs, its page is written again and again, and reloads itself
 * in the browser. */
#ifndef TRIL_PROGRAMS_PAGE_PAGE_H
#define TRIL_PROGRAMS_PAGE_PAGE_H

#include "base/error.h"
#include "programs/page/figure.h"
#include "programs/report/explain.h"

#include <stddef.h>
#include <stdint.h>

/* A training under way. */
typedef struct {
    const char *status; /* a sentence */
    double share;       /* of the training that is done, 0 to 1 */
    double every;       /* seconds until the page is written again, about */
    int version;        /* another number each time */
} PageLive;

/* What a user should know of this training. */
typedef struct {
    const char *rung, *text;
} PageVerdict;

/* A row of the table of models. Losses are in nats per character, NaN if not measured. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation;
    double compute; /* floating-point operations; NaN: not known */
    double seconds; /* negative: not trained */
    bool falling;   /* more steps would lower its loss */
} PageModel;

/* How a model continues the page's prompt; or how the text itself goes on. */
typedef struct {
    const char *name, *note; /* note: a remark on it */
    const char *text;        /* any bytes */
    size_t length;
} PageWriting;

/* The line that the model generated after `step` steps. */
typedef struct {
    int step;
    double validation;
    const char *text;
} PageSample;

typedef struct {
    char name[24], value[80];
} PageSetting;

/* Borrows everything. page_write escapes the texts, which may hold any characters. */
typedef struct {
    const char *text, *model, *idea; /* the text's file, the model's name and description */
    uint64_t training;               /* by which it knows its files */
    uint64_t tables[2];              /* digests of the table beside the page, and of the one that
                                        will be written next; 0: none */
    size_t characters;
    int vocabulary;
    const PageLive *live; /* NULL: the training has ended */
    const char *failure;  /* why it ended before its time; NULL: it did not */
    const PageVerdict *verdicts;
    int verdict_count;
    Chart losses;        /* strong: on the held-out text; faint: on the batches that train */
    const Chart *curves; /* of the training: learning rate, gradient norm, speed */
    int curve_count;
    const PageModel *models;
    int model_count;
    const char *prompt; /* what the writings continue; any bytes */
    size_t prompt_length;
    const PageWriting *writings;
    int writing_count;
    const PageSample *samples;
    int sample_count;
    const HeadMap *heads; /* on the page's line of text; empty if the model has no attention */
    int head_count, tokens;
    const Glyph *glyphs;  /* of the tokens of the line */
    int left_out;         /* heads that are not shown */
    char *const *command; /* the arguments of the command line, ended by NULL */
    const PageSetting *settings;
    int setting_count;
} Page;

/* Writes the page to `path`, atomically. */
bool page_write(const char *path, const Page *page, Error *err);

/* True if the file at `path` is such a page, of this training, and, unless `table` is 0, names the
 * table of this digest. */
bool page_is_of(const char *path, uint64_t training, uint64_t table);

/* Writes what `explain` writes as a page. Fails also if the file exists. */
bool page_explain(const char *path, const Explained *models, int count, int layer, int head,
                  Error *err);

#endif
