/* nearpick.h - an expedited job takes back its healthy nodes, and a spare beside them */
#pragma once

struct job;
struct pick;

/* As pick_nodes(), for j: of its healthy nodes and the spares of their units; else of all nodes of
 * these units; else anywhere.  Other jobs: anywhere. */
int near_pick(struct pick *p, const struct job *j);
