/* replay_util.h - the state that a test controller's journal stands for */
#pragma once

#include "ctld_util.h"

#include "journal/journal.h"

struct replay {
    struct cluster *cluster;
    uint64_t until; /* what was written after this is not looked at */
};

UTIL int replay(void *ctx, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct replay *to = ctx;
    Pst__Transaction *tx;

    if (!snapshot && lsn > to->until)
        return 0;
    tx = pst__transaction__unpack(NULL, len, data);
    assert_non_null(tx);
    apply_ok(to->cluster, tx);
    return 0;
}

/* Hash of the state that the journal on disk stands for up to lsn. */
UTIL uint64_t replayed_hash(const struct daemon *d, uint64_t lsn)
{
    struct replay to = { .cluster = new_cluster(), .until = lsn };
    char dir[96];
    struct journal_config config = { .dir = dir, .read_only = true };
    struct journal *j = NULL;
    uint64_t hash;

    (void)snprintf(dir, sizeof(dir), "%s/state", d->dir);
    assert_int_equal(journal_open(&config, replay, &to, &j, NULL), 0);
    hash = cluster_hash(to.cluster);
    journal_close(j);
    cluster_free(to.cluster);
    return hash;
}
