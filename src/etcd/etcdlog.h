/* etcdlog.h - the log in etcd, as the controller writes it: a struct journal_remote
 *
 * A batch becomes one transaction, or several of at most ETCD_VALUE_MAX bytes, each of which holds
 * only while the term is the newest one and its place in the log is free.  So a controller whose
 * term is over can append nothing, whatever its clock says.  A snapshot is put beside the log in
 * parts; then, in one transaction, it becomes the newest and what it replaces goes. */
#pragma once

#include "etcd/etcdconf.h"
#include "journal/journal.h"

struct etcdlog;

int etcdlog_new(const struct etcd_config *config, uint32_t term, unsigned try_ms,
                struct etcdlog **ret, struct err *err);
struct etcdlog *etcdlog_free(struct etcdlog *l);                      /* always NULL */
const struct journal_remote *etcdlog_remote(const struct etcdlog *l); /* lives as long as l */

/* All controllers have one pair of keys: is ours, in hex digits, that of those before us?  The
 * first one's is kept.  -EKEYREJECTED: it is another. */
int etcdlog_check_identity(struct etcdlog *l, const char *public_hex, struct err *err);

struct etcdlog_stats {
    uint64_t chunks, errors;               /* written; tries that failed */
    uint64_t snapshot_lsn, snapshot_bytes; /* the newest that this controller wrote */
    uint64_t log_bytes;                    /* written since that one, as etcd keeps them */
};
void etcdlog_get_stats(const struct etcdlog *l, struct etcdlog_stats *ret); /* any thread */
