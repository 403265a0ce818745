/* boot.c - bringing the controller's parts up in order, and down again; see boot.h. */
#include "ctld/core/boot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/daemonize.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/acct/acctsync.h"
#include "ctld/acct/acctadmin.h"
#include "ctld/acct/acctfollow.h"
#include "ctld/acct/acctthread.h"
#include "ctld/front/asking.h"
#include "ctld/job/depends.h"
#include "ctld/core/effects.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/job/licenses.h"
#include "ctld/resv/resv.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/front/front.h"
#include "ctld/notify/jobcomp.h"
#include "ctld/job/jobsubmit.h"
#include "ctld/job/lifecycle.h"
#include "ctld/schedlink/minutes.h"
#include "ctld/core/observe.h"
#include "ctld/notify/programs.h"
#include "ctld/core/reconfig.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/acct/shares.h"
#include "ctld/core/statesnapshot.h"
#include "ctld/step/steps.h"
#include "ctld/job/cronjobs.h"
#include "ctld/notify/triggers.h"
#include "ctld/front/view.h"
#include "ctld/core/wait.h"
#include "ctld/watch/watch.h"

#define DISK_RESERVE (32u << 20)

void boot_host_name(struct ctld *ctld)
{
    if (gethostname(ctld->host, sizeof(ctld->host) - 1) < 0)
        (void)snprintf(ctld->host, sizeof(ctld->host), "localhost");
    ctld->host[strcspn(ctld->host, ".")] = '\0';
}

/* ---- journal --------------------------------------------------------------------------------- */

static void on_durable(void *arg, uint64_t lsn)
{
    struct ctld *ctld = arg;

    /* Accounting first: who has his answer may ask it at once. */
    if (ctld->acct)
        acctthread_durable(ctld->acct, lsn);
    effects_release(ctld->effects, lsn);
    acctsync_durable(ctld, lsn);
    programs_release(ctld->programs, lsn);
    if (ctld->watch)
        watch_durable(ctld->watch, lsn);
    jobcomp_durable(ctld->jobcomp, lsn);
}

static void on_full(void *arg, bool full, int error)
{
    struct ctld *ctld = arg;

    atomic_store(&ctld->disk_full, full);
    if (full)
        log_error("the journal cannot grow: %s: new work is refused, nothing accepted is lost",
                  strerror(error));
    else
        log_info("the journal can grow again: new work is accepted");
}

struct replay {
    struct ctld *ctld;
    struct err err;
    uint64_t records;
};

static int on_record(void *arg, uint64_t lsn, bool snapshot, const uint8_t *data, size_t len)
{
    struct replay *rp = arg;
    Pst__Transaction *tx = pst__transaction__unpack(NULL, len, data);
    int r;

    (void)snapshot;
    if (!tx)
        return err_set(&rp->err, -EUCLEAN, "lsn %llu: the record cannot be decoded",
                       (unsigned long long)lsn);
    r = cluster_apply(rp->ctld->cluster, tx, &rp->err);
    pst__transaction__free_unpacked(tx, NULL);
    if (r < 0)
        err_prefix(&rp->err, "lsn %llu", (unsigned long long)lsn);
    rp->ctld->applied_lsn = lsn;
    rp->records++;
    return r;
}

static void report_line(void *arg, const char *line)
{
    (void)arg;
    log_info("%s", line);
}

static int recover(struct ctld *ctld, bool repair, struct err *err)
{
    struct replay rp = { .ctld = ctld };
    struct journal_config config = { .dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION),
                                     .reserve_bytes = DISK_RESERVE,
                                     .on_durable = on_durable,
                                     .on_full = on_full,
                                     .ctx = ctld };
    int64_t t0 = now_mono_us();
    int r = 0;

    if (repair)
        r = journal_repair(config.dir, report_line, NULL, err);
    if (r == -ENOENT)
        r = 0; /* nothing there yet, so nothing to repair */
    if (r >= 0)
        r = journal_open(&config, on_record, &rp, &ctld->journal, err);
    if (r < 0 && rp.err.text[0])
        err_set(err, r, "the journal does not replay: %s", rp.err.text);
    if (r < 0)
        return r;
    ctld->applied_lsn = journal_last(ctld->journal);
    log_info("recovered %llu records, %zu jobs, lsn %llu, in %lld ms",
             (unsigned long long)rp.records, ctld->cluster->jobs.count,
             (unsigned long long)ctld->applied_lsn, (long long)(now_mono_us() - t0) / 1000);
    return journal_start(ctld->journal);
}

/* -c: the state is empty from here on; the log keeps what was. */
static int forget(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct cluster *c = ctld->cluster;
    void *v;

    for (size_t pos = 0; (v = idmap_next(&c->jobs, &pos));)
        tx_job_purge(tx, ((struct job *)v)->rec->job_id);
    for (size_t i = 0; i < c->nparts; i++)
        tx_part_remove(tx, c->parts[i]->rec->name);
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i])
            tx_node_remove(tx, i);
    SET(tx_cluster(tx), next_job_id, (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID));
    return core_commit(ctld, tx) ? 0 : -ENOSPC;
}

static int count_boot(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__ClusterRecord *set = tx_cluster(tx);

    SET(set, boots, ctld->cluster->rec->boots + 1);
    SET(set, booted_us, ctld->boot_us);
    return core_commit(ctld, tx) ? 0 : -ENOSPC;
}

static int start_accounting(struct ctld *ctld, struct err *err)
{
    const char *dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION);
    const char *type = conf_str(ctld->conf, CONF_ACCOUNTING_STORAGE_TYPE);
    struct strbuf db = STRBUF_INIT;
    int r;

    if (type && strcmp(type, "accounting_storage/none") == 0)
        return 0;
    strbuf_addf(&db, "%s/accounting.sqlite", dir);
    r = acctthread_start(
        ctld, type && strcmp(type, "accounting_storage/slurmdbd") == 0 ? NULL : strbuf_str(&db),
        dir, &ctld->acct, err);
    if (r >= 0 && !(type && strcmp(type, "accounting_storage/slurmdbd") == 0))
        r = acctadmin_start(ctld, strbuf_str(&db), &ctld->acct_admin, err);
    else if (r >= 0)
        r = acctfollow_start(ctld, &ctld->acct_follow, err);
    strbuf_done(&db);
    if (r >= 0)
        acctthread_durable(ctld->acct, journal_durable(ctld->journal));
    return r;
}

int boot_all(struct ctld *ctld, bool clear, bool repair, struct err *err)
{
    int r = cluster_new(&ctld->cluster);

    ctld->boot_us = core_now();
    if (r >= 0)
        r = effects_new(&ctld->effects);
    if (r >= 0)
        r = core_queue_new(&ctld->queue);
    if (r >= 0)
        r = asking_new(&ctld->asking);
    if (r >= 0)
        r = views_new(&ctld->views);
    if (r >= 0)
        r = feasible_new(&ctld->feasible);
    if (r >= 0)
        r = programs_new(ctld, &ctld->programs);
    if (r >= 0)
        r = resvs_new(&ctld->resvs);
    if (r < 0)
        return err_set(err, r, "out of memory");
    r = jobsubmit_check(ctld->conf, err);
    if (r >= 0)
        r = front_new(ctld, &ctld->front, err);
    if (r < 0)
        return r;
    r = recover(ctld, repair, err);
    if (r < 0)
        return r;
    licenses_refresh(ctld);
    r = start_accounting(ctld, err); /* before anything is committed: the writer thread tells it */
    if (r >= 0)
        r = jobcomp_start(ctld, &ctld->jobcomp, err);
    if (r >= 0)
        r = watch_new(ctld, &ctld->watch);
    if (r < 0)
        return r;
    if (clear)
        r = forget(ctld);
    observe_init(ctld);
    if (r >= 0)
        r = schedthread_start(ctld, &ctld->sched);
    if (r >= 0) {
        observe_all(ctld);
        r = reconfig_sync(ctld);
    }
    if (r >= 0)
        r = count_boot(ctld);
    if (r < 0)
        return err_set(err, r, "cannot start: %s", strerror(-r));
    shares_configure(ctld);
    lifecycle_recover(ctld);
    cron_recover(ctld);
    resv_recover(ctld);
    triggers_booted(ctld);
    feed_qos(ctld);
    schedfeed_flush(ctld);
    journal_commit(ctld->journal);
    ctld->stats.since_us = ctld->boot_us;
    ctld->stats.base_submitted = ctld->cluster->rec->jobs_submitted;
    ctld->stats.base_started = ctld->cluster->rec->jobs_started;
    ctld->stats.base_completed = ctld->cluster->rec->jobs_completed;
    ctld->stats.base_cancelled = ctld->cluster->rec->jobs_cancelled;
    ctld->stats.base_failed = ctld->cluster->rec->jobs_failed;
    return 0;
}

/* ---- pid file, end --------------------------------------------------------------------------- */

int boot_pid_file(struct ctld *ctld, bool make)
{
    _cleanup_free_ char *path = NULL;

    if (conf_expand_path(conf_str(ctld->conf, CONF_SLURMCTLD_PID_FILE), NULL, ctld->host, &path) <
        0)
        return -ENOMEM;
    if (make)
        daemonize_pid_file(path);
    else
        (void)unlink(path); /* may never have been made */
    return 0;
}

static void release_nodes(struct ctld *ctld)
{
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
        if (ctld->cluster->nodes[i] && ctld->cluster->nodes[i]->link)
            ctld->cluster->nodes[i]->link = conn_unref(ctld->cluster->nodes[i]->link);
}

void boot_end(struct ctld *ctld)
{
    if (!ctld)
        return;
    snapshot_join(ctld);
    ctld->sched = schedthread_stop(ctld->sched);
    watch_quiesce(ctld->watch);
    if (ctld->journal)
        ctld->journal = journal_close(ctld->journal); /* syncs; the last answers leave */
    if (ctld->front && ctld->front->server)
        server_stop(ctld->front->server);
    ctld->acct_admin = acctadmin_stop(ctld->acct_admin);
    ctld->acct_follow = acctfollow_stop(ctld->acct_follow);
    acctsync_end(ctld);
    ctld->acct = acctthread_stop(ctld->acct);
    ctld->jobcomp = jobcomp_stop(ctld->jobcomp);
    ctld->programs = programs_free(ctld->programs);
    ctld->watch = watch_stop(ctld->watch);
    if (ctld->cluster) {
        wait_clear(ctld);
        steps_clear(ctld);
        triggers_clear();
        jobsubmit_lua_forget();
        licenses_forget(ctld);
        minutes_clear();
        release_nodes(ctld);
    }
    depends_clear(ctld);
    free(ctld->refused_full.ids);
    free(ctld->pass_notes);
    ctld->queue = core_queue_free(ctld->queue);
    ctld->effects = effects_free(ctld->effects);
    ctld->front = front_free(ctld->front);
    ctld->asking = asking_free(ctld->asking);
    ctld->views = views_free(ctld->views);
    if (ctld->cluster)
        ctld->cluster->observer = NULL;
    ctld->cluster = cluster_free(ctld->cluster);
    ctld->feasible = feasible_free(ctld->feasible);
    ctld->resvs = resvs_free(ctld->resvs);
    idmap_done(&ctld->links);
    ctld->keys = auth_keys_free(ctld->keys);
    if (ctld->conf) {
        (void)boot_pid_file(ctld, false);
        conf_free(ctld->conf);
    }
    free(ctld->conf_path);
    free(ctld);
}
