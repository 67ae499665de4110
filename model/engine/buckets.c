#include "model/engine/buckets.h"
#include "model/engine/muon.h"
#include "base/memory.h"
#include "base/world.h"

/* The next matrix goes to the process with the least work so far. Matrices of one layer, which are
 * sent at the same time, thus mostly go to different processes. */
static bool choose_owners(Run *run, Error *err) {
    const Model *model = run->model;
    size_t processes = (size_t)world_size();
    double *work;
    if (!memory_alloc(&work, processes, sizeof *work, "the processes", err)) return false;
    for (int i = 0; i < model->tensor_count; i++) run->owners[i] = EVERYONE;
    for (int l = 0; l < model->config.L; l++)
        for (int i = 0; i < model->tensor_count; i++) {
            const Tensor *tensor = &model->tensors[i];
            if (tensor->layer != l || !(tensor->flags & MUON)) continue;
            size_t min = 0;
            for (size_t p = 1; p < processes; p++)
                if (work[p] < work[min]) min = p;
            work[min] += muon_work(run->products, tensor->shape[0], tensor->shape[1]);
            run->owners[i] = (int)min;
        }
    memory_free(work);
    return true;
}

/* Tensors of one layer come in the order of their offsets: Muon's after the others. */
static void fill(Run *run, int layer, bool muon) {
    const Model *model = run->model;
    for (int i = 0; i < model->tensor_count; i++) {
        const Tensor *tensor = &model->tensors[i];
        if (tensor->layer != layer || !(tensor->flags & MUON) != !muon) continue;
        Bucket *last = &run->buckets[run->bucket_count];
        bool same =
            run->bucket_count > 0 && last[-1].layer == layer && last[-1].owner == run->owners[i];
        if (same)
            last[-1].size = tensor->offset + tensor->size - last[-1].offset;
        else
            run->buckets[run->bucket_count++] = (Bucket){.offset = tensor->offset,
                                                         .size = tensor->size,
                                                         .layer = layer,
                                                         .owner = run->owners[i]};
    }
}

/* Allocates a receive buffer for each bucket that this process sums. */
static bool make_buffers(Run *run, Error *err) {
    size_t buffer = 0;
    for (int i = 0; i < run->bucket_count; i++) {
        Bucket *bucket = &run->buckets[i];
        bucket->buffer = buffer;
        if (bucket->owner == EVERYONE || bucket->owner == world_rank())
            buffer += world_buffer_size(bucket->size, bucket->owner == EVERYONE);
    }
    return memory_alloc(&run->buffer, buffer, sizeof(float), "the processes", err);
}

bool buckets_open(Run *run, Error *err) {
    const Model *model = run->model;
    size_t tensors = (size_t)model->tensor_count;
    if (!memory_alloc(&run->owners, tensors, sizeof *run->owners, "the processes", err) ||
        !memory_alloc(&run->buckets, tensors, sizeof *run->buckets, "the processes", err) ||
        !choose_owners(run, err))
        return false;
    for (int l = -1; l < model->config.L; l++) {
        fill(run, l, false);
        fill(run, l, true);
    }
    return make_buffers(run, err);
}

void buckets_close(Run *run) {
    memory_free(run->owners);
    memory_free(run->buckets);
    memory_free(run->buffer);
}

bool trains(const Run *run, int tensor) {
    int owner = run->owners ? run->owners[tensor] : EVERYONE;
    return owner == EVERYONE || owner == world_rank();
}

bool answers_for(const Run *run, int tensor) {
    int owner = run->owners ? run->owners[tensor] : EVERYONE;
    return !run->owners || world_rank() == (owner == EVERYONE ? 0 : owner);
}

void buckets_send(const Run *run, int layer) {
    for (int i = 0; i < run->bucket_count; i++) {
        const Bucket *bucket = &run->buckets[i];
        if (bucket->layer != layer) continue;
        float *gradients = run->gradients + bucket->offset, *buffer = run->buffer + bucket->buffer;
        if (bucket->owner == EVERYONE)
            world_allreduce_begin(gradients, bucket->size, buffer);
        else
            world_reduce_begin(gradients, bucket->size, bucket->owner, buffer);
    }
}

void buckets_share(const Run *run, float *numbers) {
    for (int i = 0; i < run->bucket_count; i++) {
        const Bucket *bucket = &run->buckets[i];
        if (bucket->owner != EVERYONE)
            world_broadcast_begin(numbers + bucket->offset, bucket->size, bucket->owner);
    }
    world_wait();
}
