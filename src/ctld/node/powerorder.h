/* powerorder.h - actions of power saving that the nodes run themselves (Location=slurmd)
 *
 * Core thread.  Such an action is an order to each node that is connected.  A node that obeys loses
 * its connection; a connection that stays says that the action has failed. */
#pragma once

#include "ctld/ctld.h"

struct bitmap;

/* Order the nodes to run the action, after lsn.  A node that is not connected is named in
 * the log. */
void powerorder_send(struct ctld *ctld, const char *action, const struct bitmap *nodes,
                     uint64_t lsn);
/* A node that is being powered down registers again on conn.  Where its slurmd has to run the
 * action itself, order it once more. */
void powerorder_again(struct ctld *ctld, const struct node *n, struct conn *conn);
