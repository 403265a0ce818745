/* fedlink.c - the way to another cluster's controller; see fedlink.h
 *
 * What the thread needs of the configuration is copied.  It shares with the core the queue and the
 * wish to stop, both under `lock`, and the atomic `up`. */
#include "ctld/fed/fedlink.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/logflags.h"
#include "base/must.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "conf/tls/conf_tls.h"
#include "wire/client_active.h"
#include "wire/tls/tls.h"

#define CALL_MS 5000
#define PING_US (2 * USEC_PER_SEC) /* between two signs of life, and two attempts */

struct question {
    struct question *next;
    uint32_t job_id;
    unsigned op;
    ProtobufCMessage *msg;
};

struct fedlink {
    struct fedlink_config config; /* its texts are ours */
    char *own, *key_file, *munge_socket;
    bool use_munge;
    struct tls_config tls;
    uid_t slurm_uid;
    pthread_t thread;
    bool running;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    struct question *head, *tail;
    size_t n;
    bool stop;
    struct client *client; /* the thread's */
    atomic_bool up;
};

void fedlink_result_free(struct fedlink_result *res)
{
    if (!res)
        return;
    if (res->request)
        protobuf_c_message_free_unpacked(res->request, NULL);
    if (res->reply)
        protobuf_c_message_free_unpacked(res->reply, NULL);
    free(res);
}

/* ---- to the core ----------------------------------------------------------------------------- */

struct answer { /* on its way to the core */
    struct fedlink_result *res;
    void (*answered)(struct fedlink_result *res);
};

static void drop_answer(void *arg)
{
    fedlink_result_free(((struct answer *)arg)->res);
    free(arg);
}

static void post_call(struct ctld *ctld, void (*fn)(void *), void (*drop)(void *), void *arg)
{
    struct cmd *cmd = must(calloc(1, sizeof(*cmd)));

    *cmd = (struct cmd){ .kind = CMD_CALL, .fn = fn, .drop = drop, .arg = arg };
    (void)core_post(ctld, cmd); /* never refused: it is no request */
}

struct news {
    struct ctld *ctld;
    uint32_t cluster;
    void (*changed)(struct ctld *ctld, uint32_t cluster);
};

static void tell_news(void *arg)
{
    const struct news *n = arg;

    n->changed(n->ctld, n->cluster);
    free(arg);
}

static void set_up(struct fedlink *l, bool up, const char *why)
{
    struct news *n;

    if (atomic_exchange(&l->up, up) == up)
        return;
    if (up)
        log_info("federation: cluster %s is reached", l->config.name);
    else
        log_info("federation: cluster %s is not reached any more: %s", l->config.name, why);
    n = must(calloc(1, sizeof(*n)));
    *n = (struct news){ l->config.ctld, l->config.cluster, l->config.changed };
    post_call(l->config.ctld, tell_news, free, n);
}

static void give_result(void *arg)
{
    struct answer *a = arg;

    a->answered(a->res);
    free(a);
}

/* ---- the connection -------------------------------------------------------------------------- */

static int connect_peer(struct fedlink *l, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    _cleanup_free_ char *list = strdup(l->config.addrs);
    struct client_hosts hosts = { .n = 0 };
    struct client_target target = { .port = l->config.port,
                                    .cluster = l->config.name,
                                    .key_file = l->key_file,
                                    .use_munge = l->use_munge,
                                    .munge_socket = l->munge_socket,
                                    .timeout_ms = CALL_MS,
                                    .program = "slurmctld" };
    char *save = NULL;
    int r = !list ? -ENOMEM : l->tls.kind == TLS_NONE ? 0 : tls_ctx_new(&l->tls, &tls, err);

    if (r < 0)
        return r;
    target.tls = tls;
    for (char *p = strtok_r(list, ",", &save); p && hosts.n < CLIENT_HOSTS_MAX;
         p = strtok_r(NULL, ",", &save))
        hosts.addr[hosts.n++] = p;
    return client_connect_active(&target, &hosts, l->slurm_uid, &l->client, err);
}

/* A request over the connection, which is made first where there is none.  A lost connection is
 * closed, so that the next call makes another. */
static int call_peer(struct fedlink *l, unsigned op, const ProtobufCMessage *msg,
                     ProtobufCMessage **ret_reply, int *ret_code)
{
    struct err err = { .text = "" };
    int r = l->client ? 0 : connect_peer(l, &err);

    if (r == 0)
        r = client_call(l->client, op, msg, ret_reply);
    if (r == -EREMOTEIO && l->client)
        *ret_code = client_error(l->client, NULL);
    if (r < 0 && r != -EREMOTEIO)
        l->client = client_free(l->client);
    set_up(l, r == 0 || r == -EREMOTEIO, err.text[0] ? err.text : strerrordesc_np(-r));
    return r;
}

/* The next request; NULL: time to say that this one is there.  False: stop. */
static bool next_question(struct fedlink *l, struct question **ret)
{
    int64_t until = now_mono_us() + PING_US;
    struct timespec ts = { .tv_sec = until / USEC_PER_SEC, .tv_nsec = until % USEC_PER_SEC * 1000 };
    bool stop;

    (void)pthread_mutex_lock(&l->lock);
    while (!l->stop && !l->head)
        if (pthread_cond_timedwait(&l->wake, &l->lock, &ts) == ETIMEDOUT)
            break;
    *ret = l->stop ? NULL : l->head;
    if (*ret) {
        l->head = (*ret)->next;
        if (!l->head)
            l->tail = NULL;
        l->n--;
    }
    stop = l->stop;
    (void)pthread_mutex_unlock(&l->lock);
    return !stop;
}

static void ask_question(struct fedlink *l, struct question *q)
{
    struct fedlink_result *res = must(calloc(1, sizeof(*res)));
    struct answer *a = must(calloc(1, sizeof(*a)));

    *res = (struct fedlink_result){ .ctld = l->config.ctld,
                                    .cluster = l->config.cluster,
                                    .job_id = q->job_id,
                                    .op = q->op,
                                    .request = q->msg };
    res->r = call_peer(l, q->op, q->msg, &res->reply, &res->code);
    *a = (struct answer){ res, l->config.answered };
    log_flag(FEDERATION, "JobId=%u %s to cluster %s: %s", q->job_id, wire_op_info(q->op)->name,
             l->config.name,
             res->r < 0  ? "no answer"
             : res->code ? "refused"
                         : "answered");
    free(q);
    post_call(l->config.ctld, give_result, drop_answer, a);
}

/* Both sides see that the other is there; an error is an answer, too. */
static void tell_alive(struct fedlink *l)
{
    Pst__FedAsk alive = PST__FED_ASK__INIT;
    int code;

    alive.cluster = l->own;
    SET(&alive, kind, PST__FED_ASK_KIND__FED_ASK_ALIVE);
    (void)call_peer(l, OP_FED_ASK, &alive.base, NULL, &code);
}

static void *run_link(void *arg)
{
    struct fedlink *l = arg;
    struct question *q = NULL;

    threadname_set(pthread_self(), "federation");
    tell_alive(l);
    while (next_question(l, &q)) {
        if (q)
            ask_question(l, q);
        else
            tell_alive(l);
    }
    l->client = client_free(l->client);
    return NULL;
}

/* ---- start and stop -------------------------------------------------------------------------- */

void fedlink_end(struct fedlink *l)
{
    (void)pthread_mutex_lock(&l->lock);
    l->stop = true;
    (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
}

struct fedlink *fedlink_stop(struct fedlink *l)
{
    if (!l)
        return NULL;
    fedlink_end(l);
    if (l->running)
        (void)pthread_join(l->thread, NULL); /* a call takes five seconds at most */
    while (l->head) {
        struct question *q = l->head;

        l->head = q->next;
        protobuf_c_message_free_unpacked(q->msg, NULL);
        free(q);
    }
    (void)pthread_cond_destroy(&l->wake);
    (void)pthread_mutex_destroy(&l->lock);
    free((char *)l->config.name);
    free((char *)l->config.addrs);
    free(l->own);
    free(l->key_file);
    free(l->munge_socket);
    tls_config_done(&l->tls);
    free(l);
    return NULL;
}

static int copy_config(struct fedlink *l, const struct fedlink_config *config)
{
    const struct conf *conf = config->ctld->conf;
    int r;

    l->config = *config;
    r = copy_text((char **)&l->config.name, config->name);
    if (r == 0)
        r = copy_text((char **)&l->config.addrs, config->addrs);
    else
        l->config.addrs = NULL;
    if (r == 0)
        r = copy_text(&l->own, conf_str(conf, CONF_CLUSTER_NAME));
    if (r == 0)
        r = copy_text(&l->key_file, conf_key_file(conf));
    if (r == 0)
        r = copy_text(&l->munge_socket, conf_munge_socket(conf));
    l->use_munge = conf_use_munge(conf);
    l->slurm_uid = conf_slurm_uid(conf);
    if (r == 0)
        r = conf_tls(conf, CONF_TLS_CTLD, &l->tls);
    return r;
}

int fedlink_start(const struct fedlink_config *config, struct fedlink **ret)
{
    struct fedlink *l = calloc(1, sizeof(*l));
    pthread_condattr_t attr;
    int r;

    if (!l)
        return -ENOMEM;
    (void)pthread_mutex_init(&l->lock, NULL); /* cannot fail with default attributes */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&l->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    r = copy_config(l, config);
    if (r == 0)
        r = -pthread_create(&l->thread, NULL, run_link, l);
    l->running = r == 0;
    if (r < 0) {
        (void)fedlink_stop(l); /* always NULL */
        return r;
    }
    *ret = l;
    return 0;
}

/* ---- the core's side ------------------------------------------------------------------------- */

bool fedlink_leads(const struct fedlink *l, const char *name, const char *addrs, uint16_t port)
{
    return strcasecmp(l->config.name, name) == 0 && strcmp(l->config.addrs, addrs) == 0 &&
           l->config.port == port;
}

bool fedlink_is_up(const struct fedlink *l)
{
    return atomic_load(&l->up);
}

size_t fedlink_room(struct fedlink *l)
{
    size_t room;

    (void)pthread_mutex_lock(&l->lock);
    room = FEDLINK_QUEUE - l->n;
    (void)pthread_mutex_unlock(&l->lock);
    return room;
}

void fedlink_ask(struct fedlink *l, uint32_t job_id, unsigned op, ProtobufCMessage *msg)
{
    struct question *q = must(calloc(1, sizeof(*q)));

    *q = (struct question){ .job_id = job_id, .op = op, .msg = msg };
    (void)pthread_mutex_lock(&l->lock);
    if (l->tail)
        l->tail->next = q;
    else
        l->head = q;
    l->tail = q;
    l->n++;
    (void)pthread_cond_signal(&l->wake);
    (void)pthread_mutex_unlock(&l->lock);
}
