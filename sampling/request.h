/* request.h - what a person asks of ./sample. */
#ifndef TRIL_SAMPLING_REQUEST_H
#define TRIL_SAMPLING_REQUEST_H

#include "model/model.h"

#include <stdio.h>

typedef struct {
    const char *checkpoint;
    /* how to write */
    const char *prompt, *stop; /* may be NULL */
    int length, samples;
    bool interactive;
    Sampler sampler;
    /* what to do instead of writing, at most one of these; NULL or false: not asked for */
    const char *score, *explain, *export;
    bool info;
    int layer, head; /* to explain; a negative head: all of them */
    /* how to compute */
    int threads;       /* as asked for; 0: one for each processor */
    Precision weights; /* that the weights are read in */
    bool help, version;
} SampleRequest;

/* Reads the command line. Refused: what options_parse refuses, more than one checkpoint, more than
 * one thing to do instead of writing, an unknown precision. With --help or --version nothing else
 * is checked. */
bool sample_request_read(SampleRequest *request, int argc, char **argv, Error *err);

/* Prints the options with their defaults. */
void sample_request_print_options(FILE *out);

#endif
