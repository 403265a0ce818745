/* op_admin.c - nodes, partitions, configuration, figures, tokens, shutdown */
#include <errno.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/acct/acctthread.h"
#include "ctld/core/effects.h"
#include "ctld/schedlink/feasible.h"
#include "ctld/schedlink/schedfeed.h"
#include "ctld/front/front.h"
#include "ctld/job/nodeloss.h"
#include "ctld/job/jobfacts.h"
#include "ctld/job/licenses.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/reconfig.h"
#include "ctld/schedlink/schedthread.h"
#include "ctld/front/view.h"
#include "ctld/core/service.h"
#include "fields.h"
#include "fieldtable.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

/* ---- ping, script, config -------------------------------------------------------------------- */

void op_ping(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__PingRequest *req = PB_AS(ping_request, cmd->msg);
    Pst__PingReply r = PST__PING_REPLY__INIT;

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

/* A script on its way to somebody. */
struct script_answer {
    struct blob *script; /* held */
    uint32_t id;
};

static bool send_script(struct conn *c, void *arg)
{
    const struct script_answer *a = arg;
    Pst__ScriptReply r = PST__SCRIPT_REPLY__INIT;

    r.has_script = 1;
    r.script = (ProtobufCBinaryData){ .len = a->script->len, .data = a->script->data };
    (void)conn_reply(c, OP_QUERY_SCRIPT, a->id, 0, &r.base); /* gone: nobody to tell */
    return false;
}

static void script_answer_free(void *arg)
{
    struct script_answer *a = arg;

    (void)blob_drop(a->script); /* always NULL */
    free(a);
}

/* The bytes are copied when the connection has room for them, not here: others wait for this
 * thread. */
void op_query_script(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__JobIdRequest *req = PB_AS(job_id_request, cmd->msg);
    const struct job *j = cluster_job(ctld->cluster, req->job_id);
    struct script_answer *a;
    struct blob *b;

    if (!j) {
        core_error(ctld, cmd, ESLURM_INVALID_JOB_ID, NULL);
        return;
    }
    if (conn_peer(cmd->conn)->uid != j->rec->uid && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    b = cluster_script(ctld->cluster, j->rec);
    if (!b) {
        core_error(ctld, cmd, ESLURM_JOB_SCRIPT_MISSING, NULL);
        return;
    }
    a = malloc(sizeof(*a));
    if (!a) {
        core_error(ctld, cmd, EPST_BUSY, NULL);
        return;
    }
    *a = (struct script_answer){ .script = blob_hold(b), .id = cmd->id };
    conn_stream(cmd->conn, send_script, script_answer_free, a);
}

struct rows {
    struct ctld *ctld;
    Pst__KeyValue **list;
    size_t n;
};

static void add_row(void *ctx, const char *key, const char *value)
{
    struct rows *rows = ctx;
    Pst__KeyValue *kv = malloc(sizeof(*kv)), **bigger;
    char text[64];

    if (value == conf_show_caller) {
        if (strcmp(key, "BOOT_TIME") == 0)
            time_fmt_stamp(rows->ctld->boot_us, "N/A", core_now(), text, sizeof(text));
        else if (strcmp(key, "NEXT_JOB_ID") == 0)
            (void)snprintf(text, sizeof(text), "%u", rows->ctld->cluster->rec->next_job_id);
        else
            (void)snprintf(text, sizeof(text), "Match");
        value = text;
    }
    bigger = realloc(rows->list, (rows->n + 1) * sizeof(*bigger));
    if (bigger)
        rows->list = bigger;
    if (!kv || !bigger) {
        free(kv);
        return; /* a row less is shown */
    }
    pst__key_value__init(kv);
    kv->key = tx_strdup(key);
    kv->value = tx_strdup(value);
    rows->list[rows->n++] = kv;
}

static void rows_done(struct rows *rows)
{
    for (size_t i = 0; i < rows->n; i++)
        pst__key_value__free_unpacked(rows->list[i], NULL);
    free(rows->list);
}

/* As many as memory is there for. */
static void remote_licenses(const struct ctld *ctld, Pst__ConfigReply *r)
{
    struct remote_license l;

    for (size_t pos = 0; licenses_next_remote(ctld, &pos, &l);) {
        Pst__RemoteLicense **more =
            realloc(r->remote_licenses, (r->n_remote_licenses + 1) * sizeof(*r->remote_licenses));
        Pst__RemoteLicense *one = malloc(sizeof(*one));

        r->remote_licenses = more ? more : r->remote_licenses;
        if (!more || !one) {
            free(one);
            return;
        }
        pst__remote_license__init(one);
        one->name = tx_strdup(l.name);
        SET(one, total, l.total);
        SET(one, deficit, l.deficit);
        SET(one, last_consumed, l.last_consumed);
        if (l.update_us)
            SET(one, update_us, l.update_us);
        r->remote_licenses[r->n_remote_licenses++] = one;
    }
}

void op_query_config(struct ctld *ctld, struct cmd *cmd)
{
    Pst__ConfigReply r = PST__CONFIG_REPLY__INIT;
    struct rows conf = { .ctld = ctld }, cgroup = { .ctld = ctld };

    conf_show(ctld->conf, add_row, &conf);
    conf_show_cgroup(ctld->conf, add_row, &cgroup);
    r.entries = conf.list;
    r.n_entries = conf.n;
    r.cgroup = cgroup.list;
    r.n_cgroup = cgroup.n;
    SET(&r, now_us, core_now());
    SET(&r, next_job_id, ctld->cluster->rec->next_job_id);
    SET(&r, boot_us, ctld->boot_us);
    r.conf_path = (char *)conf_path(ctld->conf); /* not changed by packing */
    remote_licenses(ctld, &r);
    core_reply(ctld, cmd, 0, 0, &r.base);
    for (size_t i = 0; i < r.n_remote_licenses; i++)
        pst__remote_license__free_unpacked(r.remote_licenses[i], NULL);
    free(r.remote_licenses);
    rows_done(&conf);
    rows_done(&cgroup);
}

/* ---- figures --------------------------------------------------------------------------------- */

static void fill_sched(Pst__DiagReply *r, const struct sched_stats *s)
{
    SET(r, cycle_last_us, s->cycle_last_us);
    SET(r, cycle_max_us, s->cycle_max_us);
    SET(r, cycle_total_us, s->cycle_total_us);
    SET(r, cycles, s->cycles);
    SET(r, cycle_depth_total, s->depth_total);
    SET(r, queue_len, s->queue_len);
    SET(r, bf_started, s->bf_started);
    SET(r, bf_started_cycle, s->bf_started_last);
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

void op_query_diag(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__DiagRequest *req = PB_AS(diag_request, cmd->msg);
    bool reset = req->has_reset && req->reset;
    Pst__DiagReply r = PST__DIAG_REPLY__INIT;
    Pst__RpcStat stats[OP_MAX_], *list[OP_MAX_];
    struct sched_stats sched;
    struct journal_stats journal;

    if (reset && !cmd_is_admin(ctld, cmd)) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    schedthread_stats(ctld->sched, &sched, reset);
    journal_get_stats(ctld->journal, &journal);
    SET(&r, now_us, core_now());
    SET(&r, since_us, ctld->stats.since_us);
    SET(&r, server_threads, server_connections(ctld->front->server));
    SET(&r, agent_queue, (uint32_t)effects_pending(ctld->effects));
    fill_jobs(ctld, &r);
    fill_sched(&r, &sched);
    r.n_rpcs = rpc_fill(ctld->front->rpcs, stats, list, reset);
    r.rpcs = list;
    SET(&r, journal_syncs, journal.syncs);
    SET(&r, journal_bytes, journal.bytes);
    SET(&r, journal_last_sync_us, journal.last_sync_us);
    SET(&r, core_worst_stall_us, ctld->stats.worst_stall_us);
    SET(&r, views_published, views_published(ctld->views));
    SET(&r, connections, server_connections(ctld->front->server));
    acctthread_stats(ctld->acct, &r, reset);
    if (ctld->acct)
        SET(&r, acct_lag, journal_durable(ctld->journal) - acctthread_cursor(ctld->acct));
    core_reply(ctld, cmd, 0, 0, &r.base);
    if (reset)
        stats_reset(ctld);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

/* State and flags after an operator's action.  Gives 0 or an ESLURM code. */
static int act_on_node(const struct ctld *ctld, const struct node *n, Pst__NodeAction action,
                       Pst__NodeState *state, uint32_t *flags)
{
    switch (action) {
    case PST__NODE_ACTION__NODE_ACT_NONE:
        return 0;
    case PST__NODE_ACTION__NODE_ACT_DRAIN:
        *flags |= FLAG(DRAIN);
        return 0;
    case PST__NODE_ACTION__NODE_ACT_FAIL:
        *flags |= FLAG(FAIL);
        return 0;
    case PST__NODE_ACTION__NODE_ACT_DOWN:
        *state = PST__NODE_STATE__NODE_DOWN;
        return 0;
    case PST__NODE_ACTION__NODE_ACT_UNDRAIN:
        *flags &= ~(FLAG(DRAIN) | FLAG(FAIL));
        return 0;
    case PST__NODE_ACTION__NODE_ACT_RESUME:
        if (!(*flags & (FLAG(DRAIN) | FLAG(FAIL) | FLAG(INVALID_REG) | FLAG(MAINTENANCE) |
                        FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED))) &&
            (*state == PST__NODE_STATE__NODE_IDLE || *state == PST__NODE_STATE__NODE_UNKNOWN))
            return ESLURM_INVALID_NODE_STATE_TRANSITION; /* nothing to resume from */
        /* fall through */
    case PST__NODE_ACTION__NODE_ACT_IDLE:
        *flags &= ~(FLAG(DRAIN) | FLAG(FAIL) | FLAG(INVALID_REG) | FLAG(MAINTENANCE) |
                    FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED));
        if (*state == PST__NODE_STATE__NODE_DOWN || *state == PST__NODE_STATE__NODE_FUTURE)
            *state = node_is_linked(ctld, n) ? PST__NODE_STATE__NODE_IDLE
                                             : PST__NODE_STATE__NODE_UNKNOWN;
        return 0;
    case PST__NODE_ACTION__NODE_ACT_FUTURE:
        if (n->jobs)
            return ESLURM_NODES_BUSY;
        *state = PST__NODE_STATE__NODE_FUTURE;
        return 0;
    default:
        return ESLURM_INVALID_NODE_STATE;
    }
}

static bool returns_to_service(Pst__NodeAction a)
{
    return a == PST__NODE_ACTION__NODE_ACT_RESUME || a == PST__NODE_ACTION__NODE_ACT_UNDRAIN ||
           a == PST__NODE_ACTION__NODE_ACT_IDLE;
}

/* Fields an operator may set and clear: features, gres, weight, comment, extra, reason,
 * resume_after ... */
/* May an administrator set it? */
static bool node_field(uint32_t number)
{
    const struct field_row *row = field_row(&node_record_fields, number);

    return row && row->update != FIELD_UPDATE_NEVER;
}

static bool has_word(const char *list, const char *word, size_t len)
{
    for (const char *p = list; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (strcspn(p, ",") == len && strncmp(p, word, len) == 0)
            return true;
    return false;
}

/* Is each feature of the first list in the second? */
static bool features_within(const char *active, const char *available)
{
    for (const char *p = active; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (!has_word(available, p, strcspn(p, ",")))
            return false;
    return true;
}

static int patch_node(const struct ctld *ctld, const Pst__NodeUpdateRequest *req, struct cmd *cmd,
                      Pst__Transaction *tx, const struct node *n)
{
    Pst__NodeState state = n->rec->state;
    uint32_t flags = n->rec->state_flags;
    Pst__NodeRecord *set;
    int code = act_on_node(ctld, n, req->has_action ? req->action : PST__NODE_ACTION__NODE_ACT_NONE,
                           &state, &flags);

    if (code != 0)
        return code;
    set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, n->rec->node_id);
    if (req->set) {
        if (req->set->base.n_unknown_fields)
            return ESLURM_NOT_SUPPORTED;
        for (unsigned i = 0; i < req->set->base.descriptor->n_fields; i++) {
            uint32_t number = req->set->base.descriptor->fields[i].id;

            if (pb_has(&req->set->base, number) && !node_field(number))
                return ESLURM_NOT_SUPPORTED;
        }
        if (pb_merge(&set->base, &req->set->base) < 0)
            return SLURM_ERROR;
        if (!features_within(set->active_features,
                             set->features ? set->features : n->rec->features))
            return ESLURM_ACTIVE_FEATURE_NOT_SUBSET;
    }
    SET(set, state, state);
    SET(set, state_flags, flags);
    if (set->reason) {
        SET(set, reason_uid, conn_peer(cmd->conn)->uid);
        SET(set, reason_us, core_now());
    } else if (returns_to_service(req->action) && n->rec->reason) {
        tx_clear(tx, NODE_F_REASON);
        tx_clear(tx, NODE_F_REASON_UID);
        tx_clear(tx, NODE_F_REASON_US);
    }
    if (returns_to_service(req->action) && n->rec->has_reboot_us) {
        tx_clear(tx, NODE_F_NEXT_STATE);
        tx_clear(tx, NODE_F_REBOOT_US);
        tx_clear(tx, NODE_F_REBOOT_ASAP);
    }
    for (size_t i = 0; i < req->n_clear; i++) {
        if (!node_field(req->clear[i]))
            return ESLURM_NOT_SUPPORTED;
        tx_clear(tx, req->clear[i]);
    }
    return 0;
}

static void nodes_went_down(struct ctld *ctld, const struct hostlist *hl, const char *why)
{
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (n && n->jobs)
            nodeloss_end_jobs(ctld, n, why);
    }
}

void op_node_update(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeUpdateRequest *req = PB_AS(node_update_request, cmd->msg);
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct err err = { .text = "" };
    Pst__Transaction *tx;
    uint64_t lsn;
    int code = 0;

    if (!req->nodes || hostlist_parse_most(req->nodes, HOSTLIST_MAX_NODES, &hl, &err) < 0 ||
        !hostlist_count(hl)) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, NULL);
        return;
    }
    tx = tx_new(core_now());
    for (size_t i = 0; code == 0 && i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        code = n ? patch_node(ctld, req, cmd, tx, n) : ESLURM_INVALID_NODE_NAME;
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, NULL);
        return;
    }
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        core_disk_full(ctld, cmd);
        return;
    }
    if (req->has_action && req->action == PST__NODE_ACTION__NODE_ACT_DOWN)
        nodes_went_down(ctld, hl, "set down by an operator");
    core_ok(ctld, cmd, ctld->applied_lsn);
}

/* ---- partitions ------------------------------------------------------------------------------ */

static int part_nodes_known(const struct ctld *ctld, const char *list)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;

    if (hostlist_parse(list, &hl, NULL) < 0)
        return ESLURM_INVALID_NODE_NAME;
    for (size_t i = 0; i < hostlist_count(hl); i++)
        if (!cluster_node_named(ctld->cluster, hostlist_nth(hl, i)))
            return ESLURM_INVALID_NODE_NAME;
    return 0;
}

static char *all_nodes(const struct ctld *ctld)
{
    const char **names = calloc(ctld->cluster->nnodes + 1, sizeof(*names));
    size_t n = 0;
    char *text = NULL;

    for (uint32_t i = 0; names && i < ctld->cluster->nnodes; i++)
        if (ctld->cluster->nodes[i])
            names[n++] = ctld->cluster->nodes[i]->rec->name;
    if (names && hostlist_fold_names(names, n, &text) < 0)
        text = NULL;
    free(names);
    return text;
}

/* Drops what a request may not set, and fields that the schema does not know. */
static void keep_part_fields(Pst__PartitionRecord *set)
{
    const struct fieldtable *t = &partition_record_fields;

    while (set->base.n_unknown_fields)
        (void)pb_clear(&set->base, set->base.unknown_fields[0].tag);
    for (size_t i = 0; i < t->n; i++)
        if (t->rows[i].update == FIELD_UPDATE_NEVER && t->rows[i].number != PART_F_NAME)
            (void)pb_clear(&set->base, t->rows[i].number); /* each row names a field */
}

/* The transaction for a request, or an ESLURM code. */
static int part_tx(struct ctld *ctld, const Pst__PartUpdateRequest *req, Pst__Transaction *tx)
{
    const struct partition *p = req->name ? cluster_partition(ctld->cluster, req->name) : NULL;
    bool create = req->has_create && req->create, remove = req->has_remove && req->remove;
    Pst__PartitionRecord *set;

    if (!req->name || !*req->name || (create ? p || remove : !p))
        return ESLURM_INVALID_PARTITION_NAME;
    if (remove) {
        void *v;

        for (size_t pos = 0; (v = idmap_next(&ctld->cluster->jobs, &pos));)
            if (!job_is_ended(((struct job *)v)->rec) &&
                jobs_in_partition(((struct job *)v)->rec, req->name))
                return ESLURM_PARTITION_IN_USE;
        tx_part_remove(tx, req->name);
        return 0;
    }
    if (create) {
        set = tx_part_put(tx, PST__EVENT_KIND__EV_PART_UPDATE);
        SET(set, state, PST__PARTITION_STATE__PART_UP);
        SET(set, priority_tier, 1);
        SET(set, priority_job_factor, 1);
        set->nodes = tx_strdup("");
    } else {
        set = tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, req->name);
    }
    if (req->set && pb_merge(&set->base, &req->set->base) < 0)
        return SLURM_ERROR;
    (void)pb_set_str(&set->name, req->name); /* -ENOMEM: seen when it is applied */
    if (set->nodes && strcasecmp(set->nodes, "ALL") == 0) {
        free(set->nodes);
        set->nodes = all_nodes(ctld);
    }
    keep_part_fields(set);
    for (size_t i = 0; !create && i < req->n_clear; i++) {
        const struct field_row *row = field_row(&partition_record_fields, req->clear[i]);

        if (!row || row->update == FIELD_UPDATE_NEVER || row->clear == FIELD_CLEAR_NEVER)
            return ESLURM_NOT_SUPPORTED;
        tx_clear(tx, req->clear[i]);
    }
    return set->nodes ? part_nodes_known(ctld, set->nodes) : 0;
}

void op_part_update(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__PartUpdateRequest *req = PB_AS(part_update_request, cmd->msg);
    Pst__Transaction *tx = tx_new(core_now());
    int code = part_tx(ctld, req, tx);
    uint64_t lsn;

    if (code == 0 && req->set && req->set->has_is_default && req->set->is_default) {
        struct partition *old = cluster_default_partition(ctld->cluster);

        if (old && strcmp(old->rec->name, req->name) != 0)
            SET(tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, old->rec->name), is_default,
                false);
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, NULL);
        return;
    }
    lsn = core_commit(ctld, tx);
    if (lsn)
        core_ok(ctld, cmd, lsn);
    else
        core_disk_full(ctld, cmd);
}

/* ---- the rest -------------------------------------------------------------------------------- */

void op_reconfigure(struct ctld *ctld, struct cmd *cmd)
{
    struct err err = { .text = "" };

    if (reconfig_run(ctld, &err) < 0)
        core_error(ctld, cmd, SLURM_ERROR, err.text);
    else
        core_ok(ctld, cmd, ctld->applied_lsn);
}

void op_shutdown(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ShutdownRequest *req = PB_AS(shutdown_request, cmd->msg);

    log_info("shutdown asked for by uid %u", conn_peer(cmd->conn)->uid);
    if (!(req->has_controller_only && req->controller_only))
        for (uint32_t i = 0; i < ctld->cluster->nnodes; i++)
            if (ctld->cluster->nodes[i])
                (void)node_send(ctld, ctld->cluster->nodes[i], ctld->applied_lsn, OP_NODE_SHUTDOWN,
                                NULL);
    core_ok(ctld, cmd, ctld->applied_lsn);
    ctld_stop(ctld);
}

void op_token(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__TokenRequest *req = PB_AS(token_request, cmd->msg);
    uint64_t life = req->has_infinite && req->infinite ? UINT64_MAX
                    : req->has_lifespan_s              ? req->lifespan_s
                                                       : 1800;
    uint64_t max;
    char own[64], buf[4096];
    struct passwd pw, *found = NULL;
    Pst__TokenReply r = PST__TOKEN_REPLY__INIT;
    bool admin = core_is_admin(ctld, conn_peer(cmd->conn)->uid);

    if (!admin &&
        conf_option(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "disable_token_creation", NULL, NULL)) {
        core_error(ctld, cmd, ESLURM_DISABLED, "tokens are not made here (disable_token_creation)");
        return;
    }
    /* The uid's name was looked up by the kernel's word for it; a token is rare, so this may
     * block. */
    if (getpwuid_r(conn_peer(cmd->conn)->uid, &pw, buf, sizeof(buf), &found) == 0 && found)
        (void)snprintf(own, sizeof(own), "%s", pw.pw_name);
    else
        (void)snprintf(own, sizeof(own), "%u", conn_peer(cmd->conn)->uid);
    if (req->user && strcmp(req->user, own) != 0 && !admin) {
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
        return;
    }
    if (!admin && conf_option_u64(ctld->conf, CONF_AUTH_ALT_PARAMETERS, "max_token_lifespan", &max))
        life = MIN(life, max);
    if (auth_jwt_make(ctld->keys, req->user ? req->user : own, core_now(), life, &r.token) < 0) {
        core_error(ctld, cmd, SLURM_ERROR, "a token cannot be signed: libsodium is missing");
        return;
    }
    core_reply(ctld, cmd, 0, 0, &r.base);
    free(r.token);
}

void op_debug(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__DebugRequest *req = PB_AS(debug_request, cmd->msg);
    enum log_level level;

    if (!req->level || log_level_parse(req->level, &level) < 0) {
        core_error(ctld, cmd, EPST_BAD_REQUEST, "unknown debug level");
        return;
    }
    log_set_level(level);
    core_ok(ctld, cmd, 0);
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op admin_ops[] = {
    { OP_PING, .fn = op_ping },
    { OP_QUERY_CONFIG, .fn = op_query_config },
    { OP_QUERY_DIAG, .fn = op_query_diag },
    { OP_QUERY_SCRIPT, .fn = op_query_script },
    { OP_NODE_UPDATE, .fn = op_node_update, .flags = OPF_WRITES },
    { OP_PART_UPDATE, .fn = op_part_update, .flags = OPF_WRITES },
    { OP_RECONFIGURE, .fn = op_reconfigure, .flags = OPF_WRITES },
    { OP_SHUTDOWN, .fn = op_shutdown },
    { OP_TOKEN, .fn = op_token },
    { OP_DEBUG, .fn = op_debug },
    { 0 }
};

const struct ctld_service admin_service = { .name = "admin", .ops = admin_ops };
