/* etcdkeys.h - the keys below the prefix, and what their values are
 *
 *   holder            the number of the newest term, 8 hex digits: whoever writes compares it
 *   term              that term's record (journal/term.h), written again with each renewal
 *   identity          hex digits of the controllers' public key
 *   id                16 hex digits, of this log: a folder that was filled from another is not used
 *   log/<16 hex lsn>  a chunk: u32 magic | u32 parts | records from lsn on, as in a segment
 *   big/<16 hex lsn>/<8 hex part>   of a record longer than a chunk; that has parts > 0
 *   snapshot          "<16 hex lsn> <parts> <bytes>" of the newest whole snapshot
 *   snap/<16 hex lsn>/<8 hex part>  its file
 *
 * Numbers are little-endian.  Pure. */
#pragma once

#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>

#define ETCD_CHUNK_MAGIC 0x43455350u /* "PSEC" */
#define ETCD_CHUNK_HEAD 8u
#define ETCD_NAME_BYTES 48u
#define ETCD_PARTS_MAX 65536u

static inline void etcd_holder_text(uint32_t term, char out[static 9])
{
    (void)snprintf(out, 9, "%08" PRIx32, term); /* fits */
}

static inline void etcd_log_key(uint64_t lsn, char out[static ETCD_NAME_BYTES])
{
    (void)snprintf(out, ETCD_NAME_BYTES, "log/%016" PRIx64, lsn); /* fits */
}

/* kind: "big" or "snap". */
static inline void etcd_part_key(const char *kind, uint64_t lsn, uint32_t part,
                                 char out[static ETCD_NAME_BYTES])
{
    (void)snprintf(out, ETCD_NAME_BYTES, "%.8s/%016" PRIx64 "/%08" PRIx32, kind, lsn, part);
}
