/* reboot.c - reboots of nodes asked for by an operator; see reboot.h */
#include "ctld/node/reboot.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/timefmt.h"
#include "ctld/job/lifecycle.h"
#include "ctld/core/membership.h"
#include "ctld/core/noderecord.h"
#include "ctld/node/nodeloss.h"
#include "ctld/notify/powerprog.h"
#include "ctld/core/service.h"
#include "ctld/policy/bootwait.h"
#include "ctld/topology/topoexpand.h"
#include "fields.h"

#define FLAG(x) (1u << PST__NODE_FLAG__NODE_FLAG_##x)
#define REASON_MAX 512

static void set_reason(Pst__NodeRecord *set, const char *text, uid_t uid)
{
    (void)pb_set_str(&set->reason, text); /* -ENOMEM: keeps the old one */
    SET(set, reason_uid, uid);
    SET(set, reason_us, core_now());
}

/* ---- asked for ------------------------------------------------------------------------------- */

/* 0 or an ESLURM code. */
static int cancel_reboot(Pst__Transaction *tx, const struct node *n)
{
    const Pst__NodeRecord *r = n->rec;
    bool undrain = r->has_reboot_asap && r->reboot_asap;
    Pst__NodeRecord *set;

    if (!(r->state_flags & FLAG(REBOOT_REQUESTED)))
        return ESLURM_INVALID_NODE_STATE_TRANSITION;
    set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, r->node_id);
    SET(set, state_flags, r->state_flags & ~(FLAG(REBOOT_REQUESTED) | (undrain ? FLAG(DRAIN) : 0)));
    tx_clear(tx, NODE_F_NEXT_STATE);
    tx_clear(tx, NODE_F_REBOOT_ASAP);
    if (r->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
    if (undrain || !(r->state_flags & FLAG(DRAIN))) {
        tx_clear(tx, NODE_F_REASON);
        tx_clear(tx, NODE_F_REASON_UID);
        tx_clear(tx, NODE_F_REASON_US);
    }
    return 0;
}

static int request_reboot(Pst__Transaction *tx, const struct node *n,
                          const Pst__NodeRebootRequest *req, uid_t uid)
{
    const Pst__NodeRecord *r = n->rec;
    bool force = req->has_force && req->force, asap = force || (req->has_asap && req->asap);
    bool drains = asap && !(r->state_flags & FLAG(DRAIN));
    Pst__NodeRecord *set;

    if (r->state_flags & (FLAG(REBOOT_ISSUED) | FLAG(REBOOT_REQUESTED) | FLAG(POWERED_DOWN) |
                          FLAG(POWERING_DOWN) | FLAG(POWER_DOWN)) ||
        r->state == PST__NODE_STATE__NODE_FUTURE || noderecord_is_external(r))
        return ESLURM_INVALID_NODE_STATE_TRANSITION;
    set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, r->node_id);
    SET(set, state_flags, r->state_flags | FLAG(REBOOT_REQUESTED) | (asap ? FLAG(DRAIN) : 0));
    set_reason(set,
               req->reason && *req->reason ? req->reason
               : force                     ? "Reboot FORCE"
               : asap                      ? "Reboot ASAP"
                                           : "reboot requested",
               uid);
    if (drains)
        SET(set, reboot_asap, true);
    if (req->action && *req->action)
        (void)pb_set_str(&set->power_action, req->action); /* -ENOMEM: RebootProgram */
    else if (r->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
    if (req->next_state)
        (void)pb_set_str(&set->next_state, req->next_state); /* -ENOMEM: as it was before */
    else if (drains)
        (void)pb_set_str(&set->next_state, "UNDRAIN");
    else if (r->next_state)
        tx_clear(tx, NODE_F_NEXT_STATE);
    return 0;
}

static int check_request(struct ctld *ctld, const Pst__NodeRebootRequest *req,
                         const char **ret_text)
{
    struct power_program program;

    *ret_text = NULL;
    if (req->next_state && strcmp(req->next_state, "RESUME") != 0 &&
        strcmp(req->next_state, "DOWN") != 0)
        return ESLURM_INVALID_NODE_STATE;
    if (powerprog_check(ctld, CONF_REBOOT_PROGRAM, req->action) != 0)
        return ESLURM_INVALID_POWER_ACTION;
    if (!(req->has_cancel && req->cancel) &&
        !conf_power_program(ctld->conf, CONF_REBOOT_PROGRAM, req->action, &program)) {
        *ret_text = "RebootProgram is not set in slurm.conf";
        return ESLURM_DISABLED;
    }
    return 0;
}

int nodenames_parse(const struct ctld *ctld, const char *text, struct hostlist **ret_hl)
{
    const struct cluster *c = ctld->cluster;
    _cleanup_free_ const char **names = NULL;
    _cleanup_free_ char *all = NULL;
    const char *feature, *nodes;
    size_t n = 0;

    if (conf_nodeset_line(ctld->conf, text, &feature, &nodes)) {
        all = membership_list(ctld, text, NULL);
        return hostlist_parse_most(all, HOSTLIST_MAX_NODES, ret_hl, NULL);
    }
    if (strchr(text, '{')) {
        int r = topology_expand(ctld, text, &all);

        return r < 0 ? r : hostlist_parse_most(all, HOSTLIST_MAX_NODES, ret_hl, NULL);
    }
    if (strcasecmp(text, "ALL") != 0)
        return hostlist_parse_most(text, HOSTLIST_MAX_NODES, ret_hl, NULL);
    names = calloc(c->nnodes + 1, sizeof(*names));
    for (uint32_t i = 0; names && i < c->nnodes; i++)
        if (c->nodes[i])
            names[n++] = c->nodes[i]->rec->name;
    if (!names || hostlist_fold_names(names, n, &all) < 0)
        return -ENOMEM;
    return hostlist_parse(all, ret_hl, NULL);
}

void reboot_cancel(struct ctld *ctld, struct cmd *cmd, const char *nodes)
{
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    Pst__Transaction *tx;
    int code = 0;

    if (!nodes || nodenames_parse(ctld, nodes, &hl) < 0 || !hostlist_count(hl)) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, NULL);
        return;
    }
    tx = tx_new(core_now());
    for (size_t i = 0; code == 0 && i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        code = n ? cancel_reboot(tx, n) : ESLURM_INVALID_NODE_NAME;
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, NULL);
    } else if (core_commit(ctld, tx)) {
        core_ok(ctld, cmd, ctld->applied_lsn);
    } else {
        core_disk_full(ctld, cmd);
    }
}

/* Of the nodes that reboot whatever runs there. */
static void end_jobs(struct ctld *ctld, const struct hostlist *hl)
{
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (n && n->jobs && n->rec->state_flags & FLAG(REBOOT_REQUESTED))
            nodeloss_end_jobs(ctld, n, "rebooted by an operator");
    }
}

/* Reboots are issued by a pass that follows, so that one can be thought better of. */
static void op_node_reboot(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeRebootRequest *req = PB_AS(node_reboot_request, cmd->msg);
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    _cleanup_val_(strbuf_done) struct strbuf skipped = STRBUF_INIT;
    const char *text;
    int code = check_request(ctld, req, &text);
    Pst__Transaction *tx;

    if (code == 0 && req->has_cancel && req->cancel) {
        reboot_cancel(ctld, cmd, req->nodes);
        return;
    }
    if (code == 0 &&
        (!req->nodes || nodenames_parse(ctld, req->nodes, &hl) < 0 || !hostlist_count(hl)))
        code = ESLURM_INVALID_NODE_NAME;
    if (code != 0) {
        core_error(ctld, cmd, code, text);
        return;
    }
    tx = tx_new(core_now());
    for (size_t i = 0; code == 0 && i < hostlist_count(hl); i++) {
        const struct node *n = cluster_node_named(ctld->cluster, hostlist_nth(hl, i));

        if (!n)
            code = ESLURM_INVALID_NODE_NAME;
        else if (request_reboot(tx, n, req, conn_peer(cmd->conn)->uid) != 0)
            strbuf_addf(&skipped, "%s%s", skipped.len ? "," : "Skipping reboot of nodes ",
                        n->rec->name);
    }
    if (code != 0) {
        tx_free(tx);
        core_error(ctld, cmd, code, NULL);
        return;
    }
    if (!core_commit(ctld, tx)) {
        core_disk_full(ctld, cmd);
        return;
    }
    if (req->has_force && req->force)
        end_jobs(ctld, hl);
    if (skipped.len) {
        strbuf_add(&skipped, " due to current node state.");
        core_error(ctld, cmd, ESLURM_REBOOT_IN_PROGRESS, strbuf_str(&skipped));
    } else {
        core_ok(ctld, cmd, ctld->applied_lsn);
    }
}

/* ---- issued ---------------------------------------------------------------------------------- */

static void issue_reboot(struct ctld *ctld, struct node *n, int64_t now)
{
    const Pst__NodeRecord *r = n->rec;
    Pst__Transaction *tx = tx_new(now);
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, r->node_id);
    char text[REASON_MAX];
    uint64_t lsn;

    (void)snprintf(text, sizeof(text), "%s : reboot issued",
                   r->reason ? r->reason : "reboot requested");
    SET(set, state, PST__NODE_STATE__NODE_DOWN);
    SET(set, state_flags, (r->state_flags & ~FLAG(REBOOT_REQUESTED)) | FLAG(REBOOT_ISSUED));
    SET(set, reboot_us, now);
    set_reason(set, text, r->reason_uid);
    lsn = core_commit(ctld, tx);
    if (!lsn)
        return; /* tried again by the next tick */
    log_info("node %s: reboot issued", n->rec->name);
    launch_reboot(ctld, n, lsn, NULL);
}

static void give_up(struct ctld *ctld, struct node *n, int64_t now)
{
    const Pst__NodeRecord *r = n->rec;
    bool undrain = r->has_reboot_asap && r->reboot_asap;
    Pst__Transaction *tx = tx_new(now);
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_STATE, r->node_id);
    char text[REASON_MAX];

    (void)snprintf(text, sizeof(text), "%s%sreboot timed out", r->reason ? r->reason : "",
                   r->reason ? " : " : "");
    SET(set, state_flags,
        r->state_flags &
            ~(FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED) | (undrain ? FLAG(DRAIN) : 0)));
    set_reason(set, text, conf_slurm_uid(ctld->conf));
    tx_clear(tx, NODE_F_NEXT_STATE);
    tx_clear(tx, NODE_F_REBOOT_US);
    tx_clear(tx, NODE_F_REBOOT_ASAP);
    if (r->power_action)
        tx_clear(tx, NODE_F_POWER_ACTION);
    if (core_commit(ctld, tx))
        log_error("node %s: did not come back from its reboot", n->rec->name);
}

void reboot_tick(struct ctld *ctld, struct node *n, int64_t now)
{
    const Pst__NodeRecord *r = n->rec;
    int64_t patience = (int64_t)bootwait_timeout_s(ctld, n) * USEC_PER_SEC;

    if (r->state_flags & FLAG(REBOOT_REQUESTED)) {
        if (node_is_linked(ctld, n) && n->jobs == 0)
            issue_reboot(ctld, n, now);
    } else if (r->state_flags & FLAG(REBOOT_ISSUED) && now > r->reboot_us + patience) {
        give_up(ctld, n, now);
    }
}

/* ---- back ------------------------------------------------------------------------------------ */

bool reboot_over(const Pst__NodeRecord *n, const Pst__NodeRecord *reg)
{
    if (!(n->state_flags & FLAG(REBOOT_ISSUED)))
        return false;
    return (n->boot_id && reg->boot_id && strcmp(n->boot_id, reg->boot_id) != 0) ||
           (reg->has_boot_us && reg->boot_us > n->reboot_us);
}

bool reboot_done(const struct ctld *ctld, const Pst__NodeRecord *n, Pst__NodeRecord *set,
                 uint32_t *flags)
{
    bool resume = n->next_state && strcmp(n->next_state, "RESUME") == 0;

    *flags &= ~(FLAG(REBOOT_REQUESTED) | FLAG(REBOOT_ISSUED));
    if (resume || (n->has_reboot_asap && n->reboot_asap))
        *flags &= ~FLAG(DRAIN);
    if (n->next_state && strcmp(n->next_state, "DOWN") == 0) {
        SET(set, state, PST__NODE_STATE__NODE_DOWN);
        set_reason(set, "reboot complete", conf_slurm_uid(ctld->conf));
        return false;
    }
    SET(set, state, PST__NODE_STATE__NODE_IDLE);
    return !(*flags & FLAG(DRAIN));
}

/* ---- the service ----------------------------------------------------------------------------- */

static const struct ctld_op reboot_ops[] = {
    { OP_NODE_REBOOT, .fn = op_node_reboot, .flags = OPF_WRITES }, { 0 }
};

const struct ctld_service reboot_service = { .name = "reboot", .ops = reboot_ops };
