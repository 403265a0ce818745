/* blobs.h - scripts and environments of jobs in the store, each once; acct/ only
 * (docs/design/0002-identity.md)
 *
 * A row is named by the digest of its bytes, which the store works out itself: clusters share
 * the rows, and none may put something else under a name that another's jobs have.  A row of a
 * log older than digests is named by the 64-bit hash of that time, in decimal: no digest looks
 * like one.  The first with such a name keeps it.  A row is as old as the newest submission that
 * named it. */
#pragma once

#include <stdint.h>

#include "acct/sql/sql.h"
#include "base/digest.h"
#include "event.pb-c.h"

enum blob_kind { BLOB_SCRIPT, BLOB_ENV };

#define BLOBS_SEEN 512u
#define BLOB_NAME_MAX (2 * DIGEST_SIZE + 1)

struct blob_key { /* zeroes around it: compared as bytes */
    char name[BLOB_NAME_MAX];
    uint8_t kind;
};

struct blobs {
    struct sql *db;
    struct sql_stmt *put, *touch, *find;
    struct {
        struct blob_key key;
        int64_t used_us;
    } seen[BLOBS_SEEN]; /* touched lately */
};

/* What a transaction says of scripts and environments, as far as `keep` (enum acct_keep) wants
 * them. */
int blobs_apply(struct blobs *b, const Pst__Transaction *tx, unsigned keep);
void blobs_forget(struct blobs *b); /* what was done since the last commit is undone */
/* What the job names; data is the caller's to free, NULL: it names none, or the store has it
 * not. */
int blobs_get(struct sql *db, enum blob_kind kind, const Pst__JobRecord *job, uint8_t **ret,
              size_t *ret_len);
