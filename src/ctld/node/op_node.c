/* op_node.c - op node-update: what operators do to nodes */
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/wordlist.h"
#include "base/gres/grestext.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "ctld/core/membership.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/job/lifecycle.h"
#include "ctld/node/nodeloss.h"
#include "ctld/node/certtoken.h"
#include "ctld/node/nodekeys.h"
#include "ctld/link/nodelink.h"
#include "ctld/node/powernode.h"
#include "ctld/notify/powerprog.h"
#include "ctld/node/powersave.h"
#include "ctld/node/reboot.h"
#include "ctld/topology/topology.h"
#include "fields.h"
#include "fieldtable.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)

#define OUT_OF_SERVICE (FLAG(DRAIN) | FLAG(FAIL))

/* That of a node which is not DOWN any more. */
static Pst__NodeState up_state(const struct ctld *ctld, const struct node *n)
{
    return node_is_linked(ctld, n) || noderecord_is_external(n->rec) ||
                   n->rec->state_flags & NODE_POWER_BITS
               ? PST__NODE_STATE__NODE_IDLE
               : PST__NODE_STATE__NODE_UNKNOWN;
}

/* State and flags after an operator's action.  Gives 0 or an ESLURM code. */
static int act_on_node(const struct ctld *ctld, const struct node *n, Pst__NodeAction action,
                       Pst__NodeState *state, uint32_t *flags)
{
    if (power_is_action(action))
        return power_act(ctld, action, n, state, flags);
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
        if (action == PST__NODE_ACTION__NODE_ACT_IDLE && n->jobs && !(*flags & OUT_OF_SERVICE) &&
            *state == PST__NODE_STATE__NODE_IDLE)
            return ESLURM_INVALID_NODE_STATE_TRANSITION; /* it is not idle */
        *flags &= ~(FLAG(DRAIN) | FLAG(FAIL) | FLAG(INVALID_REG) | FLAG(MAINTENANCE) |
                    FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED));
        if (*state == PST__NODE_STATE__NODE_FUTURE && !node_is_linked(ctld, n))
            *flags |= FLAG(NOT_RESPONDING); /* until its slurmd comes */
        if (*state == PST__NODE_STATE__NODE_FUTURE)
            *state = PST__NODE_STATE__NODE_IDLE;
        else if (*state == PST__NODE_STATE__NODE_DOWN)
            *state = up_state(ctld, n);
        return 0;
    case PST__NODE_ACTION__NODE_ACT_FUTURE:
        if (n->jobs)
            return ESLURM_INVALID_NODE_STATE_TRANSITION;
        *state = PST__NODE_STATE__NODE_FUTURE;
        *flags &= ~FLAG(DYNAMIC_FUTURE); /* another slurmd may take it */
        return 0;
    case PST__NODE_ACTION__NODE_ACT_NO_RESP: /* until it is heard of */
        *flags |= FLAG(NOT_RESPONDING);
        return 0;
    default:
        return ESLURM_INVALID_NODE_STATE_TRANSITION;
    }
}

static bool returns_to_service(Pst__NodeAction a)
{
    return a == PST__NODE_ACTION__NODE_ACT_RESUME || a == PST__NODE_ACTION__NODE_ACT_UNDRAIN ||
           a == PST__NODE_ACTION__NODE_ACT_IDLE;
}

/* May an administrator set it? */
static bool node_field(uint32_t number)
{
    const struct field_row *row = field_row(&node_record_fields, number);

    return row && row->update != FIELD_UPDATE_NEVER;
}

/* Is each feature of the first list in the second? */
static bool features_within(const char *active, const char *available)
{
    for (const char *p = active; p && *p; p += strcspn(p, ","), p += *p == ',')
        if (!wordlist_has_n(available, p, strcspn(p, ",")))
            return false;
    return true;
}

/* Are the active features, after the change, among those that are available then?  Features= with
 * none leaves the active ones without. */
static bool features_fit(const Pst__NodeUpdateRequest *req, const Pst__NodeRecord *n,
                         const Pst__NodeRecord *set)
{
    const char *available = set->features ? set->features : n->features;
    const char *active = set->active_features ? set->active_features
                         : n->active_features ? n->active_features
                                              : n->features;

    for (size_t i = 0; i < req->n_clear; i++) {
        if (req->clear[i] == NODE_F_FEATURES)
            available = "";
        else if (req->clear[i] == NODE_F_ACTIVE_FEATURES)
            active = "";
    }
    return features_within(active, available ? available : "");
}

/* Features that are named alone are all active; an empty list of active ones is no word that they
 * are those available. */
static void follow_features(Pst__Transaction *tx, const struct node *n, Pst__NodeRecord *set)
{
    if (set->features && !set->active_features && n->rec->active_features)
        tx_clear(tx, NODE_F_ACTIVE_FEATURES);
}

/* How many devices of this name and type (NULL: without one) a list has. */
static uint64_t devices_like(const char *list, const struct gres_text *like)
{
    uint64_t sum = 0;

    for (const char *p = list ? list : ""; *p; p += *p == ',') {
        size_t len = strcspn(p, ",(");
        _cleanup_free_ char *word = NULL;
        struct gres_text g;

        if (p[len] == '(') { /* "gpu:a100:2(0,3)" */
            len += strcspn(p + len, ")");
            len += strcspn(p + len, ",");
        }
        word = strndup(p, len);
        p += len;
        if (word && gres_text_parse(word, &g) && strcmp(g.name, like->name) == 0 &&
            strcmp(g.type ? g.type : "", like->type ? like->type : "") == 0)
            sum += g.count;
    }
    return sum;
}

/* Are these devices that the node has?  None of a kind, and kinds that the cluster does not know,
 * may always be shown of it. */
static bool gres_fits(const struct ctld *ctld, const Pst__NodeRecord *n, const char *gres)
{
    for (const char *p = gres; p && *p; p += strcspn(p, ","), p += *p == ',') {
        _cleanup_free_ char *word = strndup(p, strcspn(p, ","));
        struct gres_text g;

        if (!word || !gres_text_parse(word, &g))
            return false;
        if (g.count && conf_option(ctld->conf, CONF_GRES_TYPES, g.name, NULL, NULL) &&
            devices_like(n->gres_devices ? n->gres_devices : n->gres, &g) != g.count)
            return false;
    }
    return true;
}

/* A reason is kept while the node is out of service, and goes with it. */
static bool keeps_reason(Pst__NodeState state, uint32_t flags)
{
    return state == PST__NODE_STATE__NODE_DOWN ||
           (flags & (OUT_OF_SERVICE | FLAG(MAINTENANCE) | FLAG(REBOOT_REQUESTED) |
                     FLAG(REBOOT_ISSUED) | FLAG(INVALID_REG)));
}

static void set_reason(Pst__Transaction *tx, const struct node *n, Pst__NodeRecord *set, uid_t uid)
{
    if (!keeps_reason(set->state, set->state_flags)) {
        (void)pb_set_str(&set->reason, NULL); /* cannot fail: it frees */
        if (!n->rec->reason)
            return;
        tx_clear(tx, NODE_F_REASON);
        tx_clear(tx, NODE_F_REASON_UID);
        tx_clear(tx, NODE_F_REASON_US);
    } else if (set->reason) {
        SET(set, reason_uid, uid);
        SET(set, reason_us, core_now());
    }
}

/* ResumeAfter= counts from now; a state that is set otherwise ends it. */
static void set_resume(Pst__Transaction *tx, const Pst__NodeUpdateRequest *req,
                       const struct node *n, Pst__NodeRecord *set)
{
    if (set->has_resume_after_s) {
        SET(set, resume_after_us, core_now() + (int64_t)set->resume_after_s * USEC_PER_SEC);
        set->has_resume_after_s = false;
    } else if (req->has_action && req->action != PST__NODE_ACTION__NODE_ACT_NONE &&
               n->rec->has_resume_after_us) {
        tx_clear(tx, NODE_F_RESUME_AFTER_US);
    }
}

/* Topology=, with the units that it leads to; nothing: the node is in none. */
static int set_topology(struct ctld *ctld, const Pst__NodeUpdateRequest *req, const struct node *n,
                        Pst__NodeRecord *set)
{
    const char *text = set->topology;
    struct err err = { .text = "" };
    char *full;

    for (size_t i = 0; i < req->n_clear; i++)
        if (req->clear[i] == NODE_F_TOPOLOGY)
            text = "";
    if (!text)
        return 0;
    if (topology_join(ctld, n->rec->node_id, text, &full, &err) < 0) {
        log_info("node %s: Topology=%.128s is refused: %s", n->rec->name, text, err.text);
        return ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE;
    }
    free(set->topology);
    set->topology = full;
    return 0;
}

/* The request is refused: nodes before the one that could not go keep their places. */
static void forget_topology(struct ctld *ctld, const Pst__NodeUpdateRequest *req)
{
    bool named = req->set && req->set->topology;

    for (size_t i = 0; i < req->n_clear; i++)
        named = named || req->clear[i] == NODE_F_TOPOLOGY;
    if (named)
        topology_forget(ctld);
}

/* The journal gets no token that a node could show. */
static bool seal_token(Pst__NodeRecord *set)
{
    char sealed[CERTTOKEN_SIZE];

    return !set->cert_token || (certtoken_seal(set->cert_token, sealed) == 0 &&
                                pb_set_str(&set->cert_token, sealed) == 0);
}

/* addr, host: the node's own, of those that the request lists; NULL: it lists none. */
static int patch_node(struct ctld *ctld, const Pst__NodeUpdateRequest *req, struct cmd *cmd,
                      Pst__Transaction *tx, const struct node *n, const char *addr,
                      const char *host)
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
        if (pb_merge(&set->base, &req->set->base) < 0 || !seal_token(set))
            return SLURM_ERROR;
    }
    if ((addr && pb_set_str(&set->addr, addr) < 0) ||
        (host && pb_set_str(&set->hostname, host) < 0))
        return SLURM_ERROR;
    if (!features_fit(req, n->rec, set))
        return ESLURM_ACTIVE_FEATURE_NOT_SUBSET;
    follow_features(tx, n, set);
    if (set->gres && !gres_fits(ctld, n->rec, set->gres))
        return ESLURM_INVALID_GRES;
    if (set->gres) { /* what it has, and jobs get, is for gres.conf to say */
        free(set->gres_shown);
        set->gres_shown = set->gres;
        set->gres = NULL;
    }
    code = set_topology(ctld, req, n, set);
    if (code != 0)
        return code;
    SET(set, state, state);
    SET(set, state_flags, flags);
    power_act_fill(tx, req->action, req->power_action, n, set);
    set_reason(tx, n, set, conn_peer(cmd->conn)->uid);
    set_resume(tx, req, n, set);
    if (returns_to_service(req->action) && n->rec->has_reboot_us) {
        tx_clear(tx, NODE_F_NEXT_STATE);
        tx_clear(tx, NODE_F_REBOOT_US);
        tx_clear(tx, NODE_F_REBOOT_ASAP);
        if (n->rec->power_action)
            tx_clear(tx, NODE_F_POWER_ACTION);
    }
    for (size_t i = 0; i < req->n_clear; i++) {
        if (!node_field(req->clear[i]))
            return ESLURM_NOT_SUPPORTED;
        if (req->clear[i] == NODE_F_REASON || req->clear[i] == NODE_F_TOPOLOGY)
            continue; /* the first stays of a node out of service; the other is set */
        if (req->clear[i] == NODE_F_GRES) {
            if (pb_set_str(&set->gres_shown, "") < 0)
                return SLURM_ERROR;
            continue;
        }
        if (req->clear[i] == NODE_F_ACTIVE_FEATURES) {
            /* none, where a record without the field means all that are available */
            if (pb_set_str(&set->active_features, "") < 0)
                return SLURM_ERROR;
            continue;
        }
        tx_clear(tx, req->clear[i]);
    }
    return 0;
}

static bool goes_down(const struct node *n)
{
    return n->rec->state == PST__NODE_STATE__NODE_DOWN || n->rec->state_flags & FLAG(POWER_DOWN);
}

/* Those of the list that refused keep their jobs. */
static void nodes_went_down(struct ctld *ctld, const struct hostlist *hl, const char *why)
{
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (n && n->jobs && goes_down(n))
            nodeloss_by_hand(ctld, n, why);
    }
}

/* NodeAddr= has one address for each node, and gives none of them to two; NodeHostname=
 * likewise. */
static bool list_fits(const char *list, const struct hostlist *hl, struct hostlist **ret)
{
    struct err err = { .text = "" };

    if (!list || !*list || (hostlist_count(hl) == 1 && !strpbrk(list, "[,")))
        return true;
    return hostlist_parse_most(list, hostlist_count(hl), ret, &err) == 0 &&
           hostlist_count(*ret) == hostlist_count(hl);
}

/* Node sets by feature follow. */
static bool changes_features(const Pst__NodeUpdateRequest *req)
{
    bool changes = req->set && req->set->features;

    for (size_t i = 0; i < req->n_clear; i++)
        changes = changes || req->clear[i] == NODE_F_FEATURES;
    return changes;
}

/* A request about power where there is none, or with a PowerAction that is not for it. */
static bool power_refuses(const struct ctld *ctld, const Pst__NodeUpdateRequest *req)
{
    bool up = req->action == PST__NODE_ACTION__NODE_ACT_POWER_UP;
    enum conf_key key = up ? CONF_RESUME_PROGRAM : CONF_SUSPEND_PROGRAM;

    if (!req->has_action || !power_is_action(req->action))
        return req->power_action;
    return !power_is_on(ctld) || powerprog_check(ctld, key, req->power_action) != 0;
}

static void op_node_update(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeUpdateRequest *req = PB_AS(node_update_request, cmd->msg);
    _cleanup_(hostlist_free) struct hostlist *hl = NULL, *addrs = NULL, *hosts = NULL;
    Pst__Transaction *tx;
    uint64_t lsn;
    int code = 0, refused = 0; /* what some nodes refuse, the others do */
    size_t done = 0;

    if (power_refuses(ctld, req)) {
        core_error(ctld, cmd, ESLURM_INVALID_POWER_ACTION, NULL);
        return;
    }
    if (req->has_action && req->action == PST__NODE_ACTION__NODE_ACT_CANCEL_REBOOT) {
        reboot_cancel(ctld, cmd, req->nodes);
        return;
    }
    if (!req->nodes || nodenames_parse(ctld, req->nodes, &hl) < 0 || !hostlist_count(hl)) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, NULL);
        return;
    }
    if (req->set &&
        (!list_fits(req->set->addr, hl, &addrs) || !list_fits(req->set->hostname, hl, &hosts))) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, NULL);
        return;
    }
    if (req->set && req->set->node_key &&
        !nodekeys_fits(ctld, req->set->node_key, hostlist_nth(hl, 0), hostlist_count(hl))) {
        core_error(ctld, cmd, EPST_BAD_REQUEST,
                   "NodeKey is the key of one node, 64 hexadecimal digits, and of no other node");
        return;
    }
    if (req->set && req->set->cert_token && !certtoken_is_sound(req->set->cert_token)) {
        core_error(ctld, cmd, EPST_BAD_REQUEST,
                   "CertToken is a line of 1 to 1024 characters that does not begin with -");
        return;
    }
    if (req->has_action && req->action == PST__NODE_ACTION__NODE_ACT_POWER_UP &&
        power_exceeds(ctld, hl)) {
        core_error(ctld, cmd, ESLURM_MAX_POWERED_NODES, NULL);
        return;
    }
    tx = tx_new(core_now());
    for (size_t i = 0; code == 0 && i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!n) { /* those before it are changed all the same, as Slurm does */
            refused = ESLURM_INVALID_NODE_NAME;
            break;
        }
        code = patch_node(ctld, req, cmd, tx, n, addrs ? hostlist_nth(addrs, i) : NULL,
                          hosts ? hostlist_nth(hosts, i) : NULL);
        done += code == 0;
        if (code == ESLURM_INVALID_NODE_STATE_TRANSITION) {
            refused = code;
            code = 0;
        }
    }
    if (code != 0 || !done) {
        tx_free(tx);
        forget_topology(ctld, req);
        core_error(ctld, cmd, code ? code : refused, NULL);
        return;
    }
    lsn = core_commit(ctld, tx);
    if (!lsn) {
        forget_topology(ctld, req);
        core_disk_full(ctld, cmd);
        return;
    }
    if (changes_features(req))
        (void)membership_follow(ctld); /* disk full: the next change does it, or the next start */
    if (req->has_action && req->action == PST__NODE_ACTION__NODE_ACT_DOWN)
        nodes_went_down(ctld, hl, "set down by an operator");
    if (req->has_action && req->action == PST__NODE_ACTION__NODE_ACT_POWER_DOWN_FORCE)
        nodes_went_down(ctld, hl, "powered down by an operator");
    if (refused)
        core_error(ctld, cmd, refused, NULL);
    else
        core_ok(ctld, cmd, ctld->applied_lsn);
}

static const struct ctld_op nodeops_ops[] = {
    { OP_NODE_UPDATE, .fn = op_node_update, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service nodeops_service = { .name = "nodeops", .ops = nodeops_ops };
