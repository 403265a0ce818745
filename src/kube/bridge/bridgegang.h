/* bridgegang.h - a gang in memory, and what all of its actions need */
#pragma once

#include "kube/bridge/bridge_impl.h"

/* The gang of a key, made when there is none; NULL: no memory.  The bridge's. */
struct gang *bridgegang_find(struct bridge *b, const char *key);
void bridgegang_free(void *gang);
/* Is everything known that decisions are made of? */
bool bridgegang_is_ready(const struct bridge *b);
/* Are some of its pods bound, and others not yet? */
bool bridgegang_is_in_part(const struct gang *g);
/* Are pods to be told that slurmrestd has been away for long?  The API server is there. */
bool bridgegang_is_deaf(const struct bridge *b);
/* Has the gang's job waited for this longer than it may?  The wait begins with the first question,
 * and with each job anew. */
bool bridgegang_is_overdue(struct gang *g, enum bridgewait what);
void bridgegang_end_wait(struct gang *g, enum bridgewait what); /* it is there */
/* Look at the gang after a pause; 0: at once. */
void bridgegang_wake(struct bridge *b, const char *key, int64_t after_us);
/* The gang's next job is not to have this node of Kubernetes. */
void bridgegang_note_bad(struct gang *g, const char *node);
/* The node of Kubernetes that Slurm calls so; NULL: there is none.  Borrowed. */
const char *bridgegang_node(const struct bridge *b, const char *name);
