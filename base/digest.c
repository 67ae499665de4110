#include "base/digest.h"
#include "base/array.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LANES = DIGEST_BLOCK / 8 };

/* Odd, so that multiplication is invertible. From SplitMix64 (Steele, Lea, Flood, 2014). */
static const uint64_t factor = 0xBF58476D1CE4E5B9, other_factor = 0x94D049BB133111EB;

/* Mixes a word into the state: a bijection of either for each value of the other. */
static uint64_t step(uint64_t state, uint64_t word) {
    state = (state ^ word) * factor;
    return state << 29 | state >> 35;
}

Digest digest_start(void) {
    return (Digest){.lanes = {1, 2, 3, 4}};
}

/* Adds blocks. Word i of a block goes to lane i; a processor runs the four chains in parallel. */
static void add_blocks(Digest *digest, const unsigned char *bytes, size_t blocks) {
    uint64_t lanes[LANES];
    memcpy(lanes, digest->lanes, sizeof lanes);
    for (size_t b = 0; b < blocks; b++, bytes += DIGEST_BLOCK)
        for (int i = 0; i < LANES; i++) {
            uint64_t word;
            memcpy(&word, bytes + 8 * i, sizeof word);
            lanes[i] = step(lanes[i], word);
        }
    memcpy(digest->lanes, lanes, sizeof lanes);
}

void digest_add(Digest *digest, const void *bytes, size_t length) {
    const unsigned char *at = bytes;
    size_t held = (size_t)(digest->length % DIGEST_BLOCK);
    digest->length += length;
    if (held > 0) {
        size_t capacity = DIGEST_BLOCK - held, taken = min_size(length, capacity);
        memcpy(digest->rest + held, at, taken);
        at += taken;
        length -= taken;
        if (held + taken < DIGEST_BLOCK) return;
        add_blocks(digest, digest->rest, 1);
    }
    add_blocks(digest, at, length / DIGEST_BLOCK);
    memcpy(digest->rest, at + length / DIGEST_BLOCK * DIGEST_BLOCK, length % DIGEST_BLOCK);
}

uint64_t digest_value(const Digest *digest) {
    Digest whole = *digest;
    size_t held = (size_t)(whole.length % DIGEST_BLOCK);
    if (held > 0) {
        memset(whole.rest + held, 0, DIGEST_BLOCK - held);
        add_blocks(&whole, whole.rest, 1);
    }
    uint64_t all = step(0, whole.length);
    for (int i = 0; i < LANES; i++) all = step(all, whole.lanes[i]);
    all = (all ^ all >> 30) * other_factor;
    return all ^ all >> 31;
}

uint64_t digest_bytes(const void *bytes, size_t length) {
    Digest digest = digest_start();
    digest_add(&digest, bytes, length);
    return digest_value(&digest);
}

DigestText digest_text(uint64_t digest) {
    DigestText made;
    snprintf(made.text, sizeof made.text, "%016" PRIx64, digest);
    return made;
}

bool digest_read(const char *text, uint64_t *digest) {
    const size_t digits = sizeof(DigestText) - 1;
    if (strlen(text) != digits || strspn(text, "0123456789abcdef") != digits) return false;
    *digest = strtoull(text, NULL, 16);
    return true;
}
