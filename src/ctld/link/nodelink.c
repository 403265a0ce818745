/* nodelink.c - the connections of the nodes; see nodelink.h */
#include "ctld/link/nodelink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/digest.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "ctld/core/effects.h"
#include "ctld/core/service.h"
#include "ctld/link/nodejobs.h"

struct nodelink {       /* of one node */
    struct conn *conn;  /* held; NULL = the node is not connected ... */
    int64_t lost_us;    /* ... since then; 0 = it never was */
    int64_t unknown_us; /* its state was first seen to be UNKNOWN then; 0: it is another */
    int64_t heard_us;   /* of the monotonic clock: the node's last word */
    int64_t order_us;   /* likewise: when it was last to read its files anew; 0: never */
    uint32_t beat_s;    /* it has been asked to say something so often; 0: not yet */
    bool deferred;      /* it is to register again once no job holds it */
    bool has_files;     /* it has its configuration from us ... */
    struct digest conf; /* ... and runs with this one */
};

struct nodelinks {
    struct idmap by_conn; /* connection id -> struct node */
    struct nodelink *of;  /* by node id */
    uint32_t n;
    struct nodejobs jobs;
    int64_t judged_us, awake_us; /* of the monotonic clock: see node_links_wake() */
};

#define SILENCE_US (10 * USEC_PER_SEC) /* at least: a busy host is not dead */
#define BEAT_MAX_S 30u
#define BEATS 3u                    /* that may be missed */
#define SLEEP_US (3 * USEC_PER_SEC) /* between two judgements: this process stood still */

int nodelinks_new(struct nodelinks **ret)
{
    *ret = calloc(1, sizeof(**ret));
    return *ret ? 0 : -ENOMEM;
}

struct nodelinks *nodelinks_free(struct nodelinks *l)
{
    if (!l)
        return NULL;
    for (uint32_t i = 0; i < l->n; i++)
        if (l->of[i].conn)
            conn_unref(l->of[i].conn);
    free(l->of);
    nodejobs_done(&l->jobs);
    idmap_done(&l->by_conn);
    free(l);
    return NULL;
}

uint32_t *node_jobs(struct ctld *ctld, const struct node *n, size_t *ret_n)
{
    return nodejobs_of(&ctld->links->jobs, ctld->cluster, n, ret_n);
}

static struct nodelink *link_of(struct ctld *ctld, const struct node *n)
{
    struct nodelinks *l = ctld->links;
    uint32_t id = n->rec->node_id, more = l->n;

    if (id >= l->n) {
        while (more <= id)
            more = more ? more * 2 : 16;
        l->of = must(realloc(l->of, more * sizeof(*l->of)));
        memset(l->of + l->n, 0, (more - l->n) * sizeof(*l->of));
        l->n = more;
    }
    return &l->of[id];
}

bool node_is_linked(const struct ctld *ctld, const struct node *n)
{
    return n->rec->node_id < ctld->links->n && ctld->links->of[n->rec->node_id].conn;
}

int64_t node_link_lost_us(const struct ctld *ctld, const struct node *n)
{
    return n->rec->node_id < ctld->links->n ? ctld->links->of[n->rec->node_id].lost_us : 0;
}

int64_t node_link_unknown_us(struct ctld *ctld, const struct node *n, int64_t now)
{
    struct nodelink *l = link_of(ctld, n);

    if (n->rec->state != PST__NODE_STATE__NODE_UNKNOWN)
        l->unknown_us = 0;
    else if (!l->unknown_us)
        l->unknown_us = now;
    return l->unknown_us;
}

bool node_send(struct ctld *ctld, const struct node *n, uint64_t lsn, unsigned op,
               const ProtobufCMessage *msg)
{
    uint8_t *buf;
    size_t len;

    if (!node_is_linked(ctld, n))
        return false;
    if (frame_pack(op, FRAME_ONEWAY, 0, 0, msg, &buf, &len) < 0) {
        log_error("node %s: a message could not be encoded", n->rec->name);
        return false;
    }
    log_flag(AGENT, "%s to node %s, %zu bytes, behind record %llu", wire_op_info(op)->name,
             n->rec->name, len, (unsigned long long)lsn);
    effects_add(ctld->effects, lsn, link_of(ctld, n)->conn, buf, len);
    return true;
}

void node_link_closed(struct ctld *ctld, struct conn *conn)
{
    struct node *n = idmap_remove(&ctld->links->by_conn, conn_id(conn));
    struct nodelink *l = n ? link_of(ctld, n) : NULL;

    if (!l || l->conn != conn)
        return; /* no node's, or it has dialled anew since */
    l->conn = conn_unref(l->conn);
    l->lost_us = core_now();
    log_verbose("node %s: connection lost", n->rec->name);
    services_on_node_unlinked(ctld, n);
}

/* ---- silence --------------------------------------------------------------------------------- */

uint32_t node_link_expect(struct ctld *ctld, const struct node *n)
{
    struct nodelink *l = link_of(ctld, n);
    uint64_t timeout_s = conf_num(ctld->conf, CONF_SLURMD_TIMEOUT);

    l->beat_s = timeout_s ? (uint32_t)MIN(MAX(timeout_s / 4, 1u), BEAT_MAX_S) : BEAT_MAX_S;
    l->heard_us = now_mono_us();
    return l->beat_s;
}

void node_link_heard(struct ctld *ctld, const struct node *n)
{
    link_of(ctld, n)->heard_us = now_mono_us();
}

void node_link_reread(struct ctld *ctld, const struct node *n)
{
    link_of(ctld, n)->order_us = now_mono_us();
    (void)node_send(ctld, n, ctld->applied_lsn, OP_NODE_RECONFIGURE, NULL); /* or later: behind */
}

bool node_link_is_behind(struct ctld *ctld, const struct node *n)
{
    const struct nodelink *l = link_of(ctld, n);

    return l->order_us && l->heard_us <= l->order_us;
}

void node_links_wake(struct ctld *ctld)
{
    struct nodelinks *links = ctld->links;
    int64_t now = now_mono_us();

    if (now - links->judged_us > SLEEP_US)
        links->awake_us = now;
    links->judged_us = now;
}

void node_link_judge(struct ctld *ctld, struct node *n)
{
    struct nodelink *l = link_of(ctld, n);
    int64_t silent_us = now_mono_us() - MAX(l->heard_us, ctld->links->awake_us);
    struct conn *conn = l->conn;

    if (!conn || !l->beat_s || silent_us <= MAX(SILENCE_US, BEATS * l->beat_s * USEC_PER_SEC))
        return;
    log_error("node %s: has said nothing for %lld s, so its connection is closed", n->rec->name,
              (long long)(silent_us / USEC_PER_SEC));
    (void)idmap_remove(&ctld->links->by_conn, conn_id(conn));
    l->conn = NULL;
    l->beat_s = 0;
    l->lost_us = core_now() - silent_us;
    conn_close(conn);
    conn_unref(conn);
    services_on_node_unlinked(ctld, n);
}

/* ---- what it runs with ----------------------------------------------------------------------- */

void node_link_set_files(struct ctld *ctld, const struct node *n, const ProtobufCBinaryData *digest)
{
    struct nodelink *l = link_of(ctld, n);

    l->has_files = digest && digest_read(&l->conf, digest->data, digest->len);
}

bool node_link_has_files(const struct ctld *ctld, const struct node *n)
{
    return node_is_linked(ctld, n) && ctld->links->of[n->rec->node_id].has_files;
}

size_t node_links_stale(const struct ctld *ctld, const ProtobufCBinaryData *digest)
{
    struct digest d;
    size_t stale = 0;

    if (!digest_read(&d, digest->data, digest->len))
        return 0;
    for (uint32_t i = 0; i < ctld->links->n; i++) {
        const struct nodelink *l = &ctld->links->of[i];

        stale += l->conn && l->has_files && !digest_equal(&l->conf, &d);
    }
    return stale;
}

void node_link_defer(struct ctld *ctld, struct node *n)
{
    link_of(ctld, n)->deferred = true;
}

void node_link_redial(struct ctld *ctld, struct node *n)
{
    struct nodelink *l = link_of(ctld, n);

    if (!l->deferred || n->jobs)
        return;
    l->deferred = false;
    if (l->conn)
        conn_close(l->conn);
}

struct conn *node_link_take(struct ctld *ctld, struct node *n)
{
    struct nodelink *l = link_of(ctld, n);
    struct conn *conn = l->conn;

    if (conn)
        (void)idmap_remove(&ctld->links->by_conn, conn_id(conn));
    *l = (struct nodelink){ .lost_us = core_now() };
    return conn;
}

void node_link_drop(struct ctld *ctld, struct node *n)
{
    struct nodelink *l = link_of(ctld, n);

    if (l->conn) {
        (void)idmap_remove(&ctld->links->by_conn, conn_id(l->conn));
        conn_close(l->conn);
        conn_unref(l->conn);
    }
    *l = (struct nodelink){ 0 }; /* the id may be another node's next */
}

struct node *node_of_conn(const struct ctld *ctld, const struct conn *conn)
{
    return idmap_get(&ctld->links->by_conn, conn_id(conn));
}

/* conn speaks for n from now on. */
void node_link_set(struct ctld *ctld, struct node *n, struct conn *conn)
{
    struct nodelink *l = link_of(ctld, n);

    if (l->conn && l->conn != conn) {
        if (strcmp(conn_peer(l->conn)->addr, conn_peer(conn)->addr) != 0)
            log_error("node %s: registers from %s, and takes the place of its connection from %s",
                      n->rec->name, conn_peer(conn)->addr, conn_peer(l->conn)->addr);
        (void)idmap_remove(&ctld->links->by_conn, conn_id(l->conn));
        conn_close(l->conn); /* the node has dialled anew */
    }
    if (l->conn)
        conn_unref(l->conn);
    *l = (struct nodelink){ .conn = conn_ref(conn),
                            .heard_us = l->heard_us,
                            .order_us = l->order_us };
    must_do(idmap_put(&ctld->links->by_conn, conn_id(conn), n));
}
