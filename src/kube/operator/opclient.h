/* opclient.h - a cluster's slurmrestd: where it is, and the token that the operator signs for it
 *
 * A client is kept for each Controller, by its uid.  One thread: the loop's. */
#pragma once

#include "kube/operator/operator_impl.h"

/* The client of a Controller; NULL: there is no RestApi, or no key yet. */
struct slurmnodes *opclient_get(struct operator_ *op, const struct mkbase_facts *f);
/* The Controller is gone. */
void opclient_forget(struct operator_ *op, const char *uid);
void opclient_stop(struct operator_ *op);
/* A key of a Secret, decoded; -ENOENT.  The caller frees, and wipes. */
int opclient_read_secret(const struct mkbase_facts *f, const struct mkbase_ref *ref, char **ret,
                         size_t *ret_len);
