/* format.c - encoding and checking of journal bytes; see format.h.
 *
 * Pure functions over caller's memory; any thread.  Design note 0001. */
#include "journal/format.h"
#include "journal/lebytes.h"

#include <errno.h>
#include <string.h>
#include <xxhash.h>

#define LEVEL_SHIFT 16
#define FORMAT_MASK 0xffffu

void file_header_encode(uint32_t magic, uint64_t cluster_id, uint64_t lsn,
                        uint8_t out[static FILE_HEADER_BYTES])
{
    put_u32(out, magic);
    put_u32(out + 4, FORMAT_VERSION | LOG_LEVEL << LEVEL_SHIFT);
    put_u64(out + 8, cluster_id);
    put_u64(out + 16, lsn);
    put_u64(out + 24, XXH3_64bits(out, 24));
}

int file_header_decode(const uint8_t in[static FILE_HEADER_BYTES], uint32_t magic,
                       struct file_header *ret, const char **ret_reason)
{
    uint32_t version = get_u32(in + 4);

    if (get_u32(in) != magic || get_u64(in + 24) != XXH3_64bits(in, 24)) {
        *ret_reason = "the file header is damaged";
        return -EBADMSG;
    }
    if ((version & FORMAT_MASK) != FORMAT_VERSION) {
        *ret_reason = "the file has a format version this program does not know";
        return -EPROTONOSUPPORT;
    }
    ret->level = (uint16_t)(version >> LEVEL_SHIFT);
    ret->cluster_id = get_u64(in + 8);
    ret->lsn = get_u64(in + 16);
    if (ret->level > LOG_LEVEL) {
        *ret_reason = "a newer release wrote it: start that release again, or go back with "
                      "`penstock journal downgrade`";
        return -ENOTSUP;
    }
    return 0;
}

/* The length, flags and lsn are part of the hash as its seed: one pass, no copy. */
static uint64_t record_hash(const uint8_t *header, const uint8_t *data, size_t len)
{
    return XXH3_64bits_withSeed(data, len, XXH3_64bits(header, 16));
}

void record_encode(uint8_t *out, enum record_kind kind, uint32_t ordinal, uint64_t lsn,
                   const uint8_t *data, uint32_t len)
{
    uint8_t *payload = out + RECORD_HEADER_BYTES;

    put_u32(out, len);
    put_u32(out + 4, (uint32_t)kind | ordinal << 8);
    put_u64(out + 8, lsn);
    if (len)
        memcpy(payload, data, len);
    memset(payload + len, 0, record_bytes(len) - RECORD_HEADER_BYTES - len);
    put_u64(out + 16, record_hash(out, payload, len));
}

bool record_header_decode(const uint8_t in[static RECORD_HEADER_BYTES], struct record_header *ret)
{
    uint32_t flags = get_u32(in + 4), kind = flags & 0xff;

    *ret = (struct record_header){
        .len = get_u32(in),
        .kind = kind < RECORD_KIND_MAX ? (enum record_kind)kind : RECORD_NONE,
        .ordinal = flags >> 8,
        .lsn = get_u64(in + 8),
        .hash = get_u64(in + 16),
    };
    return ret->kind != RECORD_NONE && ret->len <= JOURNAL_MAX_RECORD;
}

bool record_check(const uint8_t *in, const struct record_header *h)
{
    const uint8_t *payload = in + RECORD_HEADER_BYTES;

    for (size_t i = h->len; i < record_bytes(h->len) - RECORD_HEADER_BYTES; i++)
        if (payload[i])
            return false;
    return record_hash(in, payload, h->len) == h->hash;
}
