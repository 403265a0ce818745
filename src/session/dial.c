/* dial.c - connections to slurmctld and slurmdbd; see dial.h
 *
 * Cost matters: sbatch is started thousands of times by workflow tools, so the name service is not
 * asked unless it must be. */
#include "session/dial.h"

#include <errno.h>
#include <poll.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "api.pb-c.h"

#include "base/cleanup.h"
#include "base/pb/pbutil.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "conf/tls/conf_tls.h"
#include "wire/client_active.h"
#include "wire/tls/tls.h"

#define RETRY_FIRST_MS 50
#define RETRY_MAX_MS 1000
#define RETRY_SEVERAL_MS 200
#define TIMEOUT_DEFAULT_MS 10000
#define STANDBY_MS 2000 /* a host that is away costs no more */

int dial_conf_timeout_ms(const struct conf *conf)
{
    uint64_t secs = conf_num(conf, CONF_MESSAGE_TIMEOUT);

    return secs > 0 && secs <= 3600 ? (int)secs * 1000 : TIMEOUT_DEFAULT_MS;
}

static struct client_target target_of(const struct dial *d, const char *service, uint16_t port)
{
    return (struct client_target){
        .port = port,
        .cluster = conf_str(d->conf, CONF_CLUSTER_NAME),
        .key_file = conf_key_file(d->conf),
        .client_ids = conf_client_ids(d->conf),
        .use_munge = conf_use_munge(d->conf),
        .munge_socket = conf_munge_socket(d->conf),
        .munge_ttl_s = conf_munge_ttl_s(d->conf),
        .jwt = d->token,
        .act_as = d->act_as,
        .timeout_ms = d->timeout_ms,
        .keeps_text = d->keeps_text,
        .program = d->program,
        .service = service,
    };
}

static struct client_target target_of_dbd(const struct dial *d)
{
    return target_of(d, "slurmdbd", (uint16_t)conf_num(d->conf, CONF_ACCOUNTING_STORAGE_PORT));
}

/* The local socket.  A daemon of root or of ourselves needs no look-up of SlurmUser's number, which
 * may mean asking a directory server. */
static int connect_local(const struct dial *d, const struct client_target *target,
                         const struct client_hosts *hosts, struct client **ret_client,
                         struct err *err)
{
    int r = client_connect_local(target, hosts, 0, ret_client, err);

    if (r == -EACCES)
        r = client_connect_local(target, hosts, conf_slurm_uid(d->conf), ret_client, err);
    return r;
}

/* What TCP needs: the local socket is not encrypted, and a program that uses it loads nothing. */
static int add_tls(const struct dial *d, struct client_target *target, struct err *err)
{
    struct tls_config config;
    int r = 0;

    if (!*d->tls) {
        r = conf_tls(d->conf, CONF_TLS_COMMAND, &config);
        if (r == 0)
            r = tls_ctx_load(&config, d->tls, err);
    }
    target->tls = *d->tls;
    return r < 0 ? -EACCES : 0;
}

static int connect_host(const struct dial *d, struct client_target *target,
                        struct client **ret_client, struct err *err)
{
    int r = add_tls(d, target, err);

    return r < 0 ? r : client_connect(target, conf_slurm_uid(d->conf), ret_client, err);
}

static int connect_own(const struct dial *d, struct client **ret_client, struct err *err)
{
    struct client_target target = target_of(d, "slurmctld", conf_ctld_port(d->conf));
    struct client_hosts hosts = { .n = 0 };
    int r;

    hosts.n = conf_ctld_addrs(d->conf, hosts.addr, ARRAY_SIZE(hosts.addr));
    if (connect_local(d, &target, &hosts, ret_client, err) == 0)
        return 0;
    r = add_tls(d, &target, err);
    return r < 0 ? r
                 : client_connect_active(&target, &hosts, conf_slurm_uid(d->conf), ret_client, err);
}

/* The addresses of a list, which becomes their memory. */
static size_t split_addrs(char *list, struct client_hosts *hosts)
{
    char *save = NULL;

    for (char *p = strtok_r(list, ",", &save); p && hosts->n < ARRAY_SIZE(hosts->addr);
         p = strtok_r(NULL, ",", &save))
        hosts->addr[hosts->n++] = p;
    return hosts->n;
}

/* Another cluster's controllers.  The local socket has only the port in its name, so the one there
 * is theirs only where the cluster is on this host. */
static int connect_cluster(const struct dial *d, struct client **ret_client, struct err *err)
{
    struct client_target target = target_of(d, "slurmctld", d->cluster->port);
    struct client_hosts hosts = { .n = 0 };
    _cleanup_free_ char *list = strdup(d->cluster->addrs);
    int r;

    if (!list)
        return -ENOMEM;
    target.cluster = d->cluster->name;
    if (split_addrs(list, &hosts) && strncmp(hosts.addr[0], "127.", 4) == 0 &&
        connect_local(d, &target, &hosts, ret_client, err) == 0)
        return 0;
    r = add_tls(d, &target, err);
    return r < 0 ? r
                 : client_connect_active(&target, &hosts, conf_slurm_uid(d->conf), ret_client, err);
}

int dial_ctld_once(const struct dial *d, struct client **ret_client, struct err *err)
{
    if (d->cluster)
        return connect_cluster(d, ret_client, err);
    return connect_own(d, ret_client, err);
}

int dial_ctld_host(const struct dial *d, size_t index, struct client **ret_client, struct err *err)
{
    struct client_target target = target_of(d, "slurmctld", conf_ctld_port(d->conf));

    return conf_ctld_host(d->conf, index, &target.host) ? connect_host(d, &target, ret_client, err)
                                                        : -ENOENT;
}

bool dial_may_come_back(int r)
{
    return r == -ECONNREFUSED || r == -ECONNRESET || r == -EPIPE || r == -ENOENT || r == -ETIMEDOUT;
}

int dial_ctld(const struct dial *d, dial_waiting_fn *fn, void *ctx, struct client **ret_client,
              struct err *err)
{
    int patience_ms = d->patience_ms ? d->patience_ms : d->timeout_ms;
    int64_t deadline_mono_us = now_mono_us() + (int64_t)patience_ms * 1000;
    int pause_ms = RETRY_FIRST_MS;
    /* of several another one is about to lead */
    int most_ms = conf_ctld_host(d->conf, 1, NULL) ? RETRY_SEVERAL_MS : RETRY_MAX_MS;

    for (;;) {
        int r = dial_ctld_once(d, ret_client, err);

        if (r == 0 || !dial_may_come_back(r) || now_mono_us() >= deadline_mono_us)
            return r;
        if (fn)
            fn(ctx, err ? err->text : "");
        (void)poll(NULL, 0, pause_ms); /* a pause; an early wake-up is harmless */
        pause_ms = MIN(pause_ms * 2, most_ms);
    }
}

/* 0: it leads, or answers all the same. */
static int ask_standby(struct client *c, struct dial_standby *ret)
{
    Pst__PingRequest req = PST__PING_REQUEST__INIT;
    ProtobufCMessage *reply = NULL;
    const Pst__PingReply *ping;
    int r;

    req.has_accept_standby = true;
    req.accept_standby = true;
    r = client_call(c, OP_PING, &req.base, &reply);
    if (r < 0)
        return r;
    ping = PB_AS(ping_reply, reply);
    *ret = (struct dial_standby){ .age_us = 0 };
    if (ping->has_standby && ping->standby) {
        r = ping->has_age_us ? 0 : -EREMOTEIO;
        ret->age_us = ping->age_us;
        (void)snprintf(ret->host, sizeof(ret->host), "%s", ping->host ? ping->host : "");
    }
    protobuf_c_message_free_unpacked(reply, NULL);
    return r;
}

int dial_standby(const struct dial *d, struct client **ret_client, struct dial_standby *ret_standby,
                 struct err *err)
{
    struct dial once = *d;
    struct client *c;

    if (d->cluster || !conf_ctld_host(d->conf, 1, NULL))
        return -ECONNREFUSED;
    once.timeout_ms = MIN(d->timeout_ms, STANDBY_MS);
    for (size_t i = 0; conf_ctld_host(d->conf, i, NULL); i++) {
        if (dial_ctld_host(&once, i, &c, err) < 0)
            continue;
        if (ask_standby(c, ret_standby) == 0) {
            client_set_timeout(c, d->timeout_ms);
            *ret_client = c;
            return 0;
        }
        (void)client_free(c); /* always NULL */
    }
    return -ECONNREFUSED;
}

int dial_dbd_host(const struct dial *d, unsigned which, struct client **ret_client, struct err *err)
{
    struct client_target target = target_of_dbd(d);

    target.host = conf_str(d->conf, which ? CONF_ACCOUNTING_STORAGE_BACKUP_HOST
                                          : CONF_ACCOUNTING_STORAGE_HOST);
    return target.host ? connect_host(d, &target, ret_client, err) : -ENOENT;
}

int dial_dbd_once(const struct dial *d, struct client **ret_client, struct err *err)
{
    const struct client_hosts none = { .n = 0 }; /* whoever listens there answers */
    struct client_target target = target_of_dbd(d);
    int r = connect_local(d, &target, &none, ret_client, err);

    for (unsigned which = 0; r < 0 && which < 2; which++) {
        int again = dial_dbd_host(d, which, ret_client, err);

        if (again == -ENOENT)
            break;
        r = again;
    }
    return r;
}
