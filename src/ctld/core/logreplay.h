/* logreplay.h - reading the log into a cluster, with two threads
 *
 * The caller's thread reads and decodes, another one applies. */
#pragma once

#include "base/err.h"
#include "journal/journal.h"

struct cluster;

/* journal_open(), with each record applied to the cluster.  config->on_last is not the caller's.
 * *ret_records: how many there were.  Errors: those of journal_open(); -EUCLEAN: a record does not
 * fit, and the cluster is of no use any more.  err has a sentence. */
int logreplay_open(const struct journal_config *config, struct cluster *cluster,
                   struct journal **ret_journal, uint64_t *ret_records, struct err *err);
