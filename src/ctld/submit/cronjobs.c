/* cronjobs.c - scrontab; see cronjobs.h.
 *
 * A new crontab is taken whole or not at all: every job is checked before the transaction that
 * holds all of them and the text.  Entries that did not change keep their jobs.  Jobs that lost
 * their entry are cancelled after it, when they wait; a controller that dies in between does that
 * when it is back. */
#include "ctld/submit/cronjobs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/cronspec.h"
#include "base/pb/pbutil.h"
#include "base/must.h"
#include "base/timefmt.h"
#include "ctld/job/crontimes.h"
#include "ctld/core/contents.h"
#include "ctld/job/depends.h"
#include "ctld/job/hetgroup.h"
#include "ctld/job/jobfacts.h"
#include "ctld/core/observe.h"
#include "ctld/core/service.h"
#include "model/kept.h"

#define TEXT_MAX (1u << 20) /* with every line disabled */

static bool has_option(const struct ctld *ctld, const char *word)
{
    const char *value;
    size_t len;

    return conf_option(ctld->conf, CONF_SCRON_PARAMETERS, word, &value, &len);
}

bool cron_is_protected(const struct ctld *ctld, const Pst__JobRecord *r,
                       const Pst__JobActionRequest *req)
{
    return cron_is(r) && !(req->has_cron && req->cron) && has_option(ctld, "explicit_scancel");
}

/* ---- ends ------------------------------------------------------------------------------------ */

void cron_ends(struct ctld *ctld, Pst__Transaction *tx, const struct job *j,
               const struct job_end *end)
{
    const Pst__CrontabRecord *old =
        cron_is(j->rec) ? cluster_crontab(ctld->cluster, j->rec->uid) : NULL;

    if (!old || !crontab_entry(old, j->rec->job_id) || end->requeue ||
        (end->state != JOB_STATE(CANCELLED) && end->state != JOB_STATE(DEADLINE)))
        return;
    tx_crontab_end(tx, j->rec->uid, j->rec->job_id);
}

void cron_again(struct ctld *ctld, struct job *j)
{
    const Pst__CrontabRecord *tab =
        cron_is(j->rec) ? cluster_crontab(ctld->cluster, j->rec->uid) : NULL;
    int64_t next_us;

    if (!tab || !crontab_entry(tab, j->rec->job_id))
        return;
    next_us = cron_next_us(j->rec);
    if (next_us != INT64_MAX)
        (void)lifecycle_again(ctld, j, next_us); /* disk full: when the controller starts again */
}

void cron_recover(struct ctld *ctld)
{
    void *v;

    for (size_t pos = 0; (v = observe_next_special(ctld, &pos));) {
        struct job *j = v;
        const Pst__CrontabRecord *tab =
            cron_is(j->rec) ? cluster_crontab(ctld->cluster, j->rec->uid) : NULL;
        bool wanted = tab && crontab_entry(tab, j->rec->job_id);

        if (!cron_is(j->rec))
            continue;
        if (job_is_ended(j->rec) && !job_holds_resources(j->rec) &&
            !job_has_flag(j->rec, JOB_FLAG(REQUEUED)))
            cron_again(ctld, j);
        else if (job_is_pending(j->rec) && !wanted)
            (void)lifecycle_end(ctld, j, &(struct job_end){ .state = JOB_STATE(CANCELLED) });
    }
}

/* ---- reading --------------------------------------------------------------------------------- */

/* Whose crontab is meant.  Others' may be read by administrators; who writes one has its jobs
 * run as its owner.  False: answered. */
static bool check_owner(struct ctld *ctld, struct cmd *cmd, bool given, uint32_t uid, bool writes)
{
    uint32_t own = conn_peer(cmd->conn)->uid;

    if (!has_option(ctld, "enable")) {
        core_error(ctld, cmd, ESLURM_DISABLED, "scrontab is disabled on this cluster");
        return false;
    }
    if (given && !cmd_may_act_as(ctld, cmd, uid) && (writes || !cmd_is_admin(ctld, cmd))) {
        core_error(ctld, cmd, ESLURM_USER_ID_MISSING, NULL);
        return false;
    }
    cmd->uid = given ? uid : own;
    return true;
}

void op_crontab_get(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__CrontabGetRequest *req = PB_AS(crontab_get_request, cmd->msg);
    static const Pst__CrontabRecord none = PST__CRONTAB_RECORD__INIT;
    const Pst__CrontabRecord *tab;

    if (!check_owner(ctld, cmd, req->has_uid, req->uid, false))
        return;
    tab = cluster_crontab(ctld->cluster, cmd->uid);
    core_reply(ctld, cmd, ctld->applied_lsn, 0, tab ? &tab->base : &none.base);
}

/* ---- a new one ------------------------------------------------------------------------------- */

struct change {
    struct ctld *ctld;
    struct cmd *cmd;
    const Pst__CrontabSetRequest *req;
    const Pst__CrontabRecord *old;
    Pst__CrontabEntry *entries; /* of the new one, as many as the request has jobs */
    /* place of an old entry's name -> the first that no new entry has, in keep_list[] */
    struct idmap kept;
    struct kept_entry {
        struct digest name;
        uint32_t job_id;
        struct kept_entry *next; /* of the same place */
    } * keep_list;
    struct submission **jobs; /* NULL: the entry keeps its job */
    char text[ERR_TEXT_MAX];
};

/* Where an entry of that name is looked for; any number but the two that are no keys. */
static uint64_t place_of(const struct digest *name)
{
    return (digest_place(name) >> 1) + 1;
}

/* Equal entries in a chain each, in the order of the old crontab. */
static void list_kept(struct change *ch)
{
    size_t n = ch->old ? ch->old->n_entries : 0;

    ch->keep_list = must(calloc(n + 1, sizeof(*ch->keep_list)));
    for (size_t i = n; i-- > 0;) {
        const Pst__CrontabEntry *e = ch->old->entries[i];
        struct kept_entry *k = &ch->keep_list[i];

        if (!e->has_digest || !digest_read(&k->name, e->digest.data, e->digest.len) ||
            !cluster_job(ch->ctld->cluster, e->job_id))
            continue; /* an entry older than digests cannot be compared with a new one */
        k->job_id = e->job_id;
        k->next = idmap_get(&ch->kept, place_of(&k->name));
        if (idmap_put(&ch->kept, place_of(&k->name), k) < 0)
            must(NULL);
    }
}

/* The job of an equal entry of the old crontab, which is given to one new entry only; 0 = none. */
static uint32_t kept_job(struct change *ch, const struct digest *name)
{
    struct kept_entry *k = idmap_get(&ch->kept, place_of(name));

    if (!k || !digest_equal(&k->name, name))
        /* The entry is made anew.  So it is when another name hashes to the same place, which is
         * too rare to handle. */
        return 0;
    if (k->next)
        (void)idmap_put(&ch->kept, place_of(name), k->next); /* cannot fail: it replaces */
    else
        (void)idmap_remove(&ch->kept, place_of(name));
    return k->job_id;
}

static int check_entry(struct change *ch, size_t i)
{
    Pst__CrontabJob *cj = ch->req->jobs[i];
    struct contents *made = &ch->cmd->contents[i];
    Pst__CrontabEntry *e = &ch->entries[i];
    struct err err = { .text = "" };
    struct cron_times t;
    int code;

    pst__crontab_entry__init(e);
    if (!cj->spec || cron_parse(cj->spec, &t, NULL, &err) < 0) {
        (void)snprintf(ch->text, sizeof(ch->text), "line %u: %s", cj->last_line,
                       cj->spec ? err.text : "no times");
        return EPST_BAD_REQUEST;
    }
    if (!cj->submit || !cj->submit->job || cj->submit->array || cj->submit->n_components) {
        (void)snprintf(ch->text, sizeof(ch->text),
                       "line %u: a crontab entry is one job, neither array nor components",
                       cj->last_line);
        return EPST_BAD_REQUEST;
    }
    SET(e, first_line, cj->first_line);
    SET(e, last_line, cj->last_line);
    e->has_digest = true; /* borrowed: the record is copied */
    e->digest = (ProtobufCBinaryData){ .len = DIGEST_SIZE, .data = made->entry.bytes };
    e->job_id = kept_job(ch, &made->entry);
    e->has_job_id = e->job_id != 0;
    if (e->job_id)
        return 0;
    code = submit_cron_check(ch->ctld, ch->cmd, cj->submit, made, cj->spec, &ch->jobs[i], &err);
    if (code)
        (void)snprintf(ch->text, sizeof(ch->text), "line %u: %s", cj->last_line, err.text);
    return code;
}

/* Each entry has lines of its own, in the order of the text.  Each end of a job comments its lines
 * out and writes the text anew: lines that many entries had would grow with each. */
static int check_lines(struct change *ch)
{
    const char *text = ch->req->text ? ch->req->text : "";
    size_t lines = 0, len = strlen(text);
    uint32_t before = 0;

    for (const char *p = text; *p; p += strcspn(p, "\n"), p += *p == '\n')
        lines++;
    if (len + lines * strlen(CRONTAB_DISABLED) > TEXT_MAX) {
        (void)snprintf(ch->text, sizeof(ch->text),
                       "the crontab is too long: %zu bytes in %zu lines", len, lines);
        return EPST_BAD_REQUEST;
    }
    for (size_t i = 0; i < ch->req->n_jobs; i++) {
        const Pst__CrontabJob *cj = ch->req->jobs[i];

        if (!cj->has_first_line && !cj->has_last_line)
            continue;
        if (cj->first_line <= before || cj->last_line < cj->first_line || cj->last_line > lines) {
            (void)snprintf(ch->text, sizeof(ch->text),
                           "line %u: the entry has no lines of its own in the crontab",
                           cj->last_line);
            return EPST_BAD_REQUEST;
        }
        before = cj->last_line;
    }
    return 0;
}

/* New jobs and the text in one transaction.  The ids of the jobs are in the entries then. */
static uint64_t commit_change(struct change *ch, size_t njobs)
{
    struct ctld *ctld = ch->ctld;
    const Pst__ClusterRecord *now = ctld->cluster->rec;
    Pst__Transaction *tx = tx_new(core_now());
    Pst__CrontabRecord tab = PST__CRONTAB_RECORD__INIT;
    size_t n = ch->req->n_jobs;
    uint32_t id = njobs ? het_ids(ctld, jobs_fresh_id(ctld), (uint32_t)njobs) : 0, k = 0;
    Pst__ClusterRecord *c;

    tab.entries = must(calloc(n + 1, sizeof(*tab.entries)));
    for (size_t i = 0; i < n; i++) {
        tab.entries[tab.n_entries++] = &ch->entries[i];
        if (!ch->jobs[i])
            continue;
        SET(&ch->entries[i], job_id, id + k);
        submit_cron_put(ch->jobs[i], tx, id + k);
        k++;
    }
    if (njobs) {
        c = tx_cluster(tx);
        SET(c, next_job_id, jobs_next_id(ctld, id + k - 1));
        SET(c, jobs_submitted, now->jobs_submitted + k);
    }
    SET(&tab, uid, ch->cmd->uid);
    tab.text = ch->req->text;
    if (tab.text && *tab.text)
        tx_crontab_put(tx, PST__EVENT_KIND__EV_CRONTAB_SET, &tab);
    else if (ch->old)
        tx_crontab_remove(tx, PST__EVENT_KIND__EV_CRONTAB_SET, ch->cmd->uid);
    free(tab.entries);
    return core_commit(ctld, tx);
}

/* Jobs of the old crontab that the new one does not name: what waits is cancelled. */
static void drop_old(struct change *ch, const uint32_t *ids, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        struct job *j = cluster_job(ch->ctld->cluster, ids[i]);
        const Pst__CrontabRecord *tab = cluster_crontab(ch->ctld->cluster, ch->cmd->uid);

        if (j && job_is_pending(j->rec) && !(tab && crontab_entry(tab, ids[i])))
            (void)lifecycle_end(ch->ctld, j,
                                &(struct job_end){ .state = JOB_STATE(CANCELLED),
                                                   .by_user = true,
                                                   .uid = conn_peer(ch->cmd->conn)->uid });
    }
}

static void take_crontab(struct change *ch)
{
    size_t n_old = ch->old ? ch->old->n_entries : 0, njobs = 0;
    _cleanup_free_ uint32_t *old_ids = must(calloc(n_old + 1, sizeof(*old_ids)));
    int code = 0;
    uint64_t lsn;

    list_kept(ch);
    for (size_t i = 0; i < ch->req->n_jobs && code == 0; i++) {
        code = check_entry(ch, i);
        njobs += ch->jobs[i] != NULL;
    }
    if (code == 0)
        code = check_lines(ch);
    if (code == 0 && cluster_count_tasks(ch->ctld->cluster) + njobs >
                         conf_num(ch->ctld->conf, CONF_MAX_JOB_COUNT))
        code = ESLURM_MAX_JOB_COUNT;
    if (code) {
        core_error(ch->ctld, ch->cmd, code, ch->text[0] ? ch->text : NULL);
        return;
    }
    for (size_t i = 0; i < n_old; i++)
        old_ids[i] = ch->old->entries[i]->job_id;
    lsn = commit_change(ch, njobs);
    if (!lsn) {
        core_disk_full(ch->ctld, ch->cmd);
        return;
    }
    core_ok(ch->ctld, ch->cmd, lsn);
    for (size_t i = 0; i < ch->req->n_jobs; i++)
        if (ch->jobs[i])
            depends_watch(ch->ctld, cluster_job(ch->ctld->cluster, ch->entries[i].job_id));
    drop_old(ch, old_ids, n_old);
}

void op_crontab_set(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__CrontabSetRequest *req = PB_AS(crontab_set_request, cmd->msg);
    struct change ch = { .ctld = ctld, .cmd = cmd, .req = req };

    if (!check_owner(ctld, cmd, req->has_uid, req->uid, true))
        return;
    if (req->has_gid && core_is_admin(ctld, conn_peer(cmd->conn)->uid))
        cmd->gid = req->gid;
    if (req->n_jobs && !(req->text && *req->text)) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "a crontab with jobs needs its text");
        return;
    }
    ch.old = cluster_crontab(ctld->cluster, cmd->uid);
    ch.entries = must(calloc(req->n_jobs + 1, sizeof(*ch.entries)));
    ch.jobs = must(calloc(req->n_jobs + 1, sizeof(*ch.jobs)));
    if (!req->n_jobs && !(req->text && *req->text) && !ch.old)
        core_ok(ctld, cmd, 0); /* there is none to remove */
    else
        take_crontab(&ch);
    for (size_t i = 0; i < req->n_jobs; i++)
        submit_cron_free(ch.jobs[i]);
    idmap_done(&ch.kept);
    free(ch.keep_list);
    free(ch.jobs);
    free(ch.entries);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op cron_ops[] = {
    { OP_CRONTAB_GET, .fn = op_crontab_get, .flags = OPF_SHOWS },
    { OP_CRONTAB_SET, .fn = op_crontab_set, .flags = OPF_WRITES },
    { 0 }
};

const struct ctld_service cron_service = {
    .name = "cron",
    .ops = cron_ops,
    .recovered = cron_recover,
    .job_ending = cron_ends,
    .job_over = cron_again,
};
