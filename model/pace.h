/* pace.h - several threads or one: whichever was faster of late.
 *
 * Threads that share a pass wait for each other many times in it. Where other programs want the
 * processors, too, each wait may take as long as the system lets those run: milliseconds, for a
 * pass that one thread makes in a fraction of one. Nobody says beforehand whether it is so; passes
 * tell. Private to model/. */
#ifndef TRIL_PACE_H
#define TRIL_PACE_H

#include <stdbool.h>

/* Of passes that are alike; all 0 before the first. */
typedef struct {
    double alone, shared; /* seconds for a multiply-add, of late, with one thread and with several;
                             0: not known */
    double gone, worked;  /* seconds of such passes since the slower way was tried, and those that
                             the  processors worked on them */
} Pace;

/* Are several threads to make a pass of so many multiply-adds? The faster way is taken. Several are
 * tried for the first time when some passes have gone by, or for one that is long by itself; the
 * slower way is tried again when so much time has gone by that it hardly matters. Several are not
 * tried while one alone does not have its processor to itself. */
bool pace_shares(const Pace *pace, double work);

/* Says how long the pass then took, and how long processors worked on it. */
void pace_note(Pace *pace, bool shared, double work, double seconds, double worked);

#endif
