/* dynreg.c - nodes that make themselves: slurmd -Z and slurmd -F; see dynreg.h */
#include "ctld/node/dynreg.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "base/wordlist.h"
#include "conf/conf_nodeline.h"
#include "ctld/core/membership.h"
#include "ctld/core/nodeids.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/link/nodelink.h"
#include "fields.h"

#define HOST_MAX 253u

/* ---- slurmd -Z ------------------------------------------------------------------------------- */

/* What a line may leave out; then the node has it no more. */
static void clear_left_out(Pst__Transaction *tx, const Pst__NodeRecord *have,
                           const Pst__NodeRecord *want)
{
    static const uint32_t fields[] = { NODE_F_FEATURES,      NODE_F_GRES,
                                       NODE_F_CORE_SPEC,     NODE_F_MEM_SPEC_MIB,
                                       NODE_F_CPU_SPEC_LIST, NODE_F_RESTRICTED_CORES_PER_GPU };

    for (size_t i = 0; i < ARRAY_SIZE(fields); i++)
        if (pb_has(&have->base, fields[i]) && !pb_has(&want->base, fields[i]))
            tx_clear(tx, fields[i]);
    if (have->active_features)
        tx_clear(tx, NODE_F_ACTIVE_FEATURES);
    if (have->gres_shown)
        tx_clear(tx, NODE_F_GRES_SHOWN);
}

/* Where a line names no address, the node is where it dialled from. */
static void fill_described(const struct ctld *ctld, Pst__NodeRecord *r, const struct conf_node *cn,
                           const char *line, const char *addr)
{
    noderecord_fill(r, cn, conf_str(ctld->conf, CONF_GRES_TYPES));
    if (!conf_nodeline_names(line, "NodeAddr"))
        (void)pb_set_str(&r->addr, addr); /* -ENOMEM: the host's name stays */
    r->node_line = tx_strdup(line);
}

static bool make_node(struct ctld *ctld, const struct conf_node *cn, const char *line,
                      const char *addr)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *r = tx_node_put(tx, PST__EVENT_KIND__EV_NODE_CONFIG);

    fill_described(ctld, r, cn, line, addr);
    r->name = tx_strdup(cn->name);
    SET(r, node_id, nodeids_take(ctld));
    SET(r, state, PST__NODE_STATE__NODE_UNKNOWN); /* the registration that follows says more */
    SET(r, state_flags, NODE_FLAG_BIT(DYNAMIC_NORM));
    log_info("node %s: made by its slurmd at %s", cn->name, addr);
    return core_commit(ctld, tx);
}

static bool change_node(struct ctld *ctld, struct node *n, const struct conf_node *cn,
                        const char *line, const char *addr)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, n->rec->node_id);

    fill_described(ctld, set, cn, line, addr);
    clear_left_out(tx, n->rec, set);
    log_info("node %s: described anew by its slurmd at %s", cn->name, addr);
    return core_commit(ctld, tx);
}

/* Why no slurmd may describe this node; NULL: it may. */
static const char *not_its_own(const struct node *n)
{
    if (!noderecord_is_dynamic(n->rec))
        return "slurm.conf of the controller names this node: start slurmd without -Z";
    if (noderecord_is_external(n->rec))
        return "this node is external: no slurmd runs for it";
    return NULL;
}

/* A node that is not there, and was there since this cluster began: an operator has deleted it.
 * The order to end may have been lost with this controller's predecessor. */
static bool was_deleted(const struct ctld *ctld, const struct node *n, const Pst__NodeRegister *reg)
{
    return !n && reg->node && reg->node->has_registered_us &&
           reg->node->registered_us > ctld->cluster->rec->created_us;
}

struct node *dynreg_node(struct ctld *ctld, const Pst__NodeRegister *reg, const char *addr,
                         int *ret_code, char *text)
{
    _cleanup_(conf_free) struct conf *nodes = NULL;
    const char *name = reg->node && reg->node->name ? reg->node->name : "";
    struct node *n = cluster_node_named(ctld->cluster, name);
    const struct conf_node *cn;
    struct err err = { .text = "" };
    const char *why = n ? not_its_own(n) : NULL;
    bool done = true;

    *ret_code = ESLURM_INVALID_NODE_NAME;
    if (why) {
        (void)snprintf(text, DYNREG_TEXT, "%s", why);
        return NULL;
    }
    if (was_deleted(ctld, n, reg)) {
        *ret_code = ESLURM_INVALID_NODE_STATE;
        (void)snprintf(text, DYNREG_TEXT, "this node was deleted: start slurmd again to make it");
        return NULL;
    }
    if (n && n->rec->node_line && strcmp(n->rec->node_line, reg->node_line) == 0)
        return n;
    if (conf_parse_nodeline(ctld->conf, reg->node_line, &nodes, &err) < 0) {
        (void)snprintf(text, DYNREG_TEXT, "the node's description is refused: %s", err.text);
        return NULL;
    }
    cn = conf_node(nodes, 0);
    if (conf_nodes(nodes) != 1 || strcmp(cn->name, name) != 0) {
        (void)snprintf(text, DYNREG_TEXT, "the node's description is of another node");
        return NULL;
    }
    if (!n && !noderecord_room(ctld)) {
        *ret_code = ESLURM_NODE_TABLE_FULL;
        (void)snprintf(text, DYNREG_TEXT, "%s: MaxNodeCount=%zu", slurm_err_text(*ret_code),
                       noderecord_most(ctld));
        return NULL;
    }
    if (!n)
        done = make_node(ctld, cn, reg->node_line, addr);
    else if (n->jobs)
        log_info("node %s: describes itself otherwise; jobs hold it, so that waits", name);
    else
        done = change_node(ctld, n, cn, reg->node_line, addr);
    if (done)
        membership_follow_soon(ctld);
    *ret_code = EPST_DISK_FULL;
    (void)snprintf(text, DYNREG_TEXT, "%s", slurm_err_text(*ret_code));
    return done ? cluster_node_named(ctld->cluster, name) : NULL;
}

/* ---- slurmd -F ------------------------------------------------------------------------------- */

/* Does the machine have what the node is to have? */
static bool machine_fits(const Pst__NodeRecord *n, const Pst__NodeRecord *machine)
{
    return machine->cpus >= n->cpus && machine->real_memory_mib >= n->real_memory_mib &&
           machine->sockets * machine->cores_per_socket * machine->threads_per_core >=
               n->sockets * n->cores_per_socket * n->threads_per_core;
}

static bool same_machine(const Pst__NodeRecord *n, const Pst__NodeRecord *machine)
{
    return machine->cpus == n->cpus && machine->sockets == n->sockets &&
           machine->cores_per_socket == n->cores_per_socket &&
           machine->threads_per_core == n->threads_per_core;
}

/* The node that this host had before, else one that is made like it, else one that it is large
 * enough for. */
static struct node *find_future(const struct ctld *ctld, const Pst__NodeClaimRequest *req)
{
    struct node *same = NULL, *fits = NULL;

    for (uint32_t i = 0; i < ctld->cluster->nnodes; i++) {
        struct node *n = ctld->cluster->nodes[i];
        bool taken = n && n->rec->state_flags & NODE_FLAG_BIT(DYNAMIC_FUTURE);

        if (!n || node_is_linked(ctld, n) ||
            (req->feature && !wordlist_has(n->rec->features, req->feature)))
            continue;
        if (taken && n->rec->hostname && strcmp(n->rec->hostname, req->node->hostname) == 0)
            return n;
        if (taken || n->rec->state != PST__NODE_STATE__NODE_FUTURE)
            continue;
        if (!same && same_machine(n->rec, req->node) && machine_fits(n->rec, req->node))
            same = n;
        if (!fits && machine_fits(n->rec, req->node))
            fits = n;
    }
    return same ? same : fits;
}

/* For a slurmd whose slurm.conf does not name the node. */
static char *line_of(const Pst__NodeRecord *r)
{
    _cleanup_val_(strbuf_done) struct strbuf sb = STRBUF_INIT;

    strbuf_addf(&sb,
                "NodeName=%s NodeHostname=%s Port=%u CPUs=%u Boards=%u Sockets=%u "
                "CoresPerSocket=%u ThreadsPerCore=%u RealMemory=%llu TmpDisk=%llu Weight=%u",
                r->name, r->hostname ? r->hostname : r->name, r->port, r->cpus,
                r->boards ? r->boards : 1, r->sockets, r->cores_per_socket, r->threads_per_core,
                (unsigned long long)r->real_memory_mib, (unsigned long long)r->tmp_disk_mib,
                r->weight);
    if (r->features)
        strbuf_addf(&sb, " Features=\"%s\"", r->features);
    if (r->gres)
        strbuf_addf(&sb, " Gres=\"%s\"", r->gres);
    if (r->core_spec)
        strbuf_addf(&sb, " CoreSpecCount=%u", r->core_spec);
    if (r->mem_spec_mib)
        strbuf_addf(&sb, " MemSpecLimit=%llu", (unsigned long long)r->mem_spec_mib);
    return tx_strdup(strbuf_str(&sb));
}

static bool take_future(struct ctld *ctld, struct node *n, const char *host, const char *addr)
{
    Pst__Transaction *tx = tx_new(core_now());
    Pst__NodeRecord *set = tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_UPDATE, n->rec->node_id);

    SET(set, state_flags, n->rec->state_flags | NODE_FLAG_BIT(DYNAMIC_FUTURE));
    set->hostname = tx_strdup(host);
    set->addr = tx_strdup(addr);
    log_info("node %s: taken by the slurmd of %s at %s", n->rec->name, host, addr);
    return core_commit(ctld, tx);
}

static bool is_claim(const Pst__NodeClaimRequest *req)
{
    const char *host = req->node ? req->node->hostname : NULL;

    return host && host[0] && strlen(host) <= HOST_MAX && !strpbrk(host, " \t\"=,[]{}");
}

static void op_node_claim(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeClaimRequest *req = PB_AS(node_claim_request, cmd->msg);
    Pst__NodeClaimReply reply = PST__NODE_CLAIM_REPLY__INIT;
    _cleanup_free_ char *line = NULL;
    struct node *n = is_claim(req) ? find_future(ctld, req) : NULL;

    if (!n) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME,
                   "no node of state FUTURE with this feature fits this machine");
        return;
    }
    if (!take_future(ctld, n, req->node->hostname, conn_peer(cmd->conn)->addr)) {
        core_disk_full(ctld, cmd);
        return;
    }
    line = noderecord_is_dynamic(n->rec) ? line_of(n->rec) : NULL;
    reply.name = n->rec->name;
    reply.node_line = line;
    core_reply(ctld, cmd, ctld->applied_lsn, 0, &reply.base);
}

static const struct ctld_op dynreg_ops[] = {
    { OP_NODE_CLAIM, .fn = op_node_claim, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service dynreg_service = { .name = "dynreg", .ops = dynreg_ops };
