/* page.h - the results of a training as a page of HTML, in one file that needs no network. */
#ifndef TRIL_REPORT_PAGE_H
#define TRIL_REPORT_PAGE_H

#include "base/error.h"
#include "report/chart.h"
#include "report/glyph.h"

#include <stddef.h>
#include <stdint.h>

/* A line of the table of models; losses in nats per character, NaN if not measured. */
typedef struct {
    const char *name;
    size_t parameters;
    double train, validation;
    double seconds; /* negative: needed no training */
} PageModel;

/* What the model wrote after `step` steps. */
typedef struct {
    int step;
    double validation;
    const char *text;
} PageSample;

/* A head's weights [tokens, tokens] on the page's line. */
typedef struct {
    int layer, head;
    const float *weights;
} PageHead;

typedef struct {
    char name[24], value[80];
} PageSetting;

/* Everything is borrowed. Texts may hold any characters: page_write escapes them. */
typedef struct {
    const char *text, *model, *idea; /* the text's file, the model's name and what it is */
    uint64_t digest;                 /* of the text */
    size_t characters;
    int vocabulary;
    Chart losses;
    const Chart *curves; /* of the model's training: rate, norm, speed */
    int curve_count;
    const PageModel *models;
    int model_count;
    const PageSample *samples;
    int sample_count;
    const PageHead *heads; /* none: the model has no attention */
    int head_count, tokens;
    const char (*glyphs)[GLYPH_SIZE]; /* of the line's tokens */
    int left_out;                     /* heads that are not shown */
    char *const *command;             /* the words of the command line; NULL ends them */
    const PageSetting *settings;
    int setting_count;
} Page;

/* Writes it to `path`, whole or not at all. */
bool page_write(const char *path, const Page *page, Error *err);

/* Is there such a page at `path`, of a training on the text of this digest? */
bool page_is_of(const char *path, uint64_t digest);

#endif
