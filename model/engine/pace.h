/* pace.h - one thread or several: whichever was faster lately. Private to model/.
 *
 * Threads that share a pass wait for each other many times. On a busy machine each wait can take
 * milliseconds, until the system has let other programs run; one thread alone makes a short pass in
 * a fraction of that. Only measuring passes shows which way is faster. */
#ifndef TRIL_MODEL_ENGINE_PACE_H
#define TRIL_MODEL_ENGINE_PACE_H

#include <stdbool.h>

/* Measurements of similar passes; cleared before the first. */
typedef struct {
    double alone, shared;   /* seconds per multiply-add lately, with one thread and with several */
    double elapsed, worked; /* since the slower way was last tried: seconds of passes, and seconds
                               that processors worked on them */
} Pace;

/* A guess for `shared` that is so low that the first passes are shared. */
#define PACE_SHARED_FIRST 1e-12

/* Returns true if a pass of `work` multiply-adds should be shared: that was faster lately, or
 * should be tried. If `shared` is 0, it is first tried after a few passes, or for one long pass.
 * After that, the slower way is tried again as soon as that costs at most a hundredth of the time
 * since the last try, or after seconds of which it costs at most a twentieth; but shared passes are
 * not tried while a thread alone gets less than a whole processor. */
bool pace_shares(const Pace *pace, double work);

/* Records a pass of `work` multiply-adds, made by several threads (`shared`) or one: it took
 * `seconds`, and `worked` seconds of processor time. */
void pace_note(Pace *pace, bool shared, double work, double seconds, double worked);

#endif
