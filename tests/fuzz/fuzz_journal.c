/* fuzz_journal.c - arbitrary bytes as a log segment and as a snapshot
 *
 * First byte: bit 0 snapshot, bit 1 the segment is not the last, bit 2 put a sound file header
 * before the bytes, bit 3 make every hash right (so that what lies behind them is reached too).
 * What is given out must be in order, and reading again from the middle must give the same. */
#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "journal/format.h"
#include "journal/logwalk.h"

enum { INPUT_MAX = 16384, FIRST_LSN = 7, SNAPSHOT = 1, NOT_LAST = 2, HEADER = 4, HASHES = 8 };

struct got {
    uint64_t next, count, bytes;
    bool snapshot;
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int take(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct got *g = ctx;

    assert(snapshot == g->snapshot);
    assert(len <= JOURNAL_MAX_RECORD);
    if (!snapshot) {
        assert(lsn == g->next);
        g->next++;
    }
    for (size_t i = 0; i < len; i++) /* all of it is readable */
        g->bytes += data[i] == 0xa5 ? 2 : 1;
    g->count++;
    return 0;
}

/* Where records seem to be, give them the hash and padding they need. */
static void mend_hashes(uint8_t *buf, size_t n)
{
    for (size_t at = FILE_HEADER_BYTES; at + RECORD_HEADER_BYTES <= n;) {
        struct record_header h;
        _cleanup_free_ uint8_t *copy = NULL;

        if (!record_header_decode(buf + at, &h) || record_bytes(h.len) > n - at)
            return;
        copy = malloc(h.len + 1);
        if (!copy)
            return;
        memcpy(copy, buf + at + RECORD_HEADER_BYTES, h.len);
        record_encode(buf + at, h.kind, h.ordinal, h.lsn, copy, h.len);
        at += record_bytes(h.len);
    }
}

static void try_segment(int fd, uint64_t next_first)
{
    const struct walk_opts opts = { .cluster_id = 0 };
    struct got all = { .next = FIRST_LSN };
    struct walk w = { .records = 0 }, again = { .records = 0 };
    int r = walk_segment_fd(fd, FIRST_LSN, next_first, 0, &opts, take, &all, &w);

    if (r < 0)
        return;
    assert(w.lsn == FIRST_LSN + all.count);
    assert(w.lsn <= next_first || all.count == 0);
    if (all.count > 1) {
        struct got half = { .next = FIRST_LSN + all.count / 2 };

        assert(walk_segment_fd(fd, FIRST_LSN, next_first, half.next, &opts, take, &half, &again) ==
               0);
        assert(half.next == all.next && again.state == w.state && again.offset == w.offset);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static uint8_t buf[INPUT_MAX + FILE_HEADER_BYTES];
    _cleanup_close_ int fd = memfd_create("journal", MFD_CLOEXEC);
    size_t n = 0;

    if (size < 1 || size > INPUT_MAX || fd < 0)
        return 0;
    if (data[0] & HEADER) {
        file_header_encode(data[0] & SNAPSHOT ? SNAPSHOT_MAGIC : SEGMENT_MAGIC, 0, FIRST_LSN, buf);
        n = FILE_HEADER_BYTES;
    }
    memcpy(buf + n, data + 1, size - 1);
    n += size - 1;
    if (data[0] & HASHES)
        mend_hashes(buf, n);
    if (write(fd, buf, n) != (ssize_t)n)
        return 0;
    if (data[0] & SNAPSHOT) {
        struct got g = { .snapshot = true };
        char reason[WALK_REASON_BYTES] = "";
        uint64_t puts = 0;
        const struct walk_opts opts = { .cluster_id = 0 };

        if (walk_snapshot_fd(fd, FIRST_LSN, &opts, take, &g, &puts, reason) == 0)
            assert(puts == g.count);
        else
            assert(reason[0]);
    } else {
        try_segment(fd, data[0] & NOT_LAST ? FIRST_LSN + 4 : UINT64_MAX);
    }
    return 0;
}
