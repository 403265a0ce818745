/* blobs.h - scripts and environments of jobs in the store, each once; acct/ only
 *
 * A row is as old as the newest submission that named it. */
#pragma once

#include <stdint.h>

#include "acct/sql.h"
#include "event.pb-c.h"

enum blob_kind { BLOB_SCRIPT, BLOB_ENV };

#define BLOBS_SEEN 512u

struct blobs {
    struct sql *db;
    struct sql_stmt *put, *touch;
    struct {
        uint64_t hash;
        enum blob_kind kind;
        int64_t used_us;
    } seen[BLOBS_SEEN]; /* touched lately */
};

/* What a transaction says of scripts and environments, as far as `keep` (enum acct_keep) wants
 * them. */
int blobs_apply(struct blobs *b, const Pst__Transaction *tx, unsigned keep);
void blobs_forget(struct blobs *b); /* what was done since the last commit is undone */
/* Data of one, which the caller frees; NULL: the store has it not. */
int blobs_get(struct sql *db, enum blob_kind kind, uint64_t hash, uint8_t **ret, size_t *ret_len);
