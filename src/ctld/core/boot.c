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
#include "base/process/daemonize.h"
#include "base/log.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"
#include "ctld/core/corequeue.h"
#include "ctld/core/effects.h"
#include "ctld/core/observe.h"
#include "ctld/core/reconfig.h"
#include "ctld/core/logreplay.h"
#include "ctld/core/rights.h"
#include "ctld/core/service.h"
#include "etcd/etcdlog.h"
#include "journal/reign.h"
#include "stream/streamlog.h"
#include "wire/auth/idkey.h"

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
    services_durable(arg, lsn);
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

static bool still_ours(void *arg)
{
    const struct ctld *ctld = arg;

    return reign_holds(ctld->reign);
}

static const struct journal_remote *remote_of(const struct ctld *ctld)
{
    if (ctld->streamlog)
        return streamlog_remote(ctld->streamlog);
    return ctld->etcdlog ? etcdlog_remote(ctld->etcdlog) : NULL;
}

static void report_line(void *arg, const char *line)
{
    (void)arg;
    log_info("%s", line);
}

/* The log; a standby has the beginning already, unless that was let go since. */
static int open_journal(struct ctld *ctld, const struct journal_config *base, uint64_t *ret_records,
                        struct err *err)
{
    struct journal_config config = *base;
    int r;

    config.known_lsn = ctld->known_lsn;
    r = logreplay_open(&config, ctld->cluster, &ctld->journal, ret_records, err);
    if (r != -ENOENT || !config.known_lsn)
        return r;
    log_info("%s: reading everything", err->text);
    err->text[0] = '\0';
    ctld->cluster = cluster_free(ctld->cluster);
    r = cluster_new(&ctld->cluster);
    config.known_lsn = 0;
    if (r < 0)
        return err_nomem(err);
    return logreplay_open(&config, ctld->cluster, &ctld->journal, ret_records, err);
}

static int recover_state(struct ctld *ctld, bool repair, struct err *err)
{
    struct journal_config config = { .dir = conf_str(ctld->conf, CONF_STATE_SAVE_LOCATION),
                                     .reserve_bytes = DISK_RESERVE,
                                     .on_durable = on_durable,
                                     .on_full = on_full,
                                     .remote = remote_of(ctld),
                                     .still_ours = ctld->reign ? still_ours : NULL,
                                     .term = ctld->term,
                                     .ctx = ctld };
    int64_t t0 = now_mono_us();
    uint64_t records = 0;
    int r = 0;

    if (repair && config.remote)
        log_info("-i does nothing: the log is %s",
                 ctld->etcdlog ? "in etcd, and the folder has a copy of it"
                               : "also with other controllers; one that is damaged is copied");
    else if (repair)
        r = journal_repair(config.dir, report_line, NULL, err);
    if (r == -ENOENT)
        r = 0; /* nothing there yet, so nothing to repair */
    if (r >= 0)
        r = open_journal(ctld, &config, &records, err);
    if (r < 0)
        return r;
    ctld->applied_lsn = journal_last(ctld->journal);
    log_info("recovered %llu records, %zu jobs, lsn %llu, in %lld ms", (unsigned long long)records,
             ctld->cluster->jobs.count, (unsigned long long)ctld->applied_lsn,
             (long long)(now_mono_us() - t0) / 1000);
    if (ctld->streamlog)
        r = streamlog_start(ctld->streamlog, journal_last(ctld->journal), err);
    return r < 0 ? r : journal_start(ctld->journal);
}

/* -c: the state is empty from here on; the log keeps what was. */
static int forget_state(struct ctld *ctld)
{
    Pst__Transaction *tx = tx_new(core_now());
    struct cluster *c = ctld->cluster;
    void *v;

    for (size_t pos = 0; (v = cluster_next_job(c, &pos));)
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

/* Figures are told since this start. */
static void begin_stats(struct ctld *ctld)
{
    const Pst__ClusterRecord *now = ctld->cluster->rec;

    ctld->stats.since_us = ctld->boot_us;
    ctld->stats.base_submitted = now->jobs_submitted;
    ctld->stats.base_started = now->jobs_started;
    ctld->stats.base_completed = now->jobs_completed;
    ctld->stats.base_cancelled = now->jobs_cancelled;
    ctld->stats.base_failed = now->jobs_failed;
}

static int make_core(struct ctld *ctld, struct err *err)
{
    int r = cluster_new(&ctld->cluster);

    if (r >= 0)
        r = effects_new(&ctld->effects);
    if (r >= 0)
        r = core_queue_new(&ctld->queue);
    return r < 0 ? err_nomem(err) : 0;
}

int boot_prepare(struct ctld *ctld, struct err *err)
{
    int r = make_core(ctld, err);

    ctld->boot_us = core_now();
    core_learn_admin(ctld);
    if (r >= 0)
        r = services_check(ctld, ctld->conf, err);
    return r >= 0 ? services_start(ctld, err) : r;
}

int boot_lead(struct ctld *ctld, bool clear, bool repair, struct err *err)
{
    int64_t read_mono_us, told_mono_us;
    int r;

    effects_guard(ctld->effects, ctld->reign);
    r = recover_state(ctld, repair, err);
    read_mono_us = now_mono_us();
    ctld->boot_us = core_now();
    if (r >= 0) /* before anything is committed: they follow the journal */
        r = services_open(ctld, err);
    if (r < 0)
        return r;
    if (clear)
        r = forget_state(ctld);
    observe_init(ctld);
    if (r >= 0)
        r = services_observe(ctld, err);
    if (r >= 0) {
        observe_all(ctld);
        r = reconfig_sync(ctld, false);
    }
    if (r >= 0)
        r = count_boot(ctld);
    if (r < 0)
        return err && err->text[0] ? r : err_set(err, r, "cannot start: %s", strerror(-r));
    told_mono_us = now_mono_us();
    services_recovered(ctld);
    observe_forget_special(ctld);
    services_batch_end(ctld);
    journal_commit(ctld->journal);
    begin_stats(ctld);
    log_info("all services were told of it in %lld ms and picked up in %lld ms",
             (long long)(told_mono_us - read_mono_us) / 1000,
             (long long)(now_mono_us() - told_mono_us) / 1000);
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
        daemonize_pid_remove(path); /* may never have been made */
    return 0;
}

void boot_end(struct ctld *ctld)
{
    if (!ctld)
        return;
    if (ctld->cluster)
        services_quiesce(ctld);
    if (ctld->journal)
        ctld->journal = journal_close(ctld->journal); /* syncs; the last answers leave */
    if (ctld->cluster)
        services_stop(ctld);
    ctld->queue = core_queue_free(ctld->queue);
    ctld->effects = effects_free(ctld->effects);
    if (ctld->cluster) {
        services_free(ctld);
        ctld->cluster->observer = NULL;
    }
    observe_forget_special(ctld);
    ctld->cluster = cluster_free(ctld->cluster);
    ctld->keys = auth_keys_free(ctld->keys);
    ctld->tokens = auth_tokens_free(ctld->tokens);
    ctld->identity = idkey_free(ctld->identity);
    ctld->tls = tls_ctx_unref(ctld->tls);
    if (ctld->conf) {
        (void)boot_pid_file(ctld, false);
        conf_free(ctld->conf);
    }
    free(ctld->conf_path);
    free(ctld);
}
