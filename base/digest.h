/* digest.h - a 64-bit checksum against accidents, not against forgery.
 *
 * Detects every change of a single byte, and any other change with a probability of 1 - 2^-64. The
 * algorithm is not a standard one: only this program reads its values. */
#ifndef TRIL_BASE_DIGEST_H
#define TRIL_BASE_DIGEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { DIGEST_BLOCK = 32 };

typedef struct {
    uint64_t lanes[DIGEST_BLOCK / 8];
    uint64_t length;                  /* of all bytes so far */
    unsigned char rest[DIGEST_BLOCK]; /* bytes that do not fill a block yet */
} Digest;

/* Returns the digest of no bytes. */
Digest digest_start(void);

/* Adds bytes. The result does not depend on how they are split into calls. */
void digest_add(Digest *digest, const void *bytes, size_t length);

/* Returns the digest of all bytes so far. More may be added later. */
uint64_t digest_value(const Digest *digest);

/* Returns the digest of these bytes. */
uint64_t digest_bytes(const void *bytes, size_t length);

/* A digest as text: 16 hexadecimal digits. */
typedef struct {
    char text[17];
} DigestText;
DigestText digest_text(uint64_t digest);

/* Reads a digest from its text. Returns false, and keeps *digest, if the text is none. */
bool digest_read(const char *text, uint64_t *digest);

#endif
