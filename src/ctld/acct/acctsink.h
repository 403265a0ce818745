/* acctsink.h - where the journal's records go: the embedded store, or slurmdbd; for acctthread.c
 *
 * One thread.  A batch is begun, filled and committed; what fails undoes it, and open() tells where
 * to go on. The implementation embeds struct acctsink as its first member. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/err.h"
#include "event.pb-c.h"

struct conf;

struct acctsink {
    const struct acctsink_ops *ops;
    uint64_t cursor;     /* stored up to here; valid while open */
    unsigned keep;       /* enum acct_keep; a change holds from the next open() on */
    uint32_t most_steps; /* of a run; likewise */
    int64_t gather_us;   /* so long may records be gathered for a batch, at least */
    bool open;
};

struct acctsink_ops {
    /* Make it usable; sets cursor.  No-op when it is open.  A cursor beyond journal_end is set
     * back. */
    int (*open)(struct acctsink *s, uint64_t journal_end, struct err *err);
    int (*begin)(struct acctsink *s, struct err *err);
    int (*add)(struct acctsink *s, uint64_t lsn, const Pst__Transaction *tx, struct err *err);
    bool (*full)(const struct acctsink *s); /* commit before more is added */
    /* fed_us (0 = unknown): nothing older will come. */
    int (*commit)(struct acctsink *s, int64_t fed_us, struct err *err);
    void (*close)(struct acctsink *s);     /* what was not committed is undone */
    void (*interrupt)(struct acctsink *s); /* any thread: let calls that wait return */
    void (*free)(struct acctsink *s);
};

/* AccountingStoreFlags, and what AccountingStorageEnforce leaves out. */
unsigned acctsink_keep(const struct conf *conf);
/* max_step_records of AccountingStorageParameters; UINT32_MAX: all. */
uint32_t acctsink_most_steps(const struct conf *conf);
/* MaxDBDMsgs where max_dbd_msg_action is exit, else 0. */
uint64_t acctsink_most_waiting(const struct conf *conf);

int acctsink_embedded(const char *db_path, const char *cluster, struct acctsink **ret);
/* uuid: ClusterRecord.cluster_id. */
int acctsink_slurmdbd(const struct conf *conf, const char *uuid, struct acctsink **ret);
