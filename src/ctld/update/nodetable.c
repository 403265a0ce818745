/* nodetable.c - op node-create and node-delete: nodes that come and go while the controller runs
 *
 * What an operator makes is described by a NodeName line, as in slurm.conf.  The node is dynamic:
 * a node of slurm.conf is neither made nor deleted here.  A request makes all of its nodes or none;
 * it deletes those that can go, and names the others. */
#include "ctld/update/nodetable.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/hostlist.h"
#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "conf/conf_nodeline.h"
#include "ctld/core/effects.h"
#include "ctld/core/membership.h"
#include "ctld/core/nodeids.h"
#include "ctld/core/noderecord.h"
#include "ctld/core/service.h"
#include "ctld/node/certtoken.h"
#include "ctld/node/powersave.h"
#include "ctld/link/nodelink.h"
#include "ctld/resv/resv.h"
#include "ctld/topology/topoclaim.h"
#include "ctld/topology/topology.h"

/* ---- create ---------------------------------------------------------------------------------- */

/* May a node begin in this state when an operator makes it? */
static bool may_begin(const struct conf_node *n)
{
    static const char *const states[] = { "FUTURE", "CLOUD", "EXTERNAL" };

    for (size_t i = 0; i < ARRAY_SIZE(states); i++)
        if (n->state && strcasecmp(n->state, states[i]) == 0)
            return true;
    return false;
}

/* 0 or an ESLURM code, with what the operator is told in text. */
static int check_new(const struct ctld *ctld, const struct conf *nodes, char *text, size_t size)
{
    size_t room = noderecord_room(ctld);

    for (size_t i = 0; i < conf_nodes(nodes); i++) {
        const struct conf_node *n = conf_node(nodes, i);
        int code = 0;

        if (cluster_node_named(ctld->cluster, n->name))
            code = ESLURM_NODE_ALREADY_EXISTS;
        else if (i >= room)
            code = ESLURM_NODE_TABLE_FULL;
        if (code) {
            (void)snprintf(text, size, "%s (%s)", slurm_err_text(code), n->name);
            return code;
        }
    }
    return 0;
}

/* 0 or an ESLURM code. */
static int put_node(struct ctld *ctld, Pst__Transaction *tx, const struct conf_node *n,
                    const char *token)
{
    char sealed[CERTTOKEN_SIZE];
    Pst__NodeRecord *r = tx_node_put(tx, PST__EVENT_KIND__EV_NODE_CONFIG);

    noderecord_fill(r, n, conf_str(ctld->conf, CONF_GRES_TYPES));
    noderecord_begin(r, n);
    r->name = tx_strdup(n->name);
    SET(r, node_id, nodeids_take(ctld));
    SET(r, state_flags, r->state_flags | NODE_FLAG_BIT(DYNAMIC_NORM));
    if (token && (certtoken_seal(token, sealed) < 0 || pb_set_str(&r->cert_token, sealed) < 0))
        return SLURM_ERROR;
    return topoclaim_new(ctld, r, n);
}

/* 0 or an ESLURM code, with what the operator is told in text. */
static int read_line(const struct ctld *ctld, const char *line, struct conf **ret_nodes, char *text,
                     size_t size)
{
    struct err err = { .text = "" };
    int r = conf_parse_nodeline(ctld->conf, line, ret_nodes, &err);

    if (r == -ENOMEM)
        return SLURM_ERROR;
    if (r < 0 && r != -EDOM) {
        log_info("a node line is refused: %s", err.text);
        (void)snprintf(text, size, "Failed to parse nodeline '%.400s'", line);
        return SLURM_ERROR;
    }
    if (r == 0 && may_begin(conf_node(*ret_nodes, 0)))
        return 0;
    (void)snprintf(text, size,
                   "Only State=FUTURE, CLOUD, or EXTERNAL allowed for nodes created by scontrol");
    return ESLURM_INVALID_NODE_STATE;
}

static void op_node_create(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeCreateRequest *req = PB_AS(node_create_request, cmd->msg);
    _cleanup_(conf_free) struct conf *nodes = NULL;
    Pst__Transaction *tx;
    _cleanup_free_ char *line = strdup(req->line ? req->line : ""), *token = NULL;
    char text[512] = "";
    int code;

    if (!line)
        must(NULL);
    if (certtoken_take(line, &token) < 0) {
        core_error(ctld, cmd, EPST_BAD_REQUEST,
                   "CertToken is a line of 1 to 1024 characters that does not begin with -");
        return;
    }
    code = read_line(ctld, line, &nodes, text, sizeof(text));
    if (code == 0)
        code = check_new(ctld, nodes, text, sizeof(text));
    if (code != 0) {
        core_error(ctld, cmd, code, text[0] ? text : NULL);
        return;
    }
    tx = tx_new(core_now());
    for (size_t i = 0; code == 0 && i < conf_nodes(nodes); i++)
        code = put_node(ctld, tx, conf_node(nodes, i), token);
    if (code != 0) {
        tx_free(tx);
        topology_forget(ctld);
        core_error(ctld, cmd, code, NULL);
        return;
    }
    if (!core_commit(ctld, tx)) {
        topology_forget(ctld);
        core_disk_full(ctld, cmd);
        return;
    }
    (void)membership_follow(ctld); /* disk full: the next change does it, or the next start */
    power_made(ctld);
    core_ok(ctld, cmd, ctld->applied_lsn);
}

/* ---- delete ---------------------------------------------------------------------------------- */

static bool is_reserved(struct ctld *ctld, uint32_t node_id)
{
    const struct kept *k;

    for (size_t pos = 0; (k = idmap_next(&ctld->cluster->kept[KEPT_RESV], &pos));) {
        const struct bitmap *nodes = resv_nodes(ctld, (const Pst__ReservationRecord *)k->rec);

        if (nodes && node_id < nodes->nbits && bitmap_test(nodes, node_id))
            return true;
    }
    return false;
}

int nodetable_keeps(struct ctld *ctld, const struct node *n)
{
    if (!n)
        return ESLURM_INVALID_NODE_NAME;
    if (!noderecord_is_dynamic(n->rec))
        return ESLURM_INVALID_NODE_STATE;
    return n->jobs || is_reserved(ctld, n->rec->node_id) ? ESLURM_NODES_BUSY : 0;
}

struct leaving {
    struct bitmap *nodes;  /* by id */
    struct hostlist *kept; /* names that stay */
    int code;              /* why the last of them stays */
    struct left_link {     /* of nodes whose slurmd is connected */
        struct conn *conn; /* held */
        uint32_t node_id;
    } * links;
    size_t nlinks;
};

static void choose_leaving(struct ctld *ctld, const struct hostlist *hl, struct leaving *l)
{
    if (bitmap_new(ctld->cluster->nnodes, &l->nodes) < 0 || hostlist_new(&l->kept) < 0)
        must(NULL);
    for (size_t i = 0; i < hostlist_count(hl); i++) {
        const char *name = hostlist_nth(hl, i);
        const struct node *n = cluster_node_named(ctld->cluster, name);
        int code = nodetable_keeps(ctld, n);

        if (code == 0) {
            bitmap_set(l->nodes, n->rec->node_id);
            continue;
        }
        l->code = code;
        if (hostlist_push(l->kept, name) == -ENOMEM)
            must(NULL);
    }
}

/* The slurmd of a node that has gone ends: it would make the node again.  With lsn 0 no node has
 * gone. */
static void end_slurmds(struct ctld *ctld, struct leaving *l, uint64_t lsn)
{
    for (size_t i = 0; i < l->nlinks; i++) {
        const Pst__Empty empty = PST__EMPTY__INIT;
        struct left_link *left = &l->links[i];
        uint8_t *buf;
        size_t len;

        if (!lsn)
            node_link_set(ctld, cluster_node(ctld->cluster, left->node_id), left->conn);
        else if (frame_pack(OP_NODE_SHUTDOWN, FRAME_ONEWAY, 0, 0, &empty.base, &buf, &len) == 0)
            effects_add(ctld->effects, lsn, left->conn, buf, len);
        conn_unref(left->conn);
    }
    free(l->links);
}

static uint64_t commit_leaving(struct ctld *ctld, struct leaving *l)
{
    Pst__Transaction *tx = tx_new(core_now());

    l->links = must(calloc(bitmap_count(l->nodes) + 1, sizeof(*l->links)));
    membership_patch(ctld, tx, l->nodes);
    BITMAP_FOREACH (l->nodes, id) {
        struct conn *conn = node_link_take(ctld, ctld->cluster->nodes[id]);

        if (conn)
            l->links[l->nlinks++] = (struct left_link){ conn, id };
        log_info("node %s: deleted by an operator", ctld->cluster->nodes[id]->rec->name);
        tx_node_remove(tx, id);
    }
    return core_commit(ctld, tx);
}

static void answer_delete(struct ctld *ctld, struct cmd *cmd, const struct leaving *l)
{
    _cleanup_free_ char *names = NULL, *text = NULL;

    if (!hostlist_count(l->kept)) {
        core_ok(ctld, cmd, ctld->applied_lsn);
        return;
    }
    if (hostlist_fold(l->kept, &names) < 0 ||
        asprintf(&text, "failed to delete nodes %s", names) < 0)
        text = must(NULL);
    core_error(ctld, cmd, l->code, text);
}

static void op_node_delete(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__NodeDeleteRequest *req = PB_AS(node_delete_request, cmd->msg);
    _cleanup_(hostlist_free) struct hostlist *hl = NULL;
    struct leaving l = { 0 };
    uint64_t lsn = ctld->applied_lsn;

    if (!req->nodes || hostlist_parse_most(req->nodes, HOSTLIST_MAX_NODES, &hl, NULL) < 0 ||
        !hostlist_count(hl)) {
        core_error(ctld, cmd, ESLURM_INVALID_NODE_NAME, NULL);
        return;
    }
    choose_leaving(ctld, hl, &l);
    if (!bitmap_empty(l.nodes)) {
        lsn = commit_leaving(ctld, &l);
        end_slurmds(ctld, &l, lsn);
    }
    if (lsn)
        answer_delete(ctld, cmd, &l);
    else
        core_disk_full(ctld, cmd);
    bitmap_free(l.nodes);
    hostlist_free(l.kept);
}

static const struct ctld_op nodetable_ops[] = {
    { OP_NODE_CREATE, .fn = op_node_create, .flags = OPF_WRITES },
    { OP_NODE_DELETE, .fn = op_node_delete, .flags = OPF_WRITES },
    { 0 },
};

const struct ctld_service nodetable_service = { .name = "nodetable", .ops = nodetable_ops };
