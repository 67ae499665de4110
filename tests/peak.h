/* peak.h - the most that this processor can do: multiply-adds in registers and nothing else. */
#ifndef TRIL_PEAK_H
#define TRIL_PEAK_H

#include "model/kernels/kernels.h"

/* Runs so many rounds, of a few nanoseconds each, on the calling thread; returns float32
 * GFLOP/s, with the widest registers that the processor has. */
double peak_float32(int rounds);

#endif
