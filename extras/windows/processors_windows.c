#include "base/threads.h"

#include <windows.h>

/* Of machines with more than 64 processors Windows shows a program one group, of 64 at most. */
int threads_processors(void) {
    DWORD_PTR own, all;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all) || own == 0) return 1;
    return __builtin_popcountll(own);
}
