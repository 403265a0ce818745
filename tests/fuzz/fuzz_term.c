/* fuzz_term.c - the record of a term, as another host may have written it
 *
 * What is accepted must be the same once more after a round through bytes.  With the first byte odd
 * the hash is put right, so that what lies behind its check is reached too. */
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "journal/term.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t in[TERM_BYTES] = { 0 }, out[TERM_BYTES];
    struct term_record t, again;
    struct lease_watch w = { 0 };

    if (size < 1)
        return 0;
    memcpy(in, data + 1, size - 1 < sizeof(in) ? size - 1 : sizeof(in));
    if (data[0] & 1) {
        uint64_t hash = XXH3_64bits(in, TERM_BYTES - sizeof(hash));

        memcpy(in + TERM_BYTES - sizeof(hash), &hash, sizeof(hash));
    }
    if (term_decode(in, &t) < 0)
        return 0;
    term_encode(&t, out);
    if (term_decode(out, &again) < 0 || again.term != t.term || again.renewal != t.renewal ||
        strcmp(again.host, t.host) != 0 || strcmp(again.addr, t.addr) != 0 ||
        strcmp(again.successor, t.successor) != 0)
        abort();
    lease_watch_see(&w, &t, 1);
    if (t.lease_ms && lease_watch_left_us(&w, &t, 1 + (int64_t)t.lease_ms * 1000) > 0)
        abort();
    return 0;
}
