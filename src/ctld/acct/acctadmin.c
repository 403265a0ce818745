/* acctadmin.c - accounting entities in a controller that keeps the store itself; see acctadmin.h.
 *
 * The store is ahead of the log: a change is committed there first and then journaled here.  What
 * the log misses when the process dies between the two is delivered at the next start, since the
 * model knows the version it has.  When the log refuses (the disk is full) the change waits in the
 * store and is delivered again later; the client is told so. */
#include "ctld/acct/acctadmin.h"

#include <errno.h>
#include <netdb.h>
#include <stdlib.h>
#include <string.h>

#include "acct/admin/adminserve.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/compare/order.h"
#include "base/pb/pbutil.h"
#include "base/strbuf.h"
#include "conf/conf_shared.h"
#include "ctld/acct/acctsync.h"
#include "ctld/ctld.h"
#include "ctld/core/service.h"
#include "model/words/clusterflags.h"

#define CTLD_ADDRS_MAX 16
#define ACCT_RPC_VERSION 11520u /* what lists of clusters call the protocol of 26.05 */

struct acctadmin {
    struct ctld *ctld;
    struct adminserve *serve;
    uid_t slurm_uid;
};

struct delivery { /* of adminserve, while its changes are on their way through the log */
    struct acctadmin *a;
    struct admin_delivery *d;
    uint64_t before; /* version that the controller had */
};

/* Any thread. */
static void finish_delivery(void *arg, int r, uint64_t version)
{
    struct delivery *v = arg;
    struct admin_delivery *d = v->d;

    (void)version;
    if (r == 0 && d->conn) {
        conn_send_take(d->conn, TAKE_PTR(d->answer), d->answer_len);
    } else if (r < 0) {
        if (d->conn)
            (void)conn_error(
                d->conn, OP_ACCT_ADMIN, d->id, r == -ENOSPC ? EPST_DISK_FULL : EPST_SHUTTING_DOWN,
                "the change is stored, and takes effect when the controller can write its log "
                "again"); /* a lost peer needs no answer */
        if (r != -ECANCELED) {
            log_error("accounting: a change of entities is stored but not in the log: %s",
                      strerrordesc_np(-r));
            adminserve_redeliver(v->a->serve, v->before);
        }
    }
    admin_delivery_free(d);
    free(v);
}

static void deliver_changes(void *ctx, struct admin_delivery *d)
{
    struct acctadmin *a = ctx;
    struct delivery *v = must(calloc(1, sizeof(*v)));
    Pst__AcctChange **changes = TAKE_PTR(d->changes);
    size_t n = d->n;

    *v = (struct delivery){ .a = a, .d = d };
    v->before = n && changes[0]->version ? changes[0]->version - 1 : 0;
    d->n = 0;
    acctsync_post(a->ctld, changes, n, finish_delivery, v);
}

static bool is_root(void *ctx, uid_t uid)
{
    const struct acctadmin *a = ctx;

    return uid == 0 || uid == a->slurm_uid;
}

void acctadmin_request(struct acctadmin *a, struct conn *conn, const struct frame *frame)
{
    struct err err = { .text = "" };
    ProtobufCMessage *msg;

    if (!a)
        (void)conn_error(conn, frame->op, frame->id, ESLURM_DB_CONNECTION,
                         "this controller does not keep the accounting store"); /* likewise */
    else if (frame_unpack_request(frame, &msg, &err) < 0)
        (void)conn_error(conn, frame->op, frame->id, EPST_BAD_REQUEST, err.text); /* likewise */
    else
        adminserve_request(a->serve, conn, frame->op, frame->id, msg);
}

/* ---- what this cluster is -------------------------------------------------------------------- */

/* Names of AccountingStorageTRES, and what comes with GPUs.  Caller frees list and strings. */
static char **tres_names(const struct conf *conf, size_t *ret_n)
{
    const char *list = conf_str(conf, CONF_ACCOUNTING_STORAGE_TRES);
    char **names = calloc((list ? strlen(list) : 0) / 2 + 4, sizeof(char *));
    bool gpu = false;
    size_t n = 0;

    while (names && list && *list) {
        size_t len = strcspn(list, ", ");

        if (memchr(list, '/', len) && (names[n] = strndup(list, len))) {
            gpu |= strcmp(names[n], "gres/gpu") == 0;
            n++;
        }
        list += len;
        list += strspn(list, ", ");
    }
    if (gpu && (names[n] = strdup("gres/gpumem")))
        n++;
    if (gpu && (names[n] = strdup("gres/gpuutil")))
        n++;
    if (names)
        qsort(names, n, sizeof(char *), order_text);
    *ret_n = n;
    return names;
}

static unsigned private_data(const struct conf *conf)
{
    unsigned bits = 0;

    if (conf_private(conf, "accounts"))
        bits |= ADMIN_PRIVATE_ACCOUNTS;
    if (conf_private(conf, "users"))
        bits |= ADMIN_PRIVATE_USERS;
    if (conf_private(conf, "events"))
        bits |= ADMIN_PRIVATE_EVENTS;
    return bits;
}

/* The controller's address as numbers, as people know it from lists of clusters; its name when
 * there is none. */
static char *control_host(const struct conf *conf)
{
    const char *addr = NULL;
    struct addrinfo hints = { .ai_family = AF_INET, .ai_socktype = SOCK_STREAM };
    struct addrinfo *found = NULL;
    char text[NI_MAXHOST];

    if (conf_ctld_addrs(conf, &addr, 1) == 0)
        addr = "localhost";
    if (getaddrinfo(addr, NULL, &hints, &found) != 0)
        return strdup(addr);
    if (getnameinfo(found->ai_addr, found->ai_addrlen, text, sizeof(text), NULL, 0,
                    NI_NUMERICHOST) != 0)
        (void)snprintf(text, sizeof(text), "%s", addr);
    freeaddrinfo(found);
    return strdup(text);
}

/* Of all controllers, with commas between: a backup may lead when a command comes. */
static char *control_addrs(const struct conf *conf)
{
    const char *addrs[CTLD_ADDRS_MAX];
    size_t n = conf_ctld_addrs(conf, addrs, ARRAY_SIZE(addrs));
    struct strbuf sb = STRBUF_INIT;
    char *text = NULL;

    for (size_t i = 0; i < n; i++)
        strbuf_addf(&sb, "%s%s", i ? "," : "", addrs[i]);
    return strbuf_detach(&sb, &text) < 0 ? NULL : text;
}

int acctadmin_describe(struct ctld *ctld, struct acctadmin_self *ret)
{
    *ret = (struct acctadmin_self){ 0 };
    pst__acct_cluster_record__init(&ret->cluster);
    ret->host = control_host(ctld->conf);
    ret->addrs = conf_ctld_host(ctld->conf, 1, NULL) ? control_addrs(ctld->conf) : strdup("");
    ret->tres = tres_names(ctld->conf, &ret->n_tres);
    ret->cluster.name = (char *)conf_str(ctld->conf, CONF_CLUSTER_NAME); /* only read */
    ret->cluster.control_host = ret->host;
    ret->cluster.control_addrs = ret->addrs;
    ret->cluster.has_control_port = ret->cluster.has_protocol = 1;
    ret->cluster.control_port = conf_ctld_port(ctld->conf);
    ret->cluster.protocol = ACCT_RPC_VERSION;
    ret->cluster.has_flags = true;
    ret->cluster.flags = conf_shared_hosts(ctld->conf) ? CLUSTER_MULTIPLE_SLURMD : 0;
    return ret->host && ret->addrs && ret->tres ? 0 : -ENOMEM;
}

void acctadmin_self_done(struct acctadmin_self *self)
{
    for (size_t i = 0; self->tres && i < self->n_tres; i++)
        free(self->tres[i]);
    free(self->tres);
    free(self->host);
    free(self->addrs);
}

int acctadmin_start(struct ctld *ctld, const char *location, struct acctadmin **ret,
                    struct err *err)
{
    struct acctadmin *a = calloc(1, sizeof(*a));
    struct acctadmin_self self;
    struct adminserve_config config = { .location = location,
                                        .cluster = &self.cluster,
                                        .known_version = ctld->cluster->rec->acct_version,
                                        .rules = private_data(ctld->conf),
                                        .is_root = is_root,
                                        .deliver = deliver_changes };
    int r;

    if (!a)
        return -ENOMEM;
    a->ctld = ctld;
    a->slurm_uid = conf_slurm_uid(ctld->conf);
    config.ctx = a;
    r = acctadmin_describe(ctld, &self);
    config.tres = (const char *const *)self.tres;
    config.n_tres = self.n_tres;
    if (r == 0)
        r = adminserve_start(&config, &a->serve, err);
    acctadmin_self_done(&self);
    if (r < 0) {
        free(a);
        return r;
    }
    *ret = a;
    return 0;
}

void acctadmin_reconfigured(struct acctadmin *a)
{
    if (a->serve)
        adminserve_rule(a->serve, private_data(a->ctld->conf));
}

struct acctadmin *acctadmin_stop(struct acctadmin *a)
{
    if (!a)
        return NULL;
    a->serve = adminserve_stop(a->serve);
    free(a);
    return NULL;
}

/* ---- the service ----------------------------------------------------------------------------- */

static void answer_request(struct ctld *ctld, struct conn *c, const struct frame *frame)
{
    acctadmin_request(ctld->acct_admin, c, frame);
}

static const struct ctld_op acctadmin_ops[] = { { OP_ACCT_ADMIN, .front = answer_request },
                                                { OP_ACCT_LIST, .front = answer_request },
                                                { OP_ACCT_BLOB, .front = answer_request },
                                                { 0 } };

/* The core's copy of the keys is as new as the log: what is made already is not asked for again. */
static void note_key(struct ctld *ctld, struct job *j, uint64_t lsn)
{
    const char *cluster = conf_str(ctld->conf, CONF_CLUSTER_NAME);
    const Pst__JobRecord *r = j->rec;
    const Pst__WckeyRecord *have;

    (void)lsn;
    if (!ctld->acct_admin || !r->wckey || !r->user_name || !conf_bool(ctld->conf, CONF_TRACK_WCKEY))
        return;
    have = am_wckey_named(ctld->cluster->am, cluster, r->user_name, r->wckey);
    if (!have || have->deleted)
        adminserve_job_key(ctld->acct_admin->serve, cluster, r->user_name, r->wckey);
}

const struct ctld_service acctadmin_service = { .name = "acctadmin",
                                                .ops = acctadmin_ops,
                                                .job_started = note_key };
