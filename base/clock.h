/* clock.h - elapsed time. */
#ifndef TRIL_CLOCK_H
#define TRIL_CLOCK_H

/* Seconds since some fixed moment; never goes backwards. */
double clock_seconds(void);

#endif
