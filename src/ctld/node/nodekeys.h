/* nodekeys.h - which node is known by which key of its own
 *
 * The key stands in the node's record (NodeRecord.node_key).  It is bound to the node's name by the
 * first registration that tells one, or by an administrator (scontrol update NodeName= NodeKey=),
 * and stays until an administrator forgets it.  Design: docs/design/0020-node-keys.md. */
#pragma once

#include "ctld/ctld.h"
#include "wire/server/server.h"

#define NODEKEYS_TEXT 256u

/* May this connection register as n?  *ret_bind: the key that n gets with it, or NULL; borrowed
 * from the arguments.  -EACCES: why has the sentence. */
int nodekeys_judge(struct ctld *ctld, const struct node *n, const struct peer *peer,
                   const Pst__NodeRegister *reg, const uint8_t **ret_bind, char why[NODEKEYS_TEXT]);
/* The same for a node that is not there yet. */
int nodekeys_judge_new(struct ctld *ctld, const char *name, const struct peer *peer,
                       const Pst__NodeRegister *reg, char why[NODEKEYS_TEXT]);
/* Must the node learn the controllers' key before it is in?  Without that key it refuses launch
 * keys of its own key, and jobs start on a node as soon as it is in. */
bool nodekeys_must_teach(const struct ctld *ctld, const Pst__NodeRegister *reg);
/* The id of the node that has the key, or -1.  Any thread. */
int64_t nodekeys_find(struct ctld *ctld, const uint8_t key[IDKEY_SIZE]);
/* Is the key that an administrator gives one that the nodes (n of them) can have? */
bool nodekeys_fits(struct ctld *ctld, const char *text, const char *node, size_t n);
