/* ownmetrics.c - the page of what only we tell: how long things take, and how far behind who is */
#include "ctld/web/ownmetrics.h"

#include "ctld/web/exposition.h"
#include "ctld/web/startwaits.h"

static void put_histogram(struct strbuf *sb, const char *name, const char *help,
                          const struct histogram *h)
{
    exposition_family(sb, name, "", "histogram", help);
    exposition_histogram(sb, name, NULL, NULL, h);
}

static void put_waits(void *ctx, const char *partition, const struct histogram *h)
{
    exposition_histogram(ctx, "penstock_job_wait_seconds", "partition", partition, h);
}

void ownmetrics_write(const struct own_figures *f, struct strbuf *sb)
{
    const Pst__DiagReply *r = f->diag;

    put_histogram(sb, "penstock_journal_sync_seconds",
                  "How long a write of the log to the disk took", f->sync);
    put_histogram(sb, "penstock_core_batch_seconds",
                  "How long the core was busy with one batch of requests", f->batch);
    put_histogram(sb, "penstock_scheduler_pass_seconds", "How long a pass of the scheduler took",
                  f->pass);
    put_histogram(sb, "penstock_scheduler_plan_seconds", "How long a plan of the scheduler took",
                  f->plan);
    exposition_family(sb, "penstock_job_wait_seconds", "", "histogram",
                      "How long jobs waited for their start since they could");
    startwaits_each(f->waits, put_waits, sb);
    exposition_gauge(sb, "penstock_journal_bytes", "Bytes written to the log", r->journal_bytes);
    exposition_gauge(sb, "penstock_journal_syncs", "Writes of the log to the disk",
                     r->journal_syncs);
    exposition_gauge(sb, "penstock_journal_records",
                     "Records written to the log; by penstock_journal_syncs: the size of a batch",
                     f->journal_records);
    exposition_gauge(sb, "penstock_views_published", "Views made for queries", r->views_published);
    exposition_gauge(sb, "penstock_view_age_milliseconds", "Age of the newest view",
                     f->view_age_us / 1000);
    exposition_gauge(sb, "penstock_connections", "Connections to the controller", r->connections);
    exposition_gauge(sb, "penstock_accounting_lag_records",
                     "Records of the log that accounting has yet to take", r->acct_lag);
    if (f->has_jobcomp)
        exposition_gauge(sb, "penstock_jobcomp_lag_records",
                         "Records of the log that job completion (JobCompType) has yet to take",
                         f->jobcomp_lag);
    if (r->has_block_score) {
        exposition_gauge(sb, "penstock_topology_fragmentation",
                         "Sizes of blocks that no job could have whole, and their nodes in use",
                         r->block_score);
        exposition_gauge(sb, "penstock_topology_blocks", "Base blocks of the first topology",
                         r->blocks);
        exposition_gauge(sb, "penstock_topology_blocks_whole",
                         "Base blocks that a job could have whole", r->blocks_whole);
    }
    if (r->has_term) {
        exposition_gauge(sb, "penstock_term", "The term in which this controller is active",
                         r->term);
        exposition_gauge(sb, "penstock_lease_left_milliseconds",
                         "How long its lease holds if it is not renewed", r->lease_left_ms);
        exposition_gauge(sb, "penstock_takeover_microseconds",
                         "How long it took to come into control once that was free",
                         r->takeover_us);
    }
    if (r->journal_type) {
        exposition_gauge(sb, "penstock_etcd_errors_total",
                         "Tries to write the log to etcd that failed", r->remote_errors);
        exposition_gauge(sb, "penstock_etcd_snapshot_bytes",
                         "Size of the newest snapshot that this controller put into etcd",
                         r->remote_snapshot_bytes);
        exposition_gauge(sb, "penstock_etcd_log_bytes", "The log put into etcd since that snapshot",
                         r->remote_log_bytes);
    }
    if (f->stream.sends) {
        exposition_gauge(sb, "penstock_stream_witness_answers", "Does the witness answer?",
                         f->stream.witness_answers);
        exposition_gauge(sb, "penstock_stream_followers", "Controllers that follow this one's log",
                         f->stream.followers);
        exposition_gauge(sb, "penstock_stream_in_sync",
                         "Of them those that have everything that was acknowledged",
                         f->stream.in_sync);
        exposition_gauge(sb, "penstock_stream_lag_bytes",
                         "What the slowest that follows has yet to take of the log",
                         f->stream.lag_bytes);
        exposition_gauge(sb, "penstock_stream_lag_microseconds",
                         "Since when it has not had everything", f->stream.lag_us);
    }
    exposition_gauge(sb, "penstock_watchers", "Connections that follow changes", f->watchers);
    exposition_gauge(sb, "penstock_watch_lag_records",
                     "Records of the log that the slowest watcher has yet to take", f->watch_lag);
}
