/* launcher.h - what mpirun, of Open MPI, of MPICH or of a queue, tells each process that it starts,
 * by the environment. */
#ifndef TRIL_LAUNCHER_H
#define TRIL_LAUNCHER_H

#include <stdbool.h>

/* How many it started, and which of them this is, from 0; 1 and 0 where nothing says so. */
int launcher_size(void);
int launcher_rank(void);

/* Does this process say what is wrong with all of them? The first does; and each whose number alone
 * is known, since it may be the only one. */
bool launcher_speaks(void);

#endif
