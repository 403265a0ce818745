/* admin_fed.h - federations, and what clusters are in them */
#pragma once

#include "acct/admin/admin_impl.h"

admin_op_fn federation_add, federation_modify, federation_delete;

/* The settings of a request for a cluster's place in a federation and its features, into rec.
 * False: the operation has failed. */
bool cluster_set_federation(struct admin_run *run, Pst__AcctClusterRecord *rec,
                            const Pst__AcctSet *set);
/* A cluster says that nothing of the federation is left there: it leaves if its state is
 * DRAIN+REMOVE.  arg: struct leaving. */
struct leaving {
    const char *cluster, *federation;
};
void federation_leave(struct admin_run *run, void *arg);
void cluster_leave_federation(Pst__AcctClusterRecord *rec);
