/* format.h - the bytes of segments and snapshots (docs/design/0001-journal.md)
 *
 * Pure functions.  All numbers are little-endian.
 *
 * File header, 32 bytes: u32 magic | u16 format | u16 level | u64 cluster id | u64 lsn | u64 xxh3
 * of the 24 before.
 *
 * Record header, 24 bytes: u32 length | u32 flags | u64 lsn | u64 hash; then the payload, and zeros
 * up to 8.  flags: bits 0-7 kind, bits 8-31 place of the record within its batch, from 0.  hash:
 * xxh3 of the payload, seeded with xxh3 of (length, flags, lsn). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "journal/journal.h"

#define FILE_HEADER_BYTES 32u
#define RECORD_HEADER_BYTES 24u
#define FORMAT_VERSION 1u
/* What records may hold: raised by the release that adds a field or an event to the log, so that
 * one which knows less refuses it, in place of forgetting what it does not know.  0: files from
 * before levels were written.  tests/golden/log_levels.txt has a row for each. */
#define LOG_LEVEL 1u
#define SEGMENT_MAGIC 0x4c4a5350u  /* "PSJL" */
#define SNAPSHOT_MAGIC 0x4e535350u /* "PSSN" */
#define BATCH_MAX_RECORDS (1u << 24)

enum record_kind {
    RECORD_NONE,
    RECORD_DATA,    /* log: a payload of the caller's */
    RECORD_MARK,    /* log: everything up to and with lsn was synced; no payload, takes no lsn */
    RECORD_PUT,     /* snapshot: a payload of the caller's; lsn counts puts from 1 */
    RECORD_TRAILER, /* snapshot: it is complete; lsn is one past the last put, no payload */
    RECORD_KIND_MAX,
};

struct record_header {
    uint32_t len;
    enum record_kind kind;
    uint32_t ordinal; /* within the batch: the batch starts at lsn - ordinal */
    uint64_t lsn;
    uint64_t hash;
};

/* Bytes a record with a payload of len takes in the file. */
static inline size_t record_bytes(size_t len)
{
    return (RECORD_HEADER_BYTES + len + 7) & ~(size_t)7;
}

struct file_header {
    uint16_t level;
    uint64_t cluster_id, lsn;
};

/* The header of a file of this release's level. */
void file_header_encode(uint32_t magic, uint64_t cluster_id, uint64_t lsn,
                        uint8_t out[static FILE_HEADER_BYTES]);
/* Check a header.  On failure *ret_reason is a phrase for people.  Errors: -EBADMSG damaged,
 * -EPROTONOSUPPORT another format; -ENOTSUP a level this release does not know, with *ret set. */
int file_header_decode(const uint8_t in[static FILE_HEADER_BYTES], uint32_t magic,
                       struct file_header *ret, const char **ret_reason);

/* Write a whole record, record_bytes(len) bytes, to out. */
void record_encode(uint8_t *out, enum record_kind kind, uint32_t ordinal, uint64_t lsn,
                   const uint8_t *data, uint32_t len);
/* Read the numbers of a header; false when they cannot be a record's (length, kind, zeros). */
bool record_header_decode(const uint8_t in[static RECORD_HEADER_BYTES], struct record_header *ret);
/* Do the hash and the padding of the record at `in` (record_bytes(h->len) bytes) hold? */
bool record_check(const uint8_t *in, const struct record_header *h);
