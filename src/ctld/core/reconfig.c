/* reconfig.c - from slurm.conf to the model; see reconfig.h.
 *
 * A record is built as the configuration describes it and compared with the one that is; what
 * operators changed since (state, reason, weight of a running cluster) stays unless the file's
 * own value changed. */
#include "ctld/core/reconfig.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/hextext.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/sluid.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "base/wordlist.h"
#include "ctld/core/membership.h"
#include "ctld/core/nodeids.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/rights.h"
#include "ctld/core/service.h"
#include "feed/noderanks.h"
#include "feed/preemptfeed.h"
#include "base/gres/billweights.h"
#include "conf/tls/conf_tls.h"
#include "conf/topo/conf_topo.h"
#include "daemon/dmntokens.h"
#include "wire/tls/tls.h"
#include "fields.h"

/* ---- nodes ----------------------------------------------------------------------------------- */

/* What slurm.conf says of the node's place in topologies counts when it says something new: until
 * then what was said since stays. */
static void follow_topology(Pst__Transaction *tx, const Pst__NodeRecord *have, const char *topology)
{
    Pst__NodeRecord *set;

    if (strcmp(have->topology_config ? have->topology_config : "", topology ? topology : "") == 0)
        return;
    set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, have->node_id);
    set->topology_config = tx_strdup(topology ? topology : "");
    if (topology)
        set->topology = tx_strdup(topology);
    else
        tx_clear(tx, NODE_F_TOPOLOGY);
}

/* Likewise what it says of the binding of tasks. */
static void follow_binding(Pst__Transaction *tx, const Pst__NodeRecord *have, const char *binding)
{
    Pst__NodeRecord *set;

    if (strcmp(have->cpu_bind_config ? have->cpu_bind_config : "", binding ? binding : "") == 0)
        return;
    set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, have->node_id);
    set->cpu_bind_config = tx_strdup(binding ? binding : "");
    if (binding)
        set->cpu_bind = tx_strdup(binding);
    else
        tx_clear(tx, NODE_F_CPU_BIND);
}

/* A cloud node has the address with which it registered until it is powered down. */
static void keep_cloud_address(Pst__NodeRecord *want, const Pst__NodeRecord *have)
{
    if (!(have->state_flags & NODE_FLAG_BIT(CLOUD)) ||
        have->state_flags & NODE_FLAG_BIT(POWERED_DOWN))
        return;
    (void)pb_set_str(&want->addr, have->addr); /* -ENOMEM: until it registers again */
    (void)pb_set_str(&want->hostname, have->hostname);
}

/* What its helpers said of it holds until it registers again. */
static void keep_changeable(Pst__NodeRecord *want, const Pst__NodeRecord *have)
{
    struct strbuf sb = STRBUF_INIT;

    if (!have->changeable_features || !want->features)
        return;
    strbuf_add(&sb, want->features);
    for (const char *p = have->changeable_features; *p;) {
        size_t len = strcspn(p, ",");

        if (!wordlist_has_n(want->features, p, len))
            strbuf_addf(&sb, ",%.*s", (int)len, p);
        p += len + (p[len] == ',');
    }
    (void)pb_set_str(&want->features, strbuf_str(&sb)); /* -ENOMEM: until it registers again */
    strbuf_done(&sb);
}

static bool changes_node(const Pst__NodeRecord *have, const Pst__NodeRecord *want)
{
    return noderecord_changes(have, want) || have->gres_shown ||
           have->has_suspend_time_s > want->has_suspend_time_s ||
           have->has_suspend_never > want->has_suspend_never;
}

/* The order in which new nodes are numbered; the caller frees it. */
static size_t *order_nodes(const struct conf *conf)
{
    _cleanup_(conf_topos_free) struct conf_topos *topos = NULL;
    struct err err = { .text = "" };

    if (noderanks_wanted(conf) && conf_topos_load(conf, &topos, NULL, &err) < 0)
        log_error("TopologyParam: nodes are numbered by their names: %s", err.text);
    return noderanks_order(conf, topos);
}

static void sync_nodes(struct ctld *ctld, Pst__Transaction *tx)
{
    struct cluster *c = ctld->cluster;
    _cleanup_free_ size_t *order = order_nodes(ctld->conf);

    for (size_t i = 0; i < conf_nodes(ctld->conf); i++) {
        const struct conf_node *cn = conf_node(ctld->conf, order[i]);
        struct node *n = cluster_node_named(c, cn->name);
        Pst__NodeRecord want = PST__NODE_RECORD__INIT;

        noderecord_fill(&want, cn, conf_str(ctld->conf, CONF_GRES_TYPES));
        if (n && noderecord_is_dynamic(n->rec)) /* the file names it now */
            SET(&want, state_flags, n->rec->state_flags & ~NODE_FLAG_BIT(DYNAMIC_NORM));
        if (n && n->rec->state_flags & NODE_FLAG_BIT(DYNAMIC_FUTURE)) {
            (void)pb_set_str(&want.hostname, n->rec->hostname); /* its slurmd said where it is */
            (void)pb_set_str(&want.addr, n->rec->addr);         /* -ENOMEM: the file's, then */
        }
        if (n) {
            keep_cloud_address(&want, n->rec);
            keep_changeable(&want, n->rec);
        }
        if (!n) {
            Pst__NodeRecord *r = tx_node_put(tx, PST__EVENT_KIND__EV_NODE_CONFIG);

            noderecord_begin(&want, cn);
            want.name = tx_strdup(cn->name);
            want.topology = tx_strdup(cn->topology);
            want.topology_config = tx_strdup(cn->topology);
            want.cpu_bind = tx_strdup(cn->cpu_bind);
            want.cpu_bind_config = tx_strdup(cn->cpu_bind);
            SET(&want, node_id, nodeids_take(ctld));
            (void)pb_merge(&r->base, &want.base); /* -ENOMEM: seen when it is applied */
        } else if (changes_node(n->rec, &want)) {
            Pst__NodeRecord *set =
                tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, n->rec->node_id);

            (void)pb_merge(&set->base, &want.base);
            if (n->rec->gres_shown)
                tx_clear(tx, NODE_F_GRES_SHOWN);
            if (n->rec->has_suspend_time_s && !want.has_suspend_time_s)
                tx_clear(tx, NODE_F_SUSPEND_TIME_S);
            if (n->rec->has_suspend_never && !want.has_suspend_never)
                tx_clear(tx, NODE_F_SUSPEND_NEVER);
        }
        if (n) {
            follow_topology(tx, n->rec, cn->topology);
            follow_binding(tx, n->rec, cn->cpu_bind);
        }
        pb_done(&want.base);
    }
}

/* Nodes the file no longer names go once no job holds them; until then they are down. */
static void drop_nodes(struct ctld *ctld, Pst__Transaction *tx)
{
    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        struct node *n = ctld->cluster->nodes[i];

        if (!n || noderecord_is_dynamic(n->rec) || conf_find_node(ctld->conf, n->rec->name))
            continue;
        if (n->jobs)
            log_error("node %s: not in the configuration any more but jobs hold it; it stays",
                      n->rec->name);
        else
            tx_node_remove(tx, i);
    }
}

/* ---- partitions ------------------------------------------------------------------------------ */

static void fill_part_limits(Pst__PartitionRecord *r, const struct conf_part *p)
{
    if (p->max_time_min != CONF_UNLIMITED)
        SET(r, max_time_min, p->max_time_min);
    if (p->has_default_time)
        SET(r, default_time_min, p->default_time_min);
    if (p->max_nodes != CONF_UNLIMITED)
        SET(r, max_nodes, p->max_nodes);
    SET(r, min_nodes, p->min_nodes);
    if (p->max_cpus_per_node != CONF_UNLIMITED)
        SET(r, max_cpus_per_node, p->max_cpus_per_node);
    if (p->max_cpus_per_socket != CONF_UNLIMITED)
        SET(r, max_cpus_per_socket, p->max_cpus_per_socket);
    if (p->def_mem_per_cpu_mib)
        SET(r, def_mem_per_cpu_mib, p->def_mem_per_cpu_mib);
    if (p->def_mem_per_node_mib)
        SET(r, def_mem_per_node_mib, p->def_mem_per_node_mib);
    if (p->max_mem_per_cpu_mib)
        SET(r, max_mem_per_cpu_mib, p->max_mem_per_cpu_mib);
    if (p->max_mem_per_node_mib)
        SET(r, max_mem_per_node_mib, p->max_mem_per_node_mib);
    SET(r, priority_tier, p->priority_tier);
    SET(r, priority_job_factor, p->priority_job_factor);
    SET(r, grace_time_s, p->grace_time_s);
    if (p->has_over_time_limit && p->over_time_limit_min == CONF_UNLIMITED)
        SET(r, over_time_unlimited, true);
    else if (p->has_over_time_limit)
        SET(r, over_time_limit_min, p->over_time_limit_min);
}

static void fill_part_power(Pst__PartitionRecord *r, const struct conf_part *p)
{
    if (p->has_suspend_time && p->suspend_time_s == CONF_UNLIMITED)
        SET(r, suspend_never, true);
    else if (p->has_suspend_time)
        SET(r, suspend_time_s, p->suspend_time_s);
    if (p->has_suspend_timeout)
        SET(r, suspend_timeout_s, p->suspend_timeout_s);
    if (p->has_resume_timeout)
        SET(r, resume_timeout_s, p->resume_timeout_s);
}

static void fill_part(Pst__PartitionRecord *r, const struct conf_part *p, const struct ctld *ctld)
{
    const struct conf *conf = ctld->conf;
    struct err err = { .text = "" };

    r->name = tx_strdup(p->name);
    r->nodes = membership_list(ctld, p->nodes_config ? p->nodes_config : "", NULL);
    r->nodes_config = tx_strdup(p->nodes_config);
    if (p->nodes_config && membership_is_set(ctld, p->nodes_config))
        r->node_sets = tx_strdup(p->nodes_config);
    SET(r, is_default, p->is_default);
    SET(r, hidden, p->hidden);
    SET(r, root_only, p->root_only);
    SET(r, req_resv, p->req_resv);
    SET(r, lln, p->lln);
    SET(r, disable_root_jobs, p->disable_root_jobs);
    SET(r, power_down_on_idle, p->power_down_on_idle);
    fill_part_power(r, p);
    fill_part_limits(r, p);
    r->allow_groups = tx_strdup(p->allow_groups);
    r->allow_accounts = tx_strdup(p->allow_accounts);
    r->allow_qos = tx_strdup(p->allow_qos);
    r->deny_accounts = tx_strdup(p->deny_accounts);
    r->deny_qos = tx_strdup(p->deny_qos);
    r->alloc_nodes = tx_strdup(p->alloc_nodes);
    r->alternate = tx_strdup(p->alternate);
    r->cpu_bind = tx_strdup(p->cpu_bind);
    r->oversubscribe = tx_strdup(p->oversubscribe);
    r->exclusive = tx_strdup(p->exclusive);
    r->preempt_mode = tx_strdup(preempt_mode_text(conf, p->preempt_mode));
    if (!p->preempt_mode)
        SET(r, preempt_mode_of_cluster, true);
    r->qos = tx_strdup(p->qos);
    r->select_type_parameters = tx_strdup(p->select_type_parameters);
    r->tres_billing_weights = tx_strdup(p->tres_billing_weights);
    if (billing_check(p->tres_billing_weights, &err) < 0)
        log_error("partition %s: TRESBillingWeights: %s, and counts nothing", p->name, err.text);
    r->job_defaults = tx_strdup(p->job_defaults);
    if (p->topology && *p->topology)
        r->topology = tx_strdup(p->topology);
}

/* A field that the configuration owns but does not set now must become absent. */
static bool clears_unset(const ProtobufCMessage *have, const ProtobufCMessage *want,
                         uint32_t number)
{
    return !field_is_volatile(number) && number != PART_F_STATE && pb_has(have, number) &&
           !pb_has(want, number);
}

static void clear_unset(Pst__Transaction *tx, const ProtobufCMessage *have,
                        const ProtobufCMessage *want)
{
    for (unsigned i = 0; i < have->descriptor->n_fields; i++)
        if (clears_unset(have, want, have->descriptor->fields[i].id))
            tx_clear(tx, have->descriptor->fields[i].id);
}

/* `scontrol reconfigure` puts partitions into the state that the file gives them; a start finds
 * them as they were left. */
static bool takes_state(const struct ctld *ctld, bool asked)
{
    return asked && !conf_option(ctld->conf, CONF_RECONFIG_FLAGS, "KeepPartState", NULL, NULL);
}

/* With KeepPartInfo `scontrol reconfigure` leaves partitions as operators made them; those that
 * only the file has are made.  A start takes the file, as without it. */
static bool keeps_parts(const struct ctld *ctld, bool asked)
{
    return asked && conf_option(ctld->conf, CONF_RECONFIG_FLAGS, "KeepPartInfo", NULL, NULL);
}

/* Nodes may have joined what a kept partition names, or have gone. */
static void refresh_nodes(struct ctld *ctld, Pst__Transaction *tx, const struct partition *p)
{
    const char *config = p->rec->nodes_config ? p->rec->nodes_config : "";
    Pst__PartitionRecord *set = tx_part_patch(tx, PST__EVENT_KIND__EV_PART_CONFIG, p->rec->name);

    free(set->nodes);
    set->nodes = membership_list(ctld, config, NULL);
}

/* Has `have` all that `want` says, and nothing else that the configuration owns? */
static bool same_part(const ProtobufCMessage *have, const ProtobufCMessage *want)
{
    ProtobufCMessage *merged = NULL;
    bool same = pb_dup(have, &merged) == 0 && pb_merge(merged, want) == 0 && pb_equal(merged, have);

    if (merged)
        protobuf_c_message_free_unpacked(merged, NULL);
    for (unsigned i = 0; same && i < have->descriptor->n_fields; i++)
        same = !clears_unset(have, want, have->descriptor->fields[i].id);
    return same;
}

static void sync_parts(struct ctld *ctld, Pst__Transaction *tx, bool asked)
{
    struct cluster *c = ctld->cluster;
    bool state = takes_state(ctld, asked), kept = keeps_parts(ctld, asked);

    for (size_t i = 0; i < conf_parts(ctld->conf); i++) {
        const struct conf_part *cp = conf_part(ctld->conf, i);
        struct partition *p = cluster_partition(c, cp->name);
        Pst__PartitionRecord want = PST__PARTITION_RECORD__INIT;

        if (p && kept)
            continue;
        fill_part(&want, cp, ctld);
        if (!p || state)
            SET(&want, state, (Pst__PartitionState)cp->state);
        if (!p) {
            (void)pb_merge(&tx_part_put(tx, PST__EVENT_KIND__EV_PART_CONFIG)->base, &want.base);
        } else if (asked || !same_part(&p->rec->base, &want.base)) {
            /* Patched whole: cheap, and right also when only node ids changed behind the names.
             * After a start all was told of this configuration a moment ago. */
            Pst__PartitionRecord *set =
                tx_part_patch(tx, PST__EVENT_KIND__EV_PART_CONFIG, cp->name);

            (void)pb_merge(&set->base, &want.base);
            clear_unset(tx, &p->rec->base, &want.base);
        }
        pb_done(&want.base);
    }
    for (size_t i = 0; i < c->nparts; i++) {
        bool named = false;

        for (size_t k = 0; k < conf_parts(ctld->conf) && !named; k++)
            named = strcmp(conf_part(ctld->conf, k)->name, c->parts[i]->rec->name) == 0;
        if (kept)
            refresh_nodes(ctld, tx, c->parts[i]);
        else if (!named)
            tx_part_remove(tx, c->parts[i]->rec->name);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static void sync_cluster(struct ctld *ctld, Pst__Transaction *tx)
{
    const Pst__ClusterRecord *now = ctld->cluster->rec;
    Pst__ClusterRecord *set = tx_cluster(tx);
    uint8_t id[16];

    (void)pb_set_str(&set->name, conf_str(ctld->conf, CONF_CLUSTER_NAME));
    if (!now->has_sluid_cluster) {
        uint32_t random = 0;

        (void)auth_random(&random, sizeof(random)); /* without it: an id that others may have too */
        SET(set, sluid_cluster,
            SLUID_CLUSTER_MIN + random % (SLUID_CLUSTER_MAX - SLUID_CLUSTER_MIN + 1));
    }
    if (now->cluster_id)
        return;
    SET(set, created_us, core_now());
    SET(set, next_job_id, (uint32_t)conf_num(ctld->conf, CONF_FIRST_JOB_ID));
    SET(set, next_db_id, 1);
    if (auth_random(id, sizeof(id)) == 0) {
        char hex[33];

        hextext_write(id, sizeof(id), hex);
        (void)pb_set_str(&set->cluster_id, hex);
    }
}

int reconfig_sync(struct ctld *ctld, bool asked)
{
    Pst__Transaction *tx = tx_new(core_now());

    sync_cluster(ctld, tx);
    sync_nodes(ctld, tx);
    if (!core_commit(ctld, tx))
        return -ENOSPC;
    tx = tx_new(core_now());
    sync_parts(ctld, tx, asked);
    drop_nodes(ctld, tx);
    return core_commit(ctld, tx) ? 0 : -ENOSPC;
}

/* The certificate as its file has it now.  Whether there is TLS changes with a new start: who is
 * connected would be cut off. */
static int reload_tls(struct ctld *ctld, const struct conf *fresh, struct tls_ctx **ret_tls,
                      struct err *err)
{
    struct tls_config config;
    int r;

    if (!ctld->tls != !conf_use_tls(fresh))
        return err_set(err, -EBUSY, "TLSType: a change needs a restart of slurmctld");
    r = conf_tls(fresh, CONF_TLS_CTLD, &config);
    return r < 0 ? r : tls_ctx_load(&config, ret_tls, err);
}

/* Another file from now on, unless the command line says which (-L). */
static void follow_log(const struct ctld *ctld, const struct conf *before)
{
    const char *now = conf_str(ctld->conf, CONF_SLURMCTLD_LOG_FILE);
    const char *was = conf_str(before, CONF_SLURMCTLD_LOG_FILE);
    _cleanup_free_ char *from = NULL, *to = NULL;
    int r;

    if (!now || (was && strcmp(was, now) == 0) ||
        (was && conf_expand_path(was, NULL, ctld->host, &from) < 0) ||
        conf_expand_path(now, NULL, ctld->host, &to) < 0)
        return;
    r = log_move(from, to);
    if (r < 0)
        log_error("SlurmctldLogFile %s cannot be opened: %s", to, strerror(-r));
}

int reconfig_run(struct ctld *ctld, struct err *err)
{
    struct conf *fresh, *old = ctld->conf;
    struct conf_problems problems = { 0 };
    enum log_level level;
    struct auth_keys *keys = NULL;
    struct auth_tokens *tokens = NULL;
    struct tls_ctx *tls = NULL;
    int r = conf_load(ctld->conf_path, CONF_FULL, &fresh, &problems, err);

    for (size_t i = 0; i < problems.n; i++)
        if (problems.items[i].error || problems.items[i].wrong)
            log_error("%s:%u: %s", problems.items[i].file, problems.items[i].line,
                      problems.items[i].text);
    if (r < 0 && err) {
        for (size_t i = 0; i < problems.n; i++) {
            if (!problems.items[i].error)
                continue;
            err_set(err, r, "%s:%u: %s", problems.items[i].file, problems.items[i].line,
                    problems.items[i].text);
            break;
        }
    }
    conf_problems_done(&problems);
    if (r < 0) {
        log_error("reconfigure: the configuration is refused, nothing changed");
        return r;
    }
    r = services_check(ctld, fresh, err);
    if (r == 0)
        r = auth_keys_load(conf_key_file(fresh), &keys, err);
    if (r == 0)
        r = daemon_tokens(fresh, keys, &tokens, err);
    if (r == 0)
        r = reload_tls(ctld, fresh, &tls, err);
    if (r < 0) {
        conf_free(fresh);
        (void)auth_keys_free(keys); /* always NULL, as the next */
        (void)auth_tokens_free(tokens);
        return r;
    }
    ctld->conf = fresh;
    core_learn_admin(ctld);
    r = reconfig_sync(ctld, true);
    if (r < 0) {
        ctld->conf = old;
        core_learn_admin(ctld);
        conf_free(fresh);
        (void)auth_keys_free(keys); /* always NULL, as the next two */
        (void)auth_tokens_free(tokens);
        (void)tls_ctx_unref(tls);
        return err_set(err, r, "the controller's disk is full");
    }
    if (log_level_parse(conf_str(fresh, CONF_SLURMCTLD_DEBUG), &level) == 0)
        log_set_level(level);
    follow_log(ctld, old);
    log_set_time(conf_str(fresh, CONF_LOG_TIME_FORMAT));
    (void)log_set_syslog(conf_str(fresh, CONF_SLURMCTLD_SYSLOG_DEBUG),
                         NULL);       /* no such level: none */
    (void)auth_keys_free(ctld->keys); /* always NULL */
    ctld->keys = keys;
    (void)auth_tokens_free(ctld->tokens); /* always NULL */
    ctld->tokens = tokens;
    (void)tls_ctx_unref(ctld->tls); /* always NULL */
    ctld->tls = tls;
    services_reconfigured(ctld);
    conf_free(old);
    log_info("reconfigured from %s", ctld->conf_path);
    return 0;
}
