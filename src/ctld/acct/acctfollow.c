/* acctfollow.c - following slurmdbd's accounting entities; see acctfollow.h.
 *
 * The request names the version that is in force here; when the log refuses a batch the connection
 * is made anew after a pause and the batch comes again. */
#include "ctld/acct/acctfollow.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/must.h"
#include "base/text/owntext.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/acct/acctadmin.h"
#include "ctld/acct/acctsync.h"
#include "ctld/acct/acctthread.h"
#include "ctld/ctld.h"
#include "wire/client.h"
#include "wire/client_watch.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

#include "acctop.pb-c.h"

#define RETRY_US (2 * USEC_PER_SEC)
#define SILENCE_MS 60000 /* then the connection is made anew: it may be dead */
#define CONNECT_MS 10000
#define ARRIVAL_MS 3000 /* nobody waits for it longer */
#define BRING_MS 1000   /* likewise */

struct acctfollow {
    struct ctld *ctld;
    char *hosts[2], *cluster, *key_file, *munge_socket;
    uint16_t port;
    bool use_munge;
    struct tls_config tls; /* its files are read at each connection */
    uid_t slurm_uid;
    uint8_t *request; /* AcctFollowRequest without a version */
    size_t request_len;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct client_watch watch; /* wakes the thread; the client is its own */
    struct client *client;
    bool stopping; /* under the lock */
    char *leaves;  /* likewise: this federation, once slurmdbd hears of it; NULL: none */
    _Atomic uint64_t version;
    atomic_bool refused; /* by the log */
    atomic_bool landed;  /* the last batch is in force */
    atomic_bool anew;    /* the connection was ended to ask for something else */
    bool failing;        /* and said so */
    /* a batch that comes in pieces */
    Pst__AcctChange **batch;
    size_t n;
};

static void wake_up(struct acctfollow *f)
{
    client_watch_wake(&f->watch);
    pthread_mutex_lock(&f->lock);
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
}

static void set_client(struct acctfollow *f, struct client *client)
{
    struct client *old = f->client;

    f->client = client;
    client_watch_note(&f->watch, client ? client_fd(client) : -1);
    (void)client_free(old); /* always NULL */
}

void acctfollow_leave(struct acctfollow *f, const char *federation)
{
    pthread_mutex_lock(&f->lock);
    free(f->leaves);
    f->leaves = must(strdup(federation));
    pthread_mutex_unlock(&f->lock);
    atomic_store(&f->anew, true);
    wake_up(f);
}

void acctfollow_stay(struct acctfollow *f)
{
    pthread_mutex_lock(&f->lock);
    free(TAKE_PTR(f->leaves));
    pthread_mutex_unlock(&f->lock);
}

static void drop_batch(struct acctfollow *f)
{
    for (size_t i = 0; i < f->n; i++)
        pst__acct_change__free_unpacked(f->batch[i], NULL);
    free(f->batch);
    f->batch = NULL;
    f->n = 0;
}

/* ---- what comes ------------------------------------------------------------------------------ */

/* Core or writer's thread. */
static void note_arrival(void *arg, int r, uint64_t version)
{
    struct acctfollow *f = arg;

    if (r == 0) {
        atomic_store(&f->version, version);
        pthread_mutex_lock(&f->lock);
        atomic_store(&f->landed, true);
        pthread_cond_signal(&f->wake);
        pthread_mutex_unlock(&f->lock);
    } else if (r != -ECANCELED) { /* at the end f may be gone */
        atomic_store(&f->refused, true);
        wake_up(f);
    }
}

/* Until the batch is in force, it was refused, or nobody waits for it any more. */
static bool wait_for_arrival(struct acctfollow *f)
{
    int64_t until = now_mono_us() + ARRIVAL_MS * (USEC_PER_SEC / 1000);
    struct timespec ts = { .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };

    pthread_mutex_lock(&f->lock);
    while (!f->stopping && !atomic_load(&f->refused) && !atomic_load(&f->landed))
        if (pthread_cond_timedwait(&f->wake, &f->lock, &ts) == ETIMEDOUT)
            break;
    pthread_mutex_unlock(&f->lock);
    return atomic_load(&f->landed);
}

static int tell_arrival(struct acctfollow *f)
{
    Pst__AcctFollowRequest req = PST__ACCT_FOLLOW_REQUEST__INIT;

    req.has_arrived = 1;
    req.arrived = atomic_load(&f->version);
    return client_send(f->client, OP_ACCT_FOLLOW, 0, client_next_id(f->client), &req.base);
}

/* Somebody asks slurmdbd for jobs: what was answered here before is stored first. */
static int bring_records(struct acctfollow *f, uint64_t ticket)
{
    Pst__AcctFollowRequest req = PST__ACCT_FOLLOW_REQUEST__INIT;

    acctthread_catch_up(f->ctld->acct, BRING_MS);
    req.has_brought = 1;
    req.brought = ticket;
    return client_send(f->client, OP_ACCT_FOLLOW, 0, client_next_id(f->client), &req.base);
}

static int take_changes(struct acctfollow *f, const struct frame *frame)
{
    Pst__AcctChanges *some = pst__acct_changes__unpack(NULL, frame->len, frame->body);
    bool more, asks;

    if (!some)
        return -EBADMSG;
    if (some->has_bring) {
        uint64_t ticket = some->bring;

        pst__acct_changes__free_unpacked(some, NULL);
        return bring_records(f, ticket);
    }
    f->batch = must(reallocarray(f->batch, f->n + some->n_changes + 1, sizeof(*f->batch)));
    for (size_t i = 0; i < some->n_changes; i++)
        f->batch[f->n++] = some->changes[i];
    some->n_changes = 0; /* they were moved */
    more = some->more;
    asks = some->asks;
    pst__acct_changes__free_unpacked(some, NULL);
    if (!more && f->n) {
        size_t n = f->n;

        f->n = 0;
        atomic_store(&f->landed, false);
        acctsync_post(f->ctld, TAKE_PTR(f->batch), n, note_arrival, f);
        if (asks && wait_for_arrival(f))
            return tell_arrival(f);
    }
    return 0;
}

/* ---- the connection -------------------------------------------------------------------------- */

static int connect_any(struct acctfollow *f, struct err *err)
{
    struct client *client = NULL;
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    int r = f->tls.kind == TLS_NONE ? 0 : tls_ctx_new(&f->tls, &tls, err);

    if (r < 0)
        return r;
    r = -ECONNREFUSED;
    for (size_t i = 0; i < ARRAY_SIZE(f->hosts) && r < 0 && !client_watch_ended(&f->watch); i++) {
        struct client_target target = { .host = f->hosts[i],
                                        .port = f->port,
                                        .try_local = i == 0,
                                        .cluster = f->cluster,
                                        .key_file = f->key_file,
                                        .use_munge = f->use_munge,
                                        .munge_socket = f->munge_socket,
                                        .timeout_ms = CONNECT_MS,
                                        .program = "slurmctld",
                                        .service = "slurmdbd",
                                        .tls = tls,
                                        .watch = &f->watch };

        if (target.host)
            r = client_connect(&target, f->slurm_uid, &client, err);
    }
    if (r == 0)
        set_client(f, client);
    return r;
}

static int send_request(struct acctfollow *f)
{
    Pst__AcctFollowRequest *req =
        pst__acct_follow_request__unpack(NULL, f->request_len, f->request);
    int r;

    if (!req)
        return -ENOMEM;
    pthread_mutex_lock(&f->lock);
    req->leaves = TAKE_PTR(f->leaves); /* freed with the request */
    pthread_mutex_unlock(&f->lock);
    req->has_version = 1;
    req->version = atomic_load(&f->version);
    req->has_tells = req->tells = 1;
    r = client_send(f->client, OP_ACCT_FOLLOW, 0, client_next_id(f->client), &req->base);
    pst__acct_follow_request__free_unpacked(req, NULL);
    return r;
}

/* Until the connection breaks. */
static int follow_dbd(struct acctfollow *f, struct err *err)
{
    int r = connect_any(f, err);

    if (r == 0)
        r = send_request(f);
    if (r == 0 && f->failing)
        log_info("accounting: slurmdbd can be followed again");
    while (r == 0 && !atomic_load(&f->refused)) {
        struct frame frame;

        f->failing = false;
        r = client_recv(f->client, SILENCE_MS, &frame);
        if (r == 0)
            return 0; /* nothing for long */
        if (r > 0)
            r = frame.flags & FRAME_ERROR    ? -EREMOTEIO
                : frame.op == OP_ACCT_FOLLOW ? take_changes(f, &frame)
                                             : 0;
    }
    return r;
}

static bool wait_a_while(struct acctfollow *f)
{
    int64_t until = now_mono_us() + RETRY_US;
    struct timespec ts = { .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };
    bool go;

    pthread_mutex_lock(&f->lock);
    while (!f->stopping)
        if (pthread_cond_timedwait(&f->wake, &f->lock, &ts) == ETIMEDOUT)
            break;
    go = !f->stopping;
    pthread_mutex_unlock(&f->lock);
    return go;
}

static bool is_stopping(struct acctfollow *f)
{
    bool stopping;

    pthread_mutex_lock(&f->lock);
    stopping = f->stopping;
    pthread_mutex_unlock(&f->lock);
    return stopping;
}

static void *run_follower(void *arg)
{
    struct acctfollow *f = arg;

    while (!is_stopping(f)) {
        struct err err = { .text = "" };
        int r = follow_dbd(f, &err);
        bool refused = atomic_exchange(&f->refused, false);
        bool anew = atomic_exchange(&f->anew, false);

        set_client(f, NULL);
        drop_batch(f);
        if (is_stopping(f) || (!refused && (anew || r == 0)))
            continue;
        if (!refused && !f->failing)
            log_error(
                "accounting: slurmdbd cannot be followed: %s; going on with the accounts at hand",
                err.text[0] ? err.text : strerrordesc_np(-r));
        f->failing = f->failing || !refused; /* of a refusal the log has told */
        if (!wait_a_while(f))
            break;
    }
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

struct acctfollow *acctfollow_stop(struct acctfollow *f)
{
    if (!f)
        return NULL;
    pthread_mutex_lock(&f->lock);
    f->stopping = true;
    pthread_cond_signal(&f->wake);
    pthread_mutex_unlock(&f->lock);
    client_watch_end(&f->watch);
    if (f->running)
        pthread_join(f->thread, NULL);
    set_client(f, NULL);
    drop_batch(f);
    pthread_cond_destroy(&f->wake);
    pthread_mutex_destroy(&f->lock);
    client_watch_done(&f->watch);
    free(f->hosts[0]);
    free(f->hosts[1]);
    free(f->cluster);
    free(f->key_file);
    tls_config_done(&f->tls);
    free(f->munge_socket);
    free(f->request);
    free(f->leaves);
    free(f);
    return NULL;
}

static int copy_conf(struct acctfollow *f, const struct conf *conf)
{
    int r = copy_text(&f->hosts[0], conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST));

    if (r == 0)
        r = copy_text(&f->hosts[1], conf_str(conf, CONF_ACCOUNTING_STORAGE_BACKUP_HOST));
    if (r == 0)
        r = copy_text(&f->cluster, conf_str(conf, CONF_CLUSTER_NAME));
    if (r == 0)
        r = copy_text(&f->key_file, conf_key_file(conf));
    if (r == 0)
        r = copy_text(&f->munge_socket, conf_munge_socket(conf));
    f->port = (uint16_t)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT);
    f->use_munge = conf_use_munge(conf);
    if (r == 0)
        r = conf_tls(conf, CONF_TLS_CTLD, &f->tls);
    f->slurm_uid = conf_slurm_uid(conf);
    return r;
}

static int make_request(struct acctfollow *f, struct ctld *ctld)
{
    Pst__AcctFollowRequest req = PST__ACCT_FOLLOW_REQUEST__INIT;
    struct acctadmin_self self;
    int r = acctadmin_describe(ctld, &self);

    if (r == 0) {
        req.cluster = &self.cluster;
        req.tres = self.tres;
        req.n_tres = self.n_tres;
        f->request = malloc(pst__acct_follow_request__get_packed_size(&req) + 1);
        if (f->request)
            f->request_len = pst__acct_follow_request__pack(&req, f->request);
    }
    acctadmin_self_done(&self);
    return f->request ? 0 : -ENOMEM;
}

int acctfollow_start(struct ctld *ctld, struct acctfollow **ret, struct err *err)
{
    struct acctfollow *f = calloc(1, sizeof(*f));
    pthread_condattr_t attr;
    int r;

    if (!f)
        return -ENOMEM;
    f->ctld = ctld;
    atomic_store(&f->version, ctld->cluster->rec->acct_version);
    pthread_mutex_init(&f->lock, NULL);
    client_watch_init(&f->watch);
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&f->wake, &attr);
    pthread_condattr_destroy(&attr);
    r = copy_conf(f, ctld->conf);
    if (r == 0)
        r = make_request(f, ctld);
    if (r == 0)
        r = -pthread_create(&f->thread, NULL, run_follower, f);
    if (r < 0) {
        (void)acctfollow_stop(f); /* always NULL */
        return err_set(err, r, "accounting: cannot start: %s", strerrordesc_np(-r));
    }
    f->running = true;
    threadname_set(f->thread, "acct-follow");
    *ret = f;
    return 0;
}
