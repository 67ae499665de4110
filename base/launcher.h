/* launcher.h - what mpirun (Open MPI, MPICH) or a queue tells each process through the
 * environment. */
#ifndef TRIL_BASE_LAUNCHER_H
#define TRIL_BASE_LAUNCHER_H

#include <stdbool.h>

/* The number of processes started, and this process's number from 0. 1 and 0 if nothing says so. */
int launcher_size(void);
int launcher_rank(void);

/* Should this process print an error that all of them share? True for process 0, and for a process
 * that knows only its number: it may be the only one. */
bool launcher_speaks(void);

#endif
