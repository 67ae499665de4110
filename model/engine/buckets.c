/* buckets.c - gradients in buckets, each with an owner. */
#include "model/engine/buckets.h"
#include "model/engine/muon.h"
#include "base/memory.h"
#include "base/world.h"

#include <limits.h>

/* Contiguous gradients of one block, or NO_BLOCK, and of one owner, or ALL_PROCESSES. */
typedef struct {
    size_t offset, size; /* floats; the offset is that in Model.weights */
    size_t buffer;       /* offset in Buckets.buffer of the numbers from other processes */
    int block, owner;
} Bucket;

struct Buckets {
    const Model *model;
    float *gradients;
    int *owners; /* [tensors] */
    Bucket *list;
    int count;
    float *buffer;
};

/* Chooses the owners, fills the list and allocates its receive buffers. The list goes block by
 * block, in the order of the tensors' offsets, so Muon's come after the others. Each matrix of Muon
 * goes to the process with the least work so far. So the matrices of one block, which are sent at
 * the same time, mostly go to different processes. */
static bool fill(Buckets *b, const Products *products, Error *err) {
    const Model *model = b->model;
    size_t processes = (size_t)world_size();
    double *work;
    if (!memory_alloc(&work, processes, sizeof *work, "the processes", err)) return false;
    for (int l = NO_BLOCK; l < model->config.L; l++)
        for (int muon = 0; muon <= 1; muon++)
            for (int i = 0; i < model->tensor_count; i++) {
                const Tensor *tensor = &model->tensors[i];
                size_t min = 0;
                if (tensor->block != l || tensor->muon != muon) continue;
                for (size_t p = 1; p < processes; p++)
                    if (work[p] < work[min]) min = p;
                if (muon) work[min] += muon_work(products, tensor->shape[0], tensor->shape[1]);
                b->owners[i] = muon ? (int)min : ALL_PROCESSES;
                Bucket *next = b->list + b->count;
                if (b->count > 0 && next[-1].block == l && next[-1].owner == b->owners[i]) {
                    next[-1].size = tensor->offset + tensor->size - next[-1].offset;
                    continue;
                }
                *next = (Bucket){.offset = tensor->offset,
                                 .size = tensor->size,
                                 .block = l,
                                 .owner = b->owners[i]};
                b->count++;
            }
    memory_free(work);
    size_t buffer = 0; /* to receive the buckets that this process sums */
    for (int i = 0; i < b->count; i++) {
        b->list[i].buffer = buffer;
        buffer += world_buffer_size(b->list[i].size, b->list[i].owner);
    }
    return memory_alloc(&b->buffer, buffer, sizeof(float), "the processes", err);
}

bool buckets_open(Buckets **buckets, const Model *model, const Products *products, float *gradients,
                  Error *err) {
    size_t tensors = (size_t)model->tensor_count;
    Buckets *b;
    *buckets = NULL;
    if (model->weights_size > INT_MAX)
        return fail(err, "%zu weights are too many for several processes", model->weights_size);
    if (!memory_alloc(&b, 1, sizeof *b, "the processes", err)) return false;
    b->model = model;
    b->gradients = gradients;
    if (memory_alloc(&b->owners, tensors, sizeof *b->owners, "the processes", err) &&
        memory_alloc(&b->list, tensors, sizeof *b->list, "the processes", err) &&
        fill(b, products, err))
        *buckets = b;
    else
        buckets_close(b);
    return *buckets;
}

void buckets_close(Buckets *b) {
    if (!b) return;
    memory_free(b->owners);
    memory_free(b->list);
    memory_free(b->buffer);
    memory_free(b);
}

bool buckets_trains(const Buckets *b, int tensor) {
    return b->owners[tensor] == ALL_PROCESSES || b->owners[tensor] == world_rank();
}

bool buckets_measures(const Buckets *b, int tensor) {
    return world_rank() == (b->owners[tensor] == ALL_PROCESSES ? 0 : b->owners[tensor]);
}

int buckets_number(const Buckets *b) {
    return b->count;
}

void buckets_send(const Buckets *b, int block) {
    for (int i = 0; i < b->count; i++) {
        const Bucket *bucket = &b->list[i];
        if (bucket->block == block)
            world_sum_begin(b->gradients + bucket->offset, bucket->size, bucket->owner,
                            b->buffer + bucket->buffer);
    }
}

void buckets_share(const Buckets *b, float *numbers) {
    for (int i = 0; i < b->count; i++) {
        const Bucket *bucket = &b->list[i];
        if (bucket->owner != ALL_PROCESSES)
            world_broadcast_begin(numbers + bucket->offset, bucket->size, bucket->owner);
    }
    world_wait();
}
