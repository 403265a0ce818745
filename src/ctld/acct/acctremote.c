/* acctremote.c - slurmdbd as a sink; see acctsink.h.
 *
 * The daemon keeps the cursor with the rows, so whichever side dies, the next registration tells
 * where to go on.  What accounting does not keep (scripts, partitions ...) stays here.  One batch
 * is under way at a time: it holds thousands of records, and the daemon's commit is what there is
 * to wait for. */
#include "ctld/acct/acctsink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "acct.pb-c.h"
#include "acct/acct.h"
#include "base/cleanup.h"
#include "base/log.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/client.h"
#include "wire/client_watch.h"
#include "wire/ops.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

#define TIMEOUT_MS 60000
#define CONNECT_MS 5000
#define BATCH_BYTES (4u << 20)

struct remote {
    struct acctsink base;
    /* of slurm.conf, which may be replaced */
    char *hosts[2], *cluster, *key_file, *munge_socket, *control_host, *uuid;
    uint16_t port, control_port;
    unsigned told_keep; /* what slurmdbd was told to keep */
    bool use_munge;
    struct tls_config tls; /* its files are read at each connection */
    uid_t slurm_uid;
    struct client *client;
    struct client_watch watch; /* for interrupt(): the client is the thread's */
    /* the batch */
    Pst__DbdRecord *records;
    size_t n, cap, bytes;
    uint64_t upto;
};

static struct remote *remote_of(struct acctsink *s)
{
    return (struct remote *)s;
}

static void batch_reset(struct remote *s)
{
    for (size_t i = 0; i < s->n; i++)
        free(s->records[i].data.data);
    s->n = s->bytes = 0;
    s->upto = s->base.cursor;
}

static void set_client(struct remote *s, struct client *client)
{
    struct client *old = s->client;

    s->client = client;
    client_watch_note(&s->watch, client ? client_fd(client) : -1);
    (void)client_free(old); /* always NULL */
}

static void remote_close(struct acctsink *s)
{
    set_client(remote_of(s), NULL);
    batch_reset(remote_of(s));
    s->open = false;
}

static int close_failed(struct acctsink *s, int r, struct err *err)
{
    err_set(err, r, "accounting: slurmdbd: %s", client_strerror(remote_of(s)->client, r));
    remote_close(s);
    return r;
}

/* ---- connecting ------------------------------------------------------------------------------ */

static int connect_any(struct remote *s, struct client **ret, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    int r = s->tls.kind == TLS_NONE ? 0 : tls_ctx_new(&s->tls, &tls, err);

    if (r < 0)
        return r;
    r = -ECONNREFUSED;
    for (size_t i = 0; i < ARRAY_SIZE(s->hosts) && r < 0 && !client_watch_ended(&s->watch); i++) {
        struct client_target target = {
            .host = s->hosts[i],
            .port = s->port,
            .try_local = i == 0,
            .cluster = s->cluster,
            .key_file = s->key_file,
            .use_munge = s->use_munge,
            .munge_socket = s->munge_socket,
            .timeout_ms = CONNECT_MS,
            .program = "slurmctld",
            .service = "slurmdbd",
            .tls = tls,
            .watch = &s->watch,
        };

        if (target.host)
            r = client_connect(&target, s->slurm_uid, ret, err);
    }
    if (r < 0)
        return err_set(err, r, "accounting: slurmdbd on %s port %u cannot be reached: %s",
                       s->hosts[0], s->port, strerrordesc_np(-r));
    return 0;
}

static int register_cluster(struct remote *s, uint64_t journal_end, struct err *err)
{
    Pst__DbdRegister request = PST__DBD_REGISTER__INIT;
    Pst__DbdCursor *reply = NULL;
    int r;

    request.cluster = s->cluster;
    request.uuid = s->uuid;
    request.control_host = s->control_host;
    request.has_control_port = true;
    request.control_port = s->control_port;
    request.has_last_lsn = true;
    request.last_lsn = journal_end;
    request.has_keep = true;
    request.keep = s->told_keep = s->base.keep;
    r = client_call(s->client, OP_DBD_REGISTER, &request.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        return close_failed(&s->base, r, err);
    s->base.cursor = reply->cursor;
    s->base.gather_us = reply->commit_delay_s * USEC_PER_SEC;
    pst__dbd_cursor__free_unpacked(reply, NULL);
    return 0;
}

static int remote_open(struct acctsink *sink, uint64_t journal_end, struct err *err)
{
    struct remote *s = remote_of(sink);
    struct client *client = NULL;
    int r;

    if (sink->open && s->told_keep != sink->keep)
        remote_close(sink); /* to register with what is kept now */
    if (sink->open)
        return 0;
    r = connect_any(s, &client, err);
    if (r < 0)
        return r;
    client_set_timeout(client, TIMEOUT_MS);
    set_client(s, client);
    r = register_cluster(s, journal_end, err);
    if (r < 0)
        return r;
    log_info("accounting: registered with slurmdbd, which is at record %llu",
             (unsigned long long)sink->cursor);
    sink->open = true;
    batch_reset(s);
    return 0;
}

/* ---- batches --------------------------------------------------------------------------------- */

static int remote_begin(struct acctsink *sink, struct err *err)
{
    (void)err;
    batch_reset(remote_of(sink));
    return 0;
}

static bool keeps_event(const struct remote *s, const Pst__Transaction *tx, const Pst__Event *ev)
{
    switch (ev->body_case) {
    case PST__EVENT__BODY_BLOB_PUT:
        return acct_keeps_blob(tx, ev->blob_put, s->base.keep);
    case PST__EVENT__BODY_STEP_PUT:
        return acct_keeps_step(ev->step_put, s->base.most_steps);
    case PST__EVENT__BODY_JOB_PUT:
    case PST__EVENT__BODY_JOB_PATCH:
    case PST__EVENT__BODY_JOB_PURGE:
    case PST__EVENT__BODY_STEP_PATCH:
    case PST__EVENT__BODY_NODE_PUT:
    case PST__EVENT__BODY_NODE_PATCH:
    case PST__EVENT__BODY_NODE_REMOVE:
    case PST__EVENT__BODY_CLUSTER_SET:
    case PST__EVENT__BODY_RESV_PUT:
    case PST__EVENT__BODY_RESV_REMOVE:
        return true;
    default:
        return false;
    }
}

static int make_room(struct remote *s)
{
    size_t cap = s->cap ? s->cap * 2 : 1024;
    Pst__DbdRecord *bigger;

    if (s->n < s->cap)
        return 0;
    bigger = reallocarray(s->records, cap, sizeof(*bigger));
    if (!bigger)
        return -ENOMEM;
    s->records = bigger;
    s->cap = cap;
    return 0;
}

static int remote_add(struct acctsink *sink, uint64_t lsn, const Pst__Transaction *tx,
                      struct err *err)
{
    struct remote *s = remote_of(sink);
    _cleanup_free_ Pst__Event **events = calloc(tx->n_events + 1, sizeof(*events));
    Pst__Transaction small = *tx;
    Pst__DbdRecord *rec;
    uint8_t *data;

    if (!events || make_room(s) < 0)
        return err_nomem_of(err, "accounting");
    small.events = events;
    small.n_events = 0;
    for (size_t i = 0; i < tx->n_events; i++)
        if (keeps_event(s, tx, tx->events[i]))
            events[small.n_events++] = tx->events[i];
    s->upto = lsn;
    if (!small.n_events)
        return 0;
    data = malloc(pst__transaction__get_packed_size(&small) + 1);
    if (!data)
        return err_nomem_of(err, "accounting");
    rec = &s->records[s->n++];
    pst__dbd_record__init(rec);
    rec->has_lsn = rec->has_data = true;
    rec->lsn = lsn;
    rec->data = (ProtobufCBinaryData){ .data = data, .len = pst__transaction__pack(&small, data) };
    s->bytes += rec->data.len;
    return 0;
}

static bool remote_full(const struct acctsink *sink)
{
    return ((const struct remote *)sink)->bytes > BATCH_BYTES;
}

static int remote_commit(struct acctsink *sink, int64_t fed_us, struct err *err)
{
    struct remote *s = remote_of(sink);
    _cleanup_free_ Pst__DbdRecord **list = calloc(s->n + 1, sizeof(*list));
    Pst__DbdFeed feed = PST__DBD_FEED__INIT;
    Pst__DbdCursor *reply = NULL;
    int r;

    if (!list)
        return err_nomem_of(err, "accounting");
    for (size_t i = 0; i < s->n; i++)
        list[i] = &s->records[i];
    feed.cluster = s->cluster;
    feed.has_after = feed.has_upto = true;
    feed.after = sink->cursor;
    feed.upto = s->upto;
    feed.records = list;
    feed.n_records = s->n;
    feed.has_fed_us = fed_us > 0;
    feed.fed_us = fed_us;
    r = client_call(s->client, OP_DBD_FEED, &feed.base, (ProtobufCMessage **)&reply);
    if (r < 0)
        return close_failed(sink, r, err);
    sink->cursor = reply->cursor;
    pst__dbd_cursor__free_unpacked(reply, NULL);
    batch_reset(s);
    return 0;
}

static void remote_interrupt(struct acctsink *sink)
{
    client_watch_end(&remote_of(sink)->watch); /* by who ends the thread: it stays so */
}

static void remote_free(struct acctsink *sink)
{
    struct remote *s = remote_of(sink);

    remote_close(sink);
    client_watch_done(&s->watch);
    free(s->records);
    free(s->hosts[0]);
    free(s->hosts[1]);
    free(s->cluster);
    free(s->key_file);
    tls_config_done(&s->tls);
    free(s->munge_socket);
    free(s->control_host);
    free(s->uuid);
    free(s);
}

static const struct acctsink_ops remote_ops = {
    .open = remote_open,
    .begin = remote_begin,
    .add = remote_add,
    .full = remote_full,
    .commit = remote_commit,
    .close = remote_close,
    .interrupt = remote_interrupt,
    .free = remote_free,
};

static int copy_conf(struct remote *s, const struct conf *conf, const char *uuid)
{
    int r = copy_text(&s->hosts[0], conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST));

    if (r == 0)
        r = copy_text(&s->hosts[1], conf_str(conf, CONF_ACCOUNTING_STORAGE_BACKUP_HOST));
    if (r == 0)
        r = copy_text(&s->cluster, conf_str(conf, CONF_CLUSTER_NAME));
    if (r == 0)
        r = copy_text(&s->key_file, conf_key_file(conf));
    if (r == 0)
        r = copy_text(&s->munge_socket, conf_munge_socket(conf));
    if (r == 0)
        r = copy_text(&s->control_host, conf_ctld_host(conf, 0, NULL));
    if (r == 0)
        r = copy_text(&s->uuid, uuid ? uuid : "");
    s->port = (uint16_t)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT);
    s->control_port = conf_ctld_port(conf);
    s->use_munge = conf_use_munge(conf);
    if (r == 0)
        r = conf_tls(conf, CONF_TLS_CTLD, &s->tls);
    s->slurm_uid = conf_slurm_uid(conf);
    return r;
}

int acctsink_slurmdbd(const struct conf *conf, const char *uuid, struct acctsink **ret)
{
    struct remote *s = calloc(1, sizeof(*s));
    int r;

    if (!s)
        return -ENOMEM;
    client_watch_init(&s->watch);
    s->base.ops = &remote_ops;
    s->base.keep = ACCT_KEEP_ALL;
    s->base.most_steps = UINT32_MAX;
    r = copy_conf(s, conf, uuid);
    if (r < 0)
        remote_free(&s->base);
    else
        *ret = &s->base;
    return r;
}
