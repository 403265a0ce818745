/* op_part.c - op part-update: partitions made, changed and removed by operators */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/gres/billweights.h"
#include "base/hostlist.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "base/timefmt.h"
#include "ctld/core/membership.h"
#include "ctld/core/service.h"
#include "ctld/job/jobfacts.h"
#include "ctld/node/reboot.h"
#include "ctld/topology/topology.h"
#include "fields.h"
#include "fieldtable.h"

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

/* Are all QOS of a list known?  Without an accounting store none is. */
static bool qos_known(const struct ctld *ctld, const char *list)
{
    _cleanup_free_ char *copy = list ? strdup(list) : NULL;
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save))
        if (!am_qos_named(ctld->cluster->am, w))
            return false;
    return true;
}

/* "DefCpuPerGPU=2,DefMemPerGPU=100": the names are spelt so from now on. */
static bool defaults_known(char *list)
{
    static const char cpus[] = "DefCpuPerGPU", mem[] = "DefMemPerGPU";
    const size_t len = sizeof(cpus) - 1; /* of both */
    _cleanup_free_ char *copy = strdup(list);
    char *save = NULL;

    for (char *w = copy ? strtok_r(copy, ",", &save) : NULL; w; w = strtok_r(NULL, ",", &save)) {
        bool is_cpus = strncasecmp(w, cpus, len) == 0;
        uint64_t n;

        if ((!is_cpus && strncasecmp(w, mem, len) != 0) || w[len] != '=' ||
            parse_u64(w + len + 1, 0, UINT32_MAX, &n) < 0)
            return false;
        memcpy(list + (w - copy), is_cpus ? cpus : mem, len);
    }
    return true;
}

/* The nodes of a list with the sign that stands before it taken into account: "+a" joins, "-a"
 * leaves.  NULL: no such node, or memory is short. */
static char *changed_nodes(const struct ctld *ctld, const struct partition *p, const char *text)
{
    _cleanup_(hostlist_free) struct hostlist *now = NULL, *named = NULL;
    char sign = text[0] == '+' || text[0] == '-' ? text[0] : 0;
    char *list = NULL;

    if (nodenames_parse(ctld, text + (sign ? 1 : 0), &named) < 0)
        return NULL;
    if (hostlist_parse(sign && p && p->rec->nodes ? p->rec->nodes : "", &now, NULL) < 0)
        return NULL;
    for (size_t i = 0; i < hostlist_count(named); i++) {
        const char *name = hostlist_nth(named, i);

        if (sign == '-')
            (void)hostlist_remove(now, name);
        else if (hostlist_find(now, name) < 0 && hostlist_push(now, name) < 0)
            return NULL;
    }
    if (sign)
        hostlist_sort(now);
    return hostlist_fold(now, &list) < 0 ? NULL : list;
}

/* Are these weights of things that there are? */
static bool weights_known(const struct ctld *ctld, const char *list)
{
    static const char *const plain[] = { "cpu", "mem", "node", "energy", "billing" };
    const char *types = conf_str(ctld->conf, CONF_GRES_TYPES);

    for (const char *p = list; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t len = strcspn(p, "=,"), name = strcspn(p, ":=,");
        bool known = false;

        for (size_t i = 0; i < ARRAY_SIZE(plain); i++)
            known = known || (len == strlen(plain[i]) && strncasecmp(p, plain[i], len) == 0);
        if (strncasecmp(p, "gres/", 5) == 0)
            known = types && wordlist_has_n_nocase(types, p + 5, name - 5);
        if (!known && strncasecmp(p, "license/", 8) != 0 && strncasecmp(p, "fs/", 3) != 0 &&
            strncasecmp(p, "bb/", 3) != 0)
            return false;
    }
    return true;
}

/* Words of the request that name things which are not there, or numbers that do not fit. */
static int part_values(const struct ctld *ctld, const Pst__PartitionRecord *set)
{
    struct err err = { .text = "" };

    if (!qos_known(ctld, set->allow_qos) || !qos_known(ctld, set->deny_qos) ||
        !qos_known(ctld, set->qos))
        return ESLURM_INVALID_QOS;
    if (set->tres_billing_weights && (billing_check(set->tres_billing_weights, &err) < 0 ||
                                      !weights_known(ctld, set->tres_billing_weights)))
        return ESLURM_INVALID_TRES_BILLING_WEIGHTS;
    if (set->topology && !topologies_named(topology_now(ctld), set->topology))
        return ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE;
    if (set->job_defaults && !defaults_known(set->job_defaults))
        return ESLURM_INVALID_JOB_DEFAULTS;
    return 0;
}

/* A default above the limit is none. */
static void drop_high_default(Pst__Transaction *tx, const struct partition *p,
                              Pst__PartitionRecord *set)
{
    const Pst__PartitionRecord *old = p ? p->rec : set;
    bool has_max = set->has_max_time_min || old->has_max_time_min;
    uint32_t most = set->has_max_time_min ? set->max_time_min : old->max_time_min;

    if (set->has_default_time_min && has_max && set->default_time_min > most) {
        set->has_default_time_min = false;
        if (p)
            tx_clear(tx, PART_F_DEFAULT_TIME_MIN);
    }
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

/* The first word of PreemptMode in slurm.conf, as partitions without one show it. */
static const char *cluster_preempt_mode(const struct ctld *ctld)
{
    const char *mode = conf_str(ctld->conf, CONF_PREEMPT_MODE);
    static const char *const words[] = { "OFF", "CANCEL", "REQUEUE", "SUSPEND" };

    for (size_t i = 0; mode && i < ARRAY_SIZE(words); i++)
        if (strncasecmp(mode, words[i], strlen(words[i])) == 0)
            return words[i];
    return "OFF";
}

static bool clears_nodes(const Pst__PartUpdateRequest *req)
{
    for (size_t i = 0; i < req->n_clear; i++)
        if (req->clear[i] == PART_F_NODES)
            return true;
    return false;
}

/* NodeSets are shown as long as the nodes are those of a set, or ALL. */
static void note_sets(const struct ctld *ctld, const Pst__PartUpdateRequest *req,
                      Pst__Transaction *tx, Pst__PartitionRecord *set)
{
    const char *nodes = req->set ? req->set->nodes : NULL;

    if (nodes && membership_is_set(ctld, nodes))
        (void)pb_set_str(&set->node_sets, nodes); /* -ENOMEM: shown without */
    else if (!(req->has_create && req->create) && (nodes || clears_nodes(req)))
        tx_clear(tx, PART_F_NODE_SETS);
}

/* Is PreemptMode the partition's own, or the cluster's? */
static void note_preempt_mode(const Pst__PartUpdateRequest *req, bool create, Pst__Transaction *tx,
                              Pst__PartitionRecord *set)
{
    bool own = req->set && req->set->preempt_mode;

    if (create && !own)
        SET(set, preempt_mode_of_cluster, true);
    else if (!create && own)
        tx_clear(tx, PART_F_PREEMPT_MODE_OF_CLUSTER);
}

/* The transaction for a request, or an ESLURM code. */
static int part_tx(struct ctld *ctld, const Pst__PartUpdateRequest *req, Pst__Transaction *tx)
{
    const struct partition *p = req->name ? cluster_partition(ctld->cluster, req->name) : NULL;
    bool create = req->has_create && req->create, remove = req->has_remove && req->remove;
    Pst__PartitionRecord *set;
    int code;

    if (!req->name || !*req->name || (create ? p || remove : !p))
        return ESLURM_INVALID_PARTITION_NAME;
    if (remove) {
        void *v;

        for (size_t pos = 0; (v = cluster_next_job(ctld->cluster, &pos));)
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
        SET(set, min_nodes, 1);
        (void)pb_set_str(&set->preempt_mode, cluster_preempt_mode(ctld));
        set->nodes = tx_strdup("");
    } else {
        set = tx_part_patch(tx, PST__EVENT_KIND__EV_PART_UPDATE, req->name);
    }
    if (req->set && pb_merge(&set->base, &req->set->base) < 0)
        return SLURM_ERROR;
    (void)pb_set_str(&set->name, req->name); /* -ENOMEM: seen when it is applied */
    if (req->set && req->set->nodes && *req->set->nodes) {
        free(set->nodes);
        set->nodes = changed_nodes(ctld, p, req->set->nodes);
        if (!set->nodes)
            return ESLURM_INVALID_NODE_NAME;
        /* what is written names also nodes that come later; a change names those of now */
        if (pb_set_str(&set->nodes_config,
                       strchr("+-", req->set->nodes[0]) ? set->nodes : req->set->nodes) < 0)
            return SLURM_ERROR;
    }
    code = part_values(ctld, set);
    if (code != 0)
        return code;
    drop_high_default(tx, p, set);
    keep_part_fields(set);
    note_sets(ctld, req, tx, set);
    note_preempt_mode(req, create, tx, set);
    for (size_t i = 0; !create && i < req->n_clear; i++) {
        const struct field_row *row = field_row(&partition_record_fields, req->clear[i]);

        if (!row || row->update == FIELD_UPDATE_NEVER || row->clear == FIELD_CLEAR_NEVER)
            return ESLURM_NOT_SUPPORTED;
        tx_clear(tx, req->clear[i]);
    }
    return set->nodes ? part_nodes_known(ctld, set->nodes) : 0;
}

static void op_part_update(struct ctld *ctld, struct cmd *cmd)
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

static const struct ctld_op partops_ops[] = {
    { OP_PART_UPDATE, .fn = op_part_update, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service partops_service = { .name = "partops", .ops = partops_ops };
