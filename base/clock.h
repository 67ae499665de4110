/* clock.h - elapsed time. */
#ifndef TRIL_CLOCK_H
#define TRIL_CLOCK_H

/* Seconds since some fixed moment; never goes backwards. */
double clock_seconds(void);

/* Seconds that processors have worked for this program, all its threads together. */
double clock_worked(void);

#endif
