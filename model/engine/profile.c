/* profile.c - measures the parts of a training step. */
#include "model/engine/inside.h"
#include "base/clock.h"
#include "base/memory.h"

#include <string.h>

bool run_profile(Run *run, Error *err) {
    memory_free(run->profile.seconds);
    run->profile = (Profile){0};
    return memory_alloc(&run->profile.seconds, (size_t)run->tape.count + 1, sizeof(double),
                        "the profile", err);
}

double profile_now(const Run *run) {
    return run->profile.in_step ? clock_seconds() : 0;
}

double profile_add(const Run *run, const Thread *thread, int part, double start) {
    if (!run->profile.in_step || thread->index > 0) return 0;
    const double now = clock_seconds();
    run->profile.seconds[part] += now - start;
    return now;
}

int run_profile_parts(const Run *run, TrilPart *parts, int max) {
    const Profile *p = &run->profile;
    int count = 0;
    for (int part = 0; p->seconds && part <= run->tape.count; part++) {
        const Instruction *at = part < run->tape.count ? &run->tape.list[part] : NULL;
        const char *name = at ? at->operation->name : "optimizer";
        int i = 0;
        while (i < count && strcmp(parts[i].name, name) != 0) i++;
        if (p->seconds[part] <= 0 || i == max) continue;
        if (i == count) parts[count++] = (TrilPart){.name = name};
        parts[i].seconds += p->seconds[part];
        if (at && at->operation->work) /* a multiply-add counts as two */
            parts[i].operations += 2 * at->operation->work(at, p->tokens, p->pairs);
    }
    return count;
}
