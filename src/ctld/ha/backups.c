/* backups.c - are the other controllers there?  For the triggers of backup controllers
 *
 * A thread of the active controller pings the others now and then.  One that has not answered for a
 * lease has failed, also when it never did; one that answers again has resumed. */
#include "ctld/ha/backups.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/log.h"
#include "base/timefmt.h"
#include "base/process/threadname.h"
#include "ctld/ha/ha_impl.h"
#include "ctld/ha/roles.h"
#include "conf/tls/conf_tls.h"
#include "ctld/notify/triggers.h"
#include "wire/client.h"
#include "wire/tls/tls.h"

#define PING_MIN_US USEC_PER_SEC
#define PING_TIMEOUT_MS 2000

struct backup {
    const char *addr;
    char *name;
    bool gone;
    int64_t seen_us; /* of the monotonic clock; at first: when we began to look */
};

struct backups {
    struct ha *ha;
    struct backup *list;
    size_t n;
    struct client_target target; /* but for the address; strings are ours */
    char *cluster, *key_file, *munge_socket;
    struct tls_config tls; /* its files are read at each connection */
    uid_t slurm_uid;
    int64_t every_us, lost_us;
    pthread_t thread;
    pthread_mutex_t lock;
    pthread_cond_t wake;
    bool stop; /* under lock */
};

struct news {
    struct ctld *ctld;
    Pst__TriggerEvent event;
};

/* Core thread. */
static void tell_news(void *arg)
{
    const struct news *n = arg;

    triggers_controller(n->ctld, n->event);
    free(arg);
}

static void post_news(struct backups *b, Pst__TriggerEvent event)
{
    struct news *n = calloc(1, sizeof(*n));
    struct cmd *cmd = calloc(1, sizeof(*cmd));

    if (!n || !cmd) {
        free(n);
        free(cmd);
        return;
    }
    *n = (struct news){ b->ha->ctld, event };
    *cmd = (struct cmd){ .kind = CMD_CALL, .fn = tell_news, .drop = free, .arg = n };
    (void)core_post(b->ha->ctld, cmd); /* never refused: it is no request */
}

static bool ping_backup(const struct backups *b, const struct backup *one)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    struct client_target target = b->target;
    struct err err = { .text = "" };
    struct client *c = NULL;
    int r = b->tls.kind == TLS_NONE ? 0 : tls_ctx_new(&b->tls, &tls, &err);

    target.host = one->addr;
    target.tls = tls;
    if (r == 0)
        r = client_connect(&target, b->slurm_uid, &c, &err);
    if (r == 0)
        r = client_call(c, OP_PING, &req.base, NULL);
    client_free(c);
    return r == 0;
}

static void look_at_backup(struct backups *b, struct backup *one)
{
    int64_t now;
    bool there = ping_backup(b, one);

    now = now_mono_us();
    if (there) {
        if (one->gone) {
            log_info("the controller on %s is back", one->name);
            post_news(b, PST__TRIGGER_EVENT__TRIG_BACKUP_RESUMED);
        }
        one->gone = false;
        one->seen_us = now;
    } else if (!one->gone && now - one->seen_us >= b->lost_us) {
        log_info("the controller on %s does not answer any more", one->name);
        one->gone = true;
        post_news(b, PST__TRIGGER_EVENT__TRIG_BACKUP_FAILED);
    }
}

static bool wait_turn(struct backups *b)
{
    struct timespec until;
    bool stop;

    (void)clock_gettime(CLOCK_MONOTONIC, &until); /* cannot fail */
    until.tv_sec += b->every_us / USEC_PER_SEC;
    (void)pthread_mutex_lock(&b->lock);
    while (!b->stop && pthread_cond_timedwait(&b->wake, &b->lock, &until) != ETIMEDOUT)
        ;
    stop = b->stop;
    (void)pthread_mutex_unlock(&b->lock);
    return !stop;
}

static void *backups_main(void *arg)
{
    struct backups *b = arg;

    threadname_set(pthread_self(), "backups");
    do {
        for (size_t i = 0; i < b->n; i++)
            look_at_backup(b, &b->list[i]);
    } while (wait_turn(b));
    return NULL;
}

static struct backups *backups_free(struct backups *b)
{
    for (size_t i = 0; i < b->n; i++) {
        free((char *)b->list[i].addr);
        free(b->list[i].name);
    }
    free(b->list);
    free(b->cluster);
    free(b->key_file);
    free(b->munge_socket);
    tls_config_done(&b->tls);
    (void)pthread_cond_destroy(&b->wake);
    (void)pthread_mutex_destroy(&b->lock);
    free(b);
    return NULL;
}

static char *copy_text(const char *text)
{
    return text ? strdup(text) : NULL;
}

/* The configuration may be read again while the thread runs: it has copies. */
static int copy_conf(struct backups *b, const struct conf *conf, uint32_t own)
{
    size_t count = roles_count(conf);
    const char *addr, *name;

    b->list = calloc(count, sizeof(*b->list));
    b->cluster = copy_text(conf_str(conf, CONF_CLUSTER_NAME));
    b->key_file = copy_text(conf_key_file(conf));
    b->munge_socket = copy_text(conf_munge_socket(conf));
    if (!b->list)
        return -ENOMEM;
    for (size_t i = 0; i < count; i++) {
        name = conf_ctld_host(conf, i, &addr);
        if (i == own)
            continue;
        b->list[b->n].seen_us = now_mono_us();
        b->list[b->n].addr = copy_text(addr);
        b->list[b->n++].name = copy_text(name);
        if (!b->list[b->n - 1].addr || !b->list[b->n - 1].name)
            return -ENOMEM;
    }
    b->target = (struct client_target){ .port = conf_ctld_port(conf),
                                        .cluster = b->cluster,
                                        .key_file = b->key_file,
                                        .use_munge = conf_use_munge(conf),
                                        .munge_socket = b->munge_socket,
                                        .timeout_ms = PING_TIMEOUT_MS,
                                        .program = "slurmctld" };
    b->slurm_uid = conf_slurm_uid(conf);
    return conf_tls(conf, CONF_TLS_CTLD, &b->tls);
}

int backups_start(struct ha *ha, struct backups **ret)
{
    struct backups *b = calloc(1, sizeof(*b));
    pthread_condattr_t attr;
    int r;

    if (!b)
        return -ENOMEM;
    b->ha = ha;
    b->lost_us = (int64_t)ha->view.lease_ms * 1000;
    b->every_us = MAX(b->lost_us / 4, PING_MIN_US);
    (void)pthread_mutex_init(&b->lock, NULL); /* cannot fail with default attributes */
    (void)pthread_condattr_init(&attr);
    (void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    (void)pthread_cond_init(&b->wake, &attr);
    (void)pthread_condattr_destroy(&attr);
    r = copy_conf(b, ha->ctld->conf, ha->view.index);
    if (r == 0)
        r = -pthread_create(&b->thread, NULL, backups_main, b);
    if (r < 0) {
        (void)backups_free(b);
        return r;
    }
    *ret = b;
    return 0;
}

struct backups *backups_stop(struct backups *b)
{
    if (!b)
        return NULL;
    (void)pthread_mutex_lock(&b->lock);
    b->stop = true;
    (void)pthread_cond_signal(&b->wake);
    (void)pthread_mutex_unlock(&b->lock);
    (void)pthread_join(b->thread, NULL); /* our own thread, joined once; a ping takes two seconds */
    return backups_free(b);
}
