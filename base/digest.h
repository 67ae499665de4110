/* digest.h - a number that changes when bytes do: against accidents, not against forgers.
 *
 * A change of any one byte is found for certain, any other with a chance of all but one in 2^64.
 * Not a standard digest: only this program reads it. Little-endian machines only. */
#ifndef TRIL_DIGEST_H
#define TRIL_DIGEST_H

#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BLOCK = 32 };

typedef struct {
    uint64_t lanes[DIGEST_BLOCK / 8];
    uint64_t length;                  /* of all bytes so far */
    unsigned char rest[DIGEST_BLOCK]; /* those that do not fill a block yet */
} Digest;

/* A digest of no bytes. */
Digest digest_start(void);

/* Adds bytes; in one go or in pieces is the same. */
void digest_add(Digest *digest, const void *bytes, size_t length);

/* The digest of all bytes so far; more may be added after. */
uint64_t digest_value(const Digest *digest);

#endif
