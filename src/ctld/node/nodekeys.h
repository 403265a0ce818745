/* nodekeys.h - keys of nodes: which key proves that a connection comes from which node
 *
 * The key is a field of the node's record (NodeRecord.node_key).  The first registration that shows
 * a key binds that key to the node's name; an administrator can bind one too (scontrol update
 * NodeName= NodeKey=).  The key stays until an administrator removes it.  Design:
 * docs/design/0020-node-keys.md. */
#pragma once

#include "ctld/ctld.h"
#include "wire/server/server.h"

#define NODEKEYS_TEXT 256u

/* May the peer register as node n?  *ret_bind: the key to bind to n now, borrowed from the
 * arguments, or NULL.  -EACCES: `why` has the sentence. */
int nodekeys_judge(struct ctld *ctld, const struct node *n, const struct peer *peer,
                   const Pst__NodeRegister *reg, const uint8_t **ret_bind, char why[NODEKEYS_TEXT]);
/* The same for a node that is not there yet. */
int nodekeys_judge_new(struct ctld *ctld, const char *name, const struct peer *peer,
                       const Pst__NodeRegister *reg, char why[NODEKEYS_TEXT]);
/* Must the node be told the controllers' key before its registration is accepted?  A node without
 * that key refuses launch keys made for its own key, and jobs start on a node as soon as it is
 * registered. */
bool nodekeys_must_teach(const struct ctld *ctld, const Pst__NodeRegister *reg);
/* The id of the node that has the key, or -1.  Any thread. */
int64_t nodekeys_find(struct ctld *ctld, const uint8_t key[IDKEY_SIZE]);
/* Can the n nodes have the key that an administrator gives? */
bool nodekeys_fits(struct ctld *ctld, const char *text, const char *node, size_t n);
