/* ctld.h - the controller: what its parts share
 *
 * Threads: the core (core.c; the only writer of `cluster` and everything not marked otherwise),
 * I/O threads (front.c, query.c), the scheduler (schedthread.c), accounting (acctthread.c),
 * snapshots (statesnapshot.c) and the journal's writer.  Work goes to the core as a struct cmd; what
 * must wait for durability leaves it through effects.c. */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "conf/conf.h"
#include "journal/journal.h"
#include "model/cluster.h"
#include "model/job.h"
#include "model/tx.h"
#include "wire/auth/auth.h"
#include "wire/errors.h"
#include "wire/server/server.h"

#include "api.pb-c.h"

struct contents;
struct effects;
struct views;
struct schedthread;
struct acctthread;
struct jobcomp;
struct acctadmin;
struct acctfollow;
struct watch;
struct front;
struct feasible;
struct schedfeed;
struct passnotes;
struct mails;
struct hooks;
struct owners;
struct nodelinks;
struct cleanings;
struct prologs;
struct programs;
struct resvs;
struct asking;

enum cmd_kind {
    CMD_REQUEST, /* a decoded request */
    CMD_CLOSED,  /* a connection is gone */
    CMD_CALL,    /* fn(arg): from another thread, or the rest of a long walk */
    CMD_RECONFIGURE,
    CMD_STOP,
};

struct cmd {
    struct cmd *next;
    enum cmd_kind kind;
    struct conn *conn; /* held; NULL for our own */
    uint16_t op;
    uint32_t id;
    bool oneway;
    /* owned; NULL: unpacked once its sender turns out to be an administrator */
    ProtobufCMessage *msg;
    struct frame packed;      /* then; its body is owned */
    int64_t deadline_mono_us; /* 0 = none */
    char *caller; /* name of the peer's user; owned, NULL = unknown here, or root or SlurmUser */
    /* of a submission or change of partition; owned, NULL = unknown here */
    char *user_name, *group_name;
    /* of the jobs it brings, in their order; owned; NULL = not made yet */
    struct contents *contents;
    size_t n_contents;
    uid_t uid; /* in force: root may submit for others */
    gid_t gid;
    uid_t lane;     /* whose share of the core it takes; 0 = the controller's own */
    uint32_t bytes; /* of the request */
    void (*fn)(void *arg);
    void (*drop)(void *arg); /* in place of fn when the loop ends before; NULL: nothing to do */
    void *arg;
};

struct core_queue; /* core.c */

struct idlist { /* growing list of job ids; may hold stale ones, which are looked up and skipped */
    size_t n, cap;
    uint32_t *ids;
};

struct stats { /* core thread only */
    int64_t since_us;
    /* at the last reset */
    uint64_t base_submitted, base_started, base_completed, base_cancelled, base_failed;
    uint64_t worst_stall_us;
};

struct ctld_op;
struct ctld_service;

struct ctld {
    /* services.c: all services, ended by NULL; set before boot_all() */
    const struct ctld_service *const *services;
    const struct ctld_op *ops[OP_MAX_]; /* by number, of all services; see service_op() */
    unsigned ticks;                     /* so far */
    char *conf_path;
    struct conf *conf;
    char *licenses; /* licenses_all() */
    struct cluster *cluster;
    struct journal *journal;
    struct auth_keys *keys;
    struct core_queue *queue;
    struct effects *effects;
    struct views *views;
    struct schedthread *sched;
    struct acctthread *acct;
    struct blob_logged {
        struct digest name;
        int64_t time_us;
    } blobs_logged[4096];           /* when, for accounting; by the first bytes of the name */
    struct jobcomp *jobcomp;        /* NULL: no JobCompType */
    struct acctadmin *acct_admin;   /* the store is embedded ... */
    struct acctfollow *acct_follow; /* ... or slurmdbd's */
    struct watch *watch;
    struct front *front;
    struct feasible *feasible;
    struct schedfeed *feed; /* to the scheduler */
    struct passnotes *passnotes;
    struct programs *programs;
    struct mails *mails;
    struct hooks *hooks;
    struct owners *owners;
    struct cleanings *cleanings;
    struct prologs *prologs;
    struct resvs *resvs;
    struct asking *asking;
    struct cluster_observer observer;
    struct stats stats;
    int64_t shares_told_us; /* to the scheduler */
    uint64_t shares_gen;    /* as of then: generation of the accounting records */

    char host[256]; /* short name */
    int64_t boot_us;
    uint64_t applied_lsn; /* of the last commit */
    atomic_bool disk_full;
    atomic_bool stopping;
    atomic_uint private_data; /* enum policy_private */
    atomic_uint slurm_uid;    /* conf_slurm_uid(), for other threads */

    /* waiting requests (wait.c), dependants (depends.c) */
    struct nodelinks *links;  /* connections of the nodes */
    struct idmap waiters;     /* ticket -> struct waiter */
    struct idmap job_waiters; /* job id -> its last struct waiter */
    uint64_t next_ticket;
    /* ticket -> lane of the user, plus one: put to the scheduler, not answered */
    struct idmap questions;
    struct idmap dependants;  /* target job id -> struct idlist */
    struct idmap step_queue;  /* job id -> queue of step requests that wait for resources */
    struct idlist gang_fresh; /* jobs that started beside others; see gangturns.h */
    bool gang_changed;
    int64_t gang_next_us; /* the next slice of time begins */
    bool snapshot_running;
    int64_t health_start_us; /* of the present round of health checks */
    uint32_t health_next;    /* node asked next in it */
};

/* ---- core.c ---------------------------------------------------------------------------------- */

int core_queue_new(struct core_queue **ret);
struct core_queue *core_queue_free(struct core_queue *q);
/* Any thread; takes cmd.  Gives false (and frees cmd) when its user's share of the queue is full
 * and cmd is a request. What is in lane 0 comes first, in order; the other lanes take turns,
 * each in order. */
bool core_post(struct ctld *ctld, struct cmd *cmd);
void core_post_kind(struct ctld *ctld, enum cmd_kind kind); /* a command of our own; any thread */
/* The lane of a user: 0 for root and SlurmUser, whose daemons the nodes are.  Any thread. */
uid_t core_lane(const struct ctld *ctld, uid_t uid);
/* The rest of a long request: fn(arg) in the next turn of whoever sent `of`.  False: out of
 * memory. */
bool core_again(struct ctld *ctld, const struct cmd *of, void (*fn)(void *arg), void *arg);
void core_run(struct ctld *ctld); /* until CMD_STOP */
void cmd_free(struct cmd *cmd);

/* Append and apply; takes tx.  Gives the lsn, or 0 when the journal refuses (disk full): nothing
 * changed. */
uint64_t core_commit(struct ctld *ctld, Pst__Transaction *tx);
int64_t core_now(void);

/* Answer a request once lsn is durable (0 = now). */
void core_reply(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn, uint32_t flags,
                const ProtobufCMessage *msg);
void core_ok(struct ctld *ctld, const struct cmd *cmd, uint64_t lsn); /* Empty */
void core_error(struct ctld *ctld, const struct cmd *cmd, int code, const char *text);
void core_disk_full(struct ctld *ctld, const struct cmd *cmd);
/* Whose word is law: root and SlurmUser; of those who asked, also accounting's administrators. */
bool core_is_admin(const struct ctld *ctld, uid_t uid);
bool cmd_is_admin(const struct ctld *ctld, const struct cmd *cmd);
/* May he have something done in the name and with the rights of uid: a step, a file, a token, a
 * crontab? Himself, root and SlurmUser.  An administrator of accounting may not: he would be
 * root. */
bool cmd_may_act_as(const struct ctld *ctld, const struct cmd *cmd, uid_t uid);

/* ---- operations: handlers of rows, see core/service.h ------------------------------------------- */

typedef void op_fn(struct ctld *ctld, struct cmd *cmd);

op_fn op_job_submit, op_job_wait, op_job_action, op_job_update, op_step_create, op_het_step_create;
op_fn op_access, op_steps_wait, op_acct_changes, op_query_assocs;
op_fn op_resv_update, op_query_resvs;
op_fn op_trigger_set, op_trigger_get, op_trigger_clear, op_crontab_get, op_crontab_set;
op_fn op_query_explain, op_query_shares, op_usage_reset;
op_fn op_query_config, op_query_diag, op_query_script, op_ping;
op_fn op_node_update, op_node_reboot, op_part_update, op_reconfigure, op_shutdown, op_token,
    op_debug;
op_fn op_node_register, op_node_report;

/* End the core's loop after what is queued; any thread. */
void ctld_stop(struct ctld *ctld);
