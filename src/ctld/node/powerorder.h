/* powerorder.h - actions of power saving that the nodes run themselves (Location=slurmd)
 *
 * Core thread.  Such an action is an order to each node that is connected.  Whether it did what it
 * should shows the connection, which has to go. */
#pragma once

#include "ctld/ctld.h"

struct bitmap;

/* Order the nodes to run the action, after lsn.  One that is not connected is told in the log. */
void powerorder_send(struct ctld *ctld, const char *action, const struct bitmap *nodes,
                     uint64_t lsn);
/* The slurmd of a node that is on its way down knocks: where it has to run the action itself, it is
 * told so. */
void powerorder_again(struct ctld *ctld, const struct node *n, struct conn *conn);
