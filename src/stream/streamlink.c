/* streamlink.c - see streamlink.h */
#include "stream/streamlink.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/text/owntext.h"
#include "conf/tls/conf_tls.h"
#include "wire/tls/tls.h"

struct streamlink {
    struct client_target target; /* but for the address; its strings are ours */
    char *cluster, *key_file, *munge_socket;
    struct tls_config tls; /* its files are read at each connection */
    uid_t slurm_uid;
};

int streamlink_new(const struct conf *conf, struct streamlink **ret)
{
    struct streamlink *l = calloc(1, sizeof(*l));
    int r = l ? copy_text(&l->cluster, conf_str(conf, CONF_CLUSTER_NAME)) : -ENOMEM;

    if (r == 0)
        r = copy_text(&l->key_file, conf_key_file(conf));
    if (r == 0)
        r = copy_text(&l->munge_socket, conf_munge_socket(conf));
    if (r == 0)
        r = conf_tls(conf, CONF_TLS_CTLD, &l->tls);
    if (r < 0) {
        (void)streamlink_free(l); /* always NULL */
        return r;
    }
    l->target = (struct client_target){ .port = conf_ctld_port(conf),
                                        .cluster = l->cluster,
                                        .key_file = l->key_file,
                                        .use_munge = conf_use_munge(conf),
                                        .munge_socket = l->munge_socket,
                                        .program = "slurmctld" };
    l->slurm_uid = conf_slurm_uid(conf);
    *ret = l;
    return 0;
}

struct streamlink *streamlink_free(struct streamlink *l)
{
    if (l) {
        free(l->cluster);
        free(l->key_file);
        free(l->munge_socket);
        tls_config_done(&l->tls);
        free(l);
    }
    return NULL;
}

uint16_t streamlink_port(const struct streamlink *l)
{
    return l->target.port;
}

int streamlink_open(const struct streamlink *l, const char *host, uint16_t port,
                    const char *service, int timeout_ms, struct client **ret, struct err *err)
{
    _cleanup_(tls_ctx_unref) struct tls_ctx *tls = NULL;
    struct client_target target = l->target;
    int r = l->tls.kind == TLS_NONE ? 0 : tls_ctx_new(&l->tls, &tls, err);

    target.host = host;
    target.port = port;
    target.service = service;
    target.timeout_ms = timeout_ms;
    target.tls = tls;
    return r < 0 ? r : client_connect(&target, l->slurm_uid, ret, err);
}
