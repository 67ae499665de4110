/* peak.h - the peak of this processor: multiply-adds in registers and nothing else. */
#ifndef TRIL_BENCH_PEAK_H
#define TRIL_BENCH_PEAK_H

#include "model/kernels/products.h"

/* Runs `rounds` rounds, of a few nanoseconds each, on the calling thread. Returns float32 GFLOP/s
 * with the widest registers of the processor, or those of the kernels that the environment variable
 * KERNELS names. */
double peak_float32(int rounds);

#endif
