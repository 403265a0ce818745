/* service.h - what a service of the controller is, and the calls that reach all services
 *
 * The controller is a core (the loop, commits, replies) and services.  A service is a room's
 * answer to one question: views of the state, nodes, mail, reservations.  It is one row, a
 * constant struct ctld_service in its own file; services.c lists the rows, a service behind those
 * that it needs.  The core calls services through the rows only, and a service tells others what
 * happened through the functions at the end of this file, so that it need not know them.
 *
 * Every hook may be NULL.  Unless its comment says otherwise a hook runs on the core thread, and
 * the rows are called in the order of the list.  Of each hook stands whether it may commit, that
 * is call core_commit() itself or through others; a hook that may not commit must not change the
 * cluster either. */
#pragma once

#include <stdint.h>

#include "ctld/ctld.h"

struct decisions_msg;
struct job_end;
struct private_view;
struct strbuf;

/* One operation of the controller.  wire/access.def says which users may ask for it; the connection
 * checks that before the request comes here. */
enum op_flag {
    OPF_WRITES = 1u << 1, /* refused while the disk is full */
    OPF_CLOSES = 1u << 2, /* from then on the core hears when the connection closes */
    OPF_SHOWS = 1u << 3,  /* needs the cluster alone: a controller that only reads answers it too */
};
/* On the I/O thread of c, which answers; frame is borrowed. */
typedef void op_front_fn(struct ctld *ctld, struct conn *c, const struct frame *frame);
/* On the core thread, where PrivateData hides something from the user of c: as op_front_fn, but of
 * jobs only those that `view` shows.  The map of `view` may be taken over. */
typedef void op_narrow_fn(struct ctld *ctld, struct conn *c, const struct frame *frame,
                          struct private_view *view);
struct ctld_op {
    unsigned op;          /* a number of wire/ops.h */
    op_fn *fn;            /* on the core thread, or NULL; may commit; cmd is the caller's */
    op_front_fn *front;   /* in place of fn: the core has no part in it */
    op_narrow_fn *narrow; /* beside front, for an operation in the table of front/private.c */
    unsigned flags;       /* enum op_flag */
};

struct ctld_service {
    const char *name;
    const struct ctld_op *ops; /* its operations, ended by a row without functions; NULL: none */

    /* ---- the life of the controller ---- */

    /* May this configuration be used?  Before the start, and before a reconfiguration takes
     * effect; others may refuse it later.  Gives 0 or a negative errno, with a sentence for the
     * administrator.  May not commit. */
    int (*check)(struct ctld *ctld, const struct conf *conf, struct err *err);
    /* Make the service's own objects.  The journal is not read yet, the cluster is empty.  A
     * failure without a sentence is told as strerror() has it.  May not commit. */
    int (*start)(struct ctld *ctld, struct err *err);
    /* The journal is read, the cluster is what it was, and nothing is committed yet: what follows
     * the journal (accounting, job completion, watchers) begins here, where it had come to.  May
     * not commit. */
    int (*open)(struct ctld *ctld, struct err *err);
    /* Before the observers are told for the first time of everything there is.  May not
     * commit. */
    int (*observe)(struct ctld *ctld, struct err *err);
    /* Some of what there is was told to the observers for the first time: pass on what has
     * gathered.  Nodes and partitions are all told before the first job.  Called again and again
     * until all is told; may not commit. */
    void (*observed)(struct ctld *ctld);
    /* The cluster is complete: records of the configuration are merged, observers know all.  Pick
     * up what the end of the last controller interrupted.  May commit. */
    void (*recovered)(struct ctld *ctld);
    /* The configuration was read again; ctld->conf is the new one.  May commit. */
    void (*reconfigured)(struct ctld *ctld);
    /* End threads that use the journal or the cluster: the journal is closed next.  Backwards,
     * from the last row to the first, as are the two below; each is called for services that were
     * not started, too, or only half.  None may commit. */
    void (*quiesce)(struct ctld *ctld);
    /* End every thread and give back every connection. */
    void (*stop)(struct ctld *ctld);
    /* Free the service's objects.  No thread but this one is left. */
    void (*free)(struct ctld *ctld);

    /* ---- what time brings ---- */

    /* About every SERVICE_TICK_US.  May commit, but must look at ctld->disk_full itself. */
    void (*tick)(struct ctld *ctld, int64_t now_us);
    /* The same, left out while the disk is full.  May commit. */
    void (*tick_writing)(struct ctld *ctld, int64_t now_us);
    /* Every SERVICE_SLOW_TICKS ticks, left out while the disk is full: walks over all jobs.  May
     * commit. */
    void (*tick_slow)(struct ctld *ctld, int64_t now_us);
    /* At the end of each batch of commands: what was gathered meanwhile is handed on.  What the
     * batch committed is on its way to the disk.  May not commit. */
    void (*batch_end)(struct ctld *ctld);

    /* ---- what changed in the cluster: from inside cluster_apply() ----
     *
     * The same as struct cluster_observer, which says what is told.  None may commit: note what
     * there is to do, and do it at the next tick, the end of the batch, or in one of the hooks
     * that follow a commit. */
    void (*on_job)(struct ctld *ctld, struct job *j, Pst__EventKind kind);
    void (*on_job_gone)(struct ctld *ctld, struct job *j);
    void (*on_step)(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind);
    void (*on_node)(struct ctld *ctld, struct node *n, Pst__EventKind kind);
    void (*on_node_gone)(struct ctld *ctld, struct node *n);
    void (*on_part)(struct ctld *ctld, struct partition *p, Pst__EventKind kind);
    void (*on_part_gone)(struct ctld *ctld, struct partition *p);
    void (*on_kept)(struct ctld *ctld, struct kept *k);
    void (*on_kept_gone)(struct ctld *ctld, struct kept *k);

    /* ---- the journal ---- */

    /* A transaction is about to be journaled and applied: append encoded fields that go into its
     * record with it.  Failure is in `notes`.  May not commit. */
    void (*note)(struct ctld *ctld, const Pst__Transaction *tx, struct strbuf *notes);
    /* Everything up to lsn is on the disk.  On the journal's writer thread; from the moment the
     * journal is open, thus also before open().  May not commit. */
    void (*durable)(struct ctld *ctld, uint64_t lsn);
    /* The first record of the journal that the service has yet to read, UINT64_MAX for none: a
     * snapshot must leave it.  Any thread. */
    uint64_t (*keeps)(struct ctld *ctld);

    /* ---- connections ---- */

    /* Is this the key of a node?  One service has this hook.  On an I/O thread; may not commit. */
    bool (*knows_node)(struct ctld *ctld, const uint8_t *key);
    /* The launch key at node n of the credential with this MAC.  One service has this hook.
     * -ENOKEY: n makes no such keys.  May not commit. */
    int (*launch_key)(struct ctld *ctld, const struct node *n, const uint8_t *mac,
                      uint8_t *ret_key);
    /* May the node with this key vouch for this user now?  One service has this hook.  On an I/O
     * thread; may not commit. */
    bool (*may_vouch)(struct ctld *ctld, const uint8_t *key, uid_t uid, gid_t *ret_gid);
    /* A connection is gone, whatever it had asked for.  On its I/O thread; may not commit. */
    void (*on_conn_gone)(struct ctld *ctld, struct conn *conn);
    /* A connection is gone which had asked for something that the core must hear of.  May
     * commit. */
    void (*on_conn_closed)(struct ctld *ctld, struct conn *conn);
    /* A request of uid was answered, after so long.  Any thread; may not commit. */
    void (*answered)(struct ctld *ctld, unsigned op, uid_t uid, int64_t elapsed_us);

    /* Somebody on the network speaks HTTP: one service has this hook, which takes fd; `head` is
     * what server_hooks.on_http says.  On an I/O thread, from the start of the door to its end; may
     * not commit. */
    void (*on_http)(struct ctld *ctld, int fd, const char *head, size_t n);
    /* A request while this controller stands by (ctld->standby): one service has this hook, which
     * answers.  On an I/O thread; may not commit. */
    void (*on_standby)(struct ctld *ctld, struct conn *conn, const struct frame *frame);

    /* The connection of a node is gone.  May not commit. */
    void (*on_node_unlinked)(struct ctld *ctld, struct node *n);

    /* ---- accounting ---- */

    /* Accounting's records changed, and the change is committed.  May not commit. */
    void (*acct_changed)(struct ctld *ctld);

    /* ---- the scheduler ---- */

    /* What the scheduler decided.  One service has this hook; it takes m.  May commit. */
    void (*on_decisions)(struct ctld *ctld, struct decisions_msg *m);
    /* May the pending j be started by this controller?  One service has this hook; where it says
     * no, it tells the scheduler of the job again when there is hope.  May not commit. */
    bool (*may_start)(struct ctld *ctld, const struct job *j);
    /* The other cluster that runs j, where the client of its allocation goes on; NULL: none does.
     * One service has this hook.  Borrowed. */
    const Pst__AcctClusterRecord *(*runner)(struct ctld *ctld, const struct job *j);

    /* ---- the life of a job: after the event was committed and applied ----
     *
     * All may commit, thus end or purge other jobs and, as j->rec shows, change j.  lsn is that of
     * the commit: an answer that tells of it waits for this. */

    /* The exception: the transaction tx is about to end j, add to it.  May not commit. */
    void (*job_ending)(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                       const struct job_end *end);
    /* Another exception: the transaction tx says that nothing of j runs any more.  Add the ends of
     * what j still runs by the records, with this wait(2) status.  May not commit. */
    void (*job_closing)(struct ctld *ctld, Pst__Transaction *tx, struct job *j, uint32_t status);
    /* j has its resources.  With prologs it still waits for them. */
    void (*job_started)(struct ctld *ctld, struct job *j, uint64_t lsn);
    /* Prologs that j waited for are over: it may have been launched now. */
    void (*job_ready)(struct ctld *ctld, struct job *j, uint64_t lsn);
    /* Another node is ready for j: the clients that wait for j are told. */
    void (*job_progress)(struct ctld *ctld, struct job *j, uint64_t lsn);
    /* The client that waited for the start of j has given it up; at_once: it would not wait. */
    void (*job_given_up)(struct ctld *ctld, struct job *j, bool at_once);
    /* A step of j ended on its last node, with this status. */
    void (*step_ended)(struct ctld *ctld, struct job *j, uint32_t status);
    /* PrologSlurmctld of j, which still waits for it, is over and did well; or did not.  Its
     * EpilogSlurmctld is over. */
    void (*site_prolog_over)(struct ctld *ctld, struct job *j, bool well);
    void (*site_epilog_over)(struct ctld *ctld, struct job *j);
    /* j was suspended or, unless `suspended`, is to run again (where jobs take turns, it has none
     * yet); `preempted`: preemption had suspended it. */
    void (*job_suspended)(struct ctld *ctld, struct job *j, bool suspended, bool preempted);
    /* What the running j holds became less. */
    void (*job_resized)(struct ctld *ctld, struct job *j);
    /* A suspended job runs again. */
    void (*job_resumed)(struct ctld *ctld, struct job *j);
    /* j ended; its nodes may still clean up, and it may be about to be queued again. */
    void (*job_ended)(struct ctld *ctld, struct job *j, uint64_t lsn);
    /* The nodes of j are clean, and it is queued again or COMPLETING no more. */
    void (*job_cleaned)(struct ctld *ctld, struct job *j);
    /* Nothing of j is left on any node, and it is not queued again. */
    void (*job_over)(struct ctld *ctld, struct job *j);
    /* Tasks of an array became the record j. */
    void (*job_split)(struct ctld *ctld, struct job *j);
    /* Of j something changed that others may wait for: tasks were cancelled. */
    void (*job_changed)(struct ctld *ctld, struct job *j);
};

#define SERVICE_TICK_US 500000 /* between two ticks */
#define SERVICE_SLOW_TICKS 20  /* that is 10 seconds */

/* The row of an operation, NULL: not an operation of the controller.  Any thread, after
 * services_start(). */
const struct ctld_op *service_op(const struct ctld *ctld, unsigned op);

/* Call a hook of all services that have it; as described above.  start, open and observe end
 * with the first failure and give it. */
int services_check(struct ctld *ctld, const struct conf *conf, struct err *err);
int services_start(struct ctld *ctld, struct err *err);
int services_open(struct ctld *ctld, struct err *err);
int services_observe(struct ctld *ctld, struct err *err);
void services_observed(struct ctld *ctld);
void services_recovered(struct ctld *ctld);
void services_reconfigured(struct ctld *ctld);
void services_quiesce(struct ctld *ctld);
void services_stop(struct ctld *ctld);
void services_free(struct ctld *ctld);

/* One tick: of each service those of its three ticks that are due. */
void services_tick(struct ctld *ctld);
void services_batch_end(struct ctld *ctld);

void services_on_job(struct ctld *ctld, struct job *j, Pst__EventKind kind);
void services_on_job_gone(struct ctld *ctld, struct job *j);
void services_on_step(struct ctld *ctld, struct job *j, struct step *s, Pst__EventKind kind);
void services_on_node(struct ctld *ctld, struct node *n, Pst__EventKind kind);
void services_on_node_gone(struct ctld *ctld, struct node *n);
void services_on_part(struct ctld *ctld, struct partition *p, Pst__EventKind kind);
void services_on_part_gone(struct ctld *ctld, struct partition *p);
void services_on_kept(struct ctld *ctld, struct kept *k);
void services_on_kept_gone(struct ctld *ctld, struct kept *k);

void services_note(struct ctld *ctld, const Pst__Transaction *tx, struct strbuf *notes);
void services_durable(struct ctld *ctld, uint64_t lsn);
uint64_t services_keep(struct ctld *ctld); /* the least of what they keep */

void services_on_conn_gone(struct ctld *ctld, struct conn *conn);
bool services_knows_node(struct ctld *ctld, const uint8_t *key);
int services_launch_key(struct ctld *ctld, const struct node *n, const uint8_t *mac,
                        uint8_t *ret_key);
bool services_may_vouch(struct ctld *ctld, const uint8_t *key, uid_t uid, gid_t *ret_gid);
void services_on_http(struct ctld *ctld, int fd, const char *head, size_t n); /* takes fd */
void services_on_standby(struct ctld *ctld, struct conn *conn, const struct frame *frame);
void services_on_conn_closed(struct ctld *ctld, struct conn *conn);
void services_on_node_unlinked(struct ctld *ctld, struct node *n);
void services_acct_changed(struct ctld *ctld);
void services_answered(struct ctld *ctld, unsigned op, uid_t uid, int64_t elapsed_us);
void services_on_decisions(struct ctld *ctld, struct decisions_msg *m); /* takes m */
bool services_may_start(struct ctld *ctld, const struct job *j);
const Pst__AcctClusterRecord *services_runner(struct ctld *ctld, const struct job *j);

/* Where a job may have left the cluster after an earlier service's commit, the rest is not
 * called. */
void services_job_ending(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
                         const struct job_end *end);
void services_job_closing(struct ctld *ctld, Pst__Transaction *tx, struct job *j, uint32_t status);
void services_job_started(struct ctld *ctld, struct job *j, uint64_t lsn);
void services_job_ready(struct ctld *ctld, struct job *j, uint64_t lsn);
void services_job_progress(struct ctld *ctld, struct job *j, uint64_t lsn);
void services_job_given_up(struct ctld *ctld, struct job *j, bool at_once);
void services_step_ended(struct ctld *ctld, struct job *j, uint32_t status);
void services_site_prolog_over(struct ctld *ctld, struct job *j, bool well);
void services_site_epilog_over(struct ctld *ctld, struct job *j);
void services_job_suspended(struct ctld *ctld, struct job *j, bool suspended, bool preempted);
void services_job_resized(struct ctld *ctld, struct job *j);
void services_job_resumed(struct ctld *ctld, struct job *j);
void services_job_ended(struct ctld *ctld, struct job *j, uint64_t lsn);
void services_job_cleaned(struct ctld *ctld, struct job *j);
void services_job_over(struct ctld *ctld, struct job *j);
void services_job_split(struct ctld *ctld, struct job *j);
void services_job_changed(struct ctld *ctld, struct job *j);
