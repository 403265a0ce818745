/* explain_nodes.h - why each node of a partition is of no use to a job now */
#pragma once

struct entry;
struct ex;
struct explain_part;

int ex_look_at_nodes(struct ex *x, struct entry *e, struct explain_part *out);
