/* etcdkv.h - a client of etcd: ranges and transactions
 *
 * One thread at a time per object; each has connections of its own, which are kept.  Calls block,
 * for try_ms with each member at most.  Keys are without the prefix.  libcurl is loaded by the
 * first etcd_new().  Errors of all calls: -EHOSTUNREACH no member answered (or none is the leader),
 * -EBADMSG an answer that is none, -ENOSPC etcd's quota is used up, -EIO another answer that is an
 * error, -ENOMEM. */
#pragma once

#include "etcd/etcdconf.h"
#include "etcd/etcdjson.h"

#define ETCD_VALUE_MAX (1000u << 10) /* of a request; etcd takes 1.5 MiB */

struct etcd;

int etcd_new(const struct etcd_config *config, unsigned try_ms, struct etcd **ret, struct err *err);
struct etcd *etcd_free(struct etcd *e); /* always NULL */
/* The member that the last answer came from; borrowed. */
const char *etcd_prefix(const struct etcd *e);

struct etcd_range {
    const char *from, *to; /* to: the first key behind; NULL: `from` alone */
    unsigned limit;        /* 0: ETCD_KVS_MAX */
    bool keys_only, descending;
};
/* What is there, read through the leader.  The caller frees with etcd_kvs_done().  Keys in *ret
 * are without the prefix. */
int etcd_range(struct etcd *e, const struct etcd_range *range, struct etcd_kvs *ret,
               struct err *err);
/* One key: 1 with it, 0 without. */
int etcd_get(struct etcd *e, const char *key, struct etcd_kv *ret, struct err *err);

/* A transaction: conditions and changes, then etcd_txn(). */
void etcd_if_value(struct etcd *e, const char *key, const void *value, size_t n);
void etcd_if_absent(struct etcd *e, const char *key);
void etcd_put(struct etcd *e, const char *key, const void *value, size_t n);
void etcd_delete(struct etcd *e, const char *from, const char *to);
/* 1: it was done, 0: a condition does not hold and nothing was done.  After an error it may have
 * been done or not. */
int etcd_txn(struct etcd *e, int64_t *ret_revision, struct err *err);
/* Let the history before this revision go, of all keys. */
int etcd_compact(struct etcd *e, int64_t revision, struct err *err);
