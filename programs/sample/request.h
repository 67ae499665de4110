/* request.h - the command line of ./sample. */
#ifndef TRIL_PROGRAMS_SAMPLE_REQUEST_H
#define TRIL_PROGRAMS_SAMPLE_REQUEST_H

#include "base/error.h"
#include "library/tril.h"

#include <stdio.h>

typedef struct {
    const char *checkpoint;   /* the first, or the usual one */
    char *const *checkpoints; /* [checkpoint_count], as named on the command line */
    int checkpoint_count;
    /* how to generate */
    const char *prompt, *stop; /* may be NULL */
    int length, samples;
    bool interactive;
    TrilSampling sampling; /* and how to compute; the length is above */
    /* what to do instead of generating, at most one; NULL or false: not requested */
    const char *score, *explain, *export;
    TrilUnknown unknown; /* for score */
    bool info;
    int layer, head;    /* for explain; negative: those that moved the prediction most */
    const char *html;   /* for explain: the page to write; NULL: none */
    const char *stored; /* in which --export writes the matrices: f32, f16 or q8_0 */
    bool help, version;
} SampleRequest;

/* Reads the command line. Refused: what options_parse refuses, more than one checkpoint where one
 * is expected, more than one action instead of generating, options of --explain or --score without
 * it, an unknown precision, --unknown with another word. --help and --version skip the other
 * checks. */
bool sample_request_read(SampleRequest *request, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void sample_request_print_options(FILE *out);

#endif
