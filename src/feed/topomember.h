/* topomember.h - nodes join and leave units of a set; the grammar is told in toposet.h */
#pragma once

#include <stdint.h>

#include "base/err.h"

struct toposet;

/* Take a node out of every unit. */
void toposet_leave(struct toposet *ts, uint32_t node);
/* Make this the node's membership, whatever it was before; "" = it is nowhere.  *ret_text (may be
 * NULL) is the membership as it is shown, tree units from the root down; the caller frees it.
 * O(units + nodes of the topologies).
 * -EINVAL: a topology or unit that is not there, has no room, or is no leaf; nothing changed, err
 * has the sentence. */
int toposet_join(struct toposet *ts, uint32_t node, const char *membership, char **ret_text,
                 struct err *err);
