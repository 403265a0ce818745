/* nodelink.h - the connections of the nodes: which nodes are connected, and sending to them.  Core
 * thread. */
#pragma once

#include "ctld/ctld.h"

struct nodelinks;
int nodelinks_new(struct nodelinks **ret);             /* -ENOMEM */
struct nodelinks *nodelinks_free(struct nodelinks *l); /* always NULL */
bool node_is_linked(const struct ctld *ctld, const struct node *n);
/* When the node's connection was lost; 0: it is connected, or never was. */
int64_t node_link_lost_us(const struct ctld *ctld, const struct node *n);
/* Since when the state of n is UNKNOWN, as far as the calls of this controller tell, which come
 * every second: n has not registered yet, or is to do so again.  0: it is another state. */
int64_t node_link_unknown_us(struct ctld *ctld, const struct node *n, int64_t now);
void node_link_closed(struct ctld *ctld, struct conn *conn);
/* The kernel keeps a connection for hours when the node's host stands still, or when a switch on
 * the way fails.  So every node sends something every few seconds.  This gives how many seconds;
 * from now on the node's silence is watched. */
uint32_t node_link_expect(struct ctld *ctld, const struct node *n);
void node_link_heard(struct ctld *ctld, const struct node *n); /* the node has sent something */
/* A node with files of its own is to read them anew.  behind: nothing was heard from it since, so
 * it may not know: it was not connected, or its connection ended. */
void node_link_reread(struct ctld *ctld, const struct node *n);
bool node_link_is_behind(struct ctld *ctld, const struct node *n);
/* Called every second, before node_link_judge() for the nodes.  If this process itself stood still,
 * the silence of the nodes counts from now on only. */
void node_links_wake(struct ctld *ctld);
/* Close the connection of n if nothing was heard from n for too long. */
void node_link_judge(struct ctld *ctld, struct node *n);
/* The ids of the jobs that hold resources of n; the caller frees. */
uint32_t *node_jobs(struct ctld *ctld, const struct node *n, size_t *ret_n);
/* Note that the node has its configuration files from us, with this digest; NULL: it has files of
 * its own. */
void node_link_set_files(struct ctld *ctld, const struct node *n,
                         const ProtobufCBinaryData *digest);
bool node_link_has_files(const struct ctld *ctld, const struct node *n);
/* How many connected nodes have files from us that are not those of this digest. */
size_t node_links_stale(const struct ctld *ctld, const ProtobufCBinaryData *digest);
/* defer: note that n is to register again as soon as no job holds it.  redial: if that was noted,
 * and no job holds n now, close its connection; n then connects and registers again. */
void node_link_defer(struct ctld *ctld, struct node *n);
void node_link_redial(struct ctld *ctld, struct node *n);
/* Take the connection away from n: n counts as not connected, and the caller owns a reference to
 * the connection.  NULL: n is not connected. */
struct conn *node_link_take(struct ctld *ctld, struct node *n);
/* The node is about to be forgotten: close its connection, if any. */
void node_link_drop(struct ctld *ctld, struct node *n);
/* Send a request to a node, once lsn is durable.  False: the node is not connected. */
bool node_send(struct ctld *ctld, const struct node *n, uint64_t lsn, unsigned op,
               const ProtobufCMessage *msg);
/* The node that registered on this connection, NULL: none. */
struct node *node_of_conn(const struct ctld *ctld, const struct conn *conn);
/* From now on conn is the connection of n; an older one is closed.  Takes a reference to conn. */
void node_link_set(struct ctld *ctld, struct node *n, struct conn *conn);
