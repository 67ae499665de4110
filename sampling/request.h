/* request.h - the command line of ./sample. */
#ifndef TRIL_SAMPLING_REQUEST_H
#define TRIL_SAMPLING_REQUEST_H

#include "model/model.h"

#include <stdio.h>

typedef struct {
    const char *checkpoint;
    /* how to generate */
    const char *prompt, *stop; /* may be NULL */
    int length, samples;
    bool interactive;
    Sampler sampler;
    /* what to do instead of generating, at most one; NULL or false: not requested */
    const char *score, *explain, *export;
    bool info;
    int layer, head; /* for explain; a negative head means all */
    /* how to compute */
    int threads;       /* as requested; 0: one for each processor */
    Precision weights; /* in which the weights are read */
    bool help, version;
} SampleRequest;

/* Reads the command line. Refused: what options_parse refuses, more than one checkpoint, more than
 * one action instead of generating, an unknown precision. --help and --version skip the other
 * checks. */
bool sample_request_read(SampleRequest *request, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void sample_request_print_options(FILE *out);

#endif
