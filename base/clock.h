/* clock.h - elapsed time and processor time. */
#ifndef TRIL_BASE_CLOCK_H
#define TRIL_BASE_CLOCK_H

/* Seconds since a fixed moment. Never goes backwards. */
double clock_seconds(void);

/* Processor seconds of this program, summed over its threads. */
double clock_worked(void);

#endif
