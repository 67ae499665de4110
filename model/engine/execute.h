/* execute.h - the instructions of a program at work. All but execute_blocks and execute_logits are
 * called by the threads of a team. Private to model/. */
#ifndef TRIL_MODEL_ENGINE_EXECUTE_H
#define TRIL_MODEL_ENGINE_EXECUTE_H

#include "model/engine/run.h"

/* A block: `count` tokens of the batch from token `first` on. */
typedef struct {
    size_t first;
    int count;
} Block;

enum { BLOCK_MAX = 288 };

/* How many tokens a block has: at most `most`, which is what a thread has memory for, or BLOCK_MAX
 * while a run is planned. It is a whole number of stretches, and of AMX's tiles, whose edges round
 * differently. The threads have nearly equal shares, in few tiles of a product, and what a step
 * writes is still in the cache when it is read. The length depends on the number of threads;
 * results do not depend on the length. */
int execute_block_size(const Products *products, size_t tokens, int threads, int most);

/* Packs the weights that are right operands, for a pass in one direction, and waits for all
 * threads. */
void execute_packing(const Run *run, const Thread *thread, bool backward);

/* The number of blocks in the current pass. */
int execute_blocks(const Run *run);

/* Sets *block to number i, from 0, of the blocks that the thread has; false beyond its last. */
bool execute_own_block(const Run *run, const Thread *thread, int i, Block *block);

/* Forgets which blocks were taken, before the threads begin a pass. */
void execute_begin(const Run *run);

/* Takes the steps `begin` to `end` - 1 of the schedule. */
void execute_steps(const Run *run, const Thread *thread, int begin, int end);

/* The forward pass over a single token, on which all threads work together. */
void execute_token(const Run *run, const Thread *thread);

/* The logits [B,T,V] of the current pass; the run's own. */
float *execute_logits(const Run *run);

#endif
