/* pickone.h - one node for the whole job: the first that holds it, the last, or the least loaded */
#pragma once

struct pick;

/* The first node that holds the whole job (or the least loaded).  Nodes only get fuller until the
 * partition's grow count moves, so those found too full need not be looked at again until then. */
int choose_single(struct pick *p);
