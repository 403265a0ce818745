/* helpers.h - helpers.conf: programs that say which features this node has, and change them
 *
 * A helper without an argument prints the features that are active, one a line; with a feature it
 * makes ready that the next boot has that. */
#pragma once

#include "noded/noded.h"

/* Ask the helpers of this node, one after the other, at most ExecTime each: rec gets what can be
 * changed and what of that is active.  Before the loop runs.  -ENOMEM. */
int helpers_ask(const struct noded *d, Pst__NodeRecord *rec);

int helpers_new(struct noded *d, struct helpers **ret);
void helpers_close(struct helpers *h);
struct helpers *helpers_free(struct helpers *h);
/* Call the helpers for these features, "a,b", then RebootProgram; NULL or "": that at once.  A
 * helper that fails ends it: the controller gives the boot up in time. */
void helpers_boot(struct noded *d, const char *features);
bool helpers_child_exited(struct noded *d, pid_t pid, int status);
