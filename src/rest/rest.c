/* rest.c - the server's life, and how its handlers reach the daemons; see rest.h */
#include "rest/rest.h"

#include <errno.h>
#include <microhttpd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/timefmt.h"
#include "conf/tls/conf_tls.h"
#include "cli/query/out_users.h"
#include "rest/rest_impl.h"
#include "rest/restlisten.h"
#include "rest/restopenapi.h"
#include "rest/restschema.h"
#include "rest/restserve.h"
#include "rest/resttls.h"
#include "wire/errors.h"
#include "wire/tls/tls.h"

#define WAIT_STEP_US 20000u
#define BEGIN_STEPS 500u

/* Of struct rest: believes(). */
static bool believe_caller(struct rest_call *call, bool slurmdb)
{
    return (slurmdb ? rest_acct(call, "body") : rest_ctld(call, "body")) != NULL;
}

int rest_new(const struct rest_config *config, struct rest **ret, struct err *err)
{
    struct rest *rest = calloc(1, sizeof(*rest));

    if (!rest || rest_links_new(config->conf, &rest->links) < 0 ||
        restschema_new(&rest->schema) < 0) {
        (void)rest_free(rest); /* always NULL */
        return err_nomem(err);
    }
    (void)pthread_mutex_init(&rest->document_lock, NULL); /* cannot fail */
    rest->config = *config;
    rest->believes = believe_caller;
    if (!rest->config.connections)
        rest->config.connections = REST_CONNECTIONS;
    rest->user = user_name_of(geteuid());
    rest->group = group_name_of(getegid());
    *ret = rest;
    return 0;
}

static int add_listener(struct rest *rest, struct MHD_Daemon *mhd, char *path, struct resttls *tls)
{
    struct rest_listener *more =
        reallocarray(rest->listeners, rest->n_listeners + 1, sizeof(*more));

    if (!more)
        return -ENOMEM;
    rest->listeners = more;
    rest->listeners[rest->n_listeners++] = (struct rest_listener){ mhd, path, tls };
    return 0;
}

/* path: the socket's file, which goes when the server ends; taken on success.  NULL: none. */
static int serve_listener(struct rest *rest, int fd, char *path, const char *address,
                          struct err *err)
{
    struct MHD_Daemon *mhd = restserve_start(rest, fd);

    if (!mhd) {
        (void)close(fd); /* nothing was sent */
        return err_set(err, -EAGAIN, "%s: the thread that listens cannot start", address);
    }
    if (add_listener(rest, mhd, path, NULL) < 0) {
        MHD_stop_daemon(mhd);
        return err_nomem(err);
    }
    return 0;
}

static int listen_plain(struct rest *rest, const char *address, struct err *err)
{
    _cleanup_free_ char *path = NULL;
    int fd = restlisten(address, &path, err);
    int r = fd < 0 ? fd : serve_listener(rest, fd, path, address, err);

    if (r == 0)
        (void)TAKE_PTR(path);
    return r;
}

int rest_listen_fd(struct rest *rest, int fd, const char *address, struct err *err)
{
    return serve_listener(rest, fd, NULL, address, err);
}

static bool give_secured(void *ctx, int fd, const struct sockaddr *peer, socklen_t len)
{
    return MHD_add_connection(ctx, fd, peer, len) == MHD_YES; /* else the library closes it */
}

/* What https:// shows: restd_cert.pem, whatever TLSType is. */
static int load_certificate(const struct rest *rest, struct tls_ctx **ret, struct err *err)
{
    struct tls_config config;
    int r = conf_restd_tls(rest->config.conf, &config);

    return r < 0 ? err_nomem(err) : tls_ctx_load(&config, ret, err);
}

static int listen_tls(struct rest *rest, const char *address, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *ctx = NULL;
    struct MHD_Daemon *mhd = NULL;
    struct resttls *tls = NULL;
    char *path = NULL; /* none: it is no UNIX socket */
    int r = load_certificate(rest, &ctx, err);
    int fd = r < 0 ? r : restlisten(address, &path, err);

    if (fd < 0)
        return fd;
    mhd = restserve_start(rest, -1);
    if (mhd)
        r = resttls_new(fd, TAKE_PTR(ctx), rest->config.connections, give_secured, mhd, &tls);
    else
        (void)close(fd); /* nothing was sent */
    if (mhd && r == 0 && add_listener(rest, mhd, NULL, tls) == 0)
        return 0;
    (void)resttls_free(tls); /* always NULL */
    if (mhd)
        MHD_stop_daemon(mhd);
    return err_set(err, -EAGAIN, "%s: the threads that listen cannot start", address);
}

int rest_listen(struct rest *rest, const char *address, struct err *err)
{
    if (restlisten_is_tls(address))
        return listen_tls(rest, address, err);
    return listen_plain(rest, address, err);
}

int rest_take(struct rest *rest, int fd, struct err *err)
{
    struct sockaddr_storage sa = { .ss_family = AF_UNSPEC };
    socklen_t len = sizeof(sa);

    if (!rest->taker)
        rest->taker = restserve_start(rest, -1);
    if (!rest->taker || getpeername(fd, (struct sockaddr *)&sa, &len) < 0) {
        (void)close(fd); /* not served */
        return err_set(err, -EAGAIN, "the connection cannot be served");
    }
    if (MHD_add_connection(rest->taker, fd, (struct sockaddr *)&sa, len) != MHD_YES)
        return err_set(err, -EAGAIN, "the connection cannot be served");
    rest->taken++;
    return 0;
}

void rest_wait(struct rest *rest, unsigned most_ms)
{
    int64_t deadline = most_ms ? now_mono_us() + (int64_t)most_ms * 1000 : INT64_MAX;
    const struct rest_taking *taking = rest->config.taking;
    const union MHD_DaemonInfo *info;
    unsigned waited = 0;
    bool open;

    do {
        /* The library's thread counts a connection once it has seen it; one that it could not take
         * never comes. */
        open = atomic_load(&rest->started) < rest->taken && waited++ < BEGIN_STEPS;
        info = rest->taker ? MHD_get_daemon_info(rest->taker, MHD_DAEMON_INFO_CURRENT_CONNECTIONS)
                           : NULL;
        open = open || (info && info->num_connections) || (taking && taking->busy(taking->ctx));
        if (open)
            (void)usleep(WAIT_STEP_US); /* woken early: looks early */
    } while (open && now_mono_us() < deadline);
}

struct rest *rest_free(struct rest *rest)
{
    if (!rest)
        return NULL;
    for (size_t i = 0; i < rest->n_listeners; i++) {
        (void)resttls_free(rest->listeners[i].tls); /* always NULL */
        MHD_stop_daemon(rest->listeners[i].mhd);
        if (rest->listeners[i].path)
            (void)unlink(rest->listeners[i].path); /* somebody else may have done it */
        free(rest->listeners[i].path);
    }
    if (rest->taker)
        MHD_stop_daemon(rest->taker);
    free(rest->listeners);
    (void)rest_links_free(rest->links);  /* always NULL */
    (void)restschema_free(rest->schema); /* likewise */
    for (size_t i = 0; i < ARRAY_SIZE(rest->documents); i++)
        free(rest->documents[i]);
    (void)pthread_mutex_destroy(&rest->document_lock); /* nobody holds it */
    free(rest);
    return NULL;
}

int rest_openapi(const struct rest *rest, bool yaml, char **ret)
{
    return restopenapi_make(&rest->config, rest->schema, yaml, ret);
}

/* ---- connections of a call ------------------------------------------------------------------- */

static const char *where_to(enum rest_service service)
{
    return service == REST_ACCT ? "Unable to reach the accounting"
                                : "Unable to reach the controller";
}

static struct client *take_link(struct rest_call *call, enum rest_service service,
                                const char *source)
{
    const struct rest_identity who = { call->caller->token, call->caller->name };
    struct rest_link **link = &call->link[service];
    struct err err = { .text = "" };
    int r;

    if (*link && client_fd(rest_link_client(*link)) < 0) { /* it broke meanwhile */
        rest_links_give(call->rest->links, *link);
        *link = NULL;
    }
    if (*link)
        return rest_link_client(*link);
    r = rest_links_take(call->rest->links, service, &who, link, &err);
    if (r == 0)
        return rest_link_client(*link);
    if (rest_link_refused(
            r)) /* the number and its sentence are for programs, the why for persons */
        rest_error(call, SLURM_PROTOCOL_AUTHENTICATION_ERROR, source, "%s%s%s", where_to(service),
                   err.text[0] ? ": " : "", err.text);
    else
        rest_error_said(call, r == -ENOENT ? ESLURM_DB_CONNECTION : EPST_UNREACHABLE,
                        err.text[0] ? err.text : NULL, source, "%s", where_to(service));
    return NULL;
}

struct client *rest_ctld(struct rest_call *call, const char *source)
{
    return take_link(call, REST_CTLD, source);
}

struct client *rest_acct(struct rest_call *call, const char *source)
{
    return take_link(call, REST_ACCT, source);
}
