/* confserve.c - the configuration for hosts that have no files; see confserve.h
 *
 * check() reads the files of the configuration that is being looked at: a bundle for nodes, one for
 * commands.  They take the place of those in force when the configuration does.  Requests that wait
 * for another configuration are answered then.  docs/design/0018-configless.md. */
#include "ctld/front/confserve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "configless/confbundle.h"
#include "ctld/core/service.h"

#define WAITERS_MAX 16384u /* hosts that wait for the next configuration */

struct bundles { /* NULL: configless is not enabled */
    Pst__ConfBundle *node, *command;
};

struct conf_waiter {
    struct conf_waiter *next;
    struct cmd reply; /* conn (held), op and id to answer with */
    bool node;
};

struct confserve {
    struct bundles now, checked;
    struct conf_waiter *waiters;
    size_t n_waiters;
};

/* ---- bundles --------------------------------------------------------------------------------- */

static void free_bundle(Pst__ConfBundle *b)
{
    if (b)
        pst__conf_bundle__free_unpacked(b, NULL);
}

static void bundles_done(struct bundles *b)
{
    free_bundle(b->node);
    free_bundle(b->command);
    *b = (struct bundles){ 0 };
}

static int read_bundles(const struct conf *conf, struct bundles *ret, struct err *err)
{
    struct bundles b = { 0 };
    struct conf_shared files;
    int64_t now = core_now();
    int r = conf_shared_read(conf, &files, err);

    if (r < 0) {
        err_prefix(err, "enable_configless");
        return r;
    }
    r = confbundle_make(&files, true, now, &b.node);
    if (r == 0)
        r = confbundle_make(&files, false, now, &b.command);
    conf_shared_done(&files);
    if (r < 0) {
        bundles_done(&b);
        return err_nomem(err);
    }
    *ret = b;
    return 0;
}

static int check_conf(struct ctld *ctld, const struct conf *conf, struct err *err)
{
    if (!ctld->confserve)
        ctld->confserve = must(calloc(1, sizeof(*ctld->confserve)));
    bundles_done(&ctld->confserve->checked);
    if (!conf_option(conf, CONF_SLURMCTLD_PARAMETERS, "enable_configless", NULL, NULL))
        return 0;
    return read_bundles(conf, &ctld->confserve->checked, err);
}

static bool same_digest(const ProtobufCBinaryData *a, const ProtobufCBinaryData *b)
{
    return a->len == b->len && memcmp(a->data, b->data, a->len) == 0;
}

/* Contents that were in force already stay in force since then. */
static void put_in_force(struct confserve *s)
{
    struct bundles fresh = s->checked;

    s->checked = (struct bundles){ 0 };
    if (s->now.node && fresh.node && same_digest(&s->now.node->digest, &fresh.node->digest)) {
        bundles_done(&fresh);
        return;
    }
    bundles_done(&s->now);
    s->now = fresh;
    if (s->now.node)
        log_info("configless: %zu files for nodes, %zu for commands, digest %02x%02x%02x%02x",
                 s->now.node->n_files, s->now.command->n_files, s->now.node->digest.data[0],
                 s->now.node->digest.data[1], s->now.node->digest.data[2],
                 s->now.node->digest.data[3]);
}

const Pst__ConfBundle *confserve_bundle(const struct ctld *ctld)
{
    return ctld->confserve ? ctld->confserve->now.node : NULL;
}

bool confserve_is_current(const struct ctld *ctld, bool has_digest,
                          const ProtobufCBinaryData *digest)
{
    const Pst__ConfBundle *b = confserve_bundle(ctld);

    return !b || !has_digest || same_digest(&b->digest, digest);
}

void confserve_fill(const struct ctld *ctld, Pst__StepCredential *cred)
{
    const Pst__ConfBundle *b = confserve_bundle(ctld);

    if (!b)
        return;
    cred->has_conf_digest = cred->has_conf_since_us = true;
    cred->conf_digest = b->digest; /* only read */
    cred->conf_since_us = b->since_us;
}

/* ---- requests -------------------------------------------------------------------------------- */

static void answer_fetch(struct ctld *ctld, const struct cmd *cmd, bool node)
{
    const struct bundles *b = &ctld->confserve->now;

    if (b->node)
        core_reply(ctld, cmd, 0, 0, node ? &b->node->base : &b->command->base);
    else
        core_error(ctld, cmd, ESLURM_CONFIGLESS_DISABLED, NULL);
}

static void add_waiter(struct ctld *ctld, const struct cmd *cmd, bool node)
{
    struct conf_waiter *w = must(calloc(1, sizeof(*w)));

    w->reply.conn = conn_ref(cmd->conn);
    w->reply.op = cmd->op;
    w->reply.id = cmd->id;
    w->node = node;
    w->next = ctld->confserve->waiters;
    ctld->confserve->waiters = w;
    ctld->confserve->n_waiters++;
}

static void op_conf_fetch(struct ctld *ctld, struct cmd *cmd)
{
    const Pst__ConfRequest *m = PB_AS(conf_request, cmd->msg);
    const struct bundles *b = &ctld->confserve->now;
    bool node = m->has_node && m->node;
    bool has = b->node && m->has_have &&
               same_digest(node ? &b->node->digest : &b->command->digest, &m->have);
    Pst__ConfBundle same = PST__CONF_BUNDLE__INIT;

    if (node && !core_is_admin(ctld, cmd->uid)) /* a prolog may hold what users must not know */
        core_error(ctld, cmd, ESLURM_ACCESS_DENIED, NULL);
    else if (!has)
        answer_fetch(ctld, cmd, node);
    else if (m->has_wait && m->wait && core_is_admin(ctld, cmd->uid) &&
             ctld->confserve->n_waiters < WAITERS_MAX)
        add_waiter(ctld, cmd, node);
    else
        core_reply(ctld, cmd, 0, 0, &same.base);
}

static void free_waiter(struct confserve *s, struct conf_waiter **at)
{
    struct conf_waiter *w = *at;

    *at = w->next;
    s->n_waiters--;
    conn_unref(w->reply.conn);
    free(w);
}

/* The client has gone, and cannot be answered. */
static void forget_conn(struct ctld *ctld, struct conn *conn)
{
    struct conf_waiter **at = &ctld->confserve->waiters;

    while (*at) {
        if ((*at)->reply.conn == conn)
            free_waiter(ctld->confserve, at);
        else
            at = &(*at)->next;
    }
}

/* ---- the service ----------------------------------------------------------------------------- */

static int start_serving(struct ctld *ctld, struct err *err)
{
    (void)err;
    put_in_force(ctld->confserve);
    return 0;
}

static void follow_conf(struct ctld *ctld)
{
    struct confserve *s = ctld->confserve;
    const Pst__ConfBundle *before = s->now.node;

    put_in_force(s);
    while (s->now.node != before && s->waiters) {
        answer_fetch(ctld, &s->waiters->reply, s->waiters->node);
        free_waiter(s, &s->waiters);
    }
}

static void give_back_conns(struct ctld *ctld)
{
    while (ctld->confserve && ctld->confserve->waiters)
        free_waiter(ctld->confserve, &ctld->confserve->waiters);
}

static void free_serving(struct ctld *ctld)
{
    if (!ctld->confserve)
        return;
    bundles_done(&ctld->confserve->now);
    bundles_done(&ctld->confserve->checked);
    free(ctld->confserve);
    ctld->confserve = NULL;
}

static const struct ctld_op confserve_ops[] = {
    { OP_CONF_FETCH, .fn = op_conf_fetch, .flags = OPF_CLOSES },
    { 0 },
};

const struct ctld_service confserve_service = {
    .name = "confserve",
    .ops = confserve_ops,
    .check = check_conf,
    .start = start_serving,
    .reconfigured = follow_conf,
    .on_conn_closed = forget_conn,
    .stop = give_back_conns,
    .free = free_serving,
};
