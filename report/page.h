/* page.h - what a training came to, as a page of HTML: of one file, without a network. */
#ifndef TRIL_REPORT_PAGE_H
#define TRIL_REPORT_PAGE_H

#include "base/error.h"
#include "report/chart.h"
#include "report/glyph.h"

#include <stddef.h>
#include <stdint.h>

/* A line of the table of models; nats per character, NaN where they were not measured. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation;
    double seconds; /* negative: needed no training */
} PageModel;

/* What the model wrote after so many steps. */
typedef struct {
    int step;
    double validation;
    const char *text;
} PageExcerpt;

/* A head's weights [tokens, tokens] on the page's line. */
typedef struct {
    int layer, head;
    const float *weights;
} PageHead;

typedef struct {
    char name[24], value[80];
} PageSetting;

/* Everything is borrowed. Nothing in it need be fit for HTML. */
typedef struct {
    const char *text, *model, *idea; /* the text's file, the model's name and what it is */
    uint64_t digest;                 /* of the text */
    size_t characters;
    int vocabulary;
    Chart losses;
    const Chart *courses; /* of the model's training: rate, norm, speed */
    int course_count;
    const PageModel *models;
    int model_count;
    const PageExcerpt *excerpts;
    int excerpt_count;
    const PageHead *heads; /* none: the model has no attention */
    int head_count, tokens;
    const char (*glyphs)[GLYPH_ROOM]; /* of the line's tokens */
    int left_out;                     /* heads that are not shown */
    char *const *command;             /* its words; NULL ends them */
    const PageSetting *settings;
    int setting_count;
} Page;

/* Writes it to `path`, whole or not at all. */
bool page_write(const char *path, const Page *page, Error *err);

/* Is there such a page at `path`, of a training on the text of this digest? */
bool page_is_of(const char *path, uint64_t digest);

#endif
