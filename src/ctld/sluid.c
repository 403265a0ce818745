/* sluid.c - see sluid.h
 *
 * 's' and 13 digits of base 32 (Crockford's alphabet): 14 bits of the cluster, 41 of the time in milliseconds, 10
 * that tell runs of the same millisecond apart.  The last come from the run's number, so a burst of a
 * thousand in one millisecond still has a thousand names. */
#include "ctld/sluid.h"

#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pbutil.h"

#define DIGITS 13

static uint64_t cluster_bits(const char *id)
{
    uint64_t h = UINT64_C(14695981039346656037); /* FNV-1a: spread, not secrecy */

    for (const unsigned char *p = (const unsigned char *)(id ? id : ""); *p; p++)
        h = (h ^ *p) * UINT64_C(1099511628211);
    return (h ^ (h >> 32)) & 0x1fff;
}

void sluid_set(const struct ctld *ctld, Pst__JobRecord *r, int64_t now_us)
{
    static const char alphabet[] = "0123456789ABCDEFGHJKMNPQRSTVWXYZ";
    uint64_t v = cluster_bits(ctld->cluster->rec->cluster_id) << 51 |
                 ((uint64_t)(now_us / 1000) & ((UINT64_C(1) << 41) - 1)) << 10 | (r->db_id & 0x3ff);
    char text[DIGITS + 2];

    text[0] = 's';
    for (unsigned i = 0; i < DIGITS; i++, v >>= 5)
        text[DIGITS - i] = alphabet[v & 31];
    text[DIGITS + 1] = '\0';
    if (pb_set_str(&r->sluid, text) < 0) {
        log_fatal("out of memory while naming a run");
        abort();
    }
}
