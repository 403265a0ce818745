/* ctld.h - the controller: its core and the pointers to its services' objects
 *
 * Threads: the core (core/loop.c; the only writer of `cluster` and of everything not marked
 * otherwise), I/O threads (front/), the scheduler (schedlink/schedthread.c), accounting
 * (acct/acctthread.c), snapshots (front/statesnapshot.c) and the journal's writer.  Work goes to
 * the core as a struct cmd; what must wait for durability leaves it through core/effects.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/histogram.h"
#include "conf/conf.h"
#include "ctld/core/idlist.h"
#include "ctld/core/cmd.h"
#include "ctld/core/commit.h"
#include "ctld/core/reply.h"
#include "ctld/core/rights.h"
#include "journal/journal.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"
#include "wire/auth/auth.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#include "api.pb-c.h"

struct effects;
struct resources;
struct views;
struct schedthread;
struct acctthread;
struct jobcomp;
struct acctadmin;
struct acctfollow;
struct acctsync;
struct confserve;
struct health;
struct snapshot;
struct triggers;
struct shutdown;
struct tuning;
struct signins;
struct watch;
struct web;
struct front;
struct feasible;
struct schedfeed;
struct nodesback;
struct feedlimits;
struct minutes;
struct swaiter;
struct passnotes;
struct plannednodes;
struct mails;
struct hooks;
struct owners;
struct dependants;
struct nodeids;
struct nodelinks;
struct cleanings;
struct idkey;
struct nodekeys;
struct certsign;
struct nodeusers;
struct imex;
struct stepvnis;
struct prologs;
struct powersave;
struct schedlog;
struct programs;
struct resvs;
struct asking;
struct bloblog;
struct submitkeys;
struct completewait;
struct gangturns;
struct shares;
struct jobtimes;
struct memupdate;
struct step_queues;
struct luascript;
struct topology;
struct topologies;
struct fed;

struct ha;
struct reign;

struct core_queue;
struct ctld_op;
struct ctld_service;

/* Who asked for what the core does now. */
struct origin {
    const struct peer *peer; /* NULL: nobody; the controller by itself, or a node's report */
    uint16_t op;
};

/* Job ids that requests used up without a job: while the cluster's next id is `from`, the next job
 * is `to`.  Core thread only; a restart may give these ids. */
struct passed_ids {
    uint32_t from, to;
};

struct stats { /* core thread only */
    int64_t since_us;
    /* at the last reset */
    uint64_t base_submitted, base_started, base_completed, base_cancelled, base_failed;
    uint64_t worst_stall_us;
};

struct ctld {
    /* of services.c, ended by NULL; set before boot_prepare() */
    const struct ctld_service *const *services;
    const struct ctld_op *ops[OP_MAX_]; /* by number, of all services; see service_op() */
    unsigned ticks;                     /* so far */
    char *conf_path;
    struct conf *conf;
    struct resources *resources;         /* of resources.yaml */
    struct resources *resources_checked; /* of a configuration that is not in force yet */
    char *licenses;                      /* licenses_all() */
    struct cluster *cluster;
    struct passed_ids passed_ids; /* jobs_fresh_id() */
    struct journal *journal;
    struct auth_keys *keys;
    struct auth_tokens *tokens; /* those believed, and made, where AuthAltTypes lets them */
    struct idkey *identity;     /* what nodes know the controllers by; NULL in tests of parts */
    struct nodekeys *nodekeys;
    struct certsign *certsign;
    struct nodeusers *nodeusers;
    struct tls_ctx *tls; /* NULL: no TLSType */
    struct core_queue *queue;
    struct effects *effects;
    struct views *views;
    struct schedthread *sched;
    struct acctthread *acct;
    struct jobcomp *jobcomp;        /* NULL: no JobCompType */
    struct acctadmin *acct_admin;   /* when the accounting store is embedded */
    struct acctfollow *acct_follow; /* when slurmdbd has the accounting store */
    struct watch *_Atomic watch;    /* connections of a standby end while it is made */
    struct front *front;
    struct web *web;
    struct feasible *feasible;
    struct schedfeed *feed; /* to the scheduler */
    struct nodesback *nodesback;
    struct feedlimits *feedlimits;
    struct minutes *minutes;
    struct passnotes *passnotes;
    struct plannednodes *plannednodes;
    struct schedlog *schedlog;
    struct powersave *powersave;
    struct programs *programs;
    struct mails *mails;
    struct hooks *hooks;
    struct owners *owners;
    struct cleanings *cleanings;
    struct imex *imex;
    struct stepvnis *stepvnis;
    struct prologs *prologs;
    struct resvs *resvs;
    struct acctsync *acctsync;
    struct health *health;
    struct shutdown *shutdown;
    struct snapshot *snapshot;
    struct triggers *triggers;
    struct tuning *tuning;
    struct signins *signins; /* words for browsers; front/signin.h */
    struct asking *asking;
    struct confserve *confserve;   /* files for hosts without; see front/confserve.h */
    struct submitkeys *submitkeys; /* idempotency keys */
    struct bloblog *bloblog;       /* scripts and environments logged for accounting */
    struct gangturns *gang;
    struct completewait *completewait; /* jobs that still clean up; schedlink/completewait.h */
    struct shares *shares;
    struct jobtimes *jobtimes;
    struct memupdate *memupdate;
    struct topology *topology;        /* the topologies in force; see topology/topology.h */
    struct topologies *topology_told; /* those that connected nodes know; NULL: none yet */
    struct fed *fed;                  /* the federation; NULL: never in one */
    struct step_queues *step_queues;  /* requests for steps that wait for resources */
    struct luascript *submit_script;  /* job_submit.lua; NULL: not opened */
    struct luascript
        *submit_checked; /* that of a configuration that was checked, until it is used */
    struct ha *ha;       /* several controllers, or terms that are left of them; else NULL */
    struct reign *reign; /* the term in which this controller writes; NULL: there are no terms */
    uint32_t term;       /* its number, else 0 */
    struct streamlog *_Atomic streamlog; /* those that it is sent to; NULL: to nobody */
    struct etcdlog *etcdlog;             /* where its log is; NULL: in StateSaveLocation */
    uint64_t takeover_us;                /* how long it took to come into control */
    uint32_t silence_ms;  /* how long nodes bear to hear nothing; 0: there is one controller */
    struct origin origin; /* of what the core carries out: noted with each commit */
    int64_t past_us;      /* the moment that is shown: `penstock journal at`; 0: the present */
    uint64_t known_lsn;   /* what a standby has applied before the boot goes on; 0: nothing */
    struct cluster_observer observer;
    struct idlist special; /* for observe_next_special() */
    struct stats stats;
    struct histogram batch_us; /* how long the core took for a batch; the core adds */

    char host[256];          /* short name */
    _Atomic int64_t boot_us; /* a standby, which answers, sets it anew when it leads */
    uint64_t applied_lsn;    /* of the last commit */
    struct {                 /* when the writer of the journal is told of it; see loop.c */
        bool may_wait;       /* the command at hand: nobody waits for what it commits */
        bool now;            /* one of this batch's commands has somebody who waits */
        uint64_t told_lsn;   /* the writer knows up to here */
        int64_t due_mono_us; /* it is told then of the rest; 0: there is none */
    } sync;
    atomic_bool disk_full;
    atomic_bool stopping;
    atomic_bool acct_full;    /* max_dbd_msg_action=exit: it ends for that */
    bool no_scheduling;       /* a backup with no_backup_scheduling: no job is started */
    atomic_bool standby;      /* this controller does not lead: requests go to on_standby() */
    atomic_bool reading;      /* ... but for those of OPF_SHOWS: it has a cluster to show */
    atomic_uint private_data; /* enum policy_private */
    atomic_uint slurm_uid;    /* conf_slurm_uid(), for other threads */

    /* waiting requests (wait.c) */
    struct nodelinks *links;      /* connections of the nodes */
    struct nodeids *nodeids;      /* ids for new nodes */
    bool members_stale;           /* nodes came by themselves: partitions follow at the next tick */
    int64_t members_next_mono_us; /* not before */
    bool parts_gone;              /* jobs may ask for a partition that is gone */
    struct idmap waiters;         /* ticket -> struct waiter */
    struct idmap job_waiters;     /* job id -> its last struct waiter */
    uint64_t next_ticket;
    uint64_t last_no_job; /* run of the last step without a job (step/noalloc.c) */
    struct dependants *dependants;
    struct swaiter *swaiters; /* few: one for each swait that runs; see swait.c */
};

/* ---- operations: handlers of rows, see core/service.h
 * ------------------------------------------- */

typedef void op_fn(struct ctld *ctld, struct cmd *cmd);

op_fn op_job_submit, op_job_wait, op_job_action, op_job_update, op_step_create, op_het_step_create;
op_fn op_access, op_steps_wait;
op_fn op_resv_update, op_query_resvs;
op_fn op_crontab_get, op_crontab_set;
op_fn op_query_explain;
