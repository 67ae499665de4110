/* inside.h - what tests, views and benchmarks may know of a run. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_INSIDE_H
#define TRIL_MODEL_ENGINE_INSIDE_H

#include "model/engine/execute.h"
#include "model/engine/optimizer.h"
#include "model/run.h"

const Executor *run_executor(const Run *run);
const Moments *run_optimizer(const Run *run);

/* How many threads, at most `max`, are useful for `work` multiply-adds with `waits` barriers: each
 * thread must work longer than it then waits. */
int run_worth(double work, int waits, int max);

/* How many threads are useful for the current or last pass. */
int run_threads(const Run *run);

/* From now on a shared run sends nothing to other processes (false), or all again (true). Ownership
 * stays: each process updates its own matrices. For benchmarks. */
void run_send(Run *run, bool sending);

#endif
