/* restlink.c - connections to slurmctld and slurmdbd as callers; see restlink.h
 *
 * One lock over the kept connections; it is never held while a daemon is waited for. */
#include "rest/restlink.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "base/text/owntext.h"
#include "base/timefmt.h"
#include "conf/conf.h"
#include "wire/auth/jwt.h"
#include "conf/tls/conf_tls.h"
#include "wire/client_active.h"
#include "wire/tls/tls.h"

#define KEPT_MAX 128u
#define IDLE_US INT64_C(5000000)
#define AGE_US INT64_C(30000000) /* then the token is proved again */
#define ACCT_TIMEOUT_MS 900000
#define MSEC_PER_S 1000

struct rest_link {
    struct client *client;
    enum rest_service service;
    int64_t made_us, used_us; /* monotonic */
    int64_t over_us;          /* when the token runs out */
    char *token, *name;       /* NULL: none */
};

struct rest_links {
    const struct conf *conf;
    pthread_mutex_t lock;
    struct rest_link *kept[KEPT_MAX];
    size_t n_kept;
};

struct rest_link *rest_link_free(struct rest_link *link)
{
    if (!link)
        return NULL;
    (void)client_free(link->client); /* always NULL */
    wipe_text(&link->token);
    free(link->name);
    free(link);
    return NULL;
}
DEFINE_CLEANUP(struct rest_link *, rest_link_free)

int rest_links_new(const struct conf *conf, struct rest_links **ret)
{
    struct rest_links *links = calloc(1, sizeof(*links));

    if (!links)
        return -ENOMEM;
    links->conf = conf;
    (void)pthread_mutex_init(&links->lock, NULL); /* cannot fail with NULL */
    *ret = links;
    return 0;
}

struct rest_links *rest_links_free(struct rest_links *links)
{
    if (!links)
        return NULL;
    for (size_t i = 0; i < links->n_kept; i++)
        (void)rest_link_free(links->kept[i]); /* always NULL */
    (void)pthread_mutex_destroy(&links->lock);
    free(links);
    return NULL;
}

static bool speaks_for(const struct rest_link *link, enum rest_service service,
                       const struct rest_identity *who)
{
    const char *name = who->name ? who->name : "", *its = link->name ? link->name : "";

    return link->service == service && jwt_is_same(link->token, who->token) &&
           strcmp(its, name) == 0;
}

static bool is_old(const struct rest_link *link, int64_t now_us)
{
    return now_us - link->used_us > IDLE_US || now_us - link->made_us > AGE_US;
}

/* Nobody writes to a connection that waits for a request: what can be read there is its end, as
 * after a restart of the daemon. */
static bool has_ended(const struct rest_link *link)
{
    struct pollfd pfd = { .fd = client_fd(link->client), .events = POLLIN };

    return poll(&pfd, 1, 0) != 0;
}

static struct rest_link *remove_kept(struct rest_links *links, size_t at)
{
    struct rest_link *link = links->kept[at];

    links->kept[at] = links->kept[--links->n_kept];
    return link;
}

bool rest_link_run_out(const char *token)
{
    return token && jwt_is_over(token, now_us());
}

/* A kept connection was believed when it was made: a token that has run out since is to be refused
 * by the daemon. */
static bool is_usable(const struct rest_link *link)
{
    return now_us() < link->over_us && !has_ended(link);
}

static struct rest_link *take_kept(struct rest_links *links, enum rest_service service,
                                   const struct rest_identity *who)
{
    int64_t now_us = now_mono_us();
    struct rest_link *found = NULL;

    (void)pthread_mutex_lock(&links->lock);
    for (size_t i = links->n_kept; i-- && !found;)
        if (is_old(links->kept[i], now_us))
            (void)rest_link_free(remove_kept(links, i)); /* always NULL */
        else if (speaks_for(links->kept[i], service, who))
            found = remove_kept(links, i);
    (void)pthread_mutex_unlock(&links->lock);
    return found && !is_usable(found) ? rest_link_free(found) : found;
}

static struct client_target target_of(const struct conf *conf, const struct rest_identity *who)
{
    return (struct client_target){
        .port = conf_ctld_port(conf),
        .cluster = conf_str(conf, CONF_CLUSTER_NAME),
        .key_file = conf_key_file(conf),
        .use_munge = conf_use_munge(conf),
        .munge_socket = conf_munge_socket(conf),
        .munge_ttl_s = conf_munge_ttl_s(conf),
        .jwt = who->token,
        .act_as = who->name,
        .timeout_ms = (int)conf_num(conf, CONF_MESSAGE_TIMEOUT) * MSEC_PER_S,
        .keeps_text = true, /* JSON escapes it */
        .program = "slurmrestd",
        .service = "slurmctld",
    };
}

/* What the configuration says of encryption.  Files are read at each connection, which is kept. */
static int add_tls(const struct conf *conf, struct client_target *target, struct err *err)
{
    struct tls_config config;
    int r = target->tls ? 0 : conf_tls(conf, CONF_TLS_RESTD, &config);

    return r < 0 || target->tls ? r : tls_ctx_load(&config, &target->tls, err);
}

static int connect_local(const struct conf *conf, const struct client_target *target,
                         const struct client_hosts *hosts, struct client **ret, struct err *err)
{
    int r = client_connect_local(target, hosts, 0, ret, err);

    if (r == -EACCES)
        r = client_connect_local(target, hosts, conf_slurm_uid(conf), ret, err);
    return r;
}

static int connect_ctld(const struct conf *conf, struct client_target *target, struct client **ret,
                        struct err *err)
{
    struct client_hosts hosts = { .n = 0 };

    hosts.n = conf_ctld_addrs(conf, hosts.addr, ARRAY_SIZE(hosts.addr));
    if (connect_local(conf, target, &hosts, ret, err) == 0)
        return 0;
    if (add_tls(conf, target, err) < 0)
        return -EACCES;
    return client_connect_active(target, &hosts, conf_slurm_uid(conf), ret, err);
}

static int connect_dbd(const struct conf *conf, struct client_target *target, struct client **ret,
                       struct err *err)
{
    const char *hosts[] = { conf_str(conf, CONF_ACCOUNTING_STORAGE_HOST),
                            conf_str(conf, CONF_ACCOUNTING_STORAGE_BACKUP_HOST) };
    const struct client_hosts none = { .n = 0 }; /* whoever listens there answers */
    int r;

    target->service = "slurmdbd";
    target->port = (uint16_t)conf_num(conf, CONF_ACCOUNTING_STORAGE_PORT);
    r = connect_local(conf, target, &none, ret, err);
    if (r < 0 && add_tls(conf, target, err) < 0)
        return -EACCES;
    for (size_t i = 0; r < 0 && i < ARRAY_SIZE(hosts) && hosts[i]; i++) {
        target->host = hosts[i];
        r = client_connect(target, conf_slurm_uid(conf), ret, err);
    }
    return r;
}

/* Accounting is slurmdbd's, or the controller's own; -ENOENT: none is kept. */
static int connect_acct(const struct conf *conf, struct client_target *target, struct client **ret,
                        struct err *err)
{
    const char *type = conf_str(conf, CONF_ACCOUNTING_STORAGE_TYPE);
    int r;

    if (type && strcasecmp(type, "accounting_storage/none") == 0)
        return err_set(err, -ENOENT, "Slurm accounting storage is disabled");
    if (type && strcasecmp(type, "accounting_storage/slurmdbd") == 0)
        r = connect_dbd(conf, target, ret, err);
    else
        r = connect_ctld(conf, target, ret, err);
    if (r == 0)
        client_set_timeout(*ret, ACCT_TIMEOUT_MS);
    return r;
}

int rest_links_take(struct rest_links *links, enum rest_service service,
                    const struct rest_identity *who, struct rest_link **ret, struct err *err)
{
    _cleanup_(rest_link_free) struct rest_link *link = take_kept(links, service, who);
    struct client_target target = target_of(links->conf, who);
    int r;

    if (link) {
        *ret = TAKE_PTR(link);
        return 0;
    }
    link = calloc(1, sizeof(*link));
    if (!link)
        return err_nomem(err);
    link->service = service;
    link->token = who->token ? strdup(who->token) : NULL;
    link->name = who->name ? strdup(who->name) : NULL;
    if ((who->token && !link->token) || (who->name && !link->name))
        return err_nomem(err);
    r = service == REST_ACCT ? connect_acct(links->conf, &target, &link->client, err)
                             : connect_ctld(links->conf, &target, &link->client, err);
    (void)tls_ctx_unref(target.tls); /* always NULL; the connection has its own */
    if (r < 0)
        return r;
    link->made_us = now_mono_us();
    link->over_us = who->token ? jwt_end_us(who->token) : INT64_MAX;
    *ret = TAKE_PTR(link);
    return 0;
}

bool rest_link_refused(int r)
{
    return r == -EACCES || r == -EPROTONOSUPPORT || r == -EREMOTEIO || r == -EINVAL;
}

struct client *rest_link_client(struct rest_link *link)
{
    return link->client;
}

void rest_links_give(struct rest_links *links, struct rest_link *link)
{
    bool kept = false;

    link->used_us = now_mono_us();
    if (client_fd(link->client) >= 0 && !is_old(link, link->used_us)) {
        (void)pthread_mutex_lock(&links->lock);
        kept = links->n_kept < KEPT_MAX;
        if (kept)
            links->kept[links->n_kept++] = link;
        (void)pthread_mutex_unlock(&links->lock);
    }
    if (!kept)
        (void)rest_link_free(link); /* always NULL */
}
