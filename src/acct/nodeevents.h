/* nodeevents.h - node events of the journal as periods: when nodes were away, and what the cluster
 * had; acct/ only
 *
 * The present record of every node is kept in the table `nodes`, so that a patch can be told from
 * what was. */
#pragma once

#include <stdint.h>

#include "acct/sql/sql.h"
#include "event.pb-c.h"

struct nodes;

int nodes_new(struct sql *db, int64_t source,
              struct nodes **ret);         /* nothing is read yet; -ENOMEM */
struct nodes *nodes_free(struct nodes *n); /* always NULL */
/* NODE_PUT, NODE_PATCH, NODE_REMOVE; others are no matter here. */
int nodes_apply(struct nodes *n, const Pst__Event *ev, int64_t time_us);
int nodes_flush(
    struct nodes *n); /* before a commit: rows, and the cluster's period when its TRES changed */
void nodes_forget(struct nodes *n); /* what is in memory differs from the database: read it again */

/* What a period of a node counts as. */
enum node_away { NODE_THERE, NODE_DOWN, NODE_PLANNED_DOWN };
enum node_away nodes_away(int64_t event_state);

/* A cluster's controller is gone since then: what is idle counts as down until it is back.  An
 * event of what the cluster has, without a node's name, says so. */
int nodes_note_gone(struct sql *db, const char *cluster, int64_t gone_us);
int nodes_note_back(struct sql *db, int64_t source,
                    int64_t back_us); /* no-op when nothing was noted */
