/* simlive.h - penstock sim --from-live: what would happen on the cluster that runs; internal to the
 * command */
#pragma once

#include "event.pb-c.h"
#include "penstock/simopts.h"

/* Ask the controller, change the copy as told, run both, report.  Gives an exit status. */
int simlive_run(const struct sim_args *a);

/* simverify.c: --journal DIR --verify.  STATUS_FAILED when any decision differs. */
int simverify_run(const struct sim_args *a);

/* simchange.c: changes of a copy as transactions.  Each says what is wrong; gives STATUS_OK or
 * another exit status. */
struct cluster;
struct simchange {
    Pst__Transaction **list;
    size_t n;
    const char **texts; /* as told, for the report; "--drain n1" */
    size_t ntexts;
};
int simchange_make(const struct sim_args *a, const struct cluster *c, int64_t now_us,
                   struct simchange *ret);
void simchange_done(struct simchange *ch);

/* simaccounts.c: the copy's name, associations, QOS, usage and reservations, as one change that the
 * caller owns.  Says what is wrong; gives STATUS_OK or another exit status. */
struct client;
int simaccounts_fetch(struct client *client, const char *cluster, Pst__Transaction **ret_tx);

/* simsubmit.c: what the controller would make of `sbatch OPTIONS`; the caller owns *ret_job. */
struct client;
int simsubmit_ask(struct client *client, const char *options, Pst__JobRecord **ret_job);
