/* topology.c - the service of topologies; see topology.h
 *
 * Core thread, but for topology_get().  `live` is the set that memberships are tried on; what other
 * threads see, `now`, is made of it at the end of a batch. */
#include "ctld/topology/topology.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/log.h"
#include "base/must.h"
#include "base/pb/pbutil.h"
#include "base/sametext.h"
#include "base/timefmt.h"
#include "conf/topo/conf_topo.h"
#include "ctld/core/service.h"
#include "feed/topoconf.h"
#include "feed/toposet.h"
#include "feed/toposhow.h"
#include "fields.h"
#include "wire/frame.h"

struct known_node {
    bool there;
    char *text; /* its membership as `live` has it; NULL: the files' */
};

struct topology {
    struct conf_topos *files;
    struct toposet *live;
    struct known_node *nodes; /* by id */
    size_t nnodes;
    bool rebuild, publish; /* at the end of the batch */
    bool respell;          /* records have other spellings than `live` */
    bool changed;          /* since topology_take_changed() */
    pthread_mutex_t lock;  /* of `now` */
    struct topologies *now;
};

/* ---- the configuration ----------------------------------------------------------------------- */

int topology_check_conf(const struct conf *conf, struct conf_problems *problems, struct err *err)
{
    _cleanup_(conf_topos_free) struct conf_topos *files = NULL;
    _cleanup_(toposet_free) struct toposet *ts = NULL;
    int r = conf_topos_load(conf, &files, problems, err);

    return r < 0 ? r : topoconf_of_conf(files, conf, &ts, err);
}

static int check_service(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    (void)ctld;
    return topology_check_conf(conf, NULL, err);
}

static int load_files(struct ctld *ctld, struct conf_topos **ret, struct err *err)
{
    struct conf_problems problems;
    int r = conf_topos_load(ctld->conf, ret, &problems, err);

    for (size_t i = 0; i < problems.n; i++)
        log_info("%s:%u: %s", problems.items[i].file, problems.items[i].line,
                 problems.items[i].text);
    conf_problems_done(&problems);
    return r;
}

/* ---- the set --------------------------------------------------------------------------------- */

static uint32_t node_id(void *arg, const char *name)
{
    const struct node *n = cluster_node_named(arg, name);

    return n ? n->rec->node_id : TOPO_NONE;
}

static struct known_node *known_of(struct topology *t, uint32_t id)
{
    if (id >= t->nnodes) {
        size_t n = MAX((size_t)id + 1, 2 * t->nnodes);

        t->nodes = must(reallocarray(t->nodes, n, sizeof(*t->nodes)));
        memset(t->nodes + t->nnodes, 0, (n - t->nnodes) * sizeof(*t->nodes));
        t->nnodes = n;
    }
    return &t->nodes[id];
}

static void join_known(struct topology *t, const struct node *n)
{
    struct known_node *k = known_of(t, n->rec->node_id);
    struct err err = { .text = "" };
    char *text = NULL;

    if (toposet_join(t->live, n->rec->node_id, n->rec->topology, &text, &err) < 0) {
        log_error("node %s: Failed to set topology '%.128s': %s", n->rec->name, n->rec->topology,
                  err.text);
        text = must(strdup(n->rec->topology)); /* as it is asked; the node is in no unit */
    }
    t->respell = t->respell || strcmp(text, n->rec->topology) != 0;
    free(k->text);
    k->text = text;
}

/* From the files and all records.  Nodes with a word of their own leave before any of them comes:
 * the order of their ids then matters in rings alone. */
static void rebuild_live(struct ctld *ctld)
{
    struct topology *t = ctld->topology;
    const struct cluster *c = ctld->cluster;

    t->rebuild = false;
    t->publish = true;
    toposet_free(t->live);
    t->live = toposet_new(t->files, ctld->conf, node_id, ctld->cluster);
    for (uint32_t i = 0; i < c->nnodes; i++) {
        struct known_node *k = known_of(t, i);

        free(k->text);
        *k = (struct known_node){ .there = c->nodes[i] != NULL };
        if (c->nodes[i] && c->nodes[i]->rec->topology)
            toposet_leave(t->live, i);
    }
    for (uint32_t i = 0; i < c->nnodes; i++)
        if (c->nodes[i] && c->nodes[i]->rec->topology)
            join_known(t, c->nodes[i]);
}

static void put_now(struct topology *t, struct topologies *fresh)
{
    struct topologies *old;

    (void)pthread_mutex_lock(&t->lock);
    old = t->now;
    t->now = fresh;
    (void)pthread_mutex_unlock(&t->lock);
    topologies_unref(old);
    t->changed = true;
}

static void publish_live(struct ctld *ctld)
{
    struct topology *t = ctld->topology;
    const struct topo_spec *specs;
    size_t n = toposet_specs(t->live, &specs);
    struct topo_source *sources = must(calloc(n + 1, sizeof(*sources)));
    const struct cluster *c = ctld->cluster;
    const char **names = must(calloc(c->nnodes + 1, sizeof(*names)));
    struct topologies *fresh;
    struct err err = { .text = "" };

    t->publish = false;
    for (uint32_t i = 0; i < c->nnodes; i++)
        names[i] = c->nodes[i] ? c->nodes[i]->rec->name : NULL;
    for (size_t i = 0; i < n; i++)
        sources[i] = (struct topo_source){ .is_default = conf_topos_nth(t->files, i)->is_default,
                                           .units = toposet_file_units(t->live, i) };
    if (topologies_new(specs, n, sources, conf_topos_yaml(t->files), names, c->nnodes, &fresh,
                       &err) < 0)
        log_error("the topologies stay as they were: %s", err.text);
    else
        put_now(t, fresh);
    free(sources);
    free(names);
}

int topology_join(struct ctld *ctld, uint32_t id, const char *text, char **ret_text,
                  struct err *err)
{
    struct topology *t = ctld->topology;
    struct known_node *k = known_of(t, id);
    char *full;
    int r;

    if (t->rebuild)
        rebuild_live(ctld);
    r = toposet_join(t->live, id, text, &full, err);
    if (r < 0)
        return r;
    free(k->text);
    k->text = must(strdup(full));
    t->publish = true;
    *ret_text = full;
    return 1;
}

void topology_forget(struct ctld *ctld)
{
    ctld->topology->rebuild = true;
}

const struct topologies *topology_now(const struct ctld *ctld)
{
    return ctld->topology ? ctld->topology->now : NULL;
}

struct topologies *topology_get(struct ctld *ctld)
{
    struct topology *t = ctld->topology;
    struct topologies *now;

    (void)pthread_mutex_lock(&t->lock);
    now = topologies_ref(t->now);
    (void)pthread_mutex_unlock(&t->lock);
    return now;
}

struct topologies *topology_take_changed(struct ctld *ctld)
{
    struct topology *t = ctld->topology;

    if (!t->changed)
        return NULL;
    t->changed = false;
    return topologies_ref(t->now);
}

/* ---- hooks ----------------------------------------------------------------------------------- */

static int start_service(struct ctld *ctld, struct err *err)
{
    struct topology *t = calloc(1, sizeof(*t));
    int r;

    if (!t)
        return -ENOMEM;
    ctld->topology = t;
    (void)pthread_mutex_init(&t->lock, NULL);
    r = load_files(ctld, &t->files, err);
    if (r < 0)
        return r;
    rebuild_live(ctld);
    publish_live(ctld);
    return t->now ? 0 : -EINVAL;
}

static void read_again(struct ctld *ctld)
{
    struct topology *t = ctld->topology;
    struct conf_topos *fresh;
    struct err err = { .text = "" };

    if (load_files(ctld, &fresh, &err) < 0) { /* it was good a moment ago */
        log_error("the topologies stay as they were: %s", err.text);
        return;
    }
    conf_topos_free(t->files);
    t->files = fresh;
    t->rebuild = true;
}

static void see_node(struct ctld *ctld, struct node *n, Pst__EventKind kind)
{
    struct topology *t = ctld->topology;
    struct known_node *k = known_of(t, n->rec->node_id);

    (void)kind;
    if (!k->there && !n->rec->topology)
        t->rebuild = true; /* the files may name it */
    else if (!same_or_missing(k->text, n->rec->topology))
        t->rebuild = true;
    k->there = true;
}

static void see_node_gone(struct ctld *ctld, struct node *n)
{
    known_of(ctld->topology, n->rec->node_id)->there = false;
    ctld->topology->rebuild = true;
}

static void end_batch(struct ctld *ctld)
{
    struct topology *t = ctld->topology;

    if (t->rebuild)
        rebuild_live(ctld);
    if (t->publish)
        publish_live(ctld);
}

/* Memberships of slurm.conf as they are shown: with the whole path. */
static void respell_records(struct ctld *ctld, int64_t now_us)
{
    struct topology *t = ctld->topology;
    Pst__Transaction *tx;

    if (!t->respell || t->rebuild) /* a record changed since: `live` comes first */
        return;
    t->respell = false;
    tx = tx_new(now_us);
    for (uint32_t i = 0; i < ctld->cluster->nnodes && i < t->nnodes; i++) {
        const struct node *n = ctld->cluster->nodes[i];

        if (n && n->rec->topology && t->nodes[i].text &&
            strcmp(n->rec->topology, t->nodes[i].text) != 0)
            (void)pb_set_str(&tx_node_patch(tx, PST__EVENT_KIND__EV_NODE_CONFIG, i)->topology,
                             t->nodes[i].text); /* -ENOMEM: shown as it was written */
    }
    if (tx->n_events)
        (void)core_commit(ctld, tx); /* a full disk: shown as it was written */
    else
        tx_free(tx);
}

static void free_service(struct ctld *ctld)
{
    struct topology *t = ctld->topology;

    if (!t)
        return;
    for (size_t i = 0; i < t->nnodes; i++)
        free(t->nodes[i].text);
    free(t->nodes);
    conf_topos_free(t->files);
    toposet_free(t->live);
    topologies_unref(t->now);
    (void)pthread_mutex_destroy(&t->lock);
    free(t);
    ctld->topology = NULL;
}

/* op query-topology, on an I/O thread: units of a topology, and the YAML of all. */
static void answer_topology(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    Pst__TopologyRequest *req = NULL;
    struct topologies *now;
    int64_t began = now_mono_us();
    Pst__TopologyReply *reply = NULL;
    struct err err = { .text = "" };
    int r = FRAME_UNPACK(topology_request, frame, &req, &err);

    if (r < 0) {
        (void)conn_error(c, frame->op, frame->id, EPST_BAD_REQUEST, err.text);
        return;
    }
    now = topology_get(ctld);
    r = toposhow_reply(now, req->name, &reply);
    topologies_unref(now);
    pst__topology_request__free_unpacked(req, NULL);
    if (r == -ENOENT)
        (void)conn_error(c, frame->op, frame->id, ESLURM_REQUESTED_TOPO_CONFIG_UNAVAILABLE, NULL);
    else
        (void)conn_reply(c, frame->op, frame->id, 0, &reply->base); /* fails: the client went */
    if (reply)
        pst__topology_reply__free_unpacked(reply, NULL);
    services_answered(ctld, OP_QUERY_TOPOLOGY, conn_peer(c)->uid, now_mono_us() - began);
}

static const struct ctld_op topology_ops[] = {
    { OP_QUERY_TOPOLOGY, .front = answer_topology },
    { 0 },
};

const struct ctld_service topology_service = {
    .name = "topology",
    .ops = topology_ops,
    .check = check_service,
    .start = start_service,
    .reconfigured = read_again,
    .free = free_service,
    .tick_writing = respell_records,
    .observed = end_batch, /* the scheduler hears of jobs next */
    .batch_end = end_batch,
    .on_node = see_node,
    .on_node_gone = see_node_gone,
};
