#include "base/memory.h"
#include "base/threads.h"

#include <malloc.h>
#include <stdint.h>
#include <windows.h>
/* after windows.h */
#include <psapi.h>

void *memory_request(size_t size) {
    return _aligned_malloc(size, MEMORY_ALIGNMENT);
}

void memory_free(void *block) {
    _aligned_free(block);
}

size_t memory_installed(void) {
    MEMORYSTATUSEX memory = {.dwLength = sizeof memory};
    return GlobalMemoryStatusEx(&memory) ? (size_t)memory.ullTotalPhys : SIZE_MAX;
}

size_t memory_cache(void) {
    return USUAL_CACHE;
}

size_t memory_peak(void) {
    PROCESS_MEMORY_COUNTERS memory;
    bool known = GetProcessMemoryInfo(GetCurrentProcess(), &memory, sizeof memory);
    return known ? memory.PeakWorkingSetSize : 0;
}

/* On machines with more than 64 processors, Windows shows a program one group of at most 64. */
int threads_processors(void) {
    DWORD_PTR own, all;
    if (!GetProcessAffinityMask(GetCurrentProcess(), &own, &all) || own == 0) return 1;
    return __builtin_popcountll(own);
}
