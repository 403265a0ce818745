/* acctquery.h - answers to accounting queries; for acctthread.c
 *
 * A pool of threads, each with a connection to the database of its own.  A query whose peer reads
 * slowly is put aside and holds no thread. */
#pragma once

#include <stdint.h>

#include "api.pb-c.h"

struct acctpool;
struct conn;

struct acctpool_config {
    const char *db_path;
    /* How far the database is: queries wait for it.  hurry says how far one wants it; any thread.
     */
    uint64_t (*cursor)(void *ctx);
    void (*hurry)(void *ctx, uint64_t lsn);
    void *ctx;
};

/* Errors: -ENOMEM, -EAGAIN no thread. */
int acctpool_new(const struct acctpool_config *config, struct acctpool **ret);
/* Takes filter; answered once the cursor is at lsn. */
void acctpool_query(struct acctpool *p, struct conn *conn, uint32_t id, uint64_t lsn,
                    Pst__AcctFilter *filter);
void acctpool_advanced(struct acctpool *p, const char *trouble); /* the cursor moved, or why not */
/* Ends the threads; what was handed to connections may be released later.  Always NULL. */
struct acctpool *acctpool_free(struct acctpool *p);
