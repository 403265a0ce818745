/* etcdterm.h - the terms' records in etcd: a struct term_store
 *
 * A claim holds only if nobody has claimed in between, a renewal only while the term is the newest:
 * etcd compares and writes in one step. */
#pragma once

#include "etcd/etcdconf.h"
#include "journal/term.h"

struct etcdterm;

int etcdterm_new(const struct etcd_config *config, unsigned try_ms, struct etcdterm **ret,
                 struct err *err);
struct etcdterm *etcdterm_free(struct etcdterm *t); /* always NULL */
struct term_store etcdterm_store(struct etcdterm *t);
/* Why the last call failed; "": it did not.  Of the thread that called. */
const char *etcdterm_why(const struct etcdterm *t);
