/* nodelink.h - the connections of the nodes: which nodes are connected, and sending to them.  Core
 * thread. */
#pragma once

#include "ctld/ctld.h"

struct nodelinks;
int nodelinks_new(struct nodelinks **ret);             /* -ENOMEM */
struct nodelinks *nodelinks_free(struct nodelinks *l); /* always NULL */
bool node_is_linked(const struct ctld *ctld, const struct node *n);
/* Since when the node's connection is gone; 0 = it is there, or never was. */
int64_t node_link_lost_us(const struct ctld *ctld, const struct node *n);
void node_link_closed(struct ctld *ctld, struct conn *conn);
/* A node whose host stands still, or is behind a switch that is gone, keeps its connection for
 * hours: nothing is sent over it.  So each says something every few seconds.  How many, of a node
 * that has just registered: */
uint32_t node_link_expect(struct ctld *ctld, const struct node *n);
void node_link_heard(struct ctld *ctld, const struct node *n); /* it has said something */
/* Before a round of judgements, every second: silence counts from here on if this process stood
 * still itself. */
void node_links_wake(struct ctld *ctld);
/* A connection over which nothing was heard for too long is closed: it is lost since then. */
void node_link_judge(struct ctld *ctld, struct node *n);
/* The ids of the jobs that hold resources of n; the caller frees. */
uint32_t *node_jobs(struct ctld *ctld, const struct node *n, size_t *ret_n);
/* The node has its files from us, with this digest; NULL: it has its own. */
void node_link_set_files(struct ctld *ctld, const struct node *n,
                         const ProtobufCBinaryData *digest);
bool node_link_has_files(const struct ctld *ctld, const struct node *n);
/* How many connected nodes have files from us, with another digest than this. */
size_t node_links_stale(const struct ctld *ctld, const ProtobufCBinaryData *digest);
/* n is to register again once no job holds it; and: close its connection if that is so now. */
void node_link_defer(struct ctld *ctld, struct node *n);
void node_link_redial(struct ctld *ctld, struct node *n);
/* The connection of n, which is held by the caller from now on and speaks for no node; NULL: n is
 * not connected. */
struct conn *node_link_take(struct ctld *ctld, struct node *n);
/* The node is about to be forgotten: close its connection, if any. */
void node_link_drop(struct ctld *ctld, struct node *n);
/* Send a request of ours to a node when it is connected; after lsn.  False: it is not. */
bool node_send(struct ctld *ctld, const struct node *n, uint64_t lsn, unsigned op,
               const ProtobufCMessage *msg);
/* The node that registered on this connection, NULL: none. */
struct node *node_of_conn(const struct ctld *ctld, const struct conn *conn);
/* conn, which is held, speaks for n from now on; a connection before it is closed. */
void node_link_set(struct ctld *ctld, struct node *n, struct conn *conn);
