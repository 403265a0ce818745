/* hooks.h - PrologSlurmctld and EpilogSlurmctld
 *
 * Core thread.  A job whose PrologSlurmctld runs is RUNNING and CONFIGURING: it holds its nodes,
 * but until the program ends nothing is launched and no client is told of the grant.  A job whose
 * EpilogSlurmctld runs stays COMPLETING. */
#pragma once

#include "ctld/ctld.h"

struct program;

struct hooks; /* which epilogs run */

int hooks_new(struct hooks **ret);         /* -ENOMEM */
struct hooks *hooks_free(struct hooks *h); /* always NULL */

/* Are there any? */
bool hooks_prolog_wanted(const struct ctld *ctld);
bool hooks_epilog_wanted(const struct ctld *ctld);
/* j was started by the commit lsn, with prolog_pending set. */
void hooks_prolog(struct ctld *ctld, struct job *j, uint64_t lsn);
/* j was ended by the commit lsn.  hooks_epilog_runs() is true until lifecycle_node_clean() is
 * called for the job at the program's end. */
void hooks_epilog(struct ctld *ctld, struct job *j, uint64_t lsn);
bool hooks_epilog_runs(const struct ctld *ctld, const struct job *j);
/* j is about to be forgotten. */
void hooks_forget(struct ctld *ctld, const struct job *j);
/* The environment that PrologSlurmctld, EpilogSlurmctld and MailProg have in common. */
void hooks_env(const struct ctld *ctld, const struct job *j, struct program *p);

static inline bool job_waits_for_prolog(const Pst__JobRecord *r)
{
    return r->has_prolog_pending && r->prolog_pending;
}
