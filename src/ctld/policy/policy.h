/* policy.h - what the accounting records say to a job that is submitted or changed
 *
 * Which association, QOS and workload key it gets, and the limits that refuse it at once.  What
 * holds it back later is the scheduler's (src/sched/rules/limit.h).  Core thread. */
#pragma once

#include "base/gres/billweights.h"
#include "ctld/ctld.h"
#include "feed/limitrecords.h"

/* The account of r when it names none: the user's default.  Before partitions are looked at. */
void policy_default_account(const struct ctld *ctld, const char *user, Pst__JobRecord *r);

/* Set account, association, QOS, partition's QOS and workload key of r, which was asked for by
 * `user` and goes to partition p (its first).  0, or an ESLURM code that refuses it. */
int policy_resolve(const struct ctld *ctld, const char *user, const struct partition *p,
                   Pst__JobRecord *r);

/* Set what r asks for as ReqTRES shows it; p is its first partition. */
void policy_note_asked(const struct ctld *ctld, const struct partition *p, Pst__JobRecord *r);

/* Has an administrator set accounts or QOS up?  Else jobs are treated as without accounting. */
bool policy_has_records(const struct ctld *ctld);

/* AllowAccounts, DenyAccounts, AllowQos, DenyQos of a partition: 0 or an ESLURM code. */
int policy_partition(const struct ctld *ctld, const Pst__PartitionRecord *p,
                     const Pst__JobRecord *r);

/* Is r's QOS one that r's association may not use any more, where QOS are enforced? */
bool policy_qos_lost(const struct ctld *ctld, const Pst__JobRecord *r);
/* Is the flag set on r's QOS? */
bool policy_qos_flag(const struct ctld *ctld, const Pst__JobRecord *r, Pst__QosFlag flag);

/* ---- rights ---------------------------------------------------------------------------------- */

/* Operators and administrators by accounting, root and SlurmUser. */
bool policy_is_operator(const struct ctld *ctld, const struct cmd *cmd);
enum policy_private { /* PrivateData */
                      PRIVATE_JOBS = 1u << 0,
                      PRIVATE_NODES = 1u << 1,
                      PRIVATE_PARTITIONS = 1u << 2,
                      PRIVATE_RESERVATIONS = 1u << 3,
                      PRIVATE_USAGE = 1u << 4,
                      PRIVATE_USERS = 1u << 5,
                      PRIVATE_ACCOUNTS = 1u << 6,
                      PRIVATE_EVENTS = 1u << 7,
};
/* What the configuration hides; also in ctld->private_data, for other threads. */
unsigned policy_private(const struct conf *conf);
/* Is nothing hidden from this user: an operator?  caller: his name or NULL. */
bool policy_sees_all(const struct ctld *ctld, uid_t uid, const char *caller);
/* Of what the configuration hides, what is hidden from this user. */
unsigned policy_hidden(const struct ctld *ctld, uid_t uid, const char *caller);
/* Call fn for each account that the user `caller` coordinates. */
void policy_each_coordinated(const struct ctld *ctld, const char *caller,
                             void (*fn)(void *ctx, const char *account), void *ctx);
/* Operator, or coordinator of the job's account. */
bool policy_may_manage(const struct ctld *ctld, const struct cmd *cmd, const Pst__JobRecord *r);
