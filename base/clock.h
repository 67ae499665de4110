/* clock.h - elapsed time and processor time. */
#ifndef TRIL_BASE_CLOCK_H
#define TRIL_BASE_CLOCK_H

/* Returns the seconds since a fixed moment. Never goes backwards. */
double clock_seconds(void);

/* Returns the processor seconds of this program, summed over its threads. */
double clock_worked(void);

#endif
