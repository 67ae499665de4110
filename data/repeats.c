/* repeats.c - passages of the held-out part that the training part has, too. */
#include "data/data.h"
#include "base/memory.h"

enum { PASSAGE = 50, PIECE = 512, PIECES = 128, BITS = 17, FILTER_BITS = 20 };

/* A passage of a text: the PASSAGE ids before `end`, and their hash (Karp and Rabin, 1987), by
 * which it is known. Different passages have the same one with a probability of 2^-64. */
typedef struct {
    const int32_t *ids;
    size_t length, end;
    uint64_t hash, power; /* the sum of (id + 1) BASE^i, i from the last id; BASE^PASSAGE */
} Passage;

static const uint64_t BASE = 0x9E3779B97F4A7C15;

/* Returns the place before the first passage. */
static Passage before(const int32_t *ids, size_t length) {
    Passage p = {ids, length, 0, 0, 1};
    for (int i = 0; i < PASSAGE; i++) p.power *= BASE;
    return p;
}

/* Moves to the next passage. Returns false at the end of the text. */
static bool next(Passage *p) {
    do {
        if (p->end == p->length) return false;
        p->hash = p->hash * BASE + (uint64_t)p->ids[p->end] + 1;
        if (p->end >= PASSAGE) p->hash -= ((uint64_t)p->ids[p->end - PASSAGE] + 1) * p->power;
    } while (++p->end < PASSAGE);
    return true;
}

/* The passages of the held-out part. `filter` tells most others from them, and is small enough for
 * a processor's cache: a bit for each beginning that their hashes may have. */
typedef struct {
    uint64_t filter[1 << FILTER_BITS >> 6];
    uint64_t hashes[1 << BITS]; /* 0: a free slot; at least half of all are */
    bool found[1 << BITS];      /* in the training part */
} Passages;

/* Returns the first bits of a passage's hash, mixed. */
static size_t begin_of(const Passage *p, int bits) {
    return (size_t)(p->hash * 0xD6E8FEB86659FD93 >> (64 - bits));
}

/* Returns the slot of a passage, or the free one where it belongs. */
static size_t slot_of(const Passages *known, const Passage *p) {
    size_t slot = begin_of(p, BITS);
    while (known->hashes[slot] && known->hashes[slot] != p->hash) slot = (slot + 1) % (1 << BITS);
    return slot;
}

static void add(Passages *known, const Passage *p) {
    const size_t bit = begin_of(p, FILTER_BITS);
    known->filter[bit / 64] |= (uint64_t)1 << bit % 64;
    known->hashes[slot_of(known, p)] = p->hash;
}

/* Marks a passage of the training part as found, if it is one of them. */
static void find(Passages *known, const Passage *p) {
    const size_t bit = begin_of(p, FILTER_BITS);
    if (!(known->filter[bit / 64] >> bit % 64 & 1)) return;
    const size_t slot = slot_of(known, p);
    known->found[slot] = known->hashes[slot] != 0;
}

bool corpus_repeated(const Corpus *corpus, double *share, Error *err) {
    const size_t rest = corpus->characters - corpus->trained_on;
    const bool all = rest <= (size_t)PIECES * PIECE;
    const size_t pieces = all ? 1 : PIECES, length = all ? rest : PIECE;
    const size_t step = all ? 0 : (rest - PIECE) / (PIECES - 1);
    const int32_t *held_out = corpus->ids + corpus->trained_on;
    size_t repeated = 0;
    Passages *known;
    if (!memory_alloc(&known, 1, sizeof *known, "the passages", err)) return false;
    for (size_t i = 0; i < pieces; i++)
        for (Passage p = before(held_out + i * step, length); next(&p);) add(known, &p);
    for (Passage p = before(corpus->ids, corpus->trained_on); next(&p);) find(known, &p);
    for (size_t i = 0, to; i < pieces; i++) {
        to = 0; /* the characters up to here are counted */
        for (Passage p = before(held_out + i * step, length); next(&p);) {
            if (!known->found[slot_of(known, &p)]) continue;
            const size_t from = p.end - PASSAGE > to ? p.end - PASSAGE : to;
            repeated += p.end - from;
            to = p.end;
        }
    }
    memory_free(known);
    *share = (double)repeated / (double)(pieces * length);
    return true;
}
