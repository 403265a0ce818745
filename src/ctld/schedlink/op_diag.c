/* op_diag.c - ops ping and query-diag: is the controller there, and what has it done (sdiag) */
#include <unistd.h>

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "ctld/acct/acctthread.h"
#include "ctld/core/effects.h"
#include "ctld/core/service.h"
#include "ctld/front/diag.h"
#include "ctld/front/front.h"
#include "ctld/front/userstat.h"
#include "ctld/front/view.h"
#include "ctld/policy/policy.h"
#include "ctld/schedlink/schedthread.h"
#include "etcd/etcdlog.h"
#include "journal/reign.h"
#include "stream/streamlog.h"

static void op_ping(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__PingRequest *req = PB_AS(ping_request, cmd->msg);
    Pst__PingReply r = PST__PING_REPLY__INIT;

    if (ctld->term)
        SET(&r, term, ctld->term);
    r.host = ctld->host;
    r.mode = (char *)"primary"; /* not changed by packing */
    SET(&r, now_us, core_now());
    SET(&r, boot_us, ctld->boot_us);
    SET(&r, pid, (uint32_t)getpid());
    SET(&r, lsn, ctld->applied_lsn);
    if (req->has_want_hash && req->want_hash && cmd_is_admin(ctld, cmd))
        SET(&r, state_hash, cluster_hash(ctld->cluster));
    /* of what is on disk */
    core_reply(ctld, cmd, r.has_state_hash ? ctld->applied_lsn : 0, 0, &r.base);
}

static void fill_sched(Pst__DiagReply *r, const struct sched_stats *s)
{
    SET(r, cycle_last_us, s->cycle_last_us);
    SET(r, cycle_max_us, s->cycle_max_us);
    SET(r, cycle_total_us, s->cycle_total_us);
    SET(r, cycles, s->cycles);
    SET(r, cycle_depth_total, s->depth_total);
    SET(r, queue_len, s->queue_len);
    SET(r, bf_started, s->bf_started_ever);
    SET(r, bf_started_cycle, s->bf_started);
    SET(r, bf_het_started, s->bf_het_ever);
    SET(r, bf_active, s->bf_active);
    SET(r, bf_queue_len, s->bf_queue_len);
    SET(r, bf_queue_total, s->bf_queue_total);
    SET(r, exits_depth, s->exits[SCHED_EXIT_DEPTH]);
    SET(r, exits_starts, s->exits[SCHED_EXIT_STARTS]);
    SET(r, bf_exits_depth, s->bf_exits[SCHED_EXIT_DEPTH]);
    SET(r, bf_exits_starts, s->bf_exits[SCHED_EXIT_STARTS]);
    SET(r, bf_cycles, s->bf_cycles);
    SET(r, bf_last_us, s->bf_last_us);
    SET(r, bf_max_us, s->bf_max_us);
    SET(r, bf_total_us, s->bf_total_us);
    SET(r, bf_when_us, s->bf_when_us);
    SET(r, bf_depth, s->bf_depth);
    SET(r, bf_depth_total, s->bf_depth_total);
}

static void fill_jobs(const struct ctld *ctld, Pst__DiagReply *r)
{
    const Pst__ClusterRecord *c = ctld->cluster->rec;
    const struct stats *s = &ctld->stats;

    SET(r, jobs_submitted, c->jobs_submitted - s->base_submitted);
    SET(r, jobs_started, c->jobs_started - s->base_started);
    SET(r, jobs_completed, c->jobs_completed - s->base_completed);
    SET(r, jobs_cancelled, c->jobs_cancelled - s->base_cancelled);
    SET(r, jobs_failed, c->jobs_failed - s->base_failed);
    SET(r, jobs_pending, cluster_count(ctld->cluster, JOB_STATE(PENDING)));
    SET(r, jobs_running, cluster_count(ctld->cluster, JOB_STATE(RUNNING)));
}

static void fill_blocks(Pst__DiagReply *r, const struct sched_stats *s)
{
    if (!s->block_samples)
        return;
    SET(r, block_score, s->blocks.score);
    SET(r, block_score_max, s->block_score_max);
    SET(r, block_score_total, s->block_score_total);
    SET(r, block_samples, s->block_samples);
    SET(r, blocks, s->blocks.blocks);
    SET(r, blocks_whole, s->blocks.whole);
}

static void stats_reset(struct ctld *ctld)
{
    const Pst__ClusterRecord *c = ctld->cluster->rec;

    ctld->stats = (struct stats){ .since_us = core_now(),
                                  .base_submitted = c->jobs_submitted,
                                  .base_started = c->jobs_started,
                                  .base_completed = c->jobs_completed,
                                  .base_cancelled = c->jobs_cancelled,
                                  .base_failed = c->jobs_failed };
}

/* Only where the site keeps spare nodes. */
static void fill_spares(const struct ctld *ctld, const struct sched_stats *s, Pst__DiagReply *r)
{
    uint64_t wanted = 0;

    if (!conf_option_u64(ctld->conf, CONF_SCHEDULER_PARAMETERS, "expedite_spares", &wanted) ||
        !wanted)
        return;
    SET(r, spare_nodes, (uint32_t)wanted);
    SET(r, spares_idle, s->spares);
}

/* The log in etcd. */
static void fill_remote(const struct ctld *ctld, Pst__DiagReply *r)
{
    struct etcdlog_stats s;

    etcdlog_get_stats(ctld->etcdlog, &s);
    r->journal_type = (char *)"etcd"; /* not changed by packing */
    SET(r, remote_errors, s.errors);
    SET(r, remote_snapshot_lsn, s.snapshot_lsn);
    SET(r, remote_snapshot_bytes, s.snapshot_bytes);
    SET(r, remote_log_bytes, s.log_bytes);
}

void diag_fill(struct ctld *ctld, bool reset, Pst__DiagReply *r)
{
    struct sched_stats sched;
    struct journal_stats journal;

    schedthread_stats(ctld->sched, &sched, reset);
    journal_get_stats(ctld->journal, &journal);
    SET(r, now_us, core_now());
    SET(r, since_us, ctld->stats.since_us);
    SET(r, server_threads, server_connections(ctld->front->server));
    SET(r, agent_queue, (uint32_t)effects_pending(ctld->effects));
    fill_jobs(ctld, r);
    fill_sched(r, &sched);
    fill_spares(ctld, &sched, r);
    fill_blocks(r, &sched);
    SET(r, journal_syncs, journal.syncs);
    SET(r, journal_bytes, journal.bytes);
    SET(r, journal_last_sync_us, journal.last_sync_us);
    SET(r, core_worst_stall_us, ctld->stats.worst_stall_us);
    SET(r, views_published, views_published(ctld->views));
    SET(r, connections, server_connections(ctld->front->server));
    if (ctld->reign) {
        SET(r, term, ctld->term);
        SET(r, lease_left_ms, (uint64_t)MAX(reign_left_us(ctld->reign), INT64_C(0)) / 1000);
        SET(r, takeover_us, ctld->takeover_us);
    }
    if (ctld->etcdlog)
        fill_remote(ctld, r);
    acctthread_stats(ctld->acct, r, reset);
    if (ctld->acct)
        SET(r, acct_lag, journal_durable(ctld->journal) - acctthread_cursor(ctld->acct));
}

/* Those that the log is sent to. */
struct stream_told {
    struct streamlog_stats stats;
    Pst__StreamPeer peers[PACT_SET_MAX], *list[PACT_SET_MAX];
};

static void fill_stream(const struct ctld *ctld, struct stream_told *t, Pst__DiagReply *r)
{
    streamlog_get_stats(ctld->streamlog, &t->stats);
    r->journal_type = (char *)"stream"; /* not changed by packing */
    SET(r, remote_errors, t->stats.witness_errors);
    SET(r, witness_answers, t->stats.witness_answers);
    SET(r, aside, t->stats.aside.folders);
    SET(r, aside_bytes, t->stats.aside.bytes);
    for (size_t i = 0; i < t->stats.n; i++) {
        struct streamlog_peer *from = &t->stats.peers[i];
        Pst__StreamPeer *p = &t->peers[i];

        pst__stream_peer__init(p);
        p->host = from->host;
        SET(p, in_sync, from->in_sync);
        SET(p, follows, from->follows);
        SET(p, lag_bytes, from->lag_bytes);
        SET(p, lag_us, from->lag_us);
        SET(p, aside, from->aside.folders);
        SET(p, aside_bytes, from->aside.bytes);
        if (!from->follows && from->why[0])
            p->why = from->why;
        t->list[i] = p;
    }
    r->n_stream_peers = t->stats.n;
    r->stream_peers = t->list;
}

static void op_query_diag(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__DiagRequest *req = PB_AS(diag_request, cmd->msg);
    bool reset = req->has_reset && req->reset;
    Pst__DiagReply r = PST__DIAG_REPLY__INIT;
    Pst__RpcStat stats[OP_MAX_], *list[OP_MAX_];
    _cleanup_free_ Pst__UserStat **users = NULL;
    struct stream_told told;
    ssize_t n_users;

    if (reset && !policy_is_operator(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    n_users = userstat_fill(ctld->front->userstat, &users, reset);
    if (n_users < 0) {
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    diag_fill(ctld, reset, &r);
    if (ctld->streamlog)
        fill_stream(ctld, &told, &r);
    r.n_rpcs = rpc_fill(ctld->front->rpcs, stats, list, reset);
    r.rpcs = list;
    r.n_users = (size_t)n_users;
    r.users = users;
    core_reply(ctld, cmd, 0, 0, &r.base);
    if (reset)
        stats_reset(ctld);
}

static const struct ctld_op diagops_ops[] = {
    { OP_PING, .fn = op_ping },
    { OP_QUERY_DIAG, .fn = op_query_diag },
    { 0 },
};

const struct ctld_service diagops_service = { .name = "diagops", .ops = diagops_ops };
